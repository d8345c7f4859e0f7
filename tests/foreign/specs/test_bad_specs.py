"""Wrong specifications: one clear message each, with the place of what is wrong; nothing else is ever raised."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.foreign.specs.samples import (
    CONFIGURABLE,
    CONSUME,
    DRIVER,
    FAULT,
    MQPERF,
    MQPERF_2,
    OMB,
    PERF,
    PRODUCE,
    READ,
    ROUND_TRIP,
    STOP,
    STRESS,
    SUSTAINED,
    TUSSLE,
    comes_to,
)

from streamgauge.domain.errors import BadInput, Faults
from streamgauge.foreign.specs.write.translation import Tool

Fields = dict[str, Any]
GIVEN = sorted(path for path in (Path(__file__).parent / "given").rglob("*") if path.is_file())
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, float("-inf"), "", "x" * 5000, "\x00", "\u202e", [], {}, [[]], {"a": {"b": 1}},
    "9" * 5000, ["a", 1, None], -(2**63), 2**63, 0.5, "1e9", "$(reboot)", "../../etc/passwd",
)  # fmt: skip


def without(spec: Fields, *names: str) -> Fields:
    return {name: value for name, value in spec.items() if name not in names}


WRONG_FIELDS: list[tuple[Fields, Fields, str]] = [
    (CONFIGURABLE, {"throughput": 1}, "throughput: no such field of ConfigurableProducerSpec"),
    (CONFIGURABLE, {"activePartitions": 1}, "activePartitions: no such field .* Did you mean `activePartition`"),
    (CONFIGURABLE, {"durationMs": 0}, "durationMs: 0 ends it at once"),
    (CONFIGURABLE, {"durationMs": "soon"}, "durationMs: 'soon': not a whole number"),
    (CONFIGURABLE, {"durationMs": 1.5}, "durationMs: 1.5: not a whole number"),
    (CONFIGURABLE, {"durationMs": True}, "durationMs: true: not a whole number"),
    (CONFIGURABLE, {"durationMs": -1}, "durationMs: -1: not between 0"),
    (CONFIGURABLE, {"valueGenerator": {"type": "gauss"}}, "valueGenerator.type: 'gauss': no such generator"),
    (CONFIGURABLE, {"valueGenerator": {"size": 5}}, "valueGenerator.type: is missing"),
    (CONFIGURABLE, {"valueGenerator": []}, "valueGenerator: .*not a mapping"),
    (CONFIGURABLE, {"valueGenerator": {"type": "constant"}}, "valueGenerator.size: is missing"),
    (CONFIGURABLE, {"valueGenerator": {"type": "constant", "size": 1 << 40}}, "valueGenerator.size: .*not between"),
    (CONFIGURABLE, {"valueGenerator": {"type": "constant", "size": 5, "value": "%%"}}, "value: not bytes"),
    (CONFIGURABLE, {"valueGenerator": {"type": "timestampRandom", "size": 7}}, "size: 7: no room"),
    (CONFIGURABLE, {"valueGenerator": {"type": "uniformRandom", "size": 5, "padding": 6}}, "padding: 6: not between 0"),
    (
        CONFIGURABLE,
        {"valueGenerator": {"type": "randomComponent", "components": [{"percent": 50, "component": {"type": "null"}}]}},
        "components: percents add up to 50",
    ),
    (
        CONFIGURABLE,
        {"valueGenerator": {"type": "randomComponent", "components": [{"percent": 100}]}},
        "components.0.component: is missing",
    ),
    (CONFIGURABLE, {"valueGenerator": {"type": "constant", "size": 5, "seeds": 1}}, "valueGenerator.seeds: no such"),
    (CONFIGURABLE, {"keyGenerator": {"type": "timestampRandom"}}, "keyGenerator.size: is missing"),
    (CONFIGURABLE, {"keyGenerator": {"type": "gauss", "size": 2}}, "keyGenerator.type: .*no such generator"),
    (
        CONFIGURABLE,
        {
            "keyGenerator": {
                "type": "randomComponent",
                "components": [{"percent": 100, "component": {"type": "randomComponent", "components": []}}],
            }
        },
        "keyGenerator.components: components of components",
    ),
    (CONFIGURABLE, {"throughputGenerator": {"type": "poisson"}}, "throughputGenerator.type: .*no such generator"),
    (
        CONFIGURABLE,
        {"throughputGenerator": {"type": "constant", "messagesPerWindow": 1, "messagesPerSecond": 1}},
        "messagesPerSecond: is messagesPerWindow by another name",
    ),
    (CONFIGURABLE, {"throughputGenerator": {"type": "gaussian"}}, "messagesPerWindowAverage: is missing"),
    (CONFIGURABLE, {"flushGenerator": {"type": "constant", "messagesPerFlush": 0}}, "messagesPerFlush: 0: not between"),
    (CONFIGURABLE, {"activeTopic": {"a": {}, "x": {}}}, "activeTopic: a, x: a scenario has topics of one name"),
    (CONFIGURABLE, {"activeTopic": {}}, "activeTopic: names no topic"),
    (CONFIGURABLE, {"activeTopic": {"t": {"partitions": 1}}}, "activeTopic.t.partitions: no such field"),
    (
        CONFIGURABLE,
        {"activeTopic": {"t": {"partitionAssignments": {"1": [1]}}}},
        "partitionAssignments: not every partition from 0",
    ),
    (
        CONFIGURABLE,
        {"activeTopic": {"t": {"partitionAssignments": {"0": 1}}}},
        "partitionAssignments: not lists of the ids",
    ),
    (
        CONFIGURABLE,
        {"activeTopic": {"t": {"partitionAssignments": {"0": [1, 2], "1": [1]}}}},
        "topic.assignments: partitions with different numbers",
    ),
    (CONFIGURABLE, {"adminClientConf": {"metric.reporters": "x"}}, "adminClientConf.metric.reporters: names a Java"),
    (CONFIGURABLE, {"activeTopic": {"t!": {}}}, "topic.name: 't!': not in an allowed form"),
    (CONFIGURABLE, {"activePartition": 7}, "load.partition: 7: the topic has the partitions 0 to 1"),
    (CONFIGURABLE, {"producerConf": {"interceptor.classes": "x"}}, "interceptor.classes: names a Java class"),
    (CONFIGURABLE, {"producerConf": {"partitioner.class": "x.Y"}}, "partitioner.class: x.Y: a Java class"),
    (CONFIGURABLE, {"producerConf": {"linger.mss": "5"}}, "producerConf.linger.mss: not a setting"),
    (CONFIGURABLE, {"producerConf": {"linger.ms": []}}, "linger.ms: .*not a single value"),
    (CONFIGURABLE, {"producerConf": {"acks": "2"}}, "load.client.acks: 2: not a value of acks"),
    (PRODUCE, {"maxMessages": 0}, "maxMessages: 0 sends nothing"),
    (PRODUCE, {"transactionGenerator": {"type": "uniform"}}, "messagesPerTransaction: is missing"),
    (PRODUCE, {"activeTopics": {"t[3-1]": {}}}, "topic.name: 't\\[3-1\\]': a range of 0 topics"),
    (PRODUCE, {"activeTopics": {"t[0-9]-[0-99]": {}}}, "topic.name: .*a range of 1000 topics"),
    (PRODUCE, {"activeTopics": {"a": {"numPartitions": 1}, "b": {"numPartitions": 2}}}, "differ in more than"),
    (CONSUME, {"activeTopics": []}, "activeTopics: names no topic"),
    (CONSUME, {"activeTopics": ["t:x"]}, "activeTopics: t:x: not a partition"),
    (CONSUME, {"activeTopics": ["t:[2-0]"]}, "activeTopics: t:.2-0.: not a partition"),
    (CONSUME, {"activeTopics": ["t:[0-999][0-999][0-999]"]}, "activeTopics: .*: not a partition"),
    (CONSUME, {"activeTopics": ["t" + "[0-0]" * 5000]}, "topic.name: "),
    (CONSUME, {"activeTopics": ["t:0", "u:1"]}, "activeTopics: topics of which other partitions"),
    (
        CONSUME,
        {"activeTopics": ["t:0"], "consumerGroup": "g", "threadsPerWorker": 2},
        "threadsPerWorker: several threads of one group",
    ),
    (CONSUME, {"recordProcessor": {"type": "timestamp", "histogramStepMs": 0}}, "histogramStepMs: bins of 0 ms"),
    (CONSUME, {"consumerConf": {"auto.offset.reset": "none"}}, "auto.offset.reset: 'none': not earliest or latest"),
    (CONSUME, {"consumerConf": {"partition.assignment.strategy": "x.Mine"}}, "Mine: librdkafka has no such assignor"),
    (ROUND_TRIP, {"targetMessagesPerSec": 0}, "targetMessagesPerSec: 0: it needs a rate"),
    (SUSTAINED, {"producerConnectionCount": 5000}, "connections.hold.producers: 5000"),
    (SUSTAINED, {"topicName": None}, "topicName: is missing"),
    (STRESS, {"targetConnectionsPerSec": 0}, "targetConnectionsPerSec: 0: it needs a rate"),
    (STRESS, {"action": "PING"}, "action: 'PING': not known"),
    (STRESS, {"class": "org.apache.kafka.trogdor.workload.Nothing"}, "class: .*no specification of Trogdor"),
    (OMB, {"driver": 1}, "driver: no such field of a workload"),
    (OMB, {"topics": 0}, "topics: 0: not between 1"),
    (OMB, {"keyDistributor": "HASH"}, "keyDistributor: 'HASH': not known"),
    (OMB, {"randomBytesRatio": 2}, "randomBytesRatio: 2: not between 0 and 1"),
    (OMB, {"producerRate": 1e-300}, "producerRate: below 0.001 a second"),
    (OMB, {"producerRate": -5}, "producerRate: -5: not between"),
    (OMB, {"useRandomizedPayloads": "perhaps"}, "useRandomizedPayloads: 'perhaps': not true or false"),
    (OMB, {"consumerBacklogSizeGB": 1, "subscriptionsPerTopic": 0}, "consumerBacklogSizeGB: nobody reads"),
    (OMB, {"consumerBacklogSizeGB": 1, "producerRate": 0}, "consumerBacklogSizeGB: a backlog needs a rate"),
    (OMB, {"producersPerTopic": 0, "consumerPerSubscription": 0}, "load, consume: both are off"),
    (OMB, {"producersPerTopic": 1000}, "producersPerTopic: 1,000 producers are more than 256"),
    (MQPERF, {"mq_type": "Rabbit"}, "mq_type: 'Rabbit': not known"),
    (MQPERF, {"mq": {"drops": 1}}, "mq.drops: no such field of mq"),
    (MQPERF, {"mq": {"acks": "2"}}, "mq.acks: '2': not known"),
    (MQPERF, {"msg_size": "large"}, "msg_size: 'large': not a whole number"),
    (MQPERF, {"broker_hosts": [1]}, "broker_hosts: .*not a list of texts"),
    (MQPERF_2, {"sendersNumber": 0}, "sendersNumber: 0: not between"),
    (MQPERF_2, {"testLengthSeconds": 10**9}, "phases.measure: .*longer than 7 days"),
]
WRONG_TEXTS: list[tuple[str, Tool | None, str]] = [
    ("", None, "spec-0: is empty"),
    (" \n\t", None, "spec-0: is empty"),
    ("\x7fELF\x01\x02", None, r"not a text: the character U\+007F"),
    ("PK\x03\x04", None, r"not a text: the character U\+0003 in line 1"),
    ("hello", None, "not recognised"),
    ("- a\n- b\n", None, "not recognised"),
    ("{}", None, "not recognised"),
    ('{"class": 5}', None, "not recognised"),
    ('{"class": "org.apache.kafka.trogdor.workload.ProduceBenchSpec"', None, "spec-0:1:63: not JSON"),
    ('{"class": "x", "class": "y"}', "trogdor", "`class` is there twice"),
    ('{"class": NaN}', "trogdor", "NaN is not a number"),
    (f'{{"class": {"9" * 5000}}}', "trogdor", "a number of 5,000 digits"),
    ("{" * 100_000, "trogdor", "not JSON"),
    (f'{{"a": {"[" * 100_000}', "trogdor", "nested too deeply"),
    ("[1]", "trogdor", "not a mapping of fields"),
    ("a: [b", "omb", "spec-0:1:6: not YAML"),
    ("a: !!python/object:os.system x", "omb", "not YAML: the tag"),
    ("a: 1\na: 2\n", "omb", "`a` is already defined in line 1"),
    (PERF.replace("--topic t ", ""), None, "topic: is missing"),
    (PERF.replace("--throughput 100", "--throughput 0"), None, "throughput: 0: the tool would wait forever"),
    (PERF.replace("--throughput 100", "--throughput fast"), None, "throughput: 'fast': not a number"),
    (PERF.replace("--throughput 100", "--throughput 1e-300"), None, "throughput: below 0.001 a second"),
    (f"{TUSSLE} --runner InteractiveRunner" + "\ntargetRate=1" * 1001, None, "1,001 lines behind the command"),
    (f"{PERF} --payload-file x", None, "record-size: 2 kinds of payload"),
    (f"{PERF} --colour red", None, "--colour: no such option"),
    (f"{PERF} --num-record 5", None, "--num-record: no such option. Did you mean --num-records"),
    (f"{PERF} --topic again", None, "--topic: is given twice"),
    (f"{PERF} --producer-props acks", None, "producer-props: acks: not a setting"),
    (f"{PERF} --producer-props sasl.jaas.config='x password=\"hunter2\"' acks=9", None, "load.client.acks"),
    (f"{PERF} --topic", None, "--topic: "),
    (f"{PERF} stray", None, "stray: stands without an option"),
    (f"{PERF} --producer.config gone", None, "gone: cannot be read"),
    (f"{PERF} | tee log", None, r"\|: no shell reads this line"),
    (f"{PERF} --producer-props acks=$ACKS", None, r"acks=\$ACKS: no shell"),
    (f"{PERF} `id`", None, "`id`: no shell"),
    (f"{PERF} 'open", None, "not a command line: no closing quotation"),
    (f"{PERF}\n{PERF}", None, "2 commands"),
    (READ.replace("--messages 1000", ""), None, "num-records: is missing"),
    (READ.replace("--topic t", "--include 't.*'"), None, "include: a scenario names its topic"),
    ("kafka-e2e-latency.sh b:9092 t 100 1", None, "4 arguments instead of 5 or 6"),
    ("kafka-e2e-latency.sh b:9092 t 100 0 20", None, "producer-acks: '0': not known"),
    ("kafka-e2e-latency.sh b:9092 t many 1 20", None, "num-records: 'many': not a whole number"),
    (f"{TUSSLE} colour=red", None, "colour: no such field of kafka-benchmark"),
    (f"{TUSSLE} targetRate=1k", None, "targetRate: no such field of kafka-benchmark"),
    (f"{TUSSLE} --runner", None, "--runner: has no value"),
    (f"{TUSSLE} --runner Fast", None, "--runner: Fast: no runner"),
    (f"{TUSSLE} --runner ProcBenchmark", None, "run.cmd: is missing"),
    (f"{TUSSLE} --runner BasicRunner producers=1", None, "producers: no such field of BasicRunner"),
    (f"{TUSSLE} --runner BasicRunner runTime=0", None, "runTime: 0 leaves nothing to measure"),
    (f"{TUSSLE} --runner BasicRunner runTime=soon", None, "runTime: 'soon': not a time"),
    (f"{TUSSLE} --runner BasicRunner targetRate=fast", None, "targetRate: 'fast': not a number"),
    (f"{TUSSLE} --runner BasicRunner targetRate=-5", None, "targetRate: -5: below 0"),
    (f"{TUSSLE} --runner ScenarioRunner scenario=WAVE_1", None, "scenario: WAVE_1: not a scenario"),
    (f"{TUSSLE} --runner ScenarioRunner scenario=RAMP_0", None, "scenario: RAMP_0: has a part of 0"),
    (f"{TUSSLE} --runner ScenarioRunner scenario=RAMP_a_b", None, "scenario: RAMP_a_b: not a number"),
    (f"{TUSSLE} --runner ScenarioRunner -s 'scenario: []'", None, "scenario: not a list of steps"),
    (f"{TUSSLE} --runner ScenarioRunner -s 'scenario: [{{rate: 1}}]'", None, "scenario.0.rate: no such field"),
    (f"{TUSSLE} --runner StepRater -s 'sleConfig: [{{percentile: 42, maxValue: 1}}]'", None, "no such percentile"),
    (f"{TUSSLE} --runner StepRater -s 'sleConfig: [{{percentile: 99}}]'", None, "sleConfig.0.maxValue: is missing"),
    (f"{TUSSLE} --runner StepRater highBoundSteps=5", None, "highBoundSteps: 5: not a list of rates"),
    (f"{TUSSLE} --runner InteractiveRunner", None, "InteractiveRunner has no steps"),
    (f"{TUSSLE} --runner InteractiveRunner\ninit topic=x", None, "step 1: init"),
    (f"{TUSSLE} -f gone.yaml", None, "gone.yaml: cannot be read"),
    (f"{TUSSLE} -s '[1]'", None, "-s: not a mapping of properties"),
    (f"{TUSSLE} stray", None, "stray: not a property"),
    (f"{TUSSLE} producers=0 consumers=0", None, "producers: 0 producers and 0 consumers"),
    (f"{TUSSLE} messageLength=big", None, "messageLength: 'big': not a number"),
    ("kafkabench -x", None, "-x: no such option"),
    ("kafkabench -pS 1", None, "-pS: 1: a factor that does not advance"),
    ("kafkabench -t 1 -T 500", None, "-t: more than 100 values"),
    ("kafkabench -f gone.yaml", None, "gone.yaml: cannot be read"),
    ("kafkabench stray", None, "stray: stands without an option"),
    ("kafka: {bootstrapServers: [b], port: 5}", None, "kafka.port: no such field"),
    ("bench -rate 5 -speed 7", "ssp", "-speed: no such option"),
    ("bench -duration 40", None, "duration: '40': not a duration of Go"),
    ("bench -duration 0", None, "phases.measure: 0s leaves nothing to measure"),
    ("bench -payload xml", None, "payload: 'xml': not known"),
    ("bench -producer-only -consumer-only", None, "consumer-only: excludes producer-only"),
    ("bench -rate", None, "-rate: has no value"),
    ("bench -max-lag 5 -resume-lag 9", None, "resume_lag is above max_lag"),
    ("./run.sh nothing", None, "nothing: not a preset of run.sh"),
    ("./run.sh", None, "nothing: not a preset of run.sh"),
    ("name: x\ntopics: 1\n", "mqperf", "no such field|is missing"),
    ("kafka-producer-perf-test --topic t", "trogdor", "not a mapping of fields"),
    (f"{PERF} {'a ' * 3000}", None, "words"),
]
JOINED: list[tuple[Any, tuple[Any, ...], str]] = [
    (PRODUCE, (PRODUCE,), "ProduceBenchSpec and ProduceBenchSpec both say a load"),
    (PRODUCE, ({**CONSUME, "activeTopics": ["u"]},), "a scenario has topics of one name"),
    (OMB, (OMB,), "2 workloads and 0 drivers"),
    (OMB, (DRIVER, DRIVER), "1 workloads and 2 drivers"),
    (OMB, ({**DRIVER, "driverClass": "x.PulsarBenchmarkDriver"},), "driverClass: .*a driver of another system"),
    (OMB, ({**DRIVER, "producerConfig": "acks"},), "spec-1: producerConfig:1: is not a setting"),
    (OMB, ({**DRIVER, "producerConfig": "acks=1\nacks=2"},), "spec-1: producerConfig:2: acks is set twice"),
    (OMB, ({**DRIVER, "replicas": 3},), "spec-1: replicas: no such field of a driver"),
    (OMB, (PRODUCE,), "specifications of omb and trogdor"),
    (MQPERF, (MQPERF,), "2 specifications of mqperf"),
    (PRODUCE, ({**STOP, "nodeNames": [*"abcdefgh"]},), "cluster.brokers: 8"),
    (PRODUCE, ({**STOP, "javaProcessName": "zookeeper"},), "javaProcessName: zookeeper"),
    (PRODUCE, ({**STOP, "durationMs": 0},), "durationMs: a fault of no length"),
    (PRODUCE, ({**STOP, "durationMs": 90_000},), "faults.0.for: ends after the measure phase"),
    (
        PRODUCE,
        ({"class": f"{FAULT}NetworkPartitionFaultSpec", "durationMs": 1, "partitions": [["a"], ["a"]]},),
        "partitions: names a node twice",
    ),
    (
        PRODUCE,
        ({"class": f"{FAULT}NetworkPartitionFaultSpec", "durationMs": 1, "partitions": [["a"]]},),
        "partitions: not two sets",
    ),
    (
        PRODUCE,
        ({"class": f"{FAULT}DegradedNetworkFaultSpec", "durationMs": 1, "nodeSpecs": {"a": {}}},),
        "nodeSpecs: degrades nothing",
    ),
    (
        PRODUCE,
        ({"class": f"{FAULT}DegradedNetworkFaultSpec", "durationMs": 1, "nodeSpecs": {"a": {"lossPercent": 1}}},),
        "nodeSpecs.a.lossPercent: no such field",
    ),
]


@pytest.mark.parametrize(("spec", "changes", "expected"), WRONG_FIELDS)
def test_wrong_fields(spec: Fields, changes: Fields, expected: str) -> None:
    with pytest.raises(BadInput, match=f"spec-0: {expected}|{expected}"):
        comes_to({**spec, **changes})


@pytest.mark.parametrize(("text", "tool", "expected"), WRONG_TEXTS)
def test_wrong_texts(text: str, tool: Tool | None, expected: str) -> None:
    with pytest.raises(BadInput, match=expected) as raised:
        comes_to(text, tool)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(("first", "others", "expected"), JOINED)
def test_what_cannot_be_joined(first: Any, others: tuple[Any, ...], expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        comes_to(first, None, *others)


REQUIRED: list[tuple[Fields, str]] = [
    *((CONFIGURABLE, name) for name in ("throughputGenerator", "keyGenerator", "valueGenerator", "activeTopic")),
    *((OMB, name) for name in ("topics", "partitionsPerTopic", "messageSize", "producersPerTopic", "producerRate")),
    (OMB, "testDurationMinutes"),
    *((MQPERF, name) for name in ("msg_size", "receiver_threads")),
    *((MQPERF_2, name) for name in ("testLengthSeconds", "msgSizeBytes")),
    (SUSTAINED, "topicName"),
]


@pytest.mark.parametrize(("spec", "name"), REQUIRED)
def test_a_missing_field_is_told_by_its_name(spec: Fields, name: str) -> None:
    with pytest.raises(BadInput, match=f"spec-0: {name}: (is missing|names no topic)"):
        comes_to(without(spec, name))


def test_of_many_fields_that_are_not_known_some_are_told() -> None:
    """One mistake can make thousands."""
    with pytest.raises(BadInput) as raised:
        comes_to({**STRESS, **{f"field{number}": 1 for number in range(1000)}})

    assert len(raised.value.faults) == 21
    assert "980 more fields" in str(raised.value.faults[-1])


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(BadInput) as raised:
        comes_to({**CONFIGURABLE, "durationMs": "x", "nonsense": 1, "activePartition": "y"})

    assert len(raised.value.faults) == 3


@pytest.mark.parametrize("path", GIVEN, ids=[path.name for path in GIVEN])
def test_a_file_that_was_cut_off(path: Path) -> None:
    """Wherever: it is a specification still, or bad input."""
    text = path.read_text(encoding="utf-8")
    for place in range(0, len(text), max(1, len(text) // 60)):
        _survives(text[:place])


@pytest.mark.parametrize("spec", [CONFIGURABLE, PRODUCE, CONSUME, ROUND_TRIP, SUSTAINED, STRESS, OMB, MQPERF, MQPERF_2])
def test_hostile_values_in_every_field(spec: Fields) -> None:
    for name in without(spec, "class"):
        for value in HOSTILE:
            _survives(json.dumps({**spec, name: value}))
        below = spec[name]
        for inner in below if isinstance(below, dict) else ():
            for value in HOSTILE:
                _survives(json.dumps({**spec, name: {**below, inner: value}}))


def test_hostile_values_in_every_option() -> None:
    for name in "producers topics partitions messageLength acks batchSize producerProps topicProps rf".split():
        for value in HOSTILE:
            if isinstance(value, str) and "\x00" not in value:
                _survives(f"{TUSSLE} '{name}={value}'")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (PERF, "topic num-records record-size throughput warmup-records transaction-duration-ms payload-file"),
        (READ, "topic messages fetch-size socket-buffer-size timeout group"),
        ("bench -warmup 1s", "topic partitions msg-size rate duration producers acks batch-bytes linger-ms max-lag"),
        ("bench -warmup 1s", "consumer-delay phase-duration burst-rate lag-interval payload-seed bp-poll"),
        ("kafkabench -d", "s a i M m mS P p pS r T t"),
    ],
)
def test_hostile_values_of_every_flag(command: str, names: str) -> None:
    """In place of what the command has."""
    for name in names.split():
        dash = "--" if command.startswith("kafka-") else "-"
        kept = re.sub(rf" {dash}{name} \S+", "", command)
        for value in (*HOSTILE, "1e-300", "5e-324", "9" * 25 + "h", "1e15", "1"):
            if "\x00" not in str(value):
                _survives(f"{kept} {dash}{name} '{value}'")


def _survives(text: str) -> None:
    faults = Faults()
    faults.of(comes_to, text)
    assert all(len(str(fault)) < 1500 for fault in faults)
