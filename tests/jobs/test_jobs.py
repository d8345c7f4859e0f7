"""Each job against its oracle over the same rows: those without state on a frame, the others on a stream."""

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from tests.jobs.conftest import Frame, Row, Streamed, head

from streamgauge.domain import stamp
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.query import QuerySpec
from streamgauge.jobs import oracles, schema
from streamgauge.jobs.oracles import FirstAppearance, Message
from streamgauge.jobs.shipped.catalogue import JOBS, output_mode
from streamgauge.workload.payload import bodies

pytestmark = pytest.mark.spark

WINDOW = {"window": 10 * NS_PER_SECOND, "watermark": 5 * NS_PER_SECOND}
FAR_MS = 10_000_000
"""Event time of a message that closes every window before it."""


def lines(index: int, size: int = 200) -> bytes:
    return bodies.body("logline", 42, 0, index, size)


def history(count: int, seed: int = 1) -> list[Row]:
    """Messages with keys, of half a minute, in the order of their event times, some of them foreign."""
    draw = random.Random(seed)
    return [
        Row(
            key=draw.choice([None, b"", b"a", b"b"]),
            body=lines(seq, draw.randrange(400)),
            at_ms=seq * 30_000 // count,
            head=None if draw.random() < 0.1 else head(seq, due_ns=draw.randrange(10**15), sent_ns=10**15 - seq),
            partition=seq % 3,
        )
        for seq in range(count)
    ]


def messages(rows: Sequence[Row]) -> list[Message]:
    return [Message(row.key, row.body or b"", row.at_ms, row.head) for row in rows]


def job(name: str, options: Mapping[str, Any]) -> Callable[[DataFrame], DataFrame]:
    return lambda given: JOBS[name](given, options)


@pytest.mark.parametrize("in_headers", [False, True])
def test_the_stamp_of_each_message(frame: Frame, in_headers: bool) -> None:
    wrong = [head(0)[:39], b"\0" + head(0)[1:], b"", None]
    rows = [Row(b"k", b"body", head=head(5)), *[Row(None, text) for text in wrong]]
    given = frame(rows, in_headers=in_headers)

    assert [row.stamp for row in given.select("stamp").collect()] == [head(5), None, None, None, None]


def test_stamps_are_ordered_as_their_times_are(frame: Frame) -> None:
    draw = random.Random(3)
    times = [draw.randrange(2 ** draw.randrange(1, 63)) for _ in range(300)]
    heads = [head(seq, due_ns=ns, sent_ns=0) for seq, ns in enumerate(times)]
    heads += [head(seq, due_ns=2**62, sent_ns=ns + 1, scheduled=False) for seq, ns in enumerate(times)]
    given = frame([Row(None, b"", head=each) for each in heads]).select("stamp", schema.newness().alias("newness"))

    ordered = [bytes(row.stamp) for row in given.orderBy("newness", "stamp").collect()]

    assert ordered == sorted(heads, key=oracles._newness)


@pytest.mark.parametrize("in_headers", [False, True])
def test_pass_leaves_everything_as_it_is(frame: Frame, in_headers: bool) -> None:
    rows = [*history(50), Row(b"k", None), Row(None, b"short")]
    given = frame(rows, in_headers=in_headers)
    made = JOBS["pass"](given, {})

    assert made.columns == ["key", "value", *(["headers"] if in_headers else []), "partition"]
    assert made.collect() == given.select(made.columns).collect()


@pytest.mark.parametrize("text", ['" 500 ', "gauge"])
def test_filter(frame: Frame, make_spec: Callable[..., QuerySpec], text: str) -> None:
    rows = [*history(200), Row(b"k", None)]
    oracle = oracles.oracle_of(make_spec(job="filter", does="subset", options={"contains": text}))
    made = JOBS["filter"](frame(rows), {"contains": text})

    values = [(row.head or b"") + (row.body or b"") for row in rows]
    assert oracle is not None
    kept = [value for value in values if oracle(None, value, None)]
    assert [bytes(row.value) for row in made.collect()] == kept
    assert 0 < len(kept) < len(rows)


@pytest.mark.parametrize("in_headers", [False, True])
def test_enrich(frame: Frame, in_headers: bool) -> None:
    keys = [None, b"", b"0", b"7", b"9", b"10", b"07", b"\xff"]
    rows = [Row(key, b"body", head=head(seq)) for seq, key in enumerate(keys)] + [Row(b"1", None), Row(b"1", b"x")]
    made = JOBS["enrich"](frame(rows, in_headers=in_headers), {"rows": 10}).collect()

    wanted = {(row.key, oracles.enriched(row.key, row.body or b"", 10)) for row in rows}
    assert {(_bytes(row.key), bytes(row.value)) for row in made} == wanted
    if in_headers:
        carried = [next((h.value for h in row.headers if h.key == stamp.HEADER_KEY), None) for row in made]
    else:
        carried = [row.stamp for row in made]
    assert Counter(map(_bytes, carried)) == Counter(row.head for row in rows)


