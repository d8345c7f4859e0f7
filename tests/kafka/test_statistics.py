"""What a client says of itself: which of librdkafka's numbers are read, what they mean, and when they are taken."""

import json
import logging
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import numpy as np
import pytest

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.events import CLIENT
from streamgauge.kafka.clients.statistics import (
    EVERY,
    INTERVAL_MS,
    ClientCounts,
    Ledger,
    Statistics,
    numbers_of,
    together,
)
from streamgauge.workload import payload

QUIET = logging.getLogger("streamgauge.quiet")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
FAST = {"statistics.interval.ms": 100}
SIZE, COUNT = 512, 2_000


def window(total: int = 0, count: int = 0, p99: int = 0, largest: int = 0) -> dict[str, int]:
    return {"avg": 0, "sum": total, "cnt": count, "p99": p99, "max": largest}


def node(**changed: Any) -> dict[str, Any]:
    idle = {"int_latency": window(), "rtt": window(), "throttle": window()}
    return {
        "tx": 0,
        "txbytes": 0,
        "rxbytes": 0,
        "txretries": 0,
        **idle,
        "req": {"Metadata": 1},
        "toppars": {"t-0": {"topic": "t"}},
        **changed,
    }


def text(number: int = 0, **changed: Any) -> str:
    """Statistics in librdkafka's order of keys."""
    topic = {"batchsize": window(), "batchcnt": window(), "partitions": {"0": {"partition": 0, "txmsgs": 99}}}
    given: dict[str, Any] = {
        "name": "n", "ts": 1_000 + number, "msg_cnt": 7, "msg_size": 700, "brokers": {"b/1": node()},
        "topics": {"t": topic}, "cgrp": {"state": "up"}, "tx": 1, "tx_bytes": 2, "rx": 3, "rx_bytes": 4,
        "txmsgs": 5, "txmsg_bytes": 6, "rxmsgs": 7, "rxmsg_bytes": 8,
    }  # fmt: skip
    return json.dumps(given | changed)


def test_a_producer_counts_what_it_sent() -> None:
    """Means are of all brokers and topics by how often each was counted; the slowest broker gives the tail."""
    brokers = {
        "a/1": node(
            rtt=window(3_000, 3, 1_500), int_latency=window(50, 10), txretries=1, throttle=window(9, 1, 9, 9),
            req={"Produce": 40}, txbytes=900, rxbytes=5, tx=44,
        ),
        "b/2": node(
            rtt=window(5_000, 1, 5_000), int_latency=window(450, 40), txretries=2, req={"Produce": 2}, txbytes=80
        ),
        "bootstrap": node(txbytes=7),
    }  # fmt: skip
    topics = {
        "t1": {"batchsize": window(3_000, 3), "batchcnt": window(30, 3), "partitions": {}},
        "t2": {"batchsize": window(9_000, 1), "batchcnt": window(50, 1), "partitions": {}},
    }

    assert numbers_of(text(brokers=brokers, topics=topics), "producer", Ledger()) == {
        "at_ns": 1_000_000,
        "messages": 5,
        "message_bytes": 6,
        "wire_bytes": 987,
        "requests": 42,
        "retries": 3,
        "retried_messages": None,
        "tx_bytes": 987,
        "rx_bytes": 5,
        "tx_requests": 44,
        "rtt_us": 2_000,
        "rtt_p99_us": 5_000,
        "throttle_ms": 9,
        "queue_us": 10,
        "queue_messages": 7,
        "queue_bytes": 700,
        "batch_messages": 20,
        "batch_bytes": 3_000,
    }


def test_a_consumer_counts_what_it_received() -> None:
    """It has no queue and makes no batches; what was never counted is not known."""
    found = numbers_of(text(brokers={"b/1": node(req={"Fetch": 3, "Metadata": 9}, rxbytes=4)}), "consumer", Ledger())

    assert {name: found[name] for name in ("messages", "message_bytes", "wire_bytes", "requests", "throttle_ms")} == {
        "messages": 7, "message_bytes": 8, "wire_bytes": 4, "requests": 3, "throttle_ms": 0
    }  # fmt: skip
    assert [name for name, number in found.items() if number is None] == [
        "retried_messages", "rtt_us", "rtt_p99_us",
        "queue_us", "queue_messages", "queue_bytes", "batch_messages", "batch_bytes",
    ]  # fmt: skip


def test_counts_never_fall_where_a_broker_is_forgotten() -> None:
    """It ends and comes back with nothing counted, also unseen between two texts; others come and go."""
    ledger = Ledger()
    looks: list[tuple[dict[str, ClientCounts], tuple[int, ...]]] = [
        ({"a": ClientCounts(100, 10, 1), "boot": ClientCounts(5, 0, 0)}, (105, 10, 1)),
        ({"a": ClientCounts(200, 20, 1), "boot": ClientCounts(5, 0, 0)}, (205, 20, 1)),
        ({"boot": ClientCounts(5, 0, 0)}, (205, 20, 1)),
        ({"boot": ClientCounts(6, 0, 0)}, (206, 20, 1)),
        ({"a": ClientCounts(30, 2, 0), "boot": ClientCounts(6, 0, 0)}, (236, 22, 1)),
        ({"a": ClientCounts(7, 1, 0), "b": ClientCounts(1, 1, 1), "boot": ClientCounts(6, 0, 0)}, (244, 24, 2)),
    ]

    assert [ledger.total(told)[:3] for told, _ in looks] == [total for _, total in looks]


