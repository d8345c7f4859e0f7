"""Every field of Trogdor's specifications: what it comes to, and what is told of it."""

import base64
from typing import Any

import pytest
from tests.foreign.specs.samples import (
    CONFIGURABLE,
    CONSUME,
    PRODUCE,
    ROUND_TRIP,
    STOP,
    STRESS,
    SUSTAINED,
    WORKLOAD,
    at,
    comes_to,
    told,
)

from streamgauge.domain.errors import BadInput
from streamgauge.foreign.specs.trogdor.workloads import TrogdorOptions

Fields = dict[str, Any]


def b64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def trogdor(kind: str, **options: Any) -> Fields:
    """A generator with the bytes that it makes there."""
    return {"trogdor": {"type": kind, **options}}


def generated(kind: str, **options: Any) -> Fields:
    """Its bytes stay what they are: the stamp is in a header by itself, and the generator has the size."""
    return {"load.payload": trogdor(kind, **options), "load.size": None, "load.stamp": None, "seed": None}


VALUES: list[tuple[Fields, Fields]] = [
    ({"type": "constant", "size": 10}, {"load.payload": "zeros", "load.size": 10, "load.stamp": "headers"}),
    ({"type": "constant", "size": 10, "value": b64(b"ab")}, generated("constant", size=10, value=b64(b"ab"))),
    ({"type": "constant", "size": 0, "value": b64(b"ab")}, generated("constant", size=0, value=b64(b"ab"))),
    ({"type": "constant", "size": 4, "value": [104, 255]}, generated("constant", size=4, value=b64(b"h\xff"))),
    ({"type": "sequential", "size": 8}, {"load.payload": "sequential", "load.size": 8, "load.stamp": "headers"}),
    ({"type": "sequential", "size": 12, "offset": 7}, {"load.payload": {"sequential": {"offset": 7}}}),
    ({"type": "uniformRandom", "size": 32}, generated("uniformRandom", size=32)),
    ({"type": "uniformRandom", "size": 0}, generated("uniformRandom", size=0)),
    (
        {"type": "uniformRandom", "size": 32, "seed": 123, "padding": 10},
        generated("uniformRandom", size=32, seed=123, padding=10),
    ),
    ({"type": "uniformRandom", "size": 32, "seed": -1}, generated("uniformRandom", size=32, seed=-1)),
    ({"type": "null"}, {"load.payload": "tombstone", "load.stamp": "headers"}),
    ({"type": "timestampRandom", "size": 64, "seed": 5}, generated("timestampRandom", size=64, seed=5)),
    ({"type": "timestampConstant", "size": 64}, generated("timestampConstant", size=64)),
    ({"type": "timestampConstant", "size": 8, "timestampBytes": 8}, generated("timestampConstant", size=8)),
    (
        {"type": "gaussianTimestampRandom", "messageSizeAverage": 512, "messageSizeDeviation": 10.5},
        generated("gaussianTimestampRandom", mean=512, deviation=10.5, hold=1),
    ),
    (
        {
            "type": "gaussianTimestampConstant",
            "messageSizeAverage": 512,
            "messagesUntilSizeChange": 7,
            "seed": 3,
        },
        generated("gaussianTimestampConstant", mean=512, hold=7, seed=3),
    ),
    (
        {
            "type": "randomComponent",
            "seed": 9,
            "components": [
                {"percent": 60, "component": {"type": "constant", "size": 10}},
                {"percent": 20, "component": {"type": "uniformRandom", "size": 20}},
                {"percent": 15, "component": {"type": "null"}},
                {"percent": 5, "component": {"type": "sequential", "size": 2, "offset": 3}},
            ],
        },
        generated(
            "randomComponent",
            seed=9,
            components=[
                {"percent": 60, "component": {"type": "constant", "size": 10}},
                {"percent": 20, "component": {"type": "uniformRandom", "size": 20}},
                {"percent": 15, "component": {"type": "null"}},
                {"percent": 5, "component": {"type": "sequential", "size": 2, "offset": 3}},
            ],
        ),
    ),
    (
        {
            "type": "randomComponent",
            "components": [
                {"percent": 50, "component": {"type": "uniformRandom", "size": 9}},
                {
                    "percent": 50,
                    "component": {
                        "type": "randomComponent",
                        "components": [
                            {"percent": 10, "component": {"type": "constant", "size": 1}},
                            {"percent": 90, "component": {"type": "constant", "size": 2}},
                        ],
                    },
                },
            ],
        },
        {
            "load.payload": {
                "weighted": [
                    {"percent": 50, "payload": {"trogdor": {"type": "uniformRandom", "size": 9}}},
                    {"percent": 5, "payload": "zeros", "size": 1},
                    {"percent": 45, "payload": "zeros", "size": 2},
                ]
            }
        },
    ),
]
KEYS: list[tuple[Fields, Any]] = [
    ({"type": "null"}, "none"),
    ({"type": "constant", "size": 4, "value": b64(b"\xff")}, trogdor("constant", size=4, value=b64(b"\xff"))),
    ({"type": "constant", "size": 2}, trogdor("constant", size=2)),
    ({"type": "sequential", "size": 4, "offset": 0}, trogdor("sequential", size=4)),
    ({"type": "sequential", "size": 4, "offset": 9}, trogdor("sequential", size=4, offset=9)),
    (
        {"type": "uniformRandom", "size": 9, "seed": 1, "padding": 8},
        trogdor("uniformRandom", size=9, seed=1, padding=8),
    ),
    ({"type": "timestampRandom", "size": 8}, trogdor("timestampRandom", size=8)),
    (
        {"type": "randomComponent", "components": [{"percent": 100, "component": {"type": "null"}}]},
        trogdor("randomComponent", components=[{"percent": 100, "component": {"type": "null"}}]),
    ),
]
RATES: list[tuple[Fields, Any]] = [
    ({"type": "constant", "messagesPerWindow": 7, "windowSizeMs": 250}, {"messages": 7, "window": "250ms"}),
    ({"type": "constant", "messagesPerWindow": 7}, {"messages": 7, "window": "100ms"}),
    ({"type": "constant", "messagesPerWindow": 7, "windowSizeMs": 0}, {"messages": 7, "window": "100ms"}),
    ({"type": "constant", "messagesPerWindow": 0}, "max"),
    ({"type": "constant", "messagesPerWindow": -1}, "max"),
    ({"type": "constant", "messagesPerSecond": 500}, {"messages": 50, "window": "100ms"}),
    ({"type": "constant", "messagesPerSecond": 500, "windowSizeMs": 200}, {"messages": 100, "window": "200ms"}),
    ({"type": "constant", "messagesPerSecond": 99}, "99/s"),
    ({"type": "constant", "messagesPerSecond": 5}, "5/s"),
    (
        {"type": "gaussian", "messagesPerWindowAverage": 350, "messagesPerWindowDeviation": 35},
        {"messages": 350, "deviation": 35, "window": "100ms", "hold": 1},
    ),
    (
        {
            "type": "gaussian",
            "messagesPerSecondAverage": 500,
            "messagesPerSecondDeviation": 50,
            "windowsUntilRateChange": 10,
            "windowSizeMs": 100,
        },
        {"messages": 50, "deviation": 5, "window": "100ms", "hold": 10},
    ),
    (
        {"type": "gaussian", "messagesPerSecondAverage": 505, "messagesPerSecondDeviation": 0},
        {"messages": 50, "deviation": 0, "window": "100ms", "hold": 1},
    ),
]
FLUSHES: list[tuple[Fields, Any]] = [
    ({"type": "constant", "messagesPerFlush": 20}, 20),
    (
        {"type": "gaussian", "messagesPerFlushAverage": 16, "messagesPerFlushDeviation": 4},
        {"mean": 16, "deviation": 4},
    ),
]


