"""Every option of Kafka's tools, KafkaBench and SSP_kafka: what it comes to, and what is told of it."""

from typing import Any

import pytest
from tests.foreign.specs.samples import PERF, READ, at, comes_to, told

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadInput, BadValue
from streamgauge.foreign.results.values import go_duration_ns
from streamgauge.foreign.specs.ssp import PRESETS

SIZED = "kafka-producer-perf-test.sh --topic t --num-records 1000 --throughput 100"
LATENCY = "kafka-e2e-latency.sh b:9092 t 100 1 20"
CLUSTER = {"c.yaml": "kafka: {bootstrapServers: ['b-1:9092', 'b-2:9092']}\n"}
BENCH = "kafkabench -f c.yaml -t 1 -T 1 -p 1 -P 1 -m 64 -M 64"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (PERF, {"load.rate": "100/s", "load.size": 100, "load.payload": "random", "consume": "off"}),
        (PERF, {"phases": {"warmup": "0s", "measure": {"messages": 1000, "at_most": "80s"}}, "topic.name": "t"}),
        (PERF, {"load.client.acks": "all", "load.client.linger.ms": 0, "load.client.batch.size": 16384}),
        (PERF.replace("--throughput 100", "--throughput=-1"), {"load.rate": "max"}),
        (PERF.replace("--throughput 100", "--throughput 0.5"), {"load.rate": "0.5/s"}),
        (f"{PERF} --bootstrap-server b:9092", {"load.client.linger.ms": 5}),
        (f"{PERF} --producer-props acks=1 linger.ms=9", {"load.client.acks": 1, "load.client.linger.ms": 9}),
        (f"{PERF} --command-property acks=0", {"load.client.acks": 0}),
        (f"{PERF} --transactional-id x", {"load.transactions": {"interval": "3s"}}),
        (f"{PERF} --producer-props transactional.id=x", {"load.transactions": {"interval": "3s"}}),
        (f"{PERF} --transaction-duration-ms 50", {"load.transactions": {"interval": "50ms"}}),
        (f"{PERF} --warmup-records 200", {"phases.warmup": "2s", "phases.measure.messages": 800}),
        (f"{SIZED} --payload-file lines.txt", {"load.payload": {"file": {"path": "lines.txt"}}, "load.size": None}),
        (f"{SIZED} --payload-monotonic", {"load.payload": "sequential", "load.size": 8}),
        (
            f"{SIZED} --record-size 1 --producer-props partitioner.class=a.b.RoundRobinPartitioner",
            {"load.partition": "round-robin"},
        ),
        (READ, {"load": "off", "consume.start": "earliest", "phases.measure": {"drained": True, "at_most": "1h"}}),
        (READ, {"consume.client.max.partition.fetch.bytes": 1 << 20, "consume.client.check.crcs": False}),
        (READ, {"consume.client.socket.receive.buffer.bytes": 2 << 20}),
        (f"{READ} --fetch-size 99", {"consume.client.max.partition.fetch.bytes": 99}),
        (f"{READ} --socket-buffer-size 99", {"consume.client.socket.receive.buffer.bytes": 99}),
        (f"{READ} --from-latest", {"consume.start": "latest", "phases.measure": "60s"}),
        (
            f"{READ} --command-property isolation.level=read_committed",
            {"consume.client.isolation.level": "read_committed"},
        ),
        (READ.replace("--messages", "--num-records"), {"consume.start": "earliest"}),
        (LATENCY, {"load.rate": "closed", "load.size": 20, "load.client.acks": 1, "load.client.linger.ms": 0}),
        (LATENCY, {"consume.client.fetch.wait.max.ms": 0, "consume.commit": "never", "phases.measure.messages": 100}),
        (LATENCY.replace(" 1 ", " all "), {"load.client.acks": "all"}),
        (
            "kafka-e2e-latency --bootstrap-server b:9092 --topic t --num-records 9 --producer-acks 1 --record-size 20",
            {"load.size": 20, "phases.measure.messages": 9},
        ),
        ("bin/kafka-run-class.sh org.apache.kafka.tools.EndToEndLatency b:9 t 9 1 20", {"load.size": 20}),
        ("KAFKA_HEAP_OPTS=-Xmx1g " + PERF, {"load.size": 100}),
    ],
)
def test_options_of_kafkas_tools(line: str, expected: dict[str, Any]) -> None:
    document = comes_to(line).document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("line", "where", "what"),
    [
        (f"{PERF} --print-metrics", "print-metrics", "report"),
        (f"{PERF} --reporting-interval 100", "reporting-interval", "report"),
        (f"{PERF} --producer-props bootstrap.servers=b:9092", "producer-props.bootstrap.servers", "--bootstrap"),
        (f"{SIZED} --payload-file x --payload-delimiter '\\n'", "payload-file", "in turn"),
        (READ, "bootstrap-server", "--bootstrap"),
        (f"{READ} --group g", "group", "own group"),
        (f"{READ} --timeout 5", "timeout", "5 ms"),
        (f"{READ} --threads 2", "threads", "ignored"),
        (f"{READ} --hide-header --date-format y", "date-format", "report"),
        (f"{READ} --show-detailed-stats", "show-detailed-stats", "report"),
        (READ, "messages", "not after 1000"),
        (LATENCY, "bootstrap-server", "--bootstrap"),
    ],
)
def test_what_is_told_of_options(line: str, where: str, what: str) -> None:
    assert what in told(comes_to(line), where)


