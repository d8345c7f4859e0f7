"""The command `check`: whether runs are worse than those of a baseline by more than they may be."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.report.compare.ci import OUTCOMES, annotations, gates_markdown, junit
from streamgauge.report.compare.gates import Gates, WorseLimit, parse_limit
from streamgauge.report.pages.page import plain
from streamgauge.runs.results.compared import gated
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
    found = gated(folders, baseline, _limits(limits))
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
