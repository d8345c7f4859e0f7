"""Specifications of others do what they say: rates, sizes, flushes and keys, measured from the rows and the log."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.e2e.conftest import Call
from tests.e2e.logs import read_again
from tests.e2e.runs import rows

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.folder.facts import RunFolder

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]

WORKLOAD = "org.apache.kafka.trogdor.workload"
CONFIGURABLE = {
    "class": f"{WORKLOAD}.ConfigurableProducerSpec", "startMs": 0, "durationMs": 3_000, "producerNode": "node0",
    "bootstrapServers": "broker-1:9092", "activePartition": -1,
}  # fmt: skip
Carry = Callable[..., RunFolder]


@pytest.fixture
def carry_out(call: Call, broker: EmbeddedBroker, tmp_path: Path) -> Carry:
    """Records the run of a specification."""

    def run(text: str, *settings: str) -> RunFolder:
        (tmp_path / "spec").write_text(text)
        words = ["run", str(tmp_path / "spec"), "--record-only", "--quiet", "--bootstrap", broker.bootstrap]
        said = call(*words, "--out", str(tmp_path / "runs"), *(f"--set={each}" for each in settings))
        assert said.code == 0, said.err
        (root,) = (tmp_path / "runs").iterdir()
        return RunFolder(root)

    return run


def sent(folder: RunFolder, *names: str) -> list[Any]:
    """Columns of all messages in the order of their numbers; each was acknowledged."""
    table = rows(folder, "sent", "seq", "error", *names).sort_by("seq")
    assert set(table["error"].to_pylist()) == {None}
    return [np.asarray(table[name].to_numpy()) for name in names]


def in_windows(due: Any, window_ns: int) -> list[int]:
    """How many messages are due in each window from the first message on."""
    counts = Counter(((due - due[0]) // window_ns).tolist())
    return [counts[window] for window in range(max(counts) + 1)]


def test_constant_generators(carry_out: Carry, broker: EmbeddedBroker, topic: str) -> None:
    """Fifty at the begin of each 250 ms; a flush of twenty is over when all of them are acknowledged."""
    spec = {
        **CONFIGURABLE,
        "flushGenerator": {"type": "constant", "messagesPerFlush": 20},
        "throughputGenerator": {"type": "constant", "messagesPerWindow": 50, "windowSizeMs": 250},
        "keyGenerator": {"type": "sequential", "size": 6, "offset": 3},
        "valueGenerator": {"type": "uniformRandom", "size": 256, "seed": 7, "padding": 56},
        "activeTopic": {topic: {"numPartitions": 3, "replicationFactor": 1}},
    }
    due, at, acked = sent(carry_out(json.dumps(spec)), "due_ns", "sent_ns", "acked_ns")

    assert in_windows(due, 250 * NS_PER_MS) == [50] * 12
    assert set((due - due[0]) % (250 * NS_PER_MS)) == {0}
    assert all(acked[:flushed].max() <= at[flushed] for flushed in range(20, len(at), 20))
    found = read_again(broker.bootstrap, [topic], len(at))
    assert {len(each.value()) for each in found} == {256}
    assert sorted(int.from_bytes(each.key(), "little") for each in found) == list(range(3, len(at) + 3))


def test_gaussian_generators(carry_out: Carry, broker: EmbeddedBroker, topic: str) -> None:
    """A count is held for two windows, a size for a hundred messages; means are within five standard errors."""
    spec = {
        **CONFIGURABLE,
        "flushGenerator": {"type": "gaussian", "messagesPerFlushAverage": 16, "messagesPerFlushDeviation": 4},
        "throughputGenerator": {
            "type": "gaussian", "messagesPerSecondAverage": 1_000, "messagesPerSecondDeviation": 100,
            "windowsUntilRateChange": 2, "windowSizeMs": 100,
        },
        "keyGenerator": {"type": "constant", "size": 8, "value": "a2V5"},
        "valueGenerator": {
            "type": "gaussianTimestampRandom", "messageSizeAverage": 512, "messageSizeDeviation": 50,
            "timestampBytes": 8, "messagesUntilSizeChange": 100,
        },
        "activeTopic": {topic: {"numPartitions": 1, "replicationFactor": 1}},
    }  # fmt: skip
    (due,) = sent(carry_out(json.dumps(spec)), "due_ns")

    counts = in_windows(due, 100 * NS_PER_MS)
    assert len(counts) == 30
    assert counts[::2] == counts[1::2]
    assert abs(np.mean(counts[::2]) - 100) < 5 * 10 / np.sqrt(15)
    found = sorted(read_again(broker.bootstrap, [topic], len(due)), key=lambda each: each.offset())
    sizes = [len(each.value()) for each in found]
    held = [set(sizes[begin : begin + 100]) for begin in range(0, len(sizes) // 100 * 100, 100)]
    assert {len(each) for each in held} == {1}
    drawn = [each for (each,) in map(tuple, held)]
    assert len(set(drawn)) > 5
    assert abs(np.mean(drawn) - 512) < 5 * 50 / np.sqrt(len(drawn))
    assert {each.key() for each in found} == {b"keykeyke"}
    # The first 8 bytes are the time in ms, little-endian, at which a message was made.
    made = [int.from_bytes(each.value()[:8], "little") for each in found]
    assert all(0 <= each.timestamp()[1] - ms < 5_000 for each, ms in zip(found, made, strict=True))


@pytest.mark.parametrize(
    ("steps", "rates"), [("RAMP_3_200_600_1s", [200, 400, 600]), ("SPIKE_200_1k_1s_1s", [200, 1_000, 200])]
)
def test_a_ramp_and_a_spike_of_tussle(carry_out: Carry, topic: str, steps: str, rates: Sequence[int]) -> None:
    command = "java -jar kafka-benchmark.jar rf=1 partitions=2 producers=1 consumers=0"
    command += f" --runner ScenarioRunner scenario={steps}"
    (due,) = sent(carry_out(command, f"topic.name={topic}", "topic.reset=false"), "due_ns")

    assert in_windows(due, NS_PER_SECOND) == rates
    assert [len(set(gaps)) for gaps in gaps_of(due, rates)] == [1] * len(rates)


def gaps_of(due: Any, rates: Sequence[int]) -> list[list[int]]:
    """The times between messages of each second, in microseconds."""
    begins = np.cumsum([0, *rates])
    return [[round(int(gap) / 1_000) for gap in np.diff(due[begin:end])] for begin, end in pairwise(begins.tolist())]


def test_a_workload_of_openmessaging_benchmark(carry_out: Carry, broker: EmbeddedBroker, topic: str) -> None:
    """The rate is of all producers together; keys are ten thousand numbers, drawn where theirs go in turn."""
    workload = (
        "name: small\ntopics: 1\npartitionsPerTopic: 4\nmessageSize: 300\nuseRandomizedPayloads: true\n"
        "randomBytesRatio: 0.5\nrandomizedPayloadPoolSize: 10\nkeyDistributor: KEY_ROUND_ROBIN\n"
        "subscriptionsPerTopic: 1\nproducersPerTopic: 2\nconsumerPerSubscription: 1\nproducerRate: 800\n"
        "consumerBacklogSizeGB: 0\nwarmupDurationMinutes: 1\ntestDurationMinutes: 5\n"
    )
    settings = (f"topic.name={topic}", "topic.replication=1", "phases.warmup=1s", "phases.measure=2s")
    folder = carry_out(workload, *settings)
    due = np.sort(np.asarray(rows(folder, "sent", "due_ns")["due_ns"].to_numpy()))

    assert in_windows(due, NS_PER_SECOND) == [800] * 3
    found = read_again(broker.bootstrap, [topic], len(due))
    assert {len(each.value()) for each in found} == {300}
    keys = [int(each.key()) for each in found]
    assert 0 <= min(keys) <= max(keys) < 10_000
    # So many different ones do 2,400 draws have, within five standard deviations.
    assert abs(len(set(keys)) - 2_134) < 5 * 14
