"""What tests of specifications share: short ones of every kind, and what one comes to."""

import json
from collections.abc import Mapping
from typing import Any

from streamgauge.domain.errors import BadInput
from streamgauge.foreign.specs.convert import EXACT, convert
from streamgauge.foreign.specs.recognise import SpecText
from streamgauge.foreign.specs.trogdor.workloads import TrogdorOptions
from streamgauge.foreign.specs.write.translation import Tool, Translation
from streamgauge.scenario.written.paths import keys_of

WORKLOAD = "org.apache.kafka.trogdor.workload."
FAULT = "org.apache.kafka.trogdor.fault."

CONFIGURABLE: dict[str, Any] = {
    "class": f"{WORKLOAD}ConfigurableProducerSpec",
    "durationMs": 1000,
    "throughputGenerator": {"type": "constant", "messagesPerWindow": 10, "windowSizeMs": 100},
    "keyGenerator": {"type": "null"},
    "valueGenerator": {"type": "constant", "size": 100},
    "activeTopic": {"t": {"numPartitions": 2, "replicationFactor": 1}},
}
PRODUCE: dict[str, Any] = {
    "class": f"{WORKLOAD}ProduceBenchSpec",
    "durationMs": 60000,
    "targetMessagesPerSec": 1000,
    "maxMessages": 500,
    "activeTopics": {"t[1-3]": {"numPartitions": 2, "replicationFactor": 1}},
}
CONSUME: dict[str, Any] = {
    "class": f"{WORKLOAD}ConsumeBenchSpec",
    "durationMs": 60000,
    "maxMessages": 500,
    "activeTopics": ["t[1-3]"],
}
ROUND_TRIP: dict[str, Any] = {
    "class": f"{WORKLOAD}RoundTripWorkloadSpec",
    "durationMs": 60000,
    "targetMessagesPerSec": 100,
    "maxMessages": 500,
    "activeTopics": {"t": {"numPartitions": 1, "replicationFactor": 1}},
}
SUSTAINED: dict[str, Any] = {
    "class": f"{WORKLOAD}SustainedConnectionSpec",
    "durationMs": 60000,
    "producerConnectionCount": 1,
    "topicName": "t",
}
STRESS: dict[str, Any] = {
    "class": f"{WORKLOAD}ConnectionStressSpec",
    "durationMs": 60000,
    "targetConnectionsPerSec": 10,
}
STOP: dict[str, Any] = {
    "class": f"{FAULT}ProcessStopFaultSpec",
    "durationMs": 1000,
    "nodeNames": ["a"],
    "javaProcessName": "kafka.Kafka",
}
OMB: dict[str, Any] = {
    "name": "w",
    "topics": 1,
    "partitionsPerTopic": 4,
    "messageSize": 100,
    "useRandomizedPayloads": True,
    "randomBytesRatio": 1,
    "subscriptionsPerTopic": 1,
    "producersPerTopic": 1,
    "consumerPerSubscription": 1,
    "producerRate": 1000,
    "testDurationMinutes": 1,
}
DRIVER: dict[str, Any] = {
    "driverClass": "io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver",
    "replicationFactor": 1,
}
MQPERF: dict[str, Any] = {
    "name": "x",
    "mq_type": "Kafka",
    "sender_threads": 2,
    "msg_count_per_thread": 100,
    "msg_size": 100,
    "receiver_threads": 1,
}
MQPERF_2: dict[str, Any] = {
    "testLengthSeconds": 10,
    "msgsPerProcessInSecond": 100,
    "msgSizeBytes": 100,
    "sendersNumber": 2,
    "mqConfig": {},
}
PERF = "kafka-producer-perf-test --topic t --num-records 1000 --record-size 100 --throughput 100"
READ = "kafka-consumer-perf-test --bootstrap-server b:9092 --topic t --messages 1000"
TUSSLE = "java -jar kafka-benchmark.jar producers=1"


def comes_to(
    given: str | Mapping[str, Any],
    tool: Tool | None = None,
    *more: Mapping[str, Any],
    files: Mapping[str, str] | None = None,
    options: TrogdorOptions = EXACT,
) -> Translation:
    """What a text, or fields as JSON, come to, with more beside them."""

    def read(name: str) -> str:
        if name not in (files or {}):
            raise BadInput.single(name, "cannot be read", "Name a file")
        return (files or {})[name]

    texts = [given if isinstance(given, str) else json.dumps(given), *map(json.dumps, more)]
    return convert([SpecText(f"spec-{place}", text) for place, text in enumerate(texts)], tool, read, options)


def at(document: Mapping[str, Any], path: str) -> Any:
    """The value of a path; None where there is none."""
    found: Any = document
    for key in keys_of(path):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def told(translation: Translation, where: str) -> str:
    """What the notes say of a field."""
    return "; ".join(note.what for note in translation.notes if note.where == where)
