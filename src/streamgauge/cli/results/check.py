"""The command `check`: whether runs are worse than those of a baseline by more than they may be."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from streamgauge.cli.results.given import one_side
from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.report.compare.answers import figure_of
from streamgauge.report.compare.ci import OUTCOMES, annotations, gates_markdown, junit
from streamgauge.report.compare.gates import Gates, WorseLimit, gates, parse_limit
from streamgauge.report.pages.page import plain
from streamgauge.result import Result
from streamgauge.verdict.exits import Exit


def check(
    folders: Sequence[Path],
    baseline: Sequence[Path],
    limits: Sequence[str],
    *,
    as_json: bool,
    junit_file: Path | None,
    out: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
) -> Exit:
    """Compare runs with a baseline; returns the exit code. In GitHub Actions, also annotate and write its summary.

    Raises BadInput where runs or limits cannot be used, or a file cannot be written.
    """
    environment = os.environ if environment is None else environment
    wanted = _limits(limits)
    before, now = one_side(baseline, "--baseline"), one_side(folders, "RUN")
    _check_figures(wanted, [run for each in (*before, *now) for run in each.runs])
    found = gates(before, now, wanted)
    if junit_file:
        _write(junit_file, junit(found), "--junit")
    if summary := environment.get("GITHUB_STEP_SUMMARY"):
        _write(Path(summary), gates_markdown(found), "GITHUB_STEP_SUMMARY", mode="a")
    if as_json:
        out(json.dumps(found.document(), indent=2))
        return found.code
    out(_text(found))
    if environment.get("GITHUB_ACTIONS") == "true":
        for line in annotations(found):
            out(plain(line))
    return found.code


def _limits(texts: Sequence[str]) -> list[WorseLimit]:
    found: list[WorseLimit] = []
    faults: list[Fault] = []
    for text in texts:
        try:
            found.append(parse_limit(text))
        except BadValue as error:
            faults.append(error.at("--max-worse", plain(text)))
    if faults:
        raise BadInput(faults)
    return found


def _check_figures(limits: Sequence[WorseLimit], runs: Sequence[Result]) -> None:
    """Refuse figures that no run has: a gate that looks at nothing would never close."""
    unknown = [each for each in limits if not any(figure_of(run, each.path(runs)) is not None for run in runs)]
    if unknown:
        mend = "Use p50, p99, p99.9, max, sent, acked, received, or the path of a number in result.json"
        raise BadInput(
            [Fault("--max-worse", f"{plain(each.figure)}: no run has this figure", mend) for each in unknown]
        )


def _text(found: Gates) -> str:
    lines = [f"{OUTCOMES[each.gate.outcome]:9}  {plain(each.sentence)}" for each in found.gated]
    lines += [
        f"differs    {each.about} {plain(each.name)}: baseline {plain(each.values[0])}, now {plain(each.values[1])}"
        for each in found.differences
    ]
    return "\n".join(lines)


def _write(path: Path, text: str, option: str, mode: str = "w") -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        what = f"{plain(str(path))} cannot be written: {error.strerror}"
        raise BadInput.single(option, what, "Name a file in a folder that exists and can be written") from error
