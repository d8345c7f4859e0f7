"""Kafka's own tools and their translations on one broker: each reads what the other has sent, and both say as much."""

import json
import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Call
from tests.e2e.logs import read_again

from streamgauge.cluster.jars import broker_jars
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.jvm.java import Java

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

COUNT, SIZE, PARTITIONS = 1_500, 200, 3
CLASSES = {
    "kafka-producer-perf-test": "ProducerPerformance",
    "kafka-consumer-perf-test": "ConsumerPerformance",
    "kafka-e2e-latency": "EndToEndLatency",
}
Measure = Callable[[str], Any]
"""Carries out a command line; the result."""


@pytest.fixture
def made(broker: EmbeddedBroker, topic: str) -> str:
    """A topic that is there: the tools take it as it is."""
    Cluster(broker.bootstrap, {}).create_topic(topic, PARTITIONS, 1)
    return topic


@pytest.fixture
def theirs(java: Java, call: Call, tmp_path: Path) -> Measure:
    """By the tool itself, whose log is imported."""

    def carry_out(line: str) -> Any:
        tool, *words = line.split()
        main = f"org.apache.kafka.tools.{CLASSES[tool]}"
        command = [str(java.path), "-Xmx256m", "-cp", ":".join(map(str, broker_jars())), main, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        log, out = tmp_path / "tool.log", tmp_path / f"theirs-{secrets.token_hex(4)}"
        log.write_text(done.stdout)
        said = call("import", str(log), "--out", str(out))
        assert said.code == 0, said.err
        return result_in(out)

    return carry_out


@pytest.fixture
def ours(broker: EmbeddedBroker, call: Call, tmp_path: Path, warm_spark: None) -> Measure:
    """By its translation."""

    def carry_out(line: str) -> Any:
        script, out = tmp_path / "tool.sh", tmp_path / f"ours-{secrets.token_hex(4)}"
        script.write_text(line)
        said = call("run", str(script), "--bootstrap", broker.bootstrap, "--out", str(out), "--quiet")
        assert said.code in {0, 4}, said.err
        return result_in(out)

    return carry_out


def result_in(folder: Path) -> Any:
    (run,) = folder.iterdir()
    return json.loads((run / "result.json").read_text(encoding="utf-8"))


def test_each_reads_what_the_other_has_sent(ours: Measure, theirs: Measure, broker: EmbeddedBroker, made: str) -> None:
    where = f"--bootstrap-server {broker.bootstrap} --topic {made}"
    produce = f"kafka-producer-perf-test {where} --num-records {COUNT} --record-size {SIZE} --throughput 3000"
    produce += " --command-property acks=all"
    sent = {"theirs": theirs(produce), "ours": ours(produce)}
    for who, result in sent.items():
        assert result["delivery"]["acked"] == COUNT, who
        # Half a second of load is mostly start: a rate that is reached says nothing.
        assert 0 < result["throughput"]["acked_per_second"] < 3_300, who
        assert result["latency"]["ack"]["service"]["p50_ms"] is not None, who
    found = read_again(broker.bootstrap, [made], 2 * COUNT)
    assert [len(each.value()) for each in found] == [SIZE] * (2 * COUNT)
    assert {each.partition() for each in found} == set(range(PARTITIONS))

    consume = f"kafka-consumer-perf-test {where} --num-records {2 * COUNT}"
    for who, result in {"theirs": theirs(consume), "ours": ours(consume)}.items():
        assert result["delivery"]["received"] == 2 * COUNT, who
        assert result["throughput"]["received_per_second"] > 0, who


def test_both_send_one_message_after_the_other(
    ours: Measure, theirs: Measure, broker: EmbeddedBroker, made: str
) -> None:
    line = f"kafka-e2e-latency --bootstrap-server {broker.bootstrap} --topic {made} --num-records 300"
    line += f" --producer-acks 1 --record-size {SIZE}"
    for who, result in {"theirs": theirs(line), "ours": ours(line)}.items():
        latency = result["latency"]["end_to_end"]["service"]
        assert 0 <= latency["p50_ms"] <= latency["p99_ms"] < 5_000, who
    assert len(read_again(broker.bootstrap, [made], 600)) == 600
