"""The command `search`."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from streamgauge.cli.display import display_of
from streamgauge.cli.experiments.printed import one_form
from streamgauge.domain.errors import BadInput
from streamgauge.experiments.paths import SearchFolder
from streamgauge.experiments.search.record import SearchStep
from streamgauge.experiments.search.words import answer_lines, shown_figure
from streamgauge.report.pages.page import plain
from streamgauge.runs.experiment.lines import step_line
from streamgauge.runs.experiment.search.conduct import SearchEnded, SearchView, go_on
from streamgauge.runs.experiment.search.conduct import search as carry_out
from streamgauge.runs.experiment.search.outlook import outlook, outlook_lines
from streamgauge.runs.experiment.search.request import SearchOptions, search_of
from streamgauge.runs.experiment.search.results import search_document
from streamgauge.runs.experiment.search.shipped import of_shipped
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display, Quiet, is_live


def search(
    scenario: str | None,
    resume: Path | None,
    given: Mapping[str, Any],
    options: RunOptions,
    *,
    dry_run: bool,
    as_json: bool,
    json_lines: bool,
    quiet: bool,
    out: Callable[[str], None],
) -> Exit:
    """Carry out a search, or what is left of one; raises BadInput before anything starts."""
    one_form(as_json=as_json, json_lines=json_lines)
    if resume is None and scenario is None:
        raise BadInput.single("SCENARIO", "is missing", "Name a scenario, or a folder with --resume")
    if resume is not None and dry_run:
        raise BadInput.single("--dry-run", "cannot be combined with --resume", "Leave one of them out")
    request = None
    if resume is None:
        source, asked = of_shipped(str(scenario), given)
        request = search_of(source, SearchOptions(**asked), options)
    if request is not None and dry_run:
        out(json.dumps(outlook(request), indent=2) if as_json else "\n".join(map(plain, outlook_lines(request))))
        return Exit.DONE
    said, live = display_of(quiet=quiet), is_live(os.environ, terminal=sys.stderr.isatty()) and not quiet

    def step(each: SearchStep, path: str) -> None:
        said.say(step_line(each, path))
        if json_lines and each.outcome != "under_way":
            out(each.model_dump_json())

    def shown(asked: Request) -> Display:
        return display_of(asked.target_per_second) if live else Quiet()

    view = SearchView(said.say, step, shown)
    if request is not None:
        ended = carry_out(request, view, sys.argv)
    else:
        assert resume is not None
        ended = go_on(SearchFolder(resume), scenario, given, options, view)
    if not json_lines:
        out(json.dumps(search_document(ended.record), indent=2) if as_json else "\n".join(search_lines(ended)))
    return ended.code


def search_lines(ended: SearchEnded) -> Iterator[str]:
    """The answer on a terminal, and the steps that led to it."""
    record = ended.record
    yield from map(plain, answer_lines(record))
    yield ""
    for step in record.steps:
        yield f"  {step_line(step, record.path)}{_figures(step)}"
    yield ""
    yield f"Folder: {plain(str(ended.folder.root))}"
    if ended.folder.report.exists():
        yield f"Report: {plain(str(ended.folder.report))}"


def _figures(step: SearchStep) -> str:
    told = [f"{plain(text)}: {shown_figure(value)}" for text, value in step.figures.items()]
    return f"  [{'; '.join(told)}]" if told else ""