@pytest.mark.parametrize(("generator", "expected"), VALUES)
def test_values(generator: Fields, expected: Fields) -> None:
    document = comes_to({**CONFIGURABLE, "valueGenerator": generator}).document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(("generator", "expected"), KEYS)
def test_keys(generator: Fields, expected: Any) -> None:
    assert at(comes_to({**CONFIGURABLE, "keyGenerator": generator}).document, "load.keys") == expected


@pytest.mark.parametrize(("generator", "expected"), RATES)
def test_rates(generator: Fields, expected: Any) -> None:
    """Exact: where Trogdor would round to whole messages a window, messages are sent evenly instead."""
    made = at(comes_to({**CONFIGURABLE, "throughputGenerator": generator}).document, "load.rate")

    assert made == (expected if isinstance(expected, str) else {"windows": expected})


@pytest.mark.parametrize(
    ("per_second", "window_ms", "messages"), [(99, 100, 9), (5, 100, 1), (1005, 100, 100), (333, 250, 83)]
)
def test_rates_are_rounded_as_trogdor_does_where_that_is_asked(per_second: int, window_ms: int, messages: int) -> None:
    """Its floor, and its least of one."""
    generator = {"type": "constant", "messagesPerSecond": per_second, "windowSizeMs": window_ms}
    made = comes_to({**CONFIGURABLE, "throughputGenerator": generator}, options=TrogdorOptions(floor=True))

    assert at(made.document, "load.rate") == {"windows": {"messages": messages, "window": f"{window_ms}ms"}}
    assert "rounded as there" in told(made, "throughputGenerator.messagesPerSecond")


