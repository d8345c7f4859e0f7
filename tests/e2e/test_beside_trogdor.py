"""Tasks carried out by Trogdor's own workers and by ours, on one broker: each reads what the other has sent."""

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Call
from tests.e2e.logs import read_again
from tests.foreign.trogdor.its_own import WORKLOADS, Trogdor

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.kafka.admin import Cluster

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

COUNT, TOPICS, PARTITIONS = 1200, 2, 3
Task = Callable[[Mapping[str, Any]], Any]
STAMPED = {"type": "timestampRandom", "size": 40, "seed": 7}
PROCESSED = {"type": "timestamp", "histogramMaxMs": 60_000, "histogramMinMs": 0, "histogramStepMs": 1}


@pytest.fixture
def name(broker: EmbeddedBroker) -> Iterator[str]:
    """What topics of this test begin with; they are gone after it."""
    prefix = f"beside-{secrets.token_hex(4)}"
    yield prefix
    cluster = Cluster(broker.bootstrap, {})
    for topic in (f"{prefix}-{who}{number}" for who in ("ours", "theirs") for number in range(1, TOPICS + 1)):
        if cluster.partitions_of(topic) is not None:
            cluster.delete_topic(topic)


@pytest.fixture
def ours(call: Call, broker: EmbeddedBroker, tmp_path: Path, warm_spark: None) -> Task:
    """Carries out a task by `streamgauge trogdor --exec`; its status."""

    def carry_out(spec: Mapping[str, Any]) -> Any:
        words = ["--exec", json.dumps(spec), "--bootstrap", broker.bootstrap, "--out", str(tmp_path), "--quiet"]
        said = call("trogdor", *words)
        assert said.code == 0, said.out
        return json.loads(said.out.partition("Task succeeded with status ")[2])

    return carry_out


@pytest.fixture
def theirs(trogdor: Trogdor) -> Task:
    """Carries out a task by its own worker; its status."""

    def carry_out(spec: Mapping[str, Any]) -> Any:
        status, error = trogdor.carried_out(spec)
        assert error == ""
        return status

    return carry_out


def produce(broker: EmbeddedBroker, topics: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "class": f"{WORKLOADS}.ProduceBenchSpec", "startMs": 0, "durationMs": 60_000, "producerNode": "node0",
        "bootstrapServers": broker.bootstrap, "targetMessagesPerSec": 2_000, "maxMessages": COUNT,
        "keyGenerator": {"type": "sequential", "size": 6, "offset": 3}, "valueGenerator": dict(values),
        "activeTopics": {f"{topics}[1-{TOPICS}]": {"numPartitions": PARTITIONS, "replicationFactor": 1}},
    }  # fmt: skip


def consume(broker: EmbeddedBroker, topics: str) -> dict[str, Any]:
    return {
        "class": f"{WORKLOADS}.ConsumeBenchSpec", "startMs": 0, "durationMs": 60_000, "consumerNode": "node0",
        "bootstrapServers": broker.bootstrap, "targetMessagesPerSec": 5_000, "maxMessages": COUNT,
        "consumerConf": {"auto.offset.reset": "earliest"}, "activeTopics": [f"{topics}[1-{TOPICS}]"],
        "recordProcessor": PROCESSED,
    }  # fmt: skip


def fields_of(status: Mapping[str, Any]) -> set[str]:
    return {key for value in [status, *status.values()] if isinstance(value, dict) for key in value}


def partitions_of(status: Mapping[str, Any]) -> list[str]:
    return [partition for each in status.values() for partition in each["assignedPartitions"]]


def test_each_sends_the_same_bytes_to_as_many_partitions(
    ours: Task, theirs: Task, broker: EmbeddedBroker, name: str
) -> None:
    values = {"type": "uniformRandom", "size": 64, "seed": 11, "padding": 16}
    told = {
        who: carry_out(produce(broker, f"{name}-{who}", values))
        for who, carry_out in (("ours", ours), ("theirs", theirs))
    }
    found = {
        who: read_again(broker.bootstrap, [f"{name}-{who}{number}" for number in range(1, TOPICS + 1)], COUNT)
        for who in told
    }

    ours_sent, theirs_sent = (Counter((each.key(), each.value()) for each in found[who]) for who in told)
    assert ours_sent == theirs_sent
    for who in told:
        places = Counter((each.topic(), each.partition()) for each in found[who])
        assert set(places.values()) == {COUNT // TOPICS // PARTITIONS}
        assert told[who]["totalSent"] == COUNT
    assert set(told["ours"]) == set(told["theirs"])


def test_ours_reads_the_times_that_theirs_has_written(
    ours: Task, theirs: Task, broker: EmbeddedBroker, name: str
) -> None:
    theirs(produce(broker, f"{name}-theirs", STAMPED))
    understood(ours(consume(broker, f"{name}-theirs")))


@pytest.mark.soak
def test_theirs_reads_the_times_that_ours_has_written(
    ours: Task, theirs: Task, broker: EmbeddedBroker, name: str
) -> None:
    """Its consumer looks once a minute whether it is done."""
    ours(produce(broker, f"{name}-ours", STAMPED))
    told = theirs(consume(broker, f"{name}-ours"))
    understood(told)
    said = ours(consume(broker, f"{name}-ours"))
    assert fields_of(said) - set(said) == fields_of(told) - set(told)
    assert sorted(partitions_of(said)) == sorted(partitions_of(told))


def understood(status: Mapping[str, Any]) -> None:
    """A latency that is neither clipped nor 0 is of a time that was understood."""
    (one,) = status.values()
    assert one["totalMessagesReceived"] == COUNT
    assert 0 < one["recordProcessorStatus"]["p50LatencyMs"] < 60_000