def test_files_of_settings_are_read() -> None:
    files = {"p.properties": "# a comment\nbootstrap.servers = b:9092\nacks: 1\nlinger.ms=3\n"}
    made = comes_to(f"{PERF} --producer.config p.properties --producer-props linger.ms=4", files=files)

    assert made.bootstrap == "b:9092"
    assert at(made.document, "load.client.acks") == 1
    assert at(made.document, "load.client.linger.ms") == 4


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", {"phases.measure.bytes_per_partition": "128MiB", "load.size": 64, "load.rate": "max"}),
        ("", {"load.producers": "per-topic", "load.partition": "round-robin", "topic.replication": 3}),
        ("-s 1000", {"phases.measure.bytes_per_partition": 1000}),
        ("-a 0", {"load.client.acks": 0}),
        ("-a=-1", {"load.client.acks": -1}),
        ("-r 1", {"topic.replication": 1}),
        ("-c", {"load.rate": "closed", "load.producers": "per-partition", "load.partition": None}),
        ("-c=true", {"load.rate": "closed"}),
        ("-c=false", {"load.rate": "max"}),
        ("-eos", {"load.transactions": {"messages": 1}, "load.client.acks": "all", "load.rate": "max"}),
    ],
)
def test_flags_of_kafkabench(flags: str, expected: dict[str, Any]) -> None:
    document = comes_to(f"{BENCH} {flags}", files=CLUSTER).document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("flags", "vary", "repeat"),
    [
        ("", {"load.size": [128, 512, 2048]}, 1),
        ("-m 64 -M 300 -mS 2", {"load.size": [64, 128, 256]}, 1),
        ("-p 1 -m 64 -M 64", {"topic.partitions": [1, 2, 4, 8]}, 1),
        ("-p 1 -pS 3 -m 64 -M 64", {"topic.partitions": [1, 3]}, 1),
        ("-t 1 -T 3 -m 64 -M 64", {"topic.count": [1, 2, 3]}, 1),
        ("-i 3 -m 64 -M 64", {}, 3),
    ],
)
def test_loops_of_kafkabench_are_an_experiment(flags: str, vary: dict[str, Any], repeat: int) -> None:
    made = comes_to(f"KafkaBench -f c.yaml {flags}", files=CLUSTER)

    assert (made.kind, made.document["vary"], made.document["repeat"]) == ("experiment", vary, repeat)
    assert made.bootstrap == "b-1:9092,b-2:9092"