@pytest.mark.parametrize(("generator", "expected"), FLUSHES)
def test_flushes(generator: Fields, expected: Any) -> None:
    assert at(comes_to({**CONFIGURABLE, "flushGenerator": generator}).document, "load.flush") == expected


@pytest.mark.parametrize(
    ("spec", "changes", "expected"),
    [
        (CONFIGURABLE, {}, {"load.partition": 0, "phases": {"warmup": "0s", "measure": "1s"}, "consume": "off"}),
        (CONFIGURABLE, {"activePartition": 1}, {"load.partition": 1}),
        (CONFIGURABLE, {"activePartition": -1}, {"load.partition": "client"}),
        (CONFIGURABLE, {"durationMs": "2500"}, {"phases.measure": "2500ms"}),
        (CONFIGURABLE, {"commonClientConf": {"acks": "0"}}, {"load.client.acks": 0}),
        (
            CONFIGURABLE,
            {"commonClientConf": {"acks": "0"}, "producerConf": {"acks": "1", "linger.ms": "7"}},
            {"load.client.acks": 1, "load.client.linger.ms": 7, "load.client.enable.idempotence": None},
        ),
        (CONFIGURABLE, {}, {"load.client.acks": "all", "load.client.enable.idempotence": True}),
        (
            CONFIGURABLE,
            {"throughputGenerator": {"type": "constant", "messagesPerSecond": 10}},
            {"load.client.acks": "1", "load.client.linger.ms": 0},
        ),
        (CONFIGURABLE, {"activeTopic": {"t": {}}}, {"topic": {"name": "t", "partitions": 1, "replication": 3}}),
        (
            CONFIGURABLE,
            {"activeTopic": {"t": {"partitionAssignments": {"0": [0, 1], "1": [1, 0]}}}},
            {"topic": {"name": "t", "partitions": 2, "replication": 2, "assignments": [[0, 1], [1, 0]]}},
        ),
        (
            CONFIGURABLE,
            {"adminClientConf": {"connections.max.idle.ms": "9000"}},
            {"topic.client": {"connections.max.idle.ms": 9000}},
        ),
        (
            CONFIGURABLE,
            {"activeTopic": {"t": {"numPartitions": 1, "replicationFactor": 1, "configs": {"retention.ms": "1"}}}},
            {"topic.configs": {"retention.ms": 1}},
        ),
        (
            PRODUCE,
            {},
            {
                "load.rate": {"windows": {"messages": 100, "window": "100ms"}},
                "load.payload": "zeros",
                "load.size": 512,
                "load.keys": trogdor("sequential", size=4),
                "load.partition": "round-robin",
                "load.flush": 100,
                "phases.measure": {"messages": 500, "at_most": "1m"},
                "topic.name": "t[1-3]",
            },
        ),
        (PRODUCE, {"targetMessagesPerSec": 0}, {"load.rate": {"windows": {"messages": 1, "window": "100ms"}}}),
        (PRODUCE, {"targetMessagesPerSec": 99}, {"load.rate": "99/s", "load.flush": 9}),
        (PRODUCE, {"skipFlush": True}, {"load.flush": None}),
        (PRODUCE, {"useConfiguredPartitioner": True}, {"load.partition": "client"}),
        (PRODUCE, {"keyGenerator": {"type": "null"}}, {"load.keys": "none"}),
        (PRODUCE, {"valueGenerator": {"type": "constant", "size": 9}}, {"load.size": 9}),
        (
            PRODUCE,
            {"transactionGenerator": {"type": "uniform", "messagesPerTransaction": 50}},
            {"load.transactions": {"messages": 50}, "load.flush": None},
        ),
        (
            PRODUCE,
            {"transactionGenerator": {"type": "interval", "transactionIntervalMs": 100}},
            {"load.transactions": {"interval": "100ms"}},
        ),
        (
            PRODUCE,
            {"activeTopics": {name: {"numPartitions": 2, "replicationFactor": 1} for name in ("t3", "t1", "t2")}},
            {"topic.name": "t[1-3]"},
        ),
        (
            PRODUCE,
            {"activeTopics": {"a[1-2]-[1-3]": {"numPartitions": 2, "replicationFactor": 1}}},
            {"topic.name": "a[1-2]-[1-3]"},
        ),
        (
            CONSUME,
            {},
            {
                "load": "off",
                "consume.start": "earliest",
                "consume.consumers": 1,
                "consume.rate": None,
                "consume.client.max.poll.interval.ms": 100_000,
                "phases.measure": {"messages": 500, "at_most": "1m"},
            },
        ),
        (CONSUME, {"targetMessagesPerSec": 100}, {"consume.rate": "100/s"}),
        (CONSUME, {"maxMessages": 0}, {"phases.measure": "1m"}),
        (
            CONSUME,
            {"threadsPerWorker": 3},
            {"consume.groups": 3, "consume.consumers": 1, "phases.measure": {"messages": 1500, "at_most": "1m"}},
        ),
        (
            CONSUME,
            {"threadsPerWorker": 3, "consumerGroup": "g", "targetMessagesPerSec": 100},
            {"consume.groups": None, "consume.group": "g", "consume.consumers": 3, "consume.rate": "300/s"},
        ),
        (CONSUME, {"activeTopics": "t"}, {"topic.name": "t"}),
        (CONSUME, {"activeTopics": ["t1", "t2"]}, {"topic.name": "t[1-2]"}),
        (CONSUME, {"activeTopics": ["t:0"]}, {"consume.partitions": [0], "topic.partitions": 1}),
        (CONSUME, {"activeTopics": ["t[1-2]:[0-2]"]}, {"consume.partitions": [0, 1, 2], "topic.partitions": 3}),
        (CONSUME, {"consumerConf": {"fetch.min.bytes": "9"}}, {"consume.client.fetch.min.bytes": 9}),
        (CONSUME, {"consumerConf": {"enable.auto.commit": "false"}}, {"consume.commit": "never"}),
        (CONSUME, {"consumerConf": {"auto.offset.reset": "latest"}}, {"consume.start": "latest"}),
        (
            ROUND_TRIP,
            {},
            {
                "load.payload": trogdor("uniformRandom", size=32, seed=123, padding=10),
                "load.resend": 100,
                "load.keys": trogdor("sequential", size=4),
                "load.client.acks": "all",
                "load.client.batch.size": 16384,
                "load.client.queue.buffering.max.kbytes": 64,
                "load.client.request.timeout.ms": 105_000,
                "consume.consumers": 1,
                "expect.delivery.lost": 0,
            },
        ),
        (ROUND_TRIP, {"valueGenerator": {"type": "constant", "size": 9}}, {"load.payload": "zeros"}),
        (ROUND_TRIP, {}, {"load.client.acks": "all"}),
        (ROUND_TRIP, {"commonClientConf": {"acks": "1"}}, {"load.client.acks": 1}),
        (
            ROUND_TRIP,
            {"commonClientConf": {"batch.size": "9"}, "producerConf": {"batch.size": "7"}},
            {"load.client.batch.size": 7},
        ),
        (SUSTAINED, {}, {"connections.hold": {"producers": 1, "refresh": "1ms"}, "load": "off", "consume": "off"}),
        (
            SUSTAINED,
            {"consumerConnectionCount": 2, "metadataConnectionCount": 3, "refreshRateMs": 50},
            {"connections.hold": {"producers": 1, "consumers": 2, "metadata": 3, "refresh": "50ms"}},
        ),
        (STRESS, {}, {"connections": {"open": "10/s"}}),
        (STRESS, {"action": "FETCH_METADATA"}, {"connections": {"metadata": "10/s"}}),
        (STRESS, {"clientNode": ["a", "b"]}, {"connections": {"open": "20/s"}}),
    ],
)
def test_fields_of_workloads(spec: Fields, changes: Fields, expected: Fields) -> None:
    document = comes_to({**spec, **changes}).document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("spec", "changes", "where", "what"),
    [
        (CONFIGURABLE, {"producerNode": "n"}, "producerNode", "no coordinator"),
        (CONSUME, {"consumerNode": "n"}, "consumerNode", "no coordinator"),
        (CONFIGURABLE, {"bootstrapServers": "b:9092"}, "bootstrapServers", "--bootstrap"),
        (CONFIGURABLE, {"startMs": 5}, "startMs", "begins when it is started"),
        (CONFIGURABLE, {"adminClientConf": {"retries": 3}}, "adminClientConf.retries", "sent again for 10 s"),
        (CONFIGURABLE, {"adminClientConf": {"client.id": "x"}}, "adminClientConf.client.id", "names its clients"),
        (
            CONFIGURABLE,
            {"activeTopic": {"t": {"numPartitions": 9, "partitionAssignments": {"0": [1]}}}},
            "activeTopic.t.numPartitions",
            "the assignments say it",
        ),
        (PRODUCE, {"inactiveTopics": {"x": {}}}, "inactiveTopics.x.replicationFactor", "3 where none"),
        (SUSTAINED, {"numThreads": 2}, "numThreads", "one process"),
        (SUSTAINED, {"keyGenerator": {"type": "null"}}, "keyGenerator", "send nothing"),
        (STRESS, {"numThreads": 2}, "numThreads", "one process"),
        (CONFIGURABLE, {"activeTopic": {"t": {}}}, "activeTopic.t.replicationFactor", "3 where none"),
        (CONFIGURABLE, {"producerConf": {"client.id": "x"}}, "producerConf.client.id", "names its clients"),
        (CONFIGURABLE, {"producerConf": {"ssl.key.password": "hunter2"}}, "producerConf.ssl.key.password", "file"),
        (
            CONSUME,
            {
                "recordProcessor": {
                    "type": "timestamp",
                    "histogramMaxMs": 500,
                    "histogramMinMs": 5,
                    "histogramStepMs": 2,
                }
            },
            "recordProcessor",
            "bins of 2 ms from 5 to 500",
        ),
    ],
)
def test_what_is_told_of_fields(spec: Fields, changes: Fields, where: str, what: str) -> None:
    made = comes_to({**spec, **changes})

    assert what in told(made, where)
    assert "hunter2" not in str(made)


