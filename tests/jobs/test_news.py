"""What crosses between a driver and its parent."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.query import Advance, Happened, Looked, News, Progress, QuerySpec
from streamgauge.jobs import news
from streamgauge.jobs.gateway import properties
from streamgauge.jobs.news import Processes


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
