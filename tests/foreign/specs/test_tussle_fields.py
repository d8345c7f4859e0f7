"""Every property of tussle and its runners: what it comes to, and what is told of it."""

from typing import Any

import pytest
from tests.foreign.specs.samples import TUSSLE, at, comes_to, told

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.experiments.search.objective import parse_objective
from streamgauge.experiments.search.staircase import Staircase
from streamgauge.foreign.specs.tussle.properties import tussle_number, tussle_time_ns
from streamgauge.scenario.written.yaml_text import read_yaml


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {"topic.name": "test_1", "topic.partitions": 1, "load.size": 1024, "load.client.acks": 1}),
        ("", {"load.rate": 1000, "phases": {"warmup": "0s", "measure": "1m"}, "topic.reset": True}),
        ("topic=x", {"topic.name": "x_1"}),
        ("topic=x topics=3", {"topic.name": "x_[1-3]"}),
        ("partitions=4 replicationFactor=3", {"topic.partitions": 4, "topic.replication": 3}),
        ("rf=3", {"topic.replication": 3}),
        ("retentionMs=60000 retentionBytes=1m", {"topic.configs": {"retention.ms": 60000, "retention.bytes": 10**6}}),
        ("minInsyncReplicas=2", {"topic.configs": {"min.insync.replicas": 2}}),
        ("retentionMs=-1", {"topic.configs": None}),
        ("topicProps.cleanup.policy=compact", {"topic.configs": {"cleanup.policy": "compact"}}),
        ("messageLength=2k", {"load.size": 2000}),
        ("messageLength=2kib", {"load.size": 2048}),
        ("messageLength=10 messageLengthMax=20", {"load.size": {"uniform": {"from": 10, "to": 19}}}),
        ("messageLength=10 messageLengthMax=5", {"load.size": 10}),
        ("producers=3 consumers=2", {"load.producers": 3, "consume.consumers": 2}),
        ("producers=15", {"load.producers": 15, "load.processes": 2}),
        ("producers=0", {"load": "off"}),
        ("consumers=0", {"consume": "off"}),
        ("acks=all", {"load.client.acks": "all", "load.client.enable.idempotence": True}),
        ("producerAcks=0", {"load.client.acks": 0}),
        ("idempotence=true acks=all", {"load.client.enable.idempotence": True}),
        ("batchSize=65536 lingerMs=7", {"load.client.batch.size": 65536, "load.client.linger.ms": 7}),
        ("batchSize=-1 lingerMs=-1", {"load.client.batch.size": 16384, "load.client.linger.ms": 0}),
        ("producerProps.compression.type=zstd", {"load.client.compression.type": "zstd"}),
        ("-s 'producerProps: {compression.type: lz4}'", {"load.client.compression.type": "lz4"}),
        ("consumerProps.fetch.min.bytes=9", {"consume.client.fetch.min.bytes": 9}),
        ("--runner BasicRunner targetRate=10k", {"load.rate": 10_000}),
        ("--runner BasicRunner targetRate=0", {"load.rate": "max"}),
        ("--runner BasicRunner warmupTime=30 runTime=2m", {"phases": {"warmup": "30s", "measure": "2m"}}),
        ("--runner BasicRunner reset=false", {"topic.reset": None}),
        (
            "throttleMode=INT --runner BasicRunner targetRate=10k",
            {"load.rate": {"windows": {"messages": 100, "window": "10ms"}}},
        ),
        ("throttleMode=INT --runner BasicRunner targetRate=50", {"load.rate": 50}),
        (
            "--runner ScenarioRunner scenario=RAMP_5_1k_3k_10",
            {
                "load.rate": {"steps": {"from": 1000, "to": 3000, "steps": 5, "each": "10s"}},
                "phases.measure": "50s",
            },
        ),
        (
            "--runner ScenarioRunner scenario=RAMP_2k_1k_3k_1",
            {
                "load.rate": {"steps": {"from": 1000, "to": 3000, "steps": 2000, "each": "1s"}},
                "phases.measure": "2000s",
            },
        ),
        (
            "--runner ScenarioRunner scenario=RAMP",
            {"load.rate": {"steps": {"from": 1000, "to": 10_000, "steps": 10, "each": "1m"}}, "phases.measure": "10m"},
        ),
        (
            "--runner ScenarioRunner scenario=SPIKE__20k__5s",
            {
                "load.rate": {"spike": {"base": 1000, "peak": 20_000, "at": "5m", "for": "5s"}},
                "phases.measure": "605s",
            },
        ),
        (
            "--runner ScenarioRunner",
            {
                "load.rate": {"segments": [{"rate": rate, "for": "1m"} for rate in (1000, 2000, 3000)]},
                "phases.measure": "3m",
            },
        ),
        (
            "--runner ScenarioRunner -s 'scenario: [{targetRate: 5, warmupTime: 3, runTime: 4}, {targetRate: 6}]'",
            {
                "load.rate": {"segments": [{"rate": 5, "for": "4s"}, {"rate": 6, "for": "1m"}]},
                "phases": {"warmup": "3s", "measure": "64s"},
            },
        ),
    ],
)
def test_properties(arguments: str, expected: dict[str, Any]) -> None:
    document = comes_to(f"{TUSSLE} {arguments}").document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "where", "what"),
    [
        ("brokerList=b:9092", "brokerList", "--bootstrap"),
        ("waitAfterDeleteTopic=3", "waitAfterDeleteTopic", "ready before"),
        ("probeTopics=true", "probeTopics", "ready before"),
        ("pollTimeoutMs=100", "pollTimeoutMs", "what has arrived"),
        ("pollTimeout=100", "pollTimeout", "what has arrived"),
        ("batchSize=0", "batchSize", "default of the Java client"),
        ("throttleMode=INT --runner BasicRunner targetRate=50", "throttleMode", "evenly"),
        ("--runner BasicRunner hdrCutTime=5", "hdrCutTime", "phases.warmup"),
        ("--runner BasicRunner makeReport=true reportDir=x", "reportDir", "the report"),
        ("--runner BasicRunner highBound=5k", "highBound", "only a search"),
        ("--runner StepRater rateFactor=1.05", "rateFactor", "99 %"),
        ("--runner StepRater highBoundOnly=true", "highBoundOnly", "goes on"),
        ("--runner StepRater resetEachStep=false", "resetEachStep", "topics of its own"),
        ("--runner StepRater initialRunTime=5", "initialRunTime", "as long as the others"),
        ("--runner StepRater", "sleConfig", "very strict"),
    ],
)
def test_what_is_told_of_properties(arguments: str, where: str, what: str) -> None:
    assert what in told(comes_to(f"{TUSSLE} {arguments}"), where)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--runner StepRater", "from: 50%, to: 110%, by: 1%, bound: steps, retries: 2, finer: 0"),
        (
            "--runner StepRater startingRatePercent=20 finishingRatePercent=100 rateStepPercent=5 highBound=50k",
            "from: 20%, to: 100%, by: 5%, bound: 50000, retries: 2, finer: 0",
        ),
        (
            "--runner StepRater highBoundFromMaxRate=true highBoundSteps='[10k, 1k]' retriesMax=1 finerRateSteps=3",
            "from: 50%, to: 110%, by: 1%, bound: unthrottled, retries: 1, finer: 3, bound_steps: [10000, 1000]",
        ),
    ],
)
def test_a_step_rater_is_a_search(arguments: str, expected: str) -> None:
    """With options that `search` takes."""
    made = comes_to(f"{TUSSLE} {arguments}")
    options = dict(zip(made.search[::2], made.search[1::2], strict=True))

    assert options["--climb"] == expected
    assert Staircase.model_validate(read_yaml(f"{{{expected}}}")).retries == int(expected.partition("retries: ")[2][0])
    assert options["--step"] == "1m"