def test_a_least_above_the_most_counts_for_both() -> None:
    made = comes_to(f"{BENCH.replace('-M 64', '-M 32')}", files=CLUSTER)

    assert at(made.document, "load.size") == 64
    assert "counts for both" in told(made, "-m, -M")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", {"topic.name": "bench-topic-v4", "topic.partitions": 12, "topic.reset": True, "load.rate": 10_000}),
        ("", {"phases": {"warmup": "3s", "measure": "30s"}, "lag.every": "2s", "seed": 42, "consume.start": None}),
        ("", {"load.client.acks": 1, "load.client.compression.type": "snappy", "load.client.batch.size": 65536}),
        ("-topic x -partitions 3", {"topic.name": "x", "topic.partitions": 3}),
        ("-reset-topic=false", {"topic.reset": False, "consume.start": "earliest"}),
        ("-reset-topic=false -initial-offset newest", {"consume.start": "latest"}),
        ("-msg-size 100", {"load.size": 100}),
        ("-msg-size 1", {"load.size": 16}),
        ("-rate 500", {"load.rate": 500}),
        ("-rate 0", {"load.rate": 8}),
        ("-duration 1m30s -warmup 0", {"phases": {"warmup": "0s", "measure": "90s"}}),
        ("-producers 4", {"load.producers": 4, "load.processes": None}),
        ("-producers 8", {"load.producers": 8, "load.processes": 2}),
        ("-batch-bytes 9 -linger-ms 7", {"load.client.batch.size": 9, "load.client.linger.ms": 7}),
        ("-acks 0", {"load.client.acks": 0}),
        ("-acks=-1", {"load.client.acks": "all", "load.client.max.in.flight.requests.per.connection": 1}),
        ("-acks=-1", {"load.client.enable.idempotence": True}),
        ("-acks 7", {"load.client.acks": 1}),
        ("-compression zstd", {"load.client.compression.type": "zstd"}),
        ("-compression gzip", {"load.client.compression.level": 1}),
        ("-compression zip", {"load.client.compression.type": "none"}),
        ("-max-msg-bytes 2000", {"load.client.message.max.bytes": 2000}),
        ("-consumers 2", {"consume.consumers": 1}),
        (
            "-consumer-delay 4ms -consumer-jitter 1ms",
            {"consume.processing": {"delay": "4ms", "order": "partitions", "jitter": "1ms"}},
        ),
        ("-consumer-jitter 1ms", {"consume.processing": {"delay": "0s", "order": "partitions", "jitter": "1ms"}}),
        (
            "-consumer-delay 4ms -consumer-jitter 1ms -phase-duration 30s",
            {"consume.processing.changes": [{"at": "30s", "delay": "0s"}]},
        ),
        (
            "-consumer-delay 4ms -consumer-jitter 1ms -phase-duration 30s -phase-delay 1ms",
            {"consume.processing.changes": [{"at": "30s", "delay": "1ms", "jitter": "1ms"}]},
        ),
        (
            "-max-lag 100",
            {"backpressure": {"hysteresis": {"max_lag": 100, "poll": "200ms", "held": "drop"}}},
        ),
        (
            "-max-lag 100 -resume-lag 10 -bp-poll 50ms",
            {"backpressure": {"hysteresis": {"max_lag": 100, "poll": "50ms", "held": "drop", "resume_lag": 10}}},
        ),
        (
            "-burst-rate 20000 -burst-duration 2s -burst-period 8s",
            {"load.rate": {"burst": {"base": 10_000, "burst": 20_000, "for": "2s", "every": "8s"}}},
        ),
        ("-burst-rate 20000", {"load.rate": 10_000}),
        ("-burst-rate 20000 -burst-duration 8s -burst-period 8s", {"load.rate": 20_000}),
        ("-payload json -payload-seed 7", {"load.payload": "json", "seed": 7}),
        ("-lag-interval 500ms", {"lag.every": "500ms"}),
        ("-producer-only -max-lag 5", {"consume": "off", "backpressure": None}),
        ("-consumer-only", {"load": "off"}),
        ("--rate=700", {"load.rate": 700}),
    ],
)
def test_flags_of_ssp(flags: str, expected: dict[str, Any]) -> None:
    document = comes_to(f"bench {flags}", "ssp").document

    assert {path: at(document, path) for path in expected} == expected


