"""The findings as people read them: what stands in the way first, and commands that can be copied."""

import math

import pytest

from streamgauge.report.pages.fitness import diagnosis
from streamgauge.verdict.fitness import Finding, Machine, findings

FOUND = [
    Finding("python", "ok", "3.12.4", "The workers run on it."),
    Finding("steal", "unknown", "macOS has no equivalent", "It would be seen as latency."),
    Finding("cores", "warn", "2", "The tails are longer.", "Measure elsewhere"),
    Finding("java", "fail", "PATH: nothing found", "Nothing can be started.", "brew install openjdk@17"),
]
TEXT = """\
NOT READY  to measure on this machine; 1 fail, 1 warn, 1 ok, 1 unknown

  fail     java    PATH: nothing found
                   Nothing can be started.
  warn     cores   2
                   The tails are longer.
  ok       python  3.12.4
                   The workers run on it.
  unknown  steal   macOS has no equivalent
                   It would be seen as latency.

Remedies:
  java: brew install openjdk@17
  cores: Measure elsewhere"""
ALL_WRONG = Machine(
    python="3.9.1",
    java_fault="version 17 or newer is needed, but found " + "/a/long/path" * 20,
    jars_missing=9,
    jars_folder="/cache/jars",
    cores=1,
    cpu_limit_cores=0.5,
    memory_bytes=1,
    memory_available_bytes=1,
    memory_limit_bytes=1,
    disk_free_bytes=1,
    open_files=1,
    open_files_hard=math.inf,
    clock_source="hpet",
    clock_sources=("tsc", "hpet"),
    timer_slack_ns=1_000_000,
    huge_pages="always",
    governors=("powersave",),
    steal_share=0.5,
    calibrations=(),
)


def test_what_stands_in_the_way_comes_first() -> None:
    assert diagnosis(FOUND, colour=False, width=100) == TEXT


def test_where_nothing_is_to_be_mended_nothing_is_said_of_it() -> None:
    text = diagnosis(FOUND[:1], colour=False, width=100)

    assert text.splitlines()[0] == "READY  to measure on this machine; 1 ok"
    assert "To mend" not in text


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_is_cut_off_and_commands_stay_whole(width: int) -> None:
    """Commands have a hundred columns for themselves, however narrow the terminal."""
    found = findings(ALL_WRONG)
    text = diagnosis(found, colour=False, width=width)
    table, _, commands = text.partition("Remedies:\n")

    assert {each.status for each in found} == {"warn", "fail"}
    assert max(map(len, table.splitlines())) <= width
    assert max(map(len, commands.splitlines())) <= 100
    assert "…" not in text
    assert all(f"{each.name}: {each.remedy}" in commands for each in found)


def test_a_path_is_no_markup_and_moves_no_cursor() -> None:
    text = diagnosis([Finding("jars", "ok", "all in /[bold]a\x1b[2J", "x")], colour=False)

    assert "all in /[bold]a?[2J" in text


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """None into a file or pipe; NO_COLOR takes it away on a terminal too."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    red = "\x1b[1;31mNOT READY"

    assert "\x1b" not in diagnosis(FOUND)
    assert red in diagnosis(FOUND, colour=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert red not in diagnosis(FOUND, colour=True)


@pytest.mark.parametrize(("columns", "width"), [("40", 80), ("90", 90), ("200", 100)])
def test_a_terminal_gives_the_width_within_limits(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    """A pipe has none to give: there lines are as long as may be."""
    found = findings(ALL_WRONG)
    monkeypatch.setenv("COLUMNS", columns)
    assert diagnosis(found, colour=False) == diagnosis(found, colour=False, width=100)

    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert diagnosis(found, colour=False) == diagnosis(found, colour=False, width=width)
