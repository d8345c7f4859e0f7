"""The tables `wire` and `client` from looks at clients."""

from typing import Any

import pyarrow as pa
import pytest

from streamgauge.arrow import arrow_schema
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.events import CLIENT
from streamgauge.domain.tables.machine import CLIENT_BY_INTERVAL, WIRE
from streamgauge.pipeline.machine.client import client_rows, wire
from streamgauge.pipeline.read.silver import Span

SECOND = 1_000_000_000
SPAN = Span(0, 20 * SECOND, MeasureSpan(5 * SECOND, 15 * SECOND))
Row = dict[str, Any]


def look(second: float, messages: int, worker: str = "producer-0", **changed: Any) -> Row:
    """A client whose messages have 100 bytes, come in requests of ten, and shrink to a quarter."""
    row: Row = {"at_ns": round(second * SECOND), "worker": worker, "role": worker.partition("-")[0]}
    row |= {"messages": messages, "message_bytes": 100 * messages, "wire_bytes": 25 * messages, "retries": 0}
    row |= {"tx_bytes": 25 * messages, "rx_bytes": 5 * messages, "tx_requests": messages // 5}
    row |= {"retried_messages": messages // 50 if "producer" in worker else None}
    row |= {"requests": messages // 10, "rtt_us": 2_000, "rtt_p99_us": 5_000, "throttle_ms": 0}
    sending = dict.fromkeys(("queue_us", "queue_messages", "queue_bytes", "batch_messages", "batch_bytes"), None)
    row |= sending | changed
    assert set(row) == set(CLIENT.names)
    return row


def found(looks: list[Row], scope: str, worker: str | None = None, role: str = "producer") -> Row | None:
    rows = wire(looks, SPAN)
    assert pa.Table.from_pylist(rows, arrow_schema(WIRE)).to_pylist() == rows
    return next((row for row in rows if (row["scope"], row["worker"], row["role"]) == (scope, worker, role)), None)


LOOKS = [
    look(1, 100, rtt_us=9_000, rtt_p99_us=90_000, queue_us=90_000, batch_bytes=900, batch_messages=9),
    look(6, 600, rtt_us=8_000, rtt_p99_us=80_000, queue_us=80_000, batch_bytes=800, batch_messages=8),
    look(11, 1_100, rtt_us=None, rtt_p99_us=None, queue_us=1_000, batch_bytes=260, batch_messages=10, throttle_ms=3),
    look(14, 1_600, rtt_us=3_000, rtt_p99_us=6_000, queue_us=2_000, batch_bytes=240, batch_messages=11, retries=2),
    look(19, 2_000, rtt_us=1_000, rtt_p99_us=2_000, queue_us=0, batch_bytes=100, batch_messages=1, retries=2),
]


def test_the_run_is_what_the_last_look_says() -> None:
    """Counters since the client began, means and extremes of every second that was looked at."""
    assert found(LOOKS, "run", "producer-0") == {
        "scope": "run",
        "role": "producer",
        "worker": "producer-0",
        "duration_ns": None,
        "messages": 2_000,
        "message_bytes": 200_000,
        "wire_bytes": 50_000,
        "ratio": 4.0,
        "requests": 200,
        "retries": 2,
        "tx_bytes": 50_000,
        "rx_bytes": 10_000,
        "tx_requests": 400,
        "retried_messages": 40,
        "messages_per_request": 10.0,
        "batch_messages": 7.8,
        "batch_bytes": 460.0,
        "queue_ms": 34.6,
        "rtt_ms": 5.25,
        "rtt_p99_ms": 90.0,
        "throttle_ms": 3,
    }


def test_the_measure_phase_is_what_lies_between_two_looks_within_it() -> None:
    """The means of the first belong to the second before it."""
    assert found(LOOKS, "measure", "producer-0") == {
        "scope": "measure",
        "role": "producer",
        "worker": "producer-0",
        "duration_ns": 8 * SECOND,
        "messages": 1_000,
        "message_bytes": 100_000,
        "wire_bytes": 25_000,
        "ratio": 4.0,
        "requests": 100,
        "retries": 2,
        "tx_bytes": 25_000,
        "rx_bytes": 5_000,
        "tx_requests": 200,
        "retried_messages": 20,
        "messages_per_request": 10.0,
        "batch_messages": 10.5,
        "batch_bytes": 250.0,
        "queue_ms": 1.5,
        "rtt_ms": 3.0,
        "rtt_p99_ms": 6.0,
        "throttle_ms": 3,
    }


@pytest.mark.parametrize("scope", ["run", "measure"])
def test_what_an_older_version_did_not_record_is_not_known(scope: str) -> None:
    """Of one client, and of all of its role together."""
    older = dict.fromkeys(("tx_bytes", "rx_bytes", "tx_requests", "retried_messages"))
    looks = [look(6, 0), look(12, 300), look(7, 0, "producer-1", **older), look(14, 100, "producer-1", **older)]

    for worker in (None, "producer-1"):
        row = found(looks, scope, worker)
        assert row is not None
        assert [row[name] for name in older] == [None] * 4
    assert (found(looks, scope, "producer-0") or {})["rx_bytes"] == 1_500


@pytest.mark.parametrize("role", ["acknowledgements", "tracker-consumer", "tracker-producer"])
def test_other_clients_have_roles_of_their_own(role: str) -> None:
    looks = [look(6, 0, "consumer-0", role=role), look(12, 300, "consumer-0", role=role)]

    assert (found(looks, "measure", role=role) or {})["messages"] == 300
    assert found(looks, "measure", role="consumer") is None


@pytest.mark.parametrize("looks", [LOOKS[:2], LOOKS[:1], [look(4.9, 10), look(15.1, 20)]])
def test_one_look_within_the_measure_phase_tells_nothing_of_it(looks: list[Row]) -> None:
    assert found(looks, "measure", "producer-0") is None
    assert found(looks, "measure") is None
    assert found(looks, "run") is not None


def test_all_of_a_role_are_added_up() -> None:
    """Consumers apart; a worker that nothing is known of in the measure phase is not among them."""
    looks = [
        look(6, 0), look(12, 300), look(7, 0, "producer-1"), look(14, 100, "producer-1", wire_bytes=12_500),
        look(14, 50, "producer-2"), look(6, 0, "consumer-0"), look(12, 900, "consumer-0"),
    ]  # fmt: skip

    together, consumers = found(looks, "measure"), found(looks, "measure", role="consumer")

    assert together is not None
    assert consumers is not None
    assert {name: together[name] for name in ("messages", "wire_bytes", "ratio", "duration_ns")} == {
        "messages": 400, "wire_bytes": 20_000, "ratio": 2.0, "duration_ns": 7 * SECOND
    }  # fmt: skip
    assert (consumers["messages"], consumers["batch_bytes"], consumers["queue_ms"]) == (900, None, None)
    whole = found(looks, "run")
    assert whole is not None
    assert whole["messages"] == 450


def test_the_order_of_looks_does_not_matter() -> None:
    assert wire(LOOKS[::-1], SPAN) == wire(LOOKS, SPAN)


def test_a_client_that_sent_nothing_has_no_ratio() -> None:
    row = found([look(6, 0), look(12, 0)], "measure")

    assert row is not None
    assert (row["ratio"], row["messages_per_request"], row["messages"]) == (None, None, 0)
    assert wire([], SPAN) == []


def test_each_client_is_told_between_two_looks() -> None:
    """Counters by how far they moved, means as the second look has them; one that began anew counts from 0."""
    looks = [*LOOKS, look(10, 40, "consumer-0"), look(12, 30, "consumer-0"), look(3, 1, "producer-1")]
    rows = client_rows(looks, SPAN)
    assert pa.Table.from_pylist(rows, arrow_schema(CLIENT_BY_INTERVAL)).to_pylist() == rows
    assert [(row["worker"], row["second"], row["messages"], row["requests"], row["retries"]) for row in rows] == [
        ("consumer-0", 7.0, 30, 3, 0),
        ("producer-0", 1.0, 500, 50, 0),
        ("producer-0", 6.0, 500, 50, 0),
        ("producer-0", 9.0, 500, 50, 2),
        ("producer-0", 14.0, 400, 40, 0),
    ]
    third = rows[3]
    assert (third["duration_ns"], third["batch_bytes"], third["queue_ms"]) == (3 * SECOND, 240, 2.0)
    assert [row["retried_messages"] for row in rows] == [None, 10, 10, 10, 8]
    assert (third["rtt_ms"], third["rtt_p99_ms"]) == (3.0, 6.0)
