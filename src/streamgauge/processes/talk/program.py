"""A program of somebody else: started, listened to, and ended in time, with all that it started."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND

_TICK_SECONDS: Final = 0.02
_MOST_OUTPUT: Final = 256 << 20
"""Bytes of standard output, or a program without end would fill the disk."""
_FLOOD: Final = f"wrote more than {_MOST_OUTPUT >> 20} MiB to its standard output"


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended."""

    code: int | None
    """Its exit code, negative for a signal; None where it could not be started."""
    problem: str = ""
    """What went wrong besides its exit code, which follows its name; empty for nothing."""
    is_late: bool = False
    """Whether its time was over."""
    is_stopped: bool = False
    """Whether it was asked to end, by what it said or by the user."""


def carry_out(
    words: Sequence[str],
    out: Path,
    errors: Path,
    *,
    folder: str | None = None,
    environment: Mapping[str, str],
    line: str | None = None,
    limit_s: float,
    grace_s: float,
    hears: Callable[[str], bool],
    is_stopped: Callable[[], bool],
) -> ProgramEnd:
    """Run a program until it ends, its time is over, or it is stopped: first by SIGTERM, after the grace by SIGKILL.

    `hears` is told every line of its standard output, and says whether it is to end. `line` is written to its standard
    input, which stays open; without one it has none. Standard output and errors are also kept in these files.
    """
    before = clock.monotonic_ns()
    try:
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
        with out.open("wb") as told, errors.open("wb") as wrong:
            process = subprocess.Popen(
                list(words),
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL if line is None else subprocess.PIPE,
                stdout=told,
                stderr=wrong,
                # It leads a group of its own, so that what it starts can be ended with it, and Ctrl-C is ours to hear.
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        return ProgramEnd(None, f"cannot be started: {getattr(error, 'strerror', None) or error}")
    try:
        if line is not None:
            _say(process, line)
        with out.open("rb") as said:
            return _listen(process, said, before + round(limit_s * NS_PER_SECOND), grace_s, hears, is_stopped)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()


def _listen(
    process: "subprocess.Popen[bytes]",
    said: IO[bytes],
    until_ns: int,
    grace_s: float,
    hears: Callable[[str], bool],
    is_stopped: Callable[[], bool],
) -> ProgramEnd:
    rest, kill_ns = b"", None
    is_late = stopped = is_flood = False
    while True:
        code, now = process.poll(), clock.monotonic_ns()
        rest, wants_end = _heard(rest + said.read(), hears, is_last=code is not None)
        if code is not None:
            return ProgramEnd(code, _FLOOD if is_flood else "", is_late=is_late, is_stopped=stopped)
        is_flood = is_flood or said.tell() > _MOST_OUTPUT
        if kill_ns is None and (wants_end or now >= until_ns or is_stopped() or is_flood):
            is_late, stopped = now >= until_ns, now < until_ns
            _signal(process, signal.SIGTERM)
            kill_ns = now + round(grace_s * NS_PER_SECOND)
        elif kill_ns is not None and now >= kill_ns:
            _signal(process, signal.SIGKILL)
        clock.sleep_seconds(_TICK_SECONDS)


def _heard(data: bytes, hears: Callable[[str], bool], *, is_last: bool) -> tuple[bytes, bool]:
    """What is left of a line that is not complete, and whether a complete one asks for the end."""
    *lines, rest = data.split(b"\n")
    if is_last and rest:
        lines, rest = [*lines, rest], b""
    # Every line is told, also behind one that asks for the end.
    answers = [hears(line.decode(errors="replace")) for line in lines]
    return rest, any(answers)


def _say(process: "subprocess.Popen[bytes]", line: str) -> None:
    """Write one line, which a pipe takes whether it is read or not."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