def test_service_levels_are_objectives() -> None:
    """The three of the README."""
    levels = "[{percentile: 99, maxValue: 20, movingWindow: 10}, {percentile: 99.9, maxValue: 50, movingWindow: 1m}, "
    made = comes_to(f"{TUSSLE} --runner StepRater -s 'sleConfig: {levels}{{percentile: 100, maxValue: 300}}]'")
    objectives = [text for option, text in zip(made.search[::2], made.search[1::2], strict=True) if "obj" in option]

    assert objectives == ["p99 <= 20 ms over 10s", "p99.9 <= 50 ms over 1m", "max <= 300 ms over 10s"]
    assert [parse_objective(each).window_seconds for each in objectives] == [10, 60, 10]


def test_repeated_runs_are_an_experiment() -> None:
    made = comes_to(f"{TUSSLE} --runner BasicRunner runSteps=3 targetRate=5k")

    assert (made.kind, made.document["repeat"], made.document["order"]) == ("experiment", 3, "as-written")


def test_steps_of_which_one_is_unthrottled_are_an_experiment() -> None:
    steps = "'scenario: [{targetRate: 5, runTime: 4}, {targetRate: 0, runTime: 6, warmupTime: 1}]'"
    made = comes_to(f"{TUSSLE} --runner ScenarioRunner -s {steps}")

    assert made.kind == "experiment"
    assert made.document["vary"]["variants"] == {
        "step-1": {"load.rate": 5, "phases.warmup": "0s", "phases.measure": "4s"},
        "step-2": {"load.rate": "max", "phases.warmup": "1s", "phases.measure": "6s"},
    }


