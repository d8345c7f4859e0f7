"""Every field of OpenMessaging Benchmark and mqperf, and settings of the Java client: what each comes to."""

from typing import Any

import pytest
from tests.foreign.specs.samples import DRIVER, MQPERF, MQPERF_2, OMB, at, comes_to, told

from streamgauge.foreign.specs.read.java import (
    OF_CONSUMERS,
    OF_PRODUCERS,
    consumer_client,
    java_client,
    producer_settings,
)
from streamgauge.foreign.specs.write.translation import Draft
from streamgauge.kafka.clients.settings import consumer_faults, producer_faults

Fields = dict[str, Any]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"name": "omb-w", "topic": {"partitions": 4, "replication": 1}, "load.rate": "1k/s", "load.keys": "none"}),
        ({}, {"phases": {"warmup": "1m", "measure": "1m"}, "load.payload": "random", "load.producers": 1}),
        ({"topics": 3}, {"topic.count": 3, "load.producers": "per-topic", "consume.consumers": "per-topic"}),
        ({"topics": 3, "producersPerTopic": 2}, {"load.producers": 6, "load.processes": 2}),
        ({"topics": 2, "consumerPerSubscription": 2}, {"consume.consumers": 4}),
        ({"partitionsPerTopic": 9}, {"topic.partitions": 9}),
        ({"messageSize": 5}, {"load.size": 5}),
        ({"randomBytesRatio": 0.25}, {"load.payload": {"random": {"padding": 75}}}),
        (
            {"useRandomizedPayloads": False, "payloadFile": "p.data"},
            {"load.payload": {"file": {"path": "p.data"}}},
        ),
        ({"keyDistributor": "KEY_ROUND_ROBIN"}, {"load.keys": {"uniform": {"keys": 10_000}}}),
        ({"keyDistributor": "RANDOM_NANO"}, {"load.keys": {"uniform": {"keys": 10_000}}}),
        ({"subscriptionsPerTopic": 3}, {"consume.groups": 3}),
        ({"subscriptionsPerTopic": 0}, {"consume": "off"}),
        ({"consumerPerSubscription": 0}, {"consume": "off"}),
        ({"producersPerTopic": 0}, {"load": "off"}),
        ({"warmupDurationMinutes": 0, "testDurationMinutes": 7}, {"phases": {"warmup": "0m", "measure": "7m"}}),
        (
            {"consumerBacklogSizeGB": 1, "producerRate": 100_000, "messageSize": 1024},
            {
                "consume.processing": {"delay": "11s", "changes": [{"at": "11s", "delay": "0s"}]},
                "phases": {"warmup": "0s", "measure": "60s"},
            },
        ),
        (
            {"consumerBacklogSizeGB": 10, "producerRate": 100_000, "messageSize": 1024},
            {"phases.measure": "210s"},
        ),
    ],
)
def test_fields_of_a_workload(changes: Fields, expected: Fields) -> None:
    document = comes_to({**OMB, **changes}).document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"replicationFactor": 3}, {"topic.replication": 3}),
        ({"reset": True}, {"topic.reset": True}),
        ({"topicConfig": "min.insync.replicas=2\n"}, {"topic.configs": {"min.insync.replicas": 2}}),
        ({"commonConfig": "client.dns.lookup=use_all_dns_ips"}, {"load.client.client.dns.lookup": "use_all_dns_ips"}),
        ({"commonConfig": "client.rack=a"}, {"consume.client.client.rack": "a"}),
        ({"producerConfig": "acks=1\nlinger.ms=3"}, {"load.client.acks": 1, "load.client.linger.ms": 3}),
        ({"consumerConfig": "auto.offset.reset=latest"}, {"consume.start": "latest"}),
        ({"consumerConfig": "max.partition.fetch.bytes=9"}, {"consume.client.max.partition.fetch.bytes": 9}),
        ({"name": "Kafka"}, {"topic.replication": 1}),
    ],
)
def test_fields_of_a_driver(changes: Fields, expected: Fields) -> None:
    document = comes_to({**DRIVER, **changes}, None, OMB).document

    assert {path: at(document, path) for path in expected} == expected


def test_a_rate_of_0_is_a_search() -> None:
    made = comes_to({**OMB, "producerRate": 0})

    assert made.search == ("--objective", "p99 <= 1 s", "--start", "10000/s")
    assert "rate search" in told(made, "producerRate")


