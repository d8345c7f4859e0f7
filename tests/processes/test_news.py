"""What crosses between the process of a query and its parent."""

from collections.abc import Callable

import pytest

from streamgauge.domain.query import Advance, Happened, Looked, News, QueryProgress, QuerySpec
from streamgauge.processes.talk import news
from streamgauge.processes.talk.news import Processes


@pytest.mark.parametrize(
    "told",
    [
        QueryProgress(5, 1, 2, {"rows": 3, "input_per_second": 0.5, "late_rows": None}, [Advance(0, 1, 2, None)]),
        Looked(5, "driver", {"tasks": 3}),
        Happened(5, "failed", 'a "reason"\nin two lines'),
        Happened(5, "ready"),
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
