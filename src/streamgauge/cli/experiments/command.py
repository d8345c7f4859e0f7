"""The commands `experiment` and `sweep`."""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.cli.display import display_of
from streamgauge.cli.experiments.printed import one_form, plan_text, print_ended, step_document
from streamgauge.cli.experiments.search import search
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.bars import signs_of
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.runs.experiment.conduct import conduct, go_on
from streamgauge.runs.experiment.lines import step_text
from streamgauge.runs.experiment.request import ExperimentRequest, experiment_of, sweep_of
from streamgauge.runs.experiment.search.shipped import described_experiments, shipped_search
from streamgauge.runs.experiment.told import ExperimentEnded, ExperimentStep, ExperimentView
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display, Quiet, is_live

Out = Callable[[str], None]


def experiment(
    source: str | None,
    resume: Path | None,
    vary: Sequence[str],
    options: RunOptions,
    changes: Mapping[str, Any],
    *,
    dry_run: bool,
    as_json: bool,
    json_lines: bool,
    quiet: bool,
    out: Out,
) -> Exit:
    """Carry out an experiment, or what is left of one; without either, list those that are shipped. A search that is
    shipped is carried out as one.

    Raises BadInput before anything starts.
    """
    one_form(as_json=as_json, json_lines=json_lines)
    if resume is not None:
        for option, given in (("--dry-run", dry_run), ("--vary", vary)):
            if given:
                raise BadInput.single(option, "cannot be combined with --resume", "Leave one of them out")
        ended = go_on(
            ExperimentFolder(resume), source, options, changes, _view(out, json_lines=json_lines, quiet=quiet)
        )
        return _printed(ended, as_json=as_json, json_lines=json_lines, out=out)
    if source is None:
        out(described_experiments(as_json=as_json))
        return Exit.DONE
    if shipped_search(source):
        _check_of_search(source, vary, changes)
        return search(
            source, None, {}, options, dry_run=dry_run, as_json=as_json, json_lines=json_lines, quiet=quiet, out=out
        )
    request = experiment_of(source, options, changes, vary)
    return _carried_out(request, dry_run=dry_run, as_json=as_json, json_lines=json_lines, quiet=quiet, out=out)


def sweep(
    scenario: str,
    vary: Sequence[str],
    options: RunOptions,
    changes: Mapping[str, Any],
    *,
    dry_run: bool,
    as_json: bool,
    json_lines: bool,
    quiet: bool,
    out: Out,
) -> Exit:
    """Carry out the experiment that varies these settings of a scenario; raises BadInput before anything starts."""
    one_form(as_json=as_json, json_lines=json_lines)
    request = sweep_of(scenario, vary, options, changes)
    return _carried_out(request, dry_run=dry_run, as_json=as_json, json_lines=json_lines, quiet=quiet, out=out)


def _check_of_search(name: str, vary: Sequence[str], changes: Mapping[str, Any]) -> None:
    """Refuse options that only variants have; raises BadInput."""
    wrong = [*(["--vary"] if vary else []), *(f"--{key}" for key in changes)]
    if wrong:
        what = "has no place in a search, which has no variants"
        raise BadInput([Fault(each, what, f"Leave it out, or see streamgauge search {name} --help") for each in wrong])


def _carried_out(
    request: ExperimentRequest, *, dry_run: bool, as_json: bool, json_lines: bool, quiet: bool, out: Out
) -> Exit:
    if dry_run:
        out(plan_text(request, as_json=as_json))
        return Exit.DONE
    ended = conduct(request, _view(out, json_lines=json_lines, quiet=quiet), sys.argv)
    return _printed(ended, as_json=as_json, json_lines=json_lines, out=out)


def _printed(ended: ExperimentEnded, *, as_json: bool, json_lines: bool, out: Out) -> Exit:
    if not json_lines:
        print_ended(ended, as_json=as_json, out=out)
    return ended.code


def _view(out: Out, *, json_lines: bool, quiet: bool) -> ExperimentView:
    """Lines of progress on standard error; on a terminal each run is shown live, too."""
    said = display_of(quiet=quiet)
    live = is_live(os.environ, terminal=sys.stderr.isatty()) and not quiet
    signs = signs_of(terminal=live, term=os.environ.get("TERM", ""), encoding=sys.stderr.encoding or "")

    def step(each: ExperimentStep) -> None:
        said.say(step_text(each, signs))
        if json_lines and each.run.outcome != "under_way":
            out(json.dumps(step_document(each)))

    def shown(request: Request) -> Display:
        return display_of(request.target_per_second) if live else Quiet()

    return ExperimentView(said.say, step, shown)
