"""What frames say of deliveries is what the definition says: many random histories at once."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamgauge.delivery.attempts import (
    ACCEPTED,
    ANSWERS,
    DEAD_LETTER,
    REDELIVERED,
    REJECTED,
    RELEASED,
    TIMED_OUT,
    Attempt,
    Delivery,
    Redeliveries,
    redeliveries,
)
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.domain.tables.delivery import DELIVERIES_BY_NUMBER, REDELIVERY
from streamgauge.pipeline.pressure.redelivery import carried_by, delivered, folded, repeated, tables_of
from streamgauge.scenario.profile.model import AcknowledgeProfile

pytestmark = pytest.mark.spark

GROUPS, AHEAD = 300, 1_000 * NS_PER_MS
RETRY = AcknowledgeProfile(
    carrier="retry", timeout_ms=None, delays_ms=(5.0, 9.5), limit=2, fail=0.5, poison=0.0, is_expected=True
)
SHARE = AcknowledgeProfile(carrier="share", timeout_ms=10, limit=2, fail=0.5, poison=0.0, is_expected=True)
CARRIER = AcknowledgeProfile(carrier="markers", timeout_ms=10, limit=2, fail=0.5, poison=0.0, is_expected=True)
FAILED = {
    "markers": (RELEASED,),
    "retry": (RELEASED, REJECTED),
    "share": (RELEASED, RELEASED, REJECTED, TIMED_OUT),
}
"""What consumers tell of what failed, by carrier."""
_WRITTEN = (REDELIVERED, DEAD_LETTER)
_RECEIVED = pa.schema(
    [("group", pa.int32()), ("topic", pa.int32()), ("producer", pa.int32()), ("seq", pa.int64()),
     ("partition", pa.int32()), ("offset", pa.int64()), ("due_ns", pa.int64()), ("received_ns", pa.int64()),
     ("started_ns", pa.int64()), ("processed_ns", pa.int64()), ("delivery_count", pa.int32()),
     ("deadline_ms", pa.int64()), ("intact", pa.bool_())]
)  # fmt: skip
_ATTEMPTS = pa.schema(
    [("group", pa.int32()), ("topic", pa.int32()), ("partition", pa.int32()), ("offset", pa.int64()),
     ("attempt", pa.int32()),
     ("at_ns", pa.int64()), ("outcome", pa.string())]
)  # fmt: skip


class Histories:
    """Small runs beside each other, one for each group; times are few milliseconds, so that much is near a deadline."""

    def __init__(self, carrier: AcknowledgeProfile) -> None:
        self.carrier = carrier
        self.random = random.Random(23)
        self.received: list[dict[str, Any]] = []
        self.attempts: list[dict[str, Any]] = []
        for group in range(GROUPS):
            self._history(group)

    def _history(self, group: int) -> None:
        drawn, offset = self.random, 0
        for seq in range(drawn.choice((0, 1, 4, 12))):
            at, due = drawn.randrange(50), drawn.randrange(50)
            for number in range(1, drawn.choice((1, 1, 2, 3, 4)) + 1):
                # From a retry topic, of which there is one for each delay.
                place = {
                    "group": group, "topic": min(number - 1, len(self.carrier.delays_ms)), "partition": 0,
                    "offset": offset,
                }  # fmt: skip
                offset += not self.carrier.in_place
                ended = at + drawn.randrange(20) if drawn.random() < 0.6 else None
                row = {
                    **place, "producer": 0, "seq": seq, "due_ns": due * NS_PER_MS,
                    "received_ns": at * NS_PER_MS + offset + number, "started_ns": at * NS_PER_MS,
                    "processed_ns": None if ended is None else ended * NS_PER_MS,
                    "delivery_count": number, "intact": drawn.choice((True, True, None)),
                    "deadline_ms": drawn.choice((None, at + 1_010)),
                }  # fmt: skip
                self.received += [row] * drawn.choice((1, 1, 1, 2))
                for outcome in (ACCEPTED if ended else drawn.choice(FAILED[self.carrier.carrier]), *_WRITTEN):
                    if drawn.random() < (0.3 if outcome in _WRITTEN else 0.8):
                        told = {
                            **place,
                            "attempt": number,
                            "at_ns": (at + drawn.randrange(30)) * NS_PER_MS,
                            "outcome": outcome,
                        }
                        self.attempts += [told] * drawn.choice((1, 1, 2))
                at += drawn.randrange(25)
            offset += 1
        if drawn.random() < 0.3:
            foreign = {"group": group, "topic": 0, "partition": 0, "offset": 999, "received_ns": 1, "delivery_count": 1}
            self.received.append({**dict.fromkeys(_RECEIVED.names), **foreign})

    def due_ns(self, row: dict[str, Any]) -> int | None:
        """What a message of a retry topic says of itself."""
        says = self.carrier.delays_ms and row["deadline_ms"] is not None
        return row["deadline_ms"] * NS_PER_MS - AHEAD if says else None

    def redeliveries(self, group: int) -> Redeliveries:
        """What the definition says of a group; with delays, a delivery that was released is due again after its own."""
        delays_ms = self.carrier.delays_ms

        def deadline_ns(row: dict[str, Any]) -> int | None:
            if not delays_ms:
                return None if row["deadline_ms"] is None else row["deadline_ms"] * NS_PER_MS - AHEAD
            place = ("group", "topic", "partition", "offset")
            at = [
                each["at_ns"]
                for each in self.attempts
                if each["outcome"] == RELEASED and all(each[name] == row[name] for name in place)
            ]
            delay_ms = delays_ms[min(row["delivery_count"], len(delays_ms)) - 1]
            return min(at) + round(delay_ms * NS_PER_MS) if at else None

        mine = [row for row in self.received if row["group"] == group and row["producer"] is not None]
        return redeliveries(
            [
                Delivery(
                    (0, row["producer"], row["seq"]),
                    (row["topic"], row["partition"], row["offset"]),
                    row["delivery_count"],
                    row["received_ns"],
                    row["processed_ns"],
                    deadline_ns(row),
                    self.due_ns(row),
                )
                for row in mine
            ],
            [
                Attempt((row["topic"], row["partition"], row["offset"]), row["at_ns"], row["outcome"], row["attempt"])
                for row in self.attempts
                if row["group"] == group
            ],
            carried_by(self.carrier),
        )


@pytest.fixture(scope="module")
def histories() -> Histories:
    return Histories(CARRIER)


@pytest.fixture(scope="module")
def retried() -> Histories:
    return Histories(RETRY)


@pytest.fixture(scope="module")
def shared() -> Histories:
    return Histories(SHARE)


@pytest.mark.parametrize(
    ("given", "never"),
    [
        ("histories", {"archived", "rejected", "timed_out"}),
        ("retried", {"archived", "timed_out"}),
        ("shared", set()),
    ],
)
def test_frames_say_what_the_definition_says(
    given: str, never: set[str], request: pytest.FixtureRequest, spark: SparkSession
) -> None:
    histories: Histories = request.getfixturevalue(given)
    received = spark.createDataFrame(pa.Table.from_pylist(histories.received, _RECEIVED))
    attempts = spark.createDataFrame(pa.Table.from_pylist(histories.attempts, _ATTEMPTS))
    found = repeated(delivered(received, attempts, AHEAD, 1, histories.carrier).cache())

    plain = {group: histories.redeliveries(group) for group in range(GROUPS)}
    counts = {row.pop("group"): row for row in map(dict, found.counts)}
    assert counts == {group: dict(each.counts) for group, each in plain.items() if each.counts["messages"]}
    by_number = {(row.pop("group"), row.pop("number")): row for row in map(dict, found.by_number)}
    names = (*ANSWERS, "unanswered", "deliveries", DEAD_LETTER)
    assert by_number == {
        (group, number): {name: told.get(name, 0) for name in names}
        for group, each in plain.items()
        for number, told in each.by_number.items()
    }
    delays = [(row["group"], row["bucket"], row["count"]) for row in found.times.to_pylist() if row["time"] == "delay"]
    expected: dict[tuple[int, int], int] = {}
    for group, each in plain.items():
        for delay in each.delays_ns:
            key = (group, -1 if delay < 0 else int(bucket_of(np.array([delay]))[0]))
            expected[key] = expected.get(key, 0) + 1
    assert {(group, max(bucket, -1)): count for group, bucket, count in delays} == expected
    # Every class is among the histories, or the comparison would say little.
    totals = {name: sum(each.counts[name] for each in plain.values()) for name in plain[0].counts}
    assert {name for name, count in totals.items() if not count} == never


def test_tables_have_percentiles_and_what_is_expected(histories: Histories, spark: SparkSession) -> None:
    """Of groups that received nothing, too."""
    group = max(range(GROUPS), key=lambda each: histories.redeliveries(each).counts["deliveries"])
    received = [row for row in histories.received if row["group"] == group]
    told = [row for row in histories.attempts if row["group"] == group]
    rows = delivered(
        spark.createDataFrame(pa.Table.from_pylist(received, _RECEIVED)),
        spark.createDataFrame(pa.Table.from_pylist(told, _ATTEMPTS)),
        AHEAD,
        1,
        CARRIER,
    )
    tables = tables_of(rows, CARRIER, [group, 999])

    plain, (row, nothing) = histories.redeliveries(group), tables["redelivery"]
    assert set(row) == set(REDELIVERY.names)
    assert row["delay_max_ms"] == max(plain.delays_ns) / NS_PER_MS
    middle = plain.delays_ns[-(-len(plain.delays_ns) // 2) - 1] / NS_PER_MS
    assert row["delay_p50_ms"] == pytest.approx(middle, rel=2**-8) or middle < 0
    assert row["expected_dead_share"] == 0.125
    assert nothing == {
        **{name: None if name.endswith("_ms") else 0 for name in REDELIVERY.names},
        "group": 999, "expected_dead_share": 0.125,
    }  # fmt: skip
    numbered = tables["deliveries_by_number"]
    assert all(set(each) == set(DELIVERIES_BY_NUMBER.names) for each in numbered)
    expected = {each["number"]: each["expected"] for each in numbered}
    messages = plain.counts["messages"]
    assert expected == {
        number: {1: messages, 2: messages / 2, 3: messages / 4}.get(number) for number in sorted(plain.by_number)
    }


@pytest.mark.parametrize("given", ["histories", "retried"])
def test_a_message_counts_where_it_came_first_and_when_it_succeeded(
    given: str, request: pytest.FixtureRequest, spark: SparkSession
) -> None:
    histories: Histories = request.getfixturevalue(given)
    received = spark.createDataFrame(pa.Table.from_pylist(histories.received, _RECEIVED))
    rows = folded(received, 1, processing=True).toArrow().to_pylist()

    ends: dict[tuple[int, int], dict[bool, list[int]]] = {}
    for row in histories.received:
        if row["processed_ns"] is not None:
            of_message = ends.setdefault((row["group"], row["seq"]), {True: [], False: []})
            of_message[row["delivery_count"] == 1].append(row["processed_ns"])
    assert len(rows) == sum(row["delivery_count"] == 1 for row in histories.received)
    assert {row["delivery_count"] for row in rows} == {1}
    for row in rows:
        if row["producer"] is not None:
            of_message = ends.get((row["group"], row["seq"]), {True: [], False: []})
            assert row["processed_ns"] == min(of_message[True] or of_message[False], default=None)
    plain = folded(received, 1, processing=False).toArrow()
    assert plain.num_rows == len(rows)


def test_of_a_share_group_a_message_counts_where_its_lowest_number_was_read(
    shared: Histories, spark: SparkSession
) -> None:
    """Those of a consumer that died may not be recorded."""
    known = [row for row in shared.received if row["producer"] is None or row["delivery_count"] > 1 or row["seq"] % 3]
    rows = folded(spark.createDataFrame(pa.Table.from_pylist(known, _RECEIVED)), 1, processing=True, in_place=True)

    lowest: dict[tuple[int, int], int] = {}
    ends: dict[tuple[int, int], list[int]] = {}
    for row in known:
        if row["producer"] is not None:
            key = (row["group"], row["seq"])
            lowest[key] = min(row["delivery_count"], lowest.get(key, row["delivery_count"]))
    for row in known:
        if row["processed_ns"] is not None:
            key = (row["group"], row["seq"])
            is_first = row["delivery_count"] == lowest[key]
            ends.setdefault(key, []).append(row["processed_ns"] if is_first else row["processed_ns"] + (1 << 50))
    found = [row for row in rows.toArrow().to_pylist() if row["producer"] is not None]
    assert {(row["group"], row["seq"]): row["delivery_count"] for row in found} == lowest
    assert max(lowest.values()) > 1
    for row in found:
        least = min(ends.get((row["group"], row["seq"]), [0]))
        assert (row["processed_ns"] or 0) == least % (1 << 50)
