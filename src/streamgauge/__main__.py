"""The program's start: what Ctrl-C, SIGTERM and a closed terminal mean wherever nobody says otherwise."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Final

from streamgauge.domain.errors import CtrlC
from streamgauge.processes.terminal import silence, terminals

_INTERRUPTED: Final = 130


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Nothing has been started yet: Ctrl-C ends the process at once, without a traceback."""
    signal.signal(signal.SIGINT, lambda _signal, _frame: os._exit(_INTERRUPTED))
    yield
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    # Who says `nohup` has it ignored, and wants that.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _hang_up)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise CtrlC


def _hang_up(_signal: int, _frame: FrameType | None) -> None:
    silence(terminals())
    raise CtrlC


def main() -> None:
    """Run the command line."""
    with loading():
        from streamgauge.cli.main import main as program
    with interruptible():
        program()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """A signal ends what is done here, after what it must clear away, with the exit code of an interruption.

    Afterwards none means anything any more: the interpreter that ends would die of it, and the exit code be lost.
    """
    try:
        yield
    except CtrlC:
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