def test_a_script_of_steps() -> None:
    """Behind the command, a line for each; what stands behind `quit` is not read."""
    lines = ["targetRate=1k runTime=5", "reset", "{targetRate: 2k, runTime: 5}", "quit", "targetRate=9k"]
    made = comes_to("\n".join([f"{TUSSLE} --runner InteractiveRunner", *lines]))

    assert at(made.document, "load.rate") == {"segments": [{"rate": 1000, "for": "5s"}, {"rate": 2000, "for": "5s"}]}
    assert "topics of its own" in told(made, "step 2")


def test_arguments_are_merged_in_their_order() -> None:
    """Files, YAML, `-p` and bare properties; the last one wins, and what is behind `--` is ignored."""
    files = {"a.yaml": "partitions: 2\nproducers: 5\n", "b.yaml": "targetRate: 3k\nrunTime: 9\n"}
    text = "kafka-benchmark.jar partitions=1 -f a.yaml -p producers=2 -s 'consumers: 3' --runner org.x.BasicRunner"
    made = comes_to(f"java -jar {text} runTime=5 -f b.yaml targetRate=4k -- ignored=1", files=files)

    assert at(made.document, "topic.partitions") == 2
    assert at(made.document, "load.producers") == 2
    assert at(made.document, "consume.consumers") == 3
    assert at(made.document, "load.rate") == 4000
    assert at(made.document, "phases.measure") == "9s"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5", 5), ("10k", 10_000), ("2M", 2_000_000), ("1g", 10**9), ("4kib", 4096), ("1MiB", 1 << 20)],
)
def test_numbers(text: str, expected: int) -> None:
    assert tussle_number(text) == expected


@pytest.mark.parametrize(
    ("text", "seconds"), [("5", 5), (5, 5), ("5s", 5), ("2 seconds", 2), ("3m", 180), ("3min", 180), ("1hrs", 3600)]
)
def test_times(text: object, seconds: int) -> None:
    assert tussle_time_ns(text) == seconds * NS_PER_SECOND


@pytest.mark.parametrize("text", ["", "fast", "5x", True, None, "-", "9" * 40])
def test_what_is_no_number(text: object) -> None:
    with pytest.raises(BadValue):
        tussle_number(text)
