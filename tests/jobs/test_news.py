"""What crosses between a driver and its parent."""

import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.query import Advance, Happened, Looked, News, Progress, QuerySpec
from streamgauge.jobs import news
from streamgauge.jobs.gateway import properties
from streamgauge.jobs.news import Orders, Processes

Pipe = tuple[Orders, int]


@pytest.mark.parametrize(
    "told",
    [
        Progress(5, 1, 2, {"rows": 3, "input_per_second": 0.5, "late_rows": None}, [Advance(0, 1, 2, None)]),
        Looked(5, "driver", {"tasks": 3}),
        Happened(5, "failed", 'a "reason"\nin two lines'),
        Happened(5, "ready", processes={"driver": 17}),
        Processes({"driver": 17, "executor-0": 18}),
    ],
)
def test_news_come_as_they_went(told: News | Processes) -> None:
    line = news.written(told)

    assert "\n" not in line
    assert news.read(line) == told


def test_an_order_comes_as_it_went(make_spec: Callable[..., QuerySpec]) -> None:
    spec = make_spec(options={"window": 5}, settings={"spark.ui.enabled": True}, jars=("a.jar",), master="spark://a:1")

    assert news.read_order(news.order(spec, "/scratch")) == (spec, "/scratch")


def unescaped(text: str) -> dict[str, str]:
    """What Java reads in a file of properties in which nothing but codes has a meaning."""
    pairs = (line.split("=") for line in text.split("\n")[:-1])
    return {_decoded(name): _decoded(value) for name, value in pairs}


def _decoded(text: str) -> str:
    parts = text.split("\\u")
    units = parts[0].encode("utf-16-be") + b"".join(
        int(part[:4], 16).to_bytes(2) + part[4:].encode("utf-16-be") for part in parts[1:]
    )
    return units.decode("utf-16-be")


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_settings_come_to_java_as_they_are(settings: dict[str, str]) -> None:
    text = properties(settings)

    assert text.isascii()
    assert unescaped(text) == settings


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
