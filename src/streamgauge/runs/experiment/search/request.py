"""From the options of a search to a checked request: what is searched, between which limits, and for what."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput, BadValue, Fault, Faults
from streamgauge.domain.text.quantities import parse_duration_ns, parse_rate_per_second
from streamgauge.domain.text.secrets import masked
from streamgauge.domain.text.shown import one_line
from streamgauge.experiments.model import share
from streamgauge.experiments.paths import SearchFolder
from streamgauge.experiments.search.objective import (
    Objective,
    parse_objective,
    response_of,
    step_seconds,
    thin_windows,
)
from streamgauge.experiments.search.record import RATE, SearchRecord
from streamgauge.experiments.search.staircase import Staircase
from streamgauge.experiments.search.steps import Find, largest_possible
from streamgauge.experiments.search.words import shown_value
from streamgauge.result.schema import figure_faults
from streamgauge.runs.experiment.search.climb import staircase_of
from streamgauge.runs.experiment.search.shipped import of_shipped
from streamgauge.runs.request.options import RunOptions, Surroundings, request_in, surroundings_of
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import mapping_with, setting_text
from streamgauge.scenario import Scenario, document
from streamgauge.scenario.written.paths import keys_of

_MOST_RATE: Final = 10_000_000.0
_MOST: Final = 1024.0
_PROBE: Final = ("load.rate=max", "phases.warmup=2s", "phases.measure=5s")
"""An unthrottled run, for a start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search, as they were given."""

    objectives: Sequence[str] = ()
    path: str = RATE
    find: str = "largest"
    start: str | None = None
    least: str | None = None
    most: str | None = None
    width: str = "5%"
    step: str = "10s"
    climb: str | Mapping[str, Any] | None = None
    """Of a staircase."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search that may start."""

    scenario: str | Mapping[str, Any]
    around: Surroundings
    first: Request
    """Of the scenario as it is."""
    path: str
    find: Find
    objectives: tuple[Objective, ...]
    start: float | None
    """None where an unthrottled run has to tell."""
    least: float
    most: float
    width: float
    step_seconds: float
    staircase: Staircase | None = None
    notes: tuple[str, ...] = ()
    """What is done otherwise than by default, and what is known to be doubtful."""

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers."""
        return self.path != RATE

    def at(self, value: float) -> Request:
        """The run at a value; raises BadInput where the scenario cannot have it."""
        rate = value if self.path == RATE else self.first.target_per_second
        length = step_seconds(self.objectives, rate, self.step_seconds)
        return self._request((_setting(self.path, value), f"phases.measure={length:g}s"))

    def faults_at(self, value: float) -> list[Fault]:
        """Why the scenario cannot have a value; none where it can."""
        faults = Faults()
        faults.of(self.at, value)
        return faults

    def probe(self) -> Request:
        """The unthrottled run."""
        return self._request(_PROBE)

    def asked(self) -> dict[str, Any]:
        """The scenario as a mapping, with what the command line changes."""
        return mapping_with(self.scenario, self.around.options.settings)

    def _request(self, settings: Sequence[str]) -> Request:
        request, faults = request_in(self.around, self.scenario, settings)
        if request is None:
            raise BadInput(faults)
        return request


def search_of(scenario: str | Mapping[str, Any], given: SearchOptions, options: RunOptions) -> SearchRequest:
    """The search that the options make; raises BadInput with all faults."""
    of_options, faults = Faults(), Faults()
    around = surroundings_of(options, of_options)
    first, wrong = request_in(around, scenario)
    faults += [*wrong, *of_options, *_set_twice(options.settings, given.path)]
    response = response_of(consumes=first is None or first.scenario.consume is not None)
    objectives = [
        found
        for text in given.objectives
        if (found := _parsed(parse_objective, text, "--objective", faults, response)) is not None
    ]
    faults += [fault for each in objectives for fault in figure_faults("--objective", each.path)]
    if not given.objectives:
        faults.append(Fault("--objective", "there is none", "Write one like --objective 'p99 <= 20 ms'"))
    if given.find not in {"largest", "smallest"}:
        faults.append(Fault("--find", f"{one_line(given.find)}: not largest or smallest", "Use one of them"))
    width = _parsed(share, given.width, "--width", faults)
    step_ns = _parsed(parse_duration_ns, given.step, "--step", faults)
    least = _number(given.least, given.path, "--least", faults) or 1.0
    most = _number(given.most, given.path, "--most", faults) or (_MOST_RATE if given.path == RATE else _MOST)
    start = _number(given.start, given.path, "--start", faults)
    staircase = None if given.climb is None else staircase_of(given.climb, faults)
    if given.climb is not None and (given.path != RATE or given.find != "largest" or given.start is not None):
        faults.append(Fault("--climb", "climbs rates from a share of a bound", "Leave out --vary, --find and --start"))
    if first is not None and start is None and given.path != RATE:
        start = _current(first.scenario, given.path, faults)
    if first is not None and first.scenario.load is None:
        faults.append(Fault("load", "is off: a search needs a load", "Choose a scenario with a load"))
    if least >= most:
        faults.append(Fault("--least", "is not below --most", "Write a smaller value"))
    if first is not None and first.scenario.phases.start_at is not None:
        faults.append(Fault("phases.start_at", "has no place in a search, of many runs", "Leave it out"))
    if faults or first is None or width is None or step_ns is None:
        raise BadInput(faults)
    found = SearchRequest(
        scenario, around, first, given.path, "smallest" if given.find == "smallest" else "largest", tuple(objectives),
        start, least, most, width, step_ns / NS_PER_SECOND, staircase,
    )  # fmt: skip
    # What a value does to the scenario is seen before anything starts.
    found.at(least)
    found = _within_reach(found, is_stated=given.most is not None)
    found.at(min(max(start or least, least), found.most))
    return _with_windows_told(found)


def _within_reach(request: SearchRequest, *, is_stated: bool) -> SearchRequest:
    """The search up to the largest value that its scenario can have; raises BadInput where a larger one `is_stated`.

    The scenario can have the least value.
    """
    faults = request.faults_at(request.most)
    if not faults:
        return request
    if is_stated:
        raise BadInput([Fault(f"--most: {fault.where}", fault.what, fault.mend) for fault in faults])
    most = largest_possible(
        lambda value: not request.faults_at(value), request.least, request.most, whole=request.is_whole
    )
    note = f"searched up to {shown_value(most, request.path)}, as the scenario can have no more: {faults[0]}"
    return replace(request, most=most, notes=(note,))


def _with_windows_told(request: SearchRequest) -> SearchRequest:
    """The search with a note of windows that have too few messages at a rate that is known to be tried.

    Raises BadInput where they have too few at every rate: all runs would be in doubt.
    """
    low, high = _known_rates(request)
    if high is not None and (faults := thin_windows(request.objectives, high)):
        raise BadInput(faults)
    thin = [] if low is None else thin_windows(request.objectives, low)
    told = (f"{fault.what}, so runs at such rates are doubtful. {fault.mend}" for fault in thin)
    return replace(request, notes=(*request.notes, *told))


def _known_rates(request: SearchRequest) -> tuple[float | None, float | None]:
    """The lowest and the highest rate of messages that a search is known to try; None where nobody knows.

    Several groups or a pipeline may make more messages out of those that are sent, and so may what is searched.
    """
    scenario, climb = request.first.scenario, request.staircase
    groups = scenario.consume.groups if scenario.consume else 1
    if groups > 1 or scenario.pipeline is not None or request.path.startswith("consume.groups"):
        return None, None
    if request.path != RATE:
        rate = scenario.load.rate if scenario.load else None
        return (rate, rate) if isinstance(rate, float) else (None, None)
    if climb is not None and isinstance(climb.bound, float):
        low, high = (min(climb.bound * share, request.most) for share in (climb.from_, climb.to))
        return low, high
    return request.start, request.most


def recorded(request: SearchRequest) -> dict[str, Any]:
    """What is asked, as search.json has it; secrets masked."""
    return {
        "scenario": masked(request.asked()),
        "cluster": request.first.bootstrap,
        "path": request.path,
        "find": request.find,
        "objectives": [each.text for each in request.objectives],
        "start": request.start,
        "least": request.least,
        "most": request.most,
        "width": request.width,
        "whole": request.is_whole,
        "step_seconds": request.step_seconds,
        "staircase": request.staircase,
    }


def resumed_search(
    folder: SearchFolder, record: SearchRecord, scenario: str | None, given: Mapping[str, Any], options: RunOptions
) -> SearchRequest:
    """The request of a search that goes on, of its scenario or else of the recorded one.

    `given` are options that are stated again. Raises BadInput where anything that is asked for differs.
    """
    of_record = {
        "objectives": record.objectives,
        "path": record.path,
        "find": record.find,
        "start": None if record.asked_start is None else str(record.asked_start),
        "least": str(record.least),
        "most": str(record.most),
        "width": str(record.width),
        "step": f"{record.step_seconds:g}s",
        "climb": record.staircase and record.staircase.document(),
    }
    if options.bootstrap is None and options.client_config is None:
        options = replace(options, bootstrap=record.cluster)
    source = record.scenario if scenario is None else of_shipped(scenario, {})[0]
    request = search_of(source, SearchOptions(**{**of_record, **given}), options)
    asked = json.loads(json.dumps(recorded(request), default=_plain))
    before = record.model_dump(mode="json", by_alias=True)
    before["start"] = record.asked_start
    if differs := [key for key, value in asked.items() if value != before[key]]:
        what = f"was made with other values of: {', '.join(differs)}"
        raise BadInput.single(str(folder.root), what, "Leave these options out, or start a new search")
    return request


def _plain(value: object) -> object:
    return value.document() if isinstance(value, Staircase) else str(value)


def _parsed(parse: Any, text: str, where: str, faults: Faults, *more: Any) -> Any:
    """What a text says; None, and a fault, where it says nothing."""
    try:
        return parse(text, *more)
    except BadValue as error:
        faults.append(error.at(where, one_line(text)))
        return None


def _number(text: str | None, path: str, where: str, faults: Faults) -> float | None:
    if text is None:
        return None
    found = _parsed(parse_rate_per_second, text, where, faults)
    if found is not None and (not 0 < found < math.inf or (path != RATE and found != round(found))):
        what = "not above 0" if found <= 0 else "too large" if found == math.inf else "not a whole number"
        faults.append(Fault(where, f"{one_line(text)}: {what}", "Write a number like 5000"))
        return None
    return None if found is None else float(found)


def _current(scenario: Scenario, path: str, faults: Faults) -> float | None:
    """The value that a scenario has, where it is a number."""
    found: Any = document(scenario)
    for key in keys_of(path):
        found = found.get(key) if isinstance(found, Mapping) else None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return float(found)
    faults.append(Fault("--start", f"{path} has no number to start from", "Write one, like --start 4"))
    return None


def _set_twice(settings: Sequence[str], path: str) -> list[Fault]:
    keys = keys_of(path)
    mine = [each for each in settings if keys_of(each.partition("=")[0])[: len(keys)] == keys]
    return [Fault(f"--set {path}", "is what is searched", "Leave it out, or use --start")] if mine else []


def _setting(path: str, value: float) -> str:
    return setting_text(path, f"{value:.10g}/s" if path == RATE else round(value))