def _bytes(value: bytearray | bytes | None) -> bytes | None:
    return None if value is None else bytes(value)


def _halves(rows: list[Row]) -> list[list[Row]]:
    return [rows[: len(rows) // 2], rows[len(rows) // 2 :]]


def test_count(streamed: Streamed) -> None:
    rows = history(120)

    made = streamed.collect(_halves(rows), job("count", WINDOW), "update")

    last = {(_bytes(row.key), oracles.counts_in(row.value.encode())[0]): row for row in made}
    found = {place: (oracles.counts_in(row.value.encode())[1], _bytes(row.stamp)) for place, row in last.items()}
    wanted = oracles.counted(messages(rows), WINDOW["window"])
    assert found == {(each.key, each.from_ms): (each.messages, each.head) for each in wanted}
    assert len(made) > len(found), "what was counted in the first half was not told"


def test_log_alert(streamed: Streamed) -> None:
    rows = history(90)
    share = 0.175
    close = [Row(None, b"", FAR_MS)]

    made = streamed.collect([*_halves(rows), close], job("log-alert", WINDOW | {"share": share}), "append")

    found = [json.loads(row.value) | {"head": _bytes(row.stamp)} for row in made]
    wanted = oracles.alerts(messages(rows), WINDOW["window"], share)
    assert sorted((each["from_ms"], each["lines"], each["errors"], each["head"]) for each in found) == wanted
    assert all(each["to_ms"] == each["from_ms"] + 10_000 for each in found)
    assert all(each["share"] == each["errors"] / each["lines"] for each in found)
    assert 0 < len(wanted) < 3, "choose a share that some windows exceed"


@pytest.mark.parametrize("in_headers", [False, True])
def test_feature_store(streamed: Streamed, in_headers: bool) -> None:
    rows = [row for row in history(90) if row.head]
    close = [Row(None, b"", FAR_MS)]

    made = streamed.collect([*_halves(rows), close], job("feature-store", WINDOW), "append", in_headers=in_headers)

    def ms(name: str) -> Callable[[Any], int]:
        return lambda row: round(row[name].timestamp() * 1000)

    found = {
        (
            ms("window_from")(row), _bytes(row.key), row.messages, row.size_sum, ms("first_at")(row),
            ms("last_at")(row), _bytes(row.stamp),
        )
        for row in made
    }  # fmt: skip
    wanted = oracles.features(messages(rows), WINDOW["window"], 0 if in_headers else stamp.SIZE)
    assert found == set(wanted)
    assert all(row.size_mean == row.size_sum / row.messages for row in made)


def test_dedup(streamed: Streamed) -> None:
    rows = [Row(b"k", b"body %d" % seq, 1000 + seq, head(seq, producer=seq % 2)) for seq in range(20)]
    again = [row._replace(at_ms=row.at_ms + 100) for row in rows[5:15]]
    foreign = [Row(b"k", b"foreign", 1030), Row(b"k", b"foreign", 1030, partition=1)]
    oracle = FirstAppearance()
    wanted = Counter(row.head for row in [*rows, *foreign, *again] if oracle.expects(row.head))

    made = streamed.collect([[*rows, *foreign], again], job("dedup", {"watermark": 10 * NS_PER_SECOND}), "append")

    found = Counter(_head(bytes(row.value)) for row in made)
    assert found == wanted
    assert found[None] == 2


def _head(value: bytes) -> bytes | None:
    return value[: stamp.SIZE] if len(value) > stamp.SIZE else None


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({"job": "pass"}, "append"),
        ({"job": "pass", "engine": "real-time"}, "update"),
        ({"job": "count"}, "update"),
        ({"job": "count", "table": "/t"}, "append"),
        ({"job": "log-alert"}, "append"),
        ({"job": "function", "options": {"output_mode": "update"}}, "update"),
        ({"job": "function", "options": {"output_mode": "append"}}, "append"),
    ],
)
def test_output_modes(make_spec: Callable[..., QuerySpec], changes: dict[str, Any], mode: str) -> None:
    assert output_mode(make_spec(**changes)) == mode


def test_what_a_job_does_not_use_is_not_computed(frame: Frame, tmp_path: Path) -> None:
    """The plan of `pass` has neither the stamp nor the headers that hold it."""
    frame(history(5), in_headers=True).drop("stamp").write.parquet(str(tmp_path / "source"))
    source = frame([]).sparkSession.read.parquet(str(tmp_path / "source"))
    plain = source.select("key", "value", F.col("partition"))

    made = JOBS["pass"](schema.given(source.drop("headers"), in_headers=False), {})

    assert _plan(made) == _plan(plain)


def _plan(made: DataFrame) -> str:
    import re

    return re.sub(r"#\d+", "#", made._jdf.queryExecution().executedPlan().toString())
