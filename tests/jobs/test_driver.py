"""What a driver is told."""

import os
from collections.abc import Iterator

import pytest

from streamgauge.jobs.driver import Orders

Pipe = tuple[Orders, int]


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