@pytest.mark.parametrize(
    ("flags", "where", "what"),
    [
        ("-broker b:9092", "broker", "--bootstrap"),
        ("-group g", "group", "own group"),
        ("-report-interval 1s", "report-interval", "report"),
        ("-sysperf-interval 1s", "sysperf-interval", "report"),
        ("-output x -json", "json", "report"),
        ("-burst-rate 5", "burst-rate", "all three"),
        ("-acks 7", "acks", "acts as 1"),
        ("-compression zip", "compression", "acts as none"),
        ("-max-lag 5", "max-lag", "overshoots"),
        ("-consumers 2", "consumers", "by partition"),
    ],
)
def test_what_is_told_of_flags_of_ssp(flags: str, where: str, what: str) -> None:
    assert what in told(comes_to(f"bench {flags}", "ssp"), where)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_of_ssp(preset: str) -> None:
    """All of them; sweeps are experiments of as many variants as they have runs."""
    made = comes_to(f"./run.sh {preset}")

    assert made.kind == ("experiment" if preset.startswith("sweep") else "scenario")
    assert made.document["name"].endswith(preset)


def test_a_sweep_of_ssp_has_what_follows_from_its_flag() -> None:
    """As each run of the script has it: idempotence and one request in flight, and gzip at level 1."""
    acks, codecs = (comes_to(f"./run.sh sweep-{flag}").document["vary"]["variants"] for flag in ("acks", "compression"))

    assert acks == {
        "acks=0": {"load.client.acks": 0},
        "acks=1": {"load.client.acks": 1},
        "acks=all": {
            "load.client.acks": "all",
            "load.client.max.in.flight.requests.per.connection": 1,
            "load.client.enable.idempotence": True,
        },
    }
    assert codecs["compression.type=gzip"] == {
        "load.client.compression.type": "gzip", "load.client.compression.level": 1,
    }  # fmt: skip
    assert list(codecs) == [f"compression.type={codec}" for codec in ("none", "snappy", "lz4", "zstd", "gzip")]


def test_the_duration_of_a_preset_of_ssp_may_be_a_variable() -> None:
    """Its script reads DURATION in one preset; any other variable is said to be left out."""
    plain, longer = comes_to("./run.sh bench"), comes_to("DURATION=60s FOO=secret ./run.sh bench")

    assert (plain.document["phases"]["measure"], longer.document["phases"]["measure"]) == ("30s", "1m")
    assert (told(longer, "DURATION"), told(longer, "FOO")) == ("", "a variable of the shell, which nothing here reads")
    assert "nothing here reads" in told(comes_to("DURATION=60s ./run.sh quick"), "DURATION")
    assert "nothing here reads" in told(comes_to(f"KAFKA_HEAP_OPTS=-Xmx1g {PERF}"), "KAFKA_HEAP_OPTS")
    with pytest.raises(BadInput, match="not a duration of Go"):
        comes_to("DURATION=long ./run.sh bench")


@pytest.mark.parametrize("command", ["bench -acks -1", "./bench -rate 5 -acks -1 -broker b:9092"])
def test_a_number_below_0_is_no_flag(command: str) -> None:
    assert comes_to(command).document["load"]["client"]["acks"] == "all"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("4ms", 4 * NS_PER_MS), ("800us", 800_000), ("1m30s", 90 * NS_PER_SECOND), ("1.5s", 1500 * NS_PER_MS)],
)
def test_durations_of_go(text: str, expected: int) -> None:
    assert go_duration_ns(text) == expected


@pytest.mark.parametrize("text", ["", "40", "s", "-5s", "5 s", "1x", "9" * 200_000, True, None])
def test_what_is_no_duration_of_go(text: object) -> None:
    """However long it is: digits without a unit must not be searched again from each of them."""
    with pytest.raises(BadValue, match="not a duration of Go"):
        go_duration_ns(text)