@pytest.mark.parametrize(
    ("given", "changes", "expected"),
    [
        (MQPERF, {}, {"load.rate": {"closed": {"batch": 1}}, "load.producers": 2, "load.size": 100}),
        (MQPERF, {}, {"phases.measure.messages": 200, "topic.partitions": 64, "topic.replication": 3}),
        (MQPERF, {}, {"load.client.acks": "all", "consume.client.auto.commit.interval.ms": 10_000}),
        (
            MQPERF,
            {"max_send_msg_batch_size": 10},
            {"load.rate": {"closed": {"batch": {"uniform": {"from": 1, "to": 10}}}}},
        ),
        (MQPERF, {"sender_threads": 25}, {"load.producers": 25, "phases.measure.messages": 2500}),
        (MQPERF, {"receiver_threads": 0}, {"consume": "off"}),
        (MQPERF, {"mq": {"acks": "1", "commitMs": 5}}, {"load.client.acks": 1}),
        (MQPERF, {"mq": {"acks": "1", "commitMs": 5}}, {"consume.client.auto.commit.interval.ms": 5}),
        (MQPERF, {"mq_type": "Kmq", "mq": {"drop_percent": 0.5}}, {"consume.processing": {"fail": 0.5}}),
        (MQPERF, {"mq_type": "Kmq"}, {"consume.acknowledge.markers": {"timeout": "15s", "limit": 3, "silence": "10s"}}),
        (MQPERF_2, {}, {"load.rate": {"windows": {"messages": 200, "window": "1s"}}, "load.producers": 2}),
        (MQPERF_2, {"senderConcurrency": 5}, {"load.rate": {"windows": {"messages": 1000, "window": "1s"}}}),
        (MQPERF_2, {"receiversNumber": 2, "receiverConcurrency": 2}, {"consume.consumers": 4}),
        (MQPERF_2, {"receiversNumber": 0}, {"consume": "off"}),
        (
            MQPERF_2,
            {"mqConfig": {"topic": "q", "partitions": 5, "replicationFactor": 1, "acks": "0", "commitMs": 7}},
            {"topic": {"name": "q", "partitions": 5, "replication": 1}, "load.client.acks": 0},
        ),
        (MQPERF_2, {"testLengthSeconds": 7}, {"phases": {"warmup": "0s", "measure": "7s"}}),
    ],
)
def test_fields_of_mqperf(given: Fields, changes: Fields, expected: Fields) -> None:
    document = comes_to({**given, **changes}).document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("given", "changes", "where", "what"),
    [
        (MQPERF, {"broker_hosts": ["b:9092"]}, "broker_hosts", "--bootstrap"),
        (MQPERF, {"receive_msg_batch_size": 10}, "receive_msg_batch_size", "what has arrived"),
        (MQPERF, {"mq_type": "Kmq", "mq": {"drop_percent": 0.5}}, "mq.drop_percent", "not per cent"),
        (MQPERF_2, {"testId": "x"}, "testId", "HTTP server"),
        (MQPERF_2, {"batchSizeReceive": 10}, "batchSizeReceive", "what has arrived"),
        (MQPERF_2, {"mqConfig": {"groupId": "g"}}, "mqConfig.groupId", "own group"),
        (MQPERF_2, {"mqConfig": {"hosts": ["b:9092"]}}, "mqConfig.hosts", "--bootstrap"),
        (MQPERF_2, {"batchSizeSend": 30}, "msgsPerProcessInSecond", "whole batches, 240, there"),
        (OMB, {"keyDistributor": "RANDOM_NANO"}, "keyDistributor", "clock"),
        (OMB, {"randomizedPayloadPoolSize": 10}, "useRandomizedPayloads", "pool of 10"),
        (
            OMB,
            {"consumerBacklogSizeGB": 1, "backlogDrainRatio": 0.5},
            "backlogDrainRatio",
            "when the backlog is gone",
        ),
    ],
)
def test_what_is_told_of_fields(given: Fields, changes: Fields, where: str, what: str) -> None:
    assert what in told(comes_to({**given, **changes}), where)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("acks", "all", {"acks": "all"}),
        ("acks", "-1", {"acks": -1}),
        ("enable.idempotence", "false", {"enable.idempotence": False}),
        ("buffer.memory", "33554432", {"queue.buffering.max.kbytes": 32768}),
        ("buffer.memory", 10, {"queue.buffering.max.kbytes": 1}),
        ("max.request.size", 9, {"message.max.bytes": 9}),
        ("fetch.max.wait.ms", 9, {"fetch.wait.max.ms": 9}),
        ("send.buffer.bytes", "-1", {"socket.send.buffer.bytes": 0}),
        ("receive.buffer.bytes", "5", {"socket.receive.buffer.bytes": 5}),
        ("compression.zstd.level", "3", {"compression.level": 3}),
        (
            "partitioner.class",
            "org.apache.kafka.clients.producer.internals.DefaultPartitioner",
            {"partitioner": "murmur2_random"},
        ),
        (
            "partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.RangeAssignor, x.CooperativeStickyAssignor",
            {"partition.assignment.strategy": "range,cooperative-sticky"},
        ),
        ("max.block.ms", 5, {}),
        ("max.poll.records", 5, {}),
        ("key.serializer", "x.y.Z", {}),
        ("group.id", "g", {}),
    ],
)
def test_settings_of_the_java_client(name: str, value: Any, expected: Fields) -> None:
    draft = Draft("spec")

    assert java_client(draft, "conf", {name: value}).settings == expected
    assert not draft.faults
    assert bool(draft.notes) == (not expected or name == "buffer.memory")


