"""Programs that specifications name, carried out: what they tell, and what ends them."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from streamgauge.foreign.specs.write.programs import ProgramCommand, ProgramOutput, ProgramRun
from streamgauge.runs.foreign.programs import ProgramsEnded, ProgramStatus, run_programs, shown_command


def program(name: str, code: str, **more: Any) -> ProgramRun:
    """A run of a few lines of Python, whose output has a figure `p99_ms`."""
    output = ProgramOutput(patterns=(r"p99 (?P<ack_service_p99_ms>\d+)",))
    return ProgramRun(
        name, "mine", ProgramCommand("run.cmd", (sys.executable, "-S", "-c", code)), output=output, **more
    )


def ran(runs: Iterable[ProgramRun], tmp_path: Path) -> ProgramsEnded:
    return run_programs(list(runs), tmp_path / "runs", ["streamgauge", "run", "x"], lambda _: None)


@pytest.mark.parametrize(
    ("lines", "status", "error", "said"),
    [
        (["no JSON"], None, "", ["no JSON"]),
        (["[1]", "7"], None, "", ["[1]", "7"]),
        (['{"status": 1}', '{"status": {"a": 2}}'], {"a": 2}, "", []),
        (['{"log": "begins\\u001b", "status": 3}'], 3, "", ["begins?"]),
        (['{"error": "first"}', '{"error": "second"}'], None, "first", []),
        (["[" * 100_000], None, "", [f"{'[' * 80}..."]),
    ],
)
def test_what_a_program_tells(lines: list[str], status: Any, error: str, said: list[str]) -> None:
    """The last status, the first error, and everything else as it is."""
    heard, told = ProgramStatus(), list[str]()
    ends = [heard.hear(line, told.append) for line in lines]

    assert (heard.status, heard.error, told) == (status, error, said)
    assert ends == ['"error"' in line for line in lines]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bench --rate 5", "bench --rate 5"),
        ("a\nb\x1b[2J", "a?b?[2J"),
        ("bench --set sasl.password=hunter2", "bench ***"),
    ],
)
def test_a_command_as_a_terminal_is_shown_it(text: str, shown: str) -> None:
    assert shown_command(text) == shown


def test_a_run_that_fails_ends_the_others(tmp_path: Path) -> None:
    """Those before it have their run folders."""
    marker = tmp_path / "started"
    ended = ran(
        [
            program("first", "print('p99 7')"),
            program("second", "import sys; sys.exit('no broker')"),
            program("third", f"open({str(marker)!r}, 'w')"),
        ],
        tmp_path,
    )

    assert ended.last.failure == "second: run.cmd exited with return code 1: no broker"
    assert not ended.last.is_interrupted
    assert not marker.exists()
    [kept] = ended.kept
    assert json.loads(kept.folder.result.read_text())["latency"]["ack"]["service"]["p99_ms"] == 7.0


def test_what_comes_after_a_run_is_done_whatever_became_of_it(tmp_path: Path) -> None:
    marker = tmp_path / "cleaned"
    after = program("after", f"open({str(marker)!r}, 'w')").command
    assert after
    ended = ran([program("mine", "import sys; sys.exit(3)", after=(after,))], tmp_path)

    assert (ended.last.error, ended.kept) == ("run.cmd exited with return code 3", ())
    assert marker.exists()