def test_a_producer_and_a_consumer_are_one_run() -> None:
    made = comes_to(CONSUME, None, PRODUCE)

    assert at(made.document, "load.rate")
    assert at(made.document, "consume.start") == "earliest"
    assert at(made.document, "topic.partitions") == 2
    assert at(made.document, "phases.measure") == {"messages": 500, "at_most": "1m"}


def test_a_fault_begins_when_its_task_does() -> None:
    made = comes_to({**PRODUCE, "startMs": 1000}, None, {**STOP, "startMs": 3500})

    assert at(made.document, "faults") == [{"at": "2500ms", "kind": "pause", "target": "broker-1", "for": "1s"}]


def test_a_request_that_creates_a_task_is_its_specification() -> None:
    made = comes_to({"id": "x", "spec": STRESS})

    assert made.document == comes_to(STRESS).document


def test_a_short_class_will_do() -> None:
    assert comes_to({**STRESS, "class": "ConnectionStressSpec"}).document == comes_to(STRESS).document


SHARE: dict[str, Any] = {
    "class": f"{WORKLOAD}ShareConsumeBenchSpec",
    "durationMs": 60000,
    "maxMessages": 500,
    "shareGroup": "sg",
    "activeTopics": ["t[1-3]"],
}
SHARE_ROUND_TRIP: dict[str, Any] = {**ROUND_TRIP, "class": f"{WORKLOAD}ShareRoundTripWorkloadSpec"}