def test_what_was_put_into_requests_more_often_than_it_was_taken_was_retried() -> None:
    """At least: as many as wait in the queue are hidden, and a later text tells; what was told stays."""
    ledger = Ledger()
    looks = [(0, 0, 0), (80, 100, 0), (103, 100, 3), (170, 200, 3), (204, 200, 4), (204, 200, 4)]

    told = [numbers_of(text(txmsgs=put), "producer", ledger, taken) for put, taken, _ in looks]

    assert [row["retried_messages"] for row in told] == [retried for *_, retried in looks]


def test_how_many_were_taken_is_asked_when_the_client_tells() -> None:
    """And not when its text is read."""
    taken = [5, 4, 9]
    statistics = Statistics("producer-0", "producer", lambda: taken.pop(0))
    for number in range(3):
        statistics.callback(text(number))

    block, _ = statistics.rows()

    assert np.asarray(block["messages"]).tolist() == [5, 5]
    assert np.asarray(block["retried_messages"]).tolist() == [0, 0]
    assert taken == []

    consumer = Statistics("consumer-0", "consumer")
    consumer.callback(text(0))
    assert np.asarray(consumer.rows()[0]["retried_messages"]).tolist() == [NULL_INT64]


def test_the_rows_of_several_clients_are_one_block() -> None:
    """Those that told nothing have none."""
    told = [Statistics("consumer-0", "consumer"), Statistics("consumer-0", "acknowledgements")]
    silent = Statistics("tracker-0", "tracker-producer")
    for number in range(3):
        told[0].callback(text(number))
    told[1].callback(text(7))
    block, count = together(each.rows() for each in (*told, silent))

    assert count == 3
    assert block["worker"] == ["consumer-0"] * 3
    assert block["role"] == ["consumer", "consumer", "acknowledgements"]
    assert np.asarray(block["at_ns"]).tolist() == [1_000_000, 1_002_000, 1_007_000]
    assert set(block) == set(CLIENT.names)
    assert together([silent.rows()]) == ({}, 0)


def test_every_second_text_is_read_and_the_newest() -> None:
    """Each once, whenever rows are asked for."""
    statistics = Statistics("producer-0", "producer")
    for number in range(2 * EVERY + 2):
        statistics.callback(text(number))
    block, count = statistics.rows()

    assert np.asarray(block["at_ns"]).tolist() == [1_000_000, 1_002_000, 1_004_000, 1_005_000]
    assert (count, block["worker"], block["role"]) == (4, "producer-0", "producer")
    assert set(block) == set(CLIENT.names)
    assert np.asarray(block["rtt_us"]).tolist() == [NULL_INT64] * 4
    assert statistics.rows()[1] == 0
    statistics.callback(text(99))
    assert np.asarray(statistics.rows()[0]["at_ns"]).tolist() == [1_099_000]


def told(client: Any, statistics: Statistics, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What a client tells, once it tells what is wanted."""
    limit_ns = clock.monotonic_ns() + 20 * clock.NS_PER_SECOND
    while clock.monotonic_ns() < limit_ns:
        client.poll(0.05)
        block, count = statistics.rows()
        if count and wanted(last := {name: np.asarray(block[name])[-1] for name in block if name in NUMBERS}):
            return last
    raise AssertionError("the client never told it")


NUMBERS = set(CLIENT.names) - {"worker", "role"}


def test_the_client_tells_what_is_read() -> None:
    """Its own clock is ours; asked for by the settings alone."""
    statistics = Statistics("producer-0", "producer")
    settings = {"test.mock.num.brokers": 1, "bootstrap.servers": "mock", **statistics.settings, **FAST}
    producer = ck.Producer(settings, logger=QUIET)
    for _ in range(10):
        producer.produce("t", b"x" * 90, b"k" * 10)
    assert producer.flush(10) == 0

    last = told(producer, statistics, lambda row: row["messages"] == 10 and row["queue_messages"] == 0)

    assert statistics.settings["statistics.interval.ms"] == INTERVAL_MS
    assert 0 <= clock.monotonic_ns() - last["at_ns"] < 10 * clock.NS_PER_SECOND
    assert (last["message_bytes"], last["queue_messages"]) == (1_000, 0)
    assert last["wire_bytes"] > 1_000
    assert last["requests"] >= 1


@pytest.mark.kafka
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_bytes_of_messages_are_before_the_codec_and_bytes_on_the_wire_after_it(
    broker: EmbeddedBroker, fresh_topic: Callable[[int], str], codec: str
) -> None:
    """On both sides; headers and framing are no messages."""
    topic = fresh_topic(1)
    sending, receiving = Statistics("producer-0", "producer"), Statistics("consumer-0", "consumer")
    common = {"bootstrap.servers": broker.bootstrap}
    producer = ck.Producer({**common, "compression.type": codec, **sending.settings, **FAST}, logger=QUIET)
    for number in range(COUNT):
        value = payload.body("json", 1, 0, number, SIZE)
        producer.produce(topic, value, b"%08d" % number, headers=[("streamgauge", bytes(40))])
    assert producer.flush(20) == 0
    # Messages are counted as a request is made of them, and its bytes once it is sent.
    sent = told(producer, sending, lambda row: row["messages"] == COUNT and row["queue_messages"] == 0)
    group = {"group.id": topic, "auto.offset.reset": "earliest"}
    consumer = ck.Consumer({**common, **group, **receiving.settings, **FAST}, logger=QUIET)
    try:
        consumer.subscribe([topic])
        received = told(consumer, receiving, lambda row: row["messages"] >= COUNT)
    finally:
        consumer.close()

    assert sent["message_bytes"] == COUNT * (SIZE + 8)
    assert received["message_bytes"] == COUNT * (SIZE + 8)
    least, most = (0.8, 0.95) if codec == "none" else (3, 20)
    assert least < sent["message_bytes"] / sent["wire_bytes"] < most
    assert least / 2 < received["message_bytes"] / received["wire_bytes"] < most
    assert received["requests"] >= 1
