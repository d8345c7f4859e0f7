"""Programs of others are started, heard and ended."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamgauge.processes.talk.program import ProgramEnd, carry_out


def end_of(
    code: str, tmp_path: Path, hears: Callable[[str], bool] = lambda _: False, stopped: bool = False, **given: Any
) -> ProgramEnd:
    asked: dict[str, Any] = {"environment": {}, "limit_s": 20.0, "grace_s": 5.0, **given}
    words = (sys.executable, "-S", "-c", code)
    return carry_out(words, tmp_path / "out", tmp_path / "err", hears=hears, is_stopped=lambda: stopped, **asked)


def test_what_it_says_is_heard_and_kept(tmp_path: Path) -> None:
    """Also a last line without an end."""
    heard: list[str] = []

    def hear(line: str) -> bool:
        heard.append(line)
        return False

    said = (
        "import os,sys; print(input(), os.getcwd(), os.environ['A']); sys.stdout.write('last');"
        " print(1, file=sys.stderr)"
    )

    end = end_of(
        said, tmp_path, hear, line="hello", folder=str(tmp_path / "new"),
        environment={"A": "b"},
    )  # fmt: skip

    assert end == ProgramEnd(0)
    assert heard == [f"hello {tmp_path}/new b", "last"]
    assert (tmp_path / "err").read_text() == "1\n"


def test_a_line_that_asks_for_the_end_is_obeyed(tmp_path: Path) -> None:
    end = end_of("import time; print('end', flush=True); time.sleep(60)", tmp_path, lambda line: line == "end")

    assert (end.code, end.is_stopped, end.is_late) == (-15, True, False)


def test_its_time_is_limited(tmp_path: Path) -> None:
    """By the signal that cannot be ignored where the other one is."""
    deaf = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"

    end = end_of(deaf, tmp_path, limit_s=0.5, grace_s=0.1)

    assert (end.code, end.is_late, end.is_stopped) == (-9, True, False)


def test_the_user_ends_it(tmp_path: Path) -> None:
    assert end_of("import time; time.sleep(60)", tmp_path, stopped=True).is_stopped


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    end = carry_out(
        ["no-such-program"], tmp_path / "o", tmp_path / "e", environment={}, limit_s=1, grace_s=1,
        hears=lambda _: False, is_stopped=lambda: False,
    )  # fmt: skip

    assert end == ProgramEnd(None, "cannot be started: No such file or directory")


@pytest.mark.parametrize("code", [0, 3])
def test_its_exit_code_is_known(code: int, tmp_path: Path) -> None:
    assert end_of(f"raise SystemExit({code})", tmp_path).code == code