def test_consumers_of_a_share_group_read_so_many_each() -> None:
    """All of one group, which is the run's, and begins at the end as theirs does."""
    made = comes_to(
        {**SHARE, "threadsPerWorker": 3, "targetMessagesPerSec": 100, "consumerConf": {"fetch.min.bytes": 2}}
    )

    consume = made.document["consume"]
    assert (consume["consumers"], consume["start"], consume["rate"]) == (3, "latest", "300/s")
    assert consume["acknowledge"] == {"share": {"lock": "30s", "limit": 4, "dead_letters": False}}
    assert consume["client"] == {"max.poll.interval.ms": 100_000, "fetch.min.bytes": 2}
    assert "group" not in consume
    assert made.document["phases"]["measure"]["messages"] == 1500
    assert any("share groups belong to the run" in str(note) for note in made.notes)


def test_a_round_trip_of_a_share_group_is_one_with_other_consumers() -> None:
    made, plain = comes_to(SHARE_ROUND_TRIP), comes_to(ROUND_TRIP)

    assert made.document["load"] == plain.document["load"]
    assert made.document["expect"] == plain.document["expect"]
    assert made.document["consume"] == {
        "consumers": 1,
        "acknowledge": {"share": {"lock": "30s", "limit": 4, "dead_letters": False}},
        "start": "earliest",
    }


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({**SHARE, "activeTopics": ["t:0"]}, "activeTopics: a share group reads all partitions of its topics"),
        ({**SHARE, "consumerConf": {"auto.offset.reset": "earliest"}}, "auto.offset.reset is no setting of share"),
        ({**SHARE_ROUND_TRIP, "consumerConf": {"isolation.level": "read_committed"}}, "isolation.level is no setting"),
        ({**SHARE, "consumerGroup": "g"}, "consumerGroup"),
    ],
)
def test_what_a_share_group_has_not_is_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        comes_to(given)


@pytest.mark.parametrize(("floor", "expected"), [(False, "Rates are exact."), (True, "Rates are rounded")])
def test_a_scenario_says_how_rates_were_read(floor: bool, expected: str) -> None:
    """So that every result of it does."""
    assert expected in comes_to(PRODUCE, options=TrogdorOptions(floor=floor)).document["about"]
    assert "Rates" not in comes_to(STRESS).document["about"]


def test_places_within_a_request_are_told_as_they_are() -> None:
    with pytest.raises(BadInput, match=r"spec-0: spec\.maxMessages: 0 sends nothing"):
        comes_to({"id": "x", "spec": {**PRODUCE, "maxMessages": 0}})