@pytest.mark.parametrize(
    ("given", "is_idempotent"),
    [({}, True), ({"acks": 1}, None), ({"retries": 0}, None), ({"acks": 1, "enable.idempotence": "true"}, True)],
)
def test_idempotence_is_switched_off_as_the_java_client_does(given: Fields, is_idempotent: bool | None) -> None:
    assert producer_settings(Draft("spec"), "conf", given)[0].get("enable.idempotence") is is_idempotent


COMMON = {
    "acks": "all", "linger.ms": 5, "batch.size": 16384, "compression.type": "lz4", "enable.idempotence": True,
    "retries": 5, "request.timeout.ms": 60_000, "delivery.timeout.ms": 120_000, "transaction.timeout.ms": 60_000,
    "buffer.memory": 33554432, "compression.lz4.level": 1,
    "partitioner.class": "org.apache.kafka.clients.producer.internals.DefaultPartitioner",
    "auto.commit.interval.ms": 1000, "check.crcs": True, "fetch.max.bytes": 1_000_000, "fetch.min.bytes": 1,
    "fetch.max.wait.ms": 100, "group.instance.id": "a", "heartbeat.interval.ms": 1000,
    "isolation.level": "read_committed", "max.partition.fetch.bytes": 1_000_000, "max.poll.interval.ms": 300_000,
    "session.timeout.ms": 10_000,
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "client.rack": "a", "retry.backoff.ms": 100, "metadata.max.age.ms": 1000, "reconnect.backoff.ms": 100,
}  # fmt: skip


def test_what_a_client_ignores_is_left_out_of_its_settings() -> None:
    """A file for both kinds of clients has settings of both; the run would refuse those without effect."""
    consumer, producer = Draft("w.yaml"), Draft("w.yaml")
    read = consumer_client(consumer, "common", COMMON).settings
    written, _ = producer_settings(producer, "common", COMMON)

    assert (consumer.faults, producer.faults) == ([], [])
    assert (consumer_faults("c", read), producer_faults("p", written)) == ([], [])
    assert {note.where.removeprefix("common.") for note in consumer.notes} >= set(COMMON) & OF_PRODUCERS
    assert {note.where.removeprefix("common.") for note in producer.notes} >= set(COMMON) & OF_CONSUMERS


@pytest.mark.parametrize("name", sorted(set(COMMON) - {"partitioner.class", "partition.assignment.strategy"}))
def test_no_other_setting_is_left_out(name: str) -> None:
    """The client itself says which it ignores."""
    settings = java_client(Draft("w.yaml"), "common", {name: COMMON[name]}).settings

    ignored = [fault for fault in consumer_faults("c", settings) if "has no effect" in fault.what]
    assert bool(ignored) == (name in OF_PRODUCERS)
    ignored = [fault for fault in producer_faults("p", settings) if "has no effect" in fault.what]
    assert bool(ignored) == (name in OF_CONSUMERS)
