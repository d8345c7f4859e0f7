"""What a search would do, before it does it."""

from collections.abc import Iterator
from typing import Any

from streamgauge.domain.text.numbers import long_time, percent, seconds
from streamgauge.experiments.search.record import RATE
from streamgauge.experiments.search.staircase import Staircase
from streamgauge.experiments.search.steps import SearchPlan
from streamgauge.experiments.search.words import shown_value
from streamgauge.runs.experiment.conduct import BESIDE_SECONDS
from streamgauge.runs.experiment.search.request import SearchRequest, recorded
from streamgauge.scenario.volume import estimate


def outlook(request: SearchRequest) -> dict[str, Any]:
    """What is asked, as search.json has it, with how many runs there may be and how long one takes at least."""
    asked = recorded(request)
    if request.staircase:
        asked["staircase"] = request.staircase.document()
    return {
        **asked,
        "notes": list(request.notes),
        "most_runs": _most_runs(request),
        "run_seconds": _run_seconds(request),
    }


def outlook_lines(request: SearchRequest) -> Iterator[str]:
    """The same for people. Parts of it may come from outside."""
    climb, runs, each = request.staircase, _most_runs(request), _run_seconds(request)
    yield f"Dry run: nothing was started. Up to {runs} runs of {request.first.scenario.name}."
    yield f"Objectives: {'; '.join(objective.text for objective in request.objectives)}"
    yield _of_climb(climb) if climb else _of_bisection(request)
    yield f"Each run: {seconds(each)} or longer, with warm-up and analysis."
    yield f"Duration: about {long_time(runs * each)} if all are done, and none is longer or repeated."
    yield from request.notes


def _of_climb(climb: Staircase) -> str:
    bounds = {"unthrottled": "what an unthrottled run gives", "steps": "the highest rate reached by steps"}
    bound = shown_value(climb.bound, RATE) if isinstance(climb.bound, float) else bounds[climb.bound]
    steps = f"{percent(climb.from_)} to {percent(climb.to)} of it by {percent(climb.by)}"
    return f"High bound: {bound}; steps from {steps}, each repeated at most {climb.retries} times"


def _of_bisection(request: SearchRequest) -> str:
    least, most = (shown_value(each, request.path) for each in (request.least, request.most))
    start = "half of an unthrottled run" if request.start is None else shown_value(request.start, request.path)
    return f"{request.path}: from {start} on, within {least} and {most}, until known to {percent(request.width)}"


def _most_runs(request: SearchRequest) -> int:
    """Without those that are repeated, that look for a bound by steps, or that go down again."""
    climb = request.staircase
    if climb is None:
        return SearchPlan(1, 1, 1).most_steps + (request.start is None)
    return len(climb.rates(1.0)) + (climb.bound == "unthrottled") + climb.finer * len(request.objectives)


def _run_seconds(request: SearchRequest) -> float:
    """Of the value at which a run is shortest: where messages are many, a percentile is known soon."""
    shortest = request.at(request.most)
    told = estimate(shortest.scenario, embedded=shortest.bootstrap is None)
    return round(told.load_seconds + BESIDE_SECONDS, 1)
