"""The command `search`."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from streamgauge.cli.display import display_of, is_live
from streamgauge.cli.experiments.command import one_form
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.numbers import UNKNOWN, per_second, percent, significant
from streamgauge.experiments.paths import SearchFolder
from streamgauge.experiments.search.record import SearchRecord, SearchStep
from streamgauge.report.pages.page import plain
from streamgauge.runs.experiment.lines import shown_value, step_line
from streamgauge.runs.experiment.search.conduct import SearchEnded, SearchView, go_on
from streamgauge.runs.experiment.search.conduct import search as carry_out
from streamgauge.runs.experiment.search.request import SearchOptions, search_of
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display, Quiet


def search(
    scenario: str | None,
    resume: Path | None,
    given: Mapping[str, Any],
    options: RunOptions,
    *,
    as_json: bool,
    json_lines: bool,
    quiet: bool,
    out: Callable[[str], None],
) -> Exit:
    """Carry out a search, or what is left of one; raises BadInput before anything starts."""
    one_form(as_json=as_json, json_lines=json_lines)
    if resume is None and scenario is None:
        raise BadInput.single("SCENARIO", "is missing", "Name a scenario, or a folder with --resume")
    said, live = display_of(quiet=quiet), is_live(os.environ, terminal=sys.stderr.isatty()) and not quiet

    def step(each: SearchStep, path: str) -> None:
        said.say(step_line(each, path))
        if json_lines and each.outcome != "under_way":
            out(each.model_dump_json())

    def shown(asked: Request) -> Display:
        return display_of(asked.target_per_second) if live else Quiet()

    view = SearchView(said.say, step, shown)
    if resume is not None:
        ended = go_on(SearchFolder(resume), scenario, given, options, view)
    else:
        ended = carry_out(search_of(str(scenario), SearchOptions(**given), options), view, sys.argv)
    if not json_lines:
        out(json.dumps(search_document(ended.record), indent=2) if as_json else "\n".join(search_lines(ended)))
    return ended.code


def search_document(record: SearchRecord) -> dict[str, Any]:
    """A search as JSON: its record, and its answer."""
    found = record.answer
    return {
        "search": record.model_dump(mode="json", exclude={"scenario"}),
        "answer": {
            "held": found.held,
            "broke": found.broke,
            "between": [found.surely_held, found.surely_broke],
            "held_again": record.held_again,
            "bound": record.bound,
            "objectives": {text: asdict(each) for text, each in record.conforming.items()},
        },
    }


def search_lines(ended: SearchEnded) -> Iterator[str]:
    """The answer on a terminal, and the steps that led to it."""
    record = ended.record
    yield from (_stair_lines if record.staircase else _answer_lines)(record)
    yield from (f"{record.ending}: {plain(reason)}" for reason in record.reasons)
    yield ""
    for step in record.steps:
        yield f"  {step_line(step, record.path)}{_figures(step)}"
    yield ""
    yield f"Folder: {plain(str(ended.folder.root))}"


def _answer_lines(record: SearchRecord) -> Iterator[str]:
    found, path = record.answer, record.path
    hardest = "Highest" if record.find == "largest" else "Lowest"
    objectives = "; ".join(record.objectives)
    if found.held is not None:
        yield f"{hardest} {path} that held: {shown_value(found.held, path)}  ({plain(objectives)})"
    if found.broke is not None:
        broke = (step for step in record.steps if step.value == found.broke and step.held is False)
        because = next((f" ({plain('; '.join(step.reasons))})" for step in broke if step.reasons), "")
        easiest = "Lowest" if record.find == "largest" else "Highest"
        yield f"{easiest} that did not: {shown_value(found.broke, path)}{because}"
    if (found.surely_held, found.surely_broke) != (found.held, found.broke):
        ends = (
            UNKNOWN if each is None else shown_value(each, path) for each in (found.surely_held, found.surely_broke)
        )
        yield f"Runs of some values did not agree; all did up to {' and from '.join(ends)} on."
    if record.ending == "never_held":
        limit = record.least if record.find == "largest" else record.most
        yield f"No value held, not even the limit of {shown_value(limit, path)}."
    if record.ending == "at_limit":
        yield "That is the limit of the search; nothing beyond it was tried."
    if record.ending == "steps":
        yield f"The search ended after {len(record.steps)} runs, before the answer was as narrow as asked."
    yield from _down_lines(record)


def _stair_lines(record: SearchRecord) -> Iterator[str]:
    """The conforming rate of each objective."""
    bound = record.bound
    if bound is None:
        yield "The high bound is not known yet."
        return
    yield f"High bound: {per_second(bound)}"
    for text, found in record.conforming.items():
        ends = [f"held up to {per_second(found.held)}, {percent(found.held / bound)} of it"] if found.held else []
        ends += [f"did not hold at {per_second(found.broke)}"] if found.broke else []
        ends += ["held at every step"] if found.held and not found.broke else []
        yield f"{plain(text)}: {'; '.join(ends) or UNKNOWN}"


def _down_lines(record: SearchRecord) -> Iterator[str]:
    """What the way down says."""
    tried, found, again = record.trials("down"), record.answer, record.held_again
    if not tried or found.held is None:
        return
    if again is None:
        yield f"After overload it did not hold again, down to {shown_value(tried[-1].value, record.path)} (hysteresis)."
    elif again >= found.held:
        yield f"After overload it held again at {shown_value(again, record.path)}."
    else:
        less = percent(1 - again / found.held)
        yield f"After overload it held again at {shown_value(again, record.path)} only, {less} less (hysteresis)."


def _figures(step: SearchStep) -> str:
    told = [
        f"{plain(text)}: {'infinite' if value is None else significant(value)}" for text, value in step.figures.items()
    ]
    return f"  [{'; '.join(told)}]" if told else ""
