"""A process and its parent, through a pipe and through real processes."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.waiting import until

from streamgauge.domain.query import Happened, News
from streamgauge.processes.talk.lines import Child, Orders, Told

Pipe = tuple[Orders, int]
Start = Callable[..., Child]

ECHO = """
import os, sys
from streamgauge.domain.query import Happened
from streamgauge.processes.talk.lines import Orders, Told
orders, told = Orders(sys.stdin.fileno()), Told(sys.stdout.fileno())
print("words for the log", file=sys.stderr, flush=True)
told.tell(Happened(1, orders.first()))
lines = []
while "stop" not in lines:
    lines = orders.next(heard=False) or orders.next(heard=True)
    for line in lines:
        told.tell(Happened(2, line))
"""
"""Tells what it is told, until it is to stop."""


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Orders, and where they are written."""
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb"), os.fdopen(writes, "wb", buffering=0):
        yield Orders(reads), writes


def test_lines_come_as_they_were_written(pipe: Pipe) -> None:
    """Those behind the first in one piece with it are not lost; half a line waits for its other half."""
    orders, told = pipe
    os.write(told, b"first\nlimit 5\nst")

    assert orders.first() == "first"
    assert orders.next(heard=False) == ["limit 5"]
    assert orders.next(heard=False) == []
    os.write(told, b"op\nlimit 7\n")
    assert orders.next(heard=True) == ["stop", "limit 7"]


def test_the_end_of_all_orders_is_one_to_stop() -> None:
    """Half an order is none."""
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb"):
        os.write(writes, b"first\nlimit")
        os.close(writes)
        orders = Orders(reads)
        assert orders.first() == "first"
        assert orders.next(heard=True) == ["stop"]


def test_orders_that_came_early_are_not_waited_for(pipe: Pipe) -> None:
    orders, told = pipe
    os.write(told, b"first\nlimit 5\nstop\n")
    orders.first()

    orders.await_stop()


def test_news_to_a_parent_that_is_gone_are_heard_by_nobody() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "wb"):
        Told(writes).tell(Happened(1, "ready"))


class Heard:
    """What a child has told so far."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.news: list[News] = []

    def all(self, count: int) -> list[str]:
        """Wait for so many news: their words."""
        until(lambda: self._more() >= count)
        return [each.what for each in self.news if isinstance(each, Happened)]

    def _more(self) -> int:
        self.news += self._child.news()
        return len(self.news)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts children that carry out a text, and ends them."""
    children: list[Child] = []

    def begin(text: str = ECHO, order: str = "first") -> Child:
        children.append(Child(["-c", text]))
        children[-1].start(order, tmp_path / "log")
        return children[-1]

    yield begin
    for child in children:
        child.close()


def test_it_tells_what_it_is_told(start: Start, tmp_path: Path) -> None:
    """Also a first order that no pipe takes at once."""
    long = "x" * 300_000
    child = start(order=long)
    child.say("limit 5")
    heard = Heard(child)
    assert heard.all(2) == [long, "limit 5"]
    assert (child.alive(), child.exit_code) == (True, None)

    child.say("stop")

    until(lambda: not child.alive())
    assert heard.all(3)[2:] == ["stop"]
    assert child.exit_code == 0
    assert (tmp_path / "log").read_text() == "words for the log\n"


def test_one_that_has_died_is_still_heard_and_hears_nothing(start: Start) -> None:
    """What it told last before somebody killed it is news; half a line is not."""
    text = ECHO + "os.write(1, b'half a li')\nos.kill(os.getpid(), 9)"
    child = start(text)
    child.say("stop")
    until(lambda: not child.alive())

    child.say("limit 5")
    child.say("limit 6")

    assert Heard(child).all(2) == ["first", "stop"]
    assert child.news() == []
    assert child.exit_code == -signal.SIGKILL


def test_it_is_started_again(start: Start, tmp_path: Path) -> None:
    """And the half of a line that the one before left is no part of what it tells."""
    child = start(ECHO + "os.write(1, b'half a li')")
    before = child.pid
    child.say("stop")
    until(lambda: not child.alive())
    assert len(child.news()) == 2

    child.start("second", tmp_path / "log")

    assert Heard(child).all(1) == ["second"]
    assert child.pid != before
    assert (tmp_path / "log").read_text() == "words for the log\n" * 2


def test_what_it_started_ends_with_it(start: Start) -> None:
    """A grandchild holds on to its pipes, and is killed with it."""
    text = (
        "import subprocess, sys\n"
        "from streamgauge.processes.talk.news import Processes\n"
        "from streamgauge.processes.talk.lines import Told\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'])\n"
        "Told(sys.stdout.fileno()).tell(Processes({'grandchild': child.pid}))\n"
        "child.wait()\n"
    )
    child = start(text)
    until(lambda: child.news() or child.processes())
    assert child.processes().keys() == {"grandchild"}
    grandchild = psutil.Process(child.processes()["grandchild"])

    child.kill()

    assert psutil.wait_procs([grandchild], 20)[1] == []
    assert not child.alive()
    assert child.exit_code == -signal.SIGKILL
    assert child.processes() == {}


def test_one_that_was_never_started() -> None:
    child = Child(["-c", ECHO])

    child.say("stop")
    child.close()

    assert (child.alive(), child.exit_code, child.pid, child.news()) == (False, None, None, [])


def test_one_that_was_let_go_says_nothing(start: Start) -> None:
    child = start()
    Heard(child).all(1)

    child.close()
    child.close()
    child.say("stop")

    assert (child.alive(), child.news()) == (False, [])
