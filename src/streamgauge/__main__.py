"""The program's start: what Ctrl-C means before anything else is loaded, and wherever nobody says otherwise."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Final

from streamgauge.domain.errors import CtrlC

_INTERRUPTED: Final = 130


@contextlib.contextmanager
def loading() -> Iterator[None]:
    """Nothing has been started yet: Ctrl-C ends the process at once, without a traceback."""
    signal.signal(signal.SIGINT, lambda _signal, _frame: os._exit(_INTERRUPTED))
    yield
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise CtrlC


def main() -> None:
    """Run the command line."""
    with loading():
        from streamgauge.cli.main import main as program
    with interruptible():
        program()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends what is done here, after what it must clear away, with the exit code of an interruption.

    Afterwards it means nothing any more: the interpreter that ends would die of it, and the exit code be lost.
    """
    try:
        yield
    except CtrlC:
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()
