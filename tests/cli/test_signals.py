"""Signals of a run: what they are counted as, and that nothing of it is left afterwards."""

import os
import signal
from collections.abc import Iterator, Sequence

import pytest

from streamgauge.domain.errors import CtrlC
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.runs.interrupts import noted

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Whatever a test does to them, the handlers are those that were there before; `nohup` may have started us."""
    before = {number: signal.getsignal(number) for number in HEARD}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("sent", "count", "said"),
    [
        ((), 0, []),
        ((signal.SIGINT,), 1, ["stopping; press Ctrl-C again to stop at once"]),
        ((signal.SIGTERM, signal.SIGINT), 2, ["stopping; press Ctrl-C again to stop at once", "stopping at once"]),
        ((signal.SIGHUP,), 1, []),
        ((signal.SIGHUP, signal.SIGHUP), 1, []),
        ((signal.SIGHUP, signal.SIGTERM), 2, ["stopping at once"]),
        ((signal.SIGINT, signal.SIGHUP), 1, ["stopping; press Ctrl-C again to stop at once"]),
    ],
)
def test_what_a_signal_counts_as(sent: Sequence[signal.Signals], count: int, said: Sequence[str]) -> None:
    """A closed terminal is never impatience, and there is nobody to say something to."""
    interrupts, heard = Interrupts(), list[str]()
    interrupts.begin_load()
    before = [signal.getsignal(number) for number in HEARD]

    with noted(interrupts, heard.append):
        for number in sent:
            os.kill(os.getpid(), number)

    assert (interrupts.count, heard) == (count, said)
    assert [signal.getsignal(number) for number in HEARD] == before


def test_before_the_load_the_first_signal_stops_at_once() -> None:
    interrupts, heard = Interrupts(), list[str]()

    with noted(interrupts, heard.append):
        os.kill(os.getpid(), signal.SIGTERM)

    assert (interrupts.count, heard) == (1, ["stopping at once"])


def test_nohup_is_heeded() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupts = Interrupts()

    with noted(interrupts, lambda _text: None):
        os.kill(os.getpid(), signal.SIGHUP)

    assert interrupts.count == 0


@pytest.mark.parametrize("number", HEARD)
def test_once_nobody_looks_at_the_count_a_signal_breaks_off(number: signal.Signals) -> None:
    """It is counted all the same: what is raised while objects are collected is lost."""
    interrupts, heard = Interrupts(), list[str]()

    with noted(interrupts, heard.append):
        interrupts.breaks = True
        with pytest.raises(CtrlC):
            os.kill(os.getpid(), number)

    assert (interrupts.count, heard) == (1, [])
