"""What is said while a run runs: lines, a table on a terminal, or nothing."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from streamgauge.domain.look import BUCKETS, Held, Look, WorkerLook
from streamgauge.watch.display import Display, Lines, Quiet, Unfailing, is_live
from streamgauge.watch.progress import in_one_line, progress
from streamgauge.watch.view import View, curve, table

SECOND = 1_000_000_000
NOTHING = np.zeros(BUCKETS, np.int64)
COUNTED = NOTHING + (np.arange(BUCKETS) == 70) * 10


def look(second: int, failed: int = 0) -> Look:
    """A healthy run, started at 0, measured from 5 s to 65 s."""
    count = second * 10_000
    workers = [
        WorkerLook("producer-0", "producer", True, count, count, failed, blocked_ns=0, cpu_ns=second * SECOND // 4),
        WorkerLook("consumer-0", "consumer", True, count, cpu_ns=second * SECOND // 8),
    ]
    return Look(
        second * SECOND, "measure" if second >= 5 else "warmup", 0, 5 * SECOND, 65 * SECOND, workers,
        COUNTED * second, COUNTED * second, idle_ns=second * SECOND, cores=2,
    )  # fmt: skip


def test_lines_come_now_and_then_and_warnings_once() -> None:
    """Every ten seconds; the same warning with other numbers is not new."""
    written: list[str] = []
    with Lines(10_000.0, written.append) as lines:
        lines.say("starting")
        for second in range(26):
            lines.show(look(second, failed=max(0, second - 11)))
    assert written[0] == "starting"
    assert written[1].startswith("measure 5/60 s  sent 10,000/s  acked 10,000/s  received 10,000/s  end-to-end p99")
    assert written[2] == "warning: failed messages: 1"
    assert [text.split("  ")[0] for text in written[3:]] == ["measure 15/60 s"]


def test_each_worker_that_dies_is_told_once() -> None:
    """The number in its name is no count; a count that reaches a thousand is the same warning."""
    written: list[str] = []
    lines = Lines(10_000.0, written.append)
    for second, dead in enumerate([1, 2, 2], start=6):
        workers = [WorkerLook(f"consumer-{at}", "consumer", at >= dead) for at in range(3)]
        lines.show(replace(look(second), workers=[*look(second, failed=10 ** (second - 4)).workers, *workers]))
    assert written == [
        "warning: consumer-0 has died",
        "warning: failed messages: 100",
        "warning: consumer-1 has died",
    ]


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Quiet() as quiet:
        quiet.say("starting")
        quiet.show(look(3))
    assert capsys.readouterr() == ("", "")


def screen(width: int = 80) -> tuple[io.StringIO, Console]:
    file = io.StringIO()
    return file, Console(file=file, width=width, force_terminal=True, color_system=None, legacy_windows=False)


def rendered(second: int, rates: list[float], failed: int = 0) -> list[str]:
    file, console = screen()
    console.print(table(progress(10_000.0, look(second - 1), look(second, failed), None), rates))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_the_table_says_how_far_how_fast_and_how_late() -> None:
    """Within 80 columns; what is wrong stands below."""
    lines = rendered(15, [5_000.0, 10_000.0], failed=3)
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].startswith("measure")
    assert lines[0].endswith("10 of 60 s, 50 s left")
    assert lines[1] == "rate           target 10,000/s  sent 10,000/s  acked 9,997/s  received 10,000/s"
    assert "▄█" in lines[2]
    assert lines[3] == "p50, p99 now   ack 7.86, 7.86 ms  end-to-end 7.86, 7.86 ms"
    text = "\n".join(lines)
    assert "outstanding" in text
    assert "producer 0.25   consumer 0.12   machine 50 % idle" in text
    assert lines[-1] == "  ! failed messages: 3"


@pytest.mark.parametrize(
    ("lag", "held", "in_view", "in_line"),
    [
        (None, None, [], ""),
        (0, None, ["committed lag  0"], "  committed lag 0"),
        (
            21_000,
            Held(20_000, paused=True),
            ["committed lag  21,000", "backpressure   producers paused, pause above 20,000"],
            "  committed lag 21,000  producers paused, pause above 20,000",
        ),
        (
            None,
            Held(9, paused=False),
            ["backpressure   producers not paused, pause above 9"],
            "  producers not paused, pause above 9",
        ),
        (
            None,
            Held(5_000, in_use=4_990),
            ["backpressure   credit 4,990 of 5,000 in use"],
            "  credit 4,990 of 5,000 in use",
        ),
    ],
)
def test_lag_and_what_holds_producers_back_are_shown(
    lag: int | None, held: Held | None, in_view: list[str], in_line: str
) -> None:
    """Where there are any, and as soon as they are known; a lag of nothing is known."""
    file, console = screen()
    said = progress(10_000.0, look(14), replace(look(15), lag=lag, held=held), None)
    console.print(table(said, []))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert [line for line in lines if line.startswith(("committed", "backpressure"))] == in_view
    assert in_one_line(said).partition("outstanding 0")[2] == in_line


def test_what_a_policy_holds_back_is_no_delay_of_the_producers() -> None:
    """Without one they are late."""
    late = replace(look(15), end_ns=65 * SECOND, workers=[WorkerLook("producer-0", "producer", True, 10, blocked_ns=0)])
    free, held = (progress(10_000.0, look(14), replace(late, held=each), None) for each in (None, Held(5, in_use=5)))
    assert [text for text in free.warnings if "behind schedule" in text]
    assert not [text for text in held.warnings if "behind schedule" in text]


def test_the_view_is_drawn_from_the_first_second_and_goes_at_the_end() -> None:
    """What was said stays; nothing of the table does."""
    file, console = screen()
    with View(10_000.0, console) as view:
        view.say("starting [bold]two[/bold] producers")
        view.show(replace(look(0), stage="starting"))
        assert "rate" not in file.getvalue()
        view.show(look(6))
        view.show(look(7))
        assert "received 10,000/s" in file.getvalue()
        view.say("draining")
    text = file.getvalue()
    assert "starting [bold]two[/bold] producers\n" in text
    assert "draining" in text
    # The last thing done is to clear the lines of the table.
    assert text.endswith("\x1b[2K")


@pytest.mark.parametrize("display", [Quiet(), Lines(None, lambda _: None), View(None, Console(file=io.StringIO()))])
def test_every_display_takes_whatever_comes(display: Display) -> None:
    """A run without a load, one that ends at once, one that never began."""
    alone = replace(look(3), workers=look(3).workers[1:], start_ns=None, measure_ns=None, end_ns=None)
    with display:
        for stage in ("starting", "warmup", "measure", "drain", "ending"):
            display.say(stage)
            display.show(replace(alone, stage=stage, at_ns=alone.at_ns + len(stage)))
            display.show(replace(look(3), stage=stage))


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([], ""),
        ([0.0, 0.0], ""),
        ([8.0], "█"),
        ([1.0, 2.0, 4.0, 8.0, 0.0], "▁▂▄█ "),
        ([0.001, 8.0], "▁█"),
    ],
)
def test_the_curve(rates: list[float], expected: str) -> None:
    """The highest fills its cell; nothing but zero is empty."""
    assert curve(rates) == expected
    assert curve(rates, ascii_only=True).isascii()


@pytest.mark.parametrize(
    ("environment", "terminal", "live"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm", "CI": "true"}, True, False),
        ({}, True, True),
    ],
)
def test_a_live_view_needs_a_terminal(environment: dict[str, str], terminal: bool, live: bool) -> None:
    assert is_live(environment, terminal=terminal) is live


class Gone:
    """A display whose terminal was closed."""

    def fail(self, *_: object) -> None:
        raise OSError(5, "Input/output error")

    say = show = __enter__ = __exit__ = fail


def test_a_run_goes_on_when_its_terminal_is_gone() -> None:
    """Nothing that is shown can fail it."""
    gone: Any = Gone()
    with Unfailing(gone) as display:
        display.say("on")
        display.show(look(1))
