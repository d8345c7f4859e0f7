"""From a scenario to the jobs of its consumers, beyond what every client is given."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamgauge.delivery.retries.decisions import Retries
from streamgauge.domain.clock import NS_PER_SECOND, ClockPair
from streamgauge.engine.worker.roles import ConsumerJob, ConsumerMember
from streamgauge.kafka.carriers.retries.reader import OpenRetryReader
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.record.table import TableConsumer
from streamgauge.runs.conduct.consumers import consumers_of
from streamgauge.runs.conduct.identity import Identity
from streamgauge.scenario import parse

RUN = Path("/runs/one")
PAIR = ClockPair(wall_ns=1_000, monotonic_ns=400)
RETRY = {"acknowledge": {"retry": {"delays": ["1s", "5s"]}}}
TABLE = {"job": "feature-store", "sink": {"table": "features"}}
TRANSACTIONS = {"transactions": {"messages": 10}}
CREDIT = {"backpressure": {"credit": {"limit": 100}}, "load": {"client": {"retries": 0}}}


def jobs(mapping: dict[str, Any]) -> list[ConsumerJob]:
    scenario = parse({"name": "x", "topic": {"partitions": 4}, **mapping})
    assert scenario.consume is not None
    return consumers_of(scenario, scenario.consume, Identity("run-1", 7, "group-1"), {}, RUN, KafkaReader, PAIR)


@pytest.mark.parametrize(
    ("mapping", "read", "expected"),
    [
        ({}, lambda each: each.client.settings["auto.offset.reset"], "earliest"),
        ({}, lambda each: each.client.settings["group.id"], "group-1"),
        ({"consume": {"group": "mine"}}, lambda each: each.client.settings["group.id"], "mine"),
        ({"consume": {"group": "mine"}}, lambda each: each.client.settings["auto.offset.reset"], "latest"),
        (
            {"consume": {"group": "mine", "start": "earliest"}},
            lambda each: each.client.settings["auto.offset.reset"],
            "earliest",
        ),
        (
            {"consume": {"group": "mine"}, "load": "off"},
            lambda each: each.client.settings["auto.offset.reset"],
            "earliest",
        ),
        ({}, lambda each: each.client.assigned, None),
        (
            {"consume": {"consumers": 1, "partitions": [0, 2]}},
            lambda each: each.client.assigned,
            ((0, 0), (0, 2)),
        ),
        ({}, lambda each: each.client.sees_ends, False),
        ({"load": TRANSACTIONS}, lambda each: each.client.sees_ends, True),
        ({"load": "off"}, lambda each: each.client.sees_ends, True),
        ({}, lambda each: each.client.topics, ("streamgauge-x",)),
        ({}, lambda each: each.client.reads, (0,)),
        ({"pipeline": {}}, lambda each: each.client.reads, (1,)),
        ({"load": {"keys": "sequential"}, "pipeline": TABLE}, lambda each: each.client.topics[1], "/runs/one/features"),
        ({}, lambda each: each.client.stamp_in_header, False),
        ({"pipeline": {"job": "enrich"}}, lambda each: each.client.stamp_in_header, None),
        ({"pipeline": {"job": "pass"}}, lambda each: each.client.stamp_in_header, False),
        ({"verify": "1/4"}, lambda each: each.reading.verify_every, 4),
        ({"verify": "1/4", "pipeline": {"job": "enrich"}}, lambda each: each.reading.verify_every, None),
        ({}, lambda each: each.reading.tag, 7),
        ({"load": "off"}, lambda each: each.reading.tag, None),
        ({}, lambda each: each.consuming.who, (0, 0)),
        ({"seed": 5}, lambda each: each.consuming.seed, 5),
    ],
)
def test_the_first_consumer(
    mapping: dict[str, Any], read: Callable[[ConsumerMember], object], expected: object
) -> None:
    first = jobs(mapping)[0].members[0]

    assert read(first) == expected


def test_groups_and_places_follow_the_numbers_of_consumers() -> None:
    members = [each for job in jobs({"consume": {"consumers": 2, "groups": 2}}) for each in job.members]

    assert [(each.number, each.group, each.consuming.who) for each in members] == [
        (0, 0, (0, 0)), (1, 0, (0, 1)), (2, 1, (1, 0)), (3, 1, (1, 1)),
    ]  # fmt: skip
    assert [each.client.settings["group.id"] for each in members] == ["group-1-0"] * 2 + ["group-1-1"] * 2


@pytest.mark.parametrize(
    ("mapping", "opens", "hold", "tells"),
    [
        ({}, KafkaReader, False, False),
        ({"load": "off"}, KafkaReader, True, False),
        (CREDIT, KafkaReader, False, True),
        ({**CREDIT, "pipeline": {}}, KafkaReader, False, False),
        ({"load": {"keys": "sequential"}, "pipeline": TABLE}, TableConsumer, False, False),
    ],
)
def test_a_process_of_consumers(mapping: dict[str, Any], opens: type, hold: bool, tells: bool) -> None:
    """Credit is returned by consumers; behind a pipeline it is the query that says what is done with."""
    first = jobs(mapping)[0]

    assert (first.open_reader, first.hold, first.tells_progress) == (opens, hold, tells)


def test_consumers_share_processes() -> None:
    found = jobs({"consume": {"consumers": 3, "processes": 2}})

    assert [[each.number for each in job.members] for job in found] == [[0], [1, 2]]


def test_retry_topics_are_read_by_the_group_that_reads_their_topics() -> None:
    """They have numbers behind those that are sent to, and offsets are committed as usual."""
    (job, *_) = jobs({"topic": {"name": "t[1-2]", "partitions": 4}, "consume": RETRY})
    opened, client = job.open_reader, job.members[0].client
    assert opened == OpenRetryReader({}, Retries((NS_PER_SECOND, 5 * NS_PER_SECOND), 2), 2, 600)
    assert client.topics == ("t1", "t2", "t1__retry_1", "t2__retry_1", "t1__retry_2", "t2__retry_2")
    assert client.reads == (0, 1, 2, 3, 4, 5)
    assert client.settings["enable.auto.commit"] is True
    assert job.redelivers


@pytest.mark.parametrize(
    ("consume", "count", "expected"),
    [
        ({"consumers": "per-topic"}, 2, ((1, 0), (1, 1), (3, 0), (3, 1))),
        ({"consumers": "per-partition"}, 4, ((1, 0), (3, 0))),
        ({"consumers": 2, "partitions": [0, 1]}, 2, ((0, 1), (1, 1), (2, 1), (3, 1))),
    ],
)
def test_a_partition_is_retried_by_the_consumer_that_has_it(consume: dict[str, Any], count: int, expected: Any) -> None:
    retry = {"acknowledge": {"retry": {"delays": ["1s"]}}}
    found = jobs({"topic": {"name": "t[1-2]", "partitions": 2}, "consume": {**consume, **retry}})
    assert len(found) == count
    assert found[1].members[0].client.assigned == expected
