"""Signals during a run: noted, and acted upon at the next tick, instead of breaking off in the middle."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from streamgauge.domain.errors import CtrlC
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.terminal import silence, terminals


@contextmanager
def noted(interrupts: Interrupts, progress: Callable[[str], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the run, and at once when they come again; so does a terminal that is closed, once.

    Outside of the load they stop it at once. Once `interrupts.breaks` is set, they raise CtrlC where they come.
    """
    shown = terminals()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        interrupts.note()
        if interrupts.breaks:
            raise CtrlC
        progress("stopping at once" if interrupts.at_once else "stopping; press Ctrl-C again to stop at once")

    def hang_up(_signal: int, _frame: FrameType | None) -> None:
        silence(shown)
        # A shell passes on what the kernel has told everyone already: twice is not impatience.
        if interrupts.count == 0:
            interrupts.note()
            if interrupts.breaks:
                raise CtrlC

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop}
    # Who says `nohup` has it ignored, and wants that.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handlers[signal.SIGHUP] = hang_up
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
