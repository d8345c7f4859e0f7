"""Trogdor's status of a workload, from a result and histograms; and its histogram, bin by bin."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.foreign.trogdor.its_own import Trogdor
from tests.report.conftest import Make

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.formats import trogdor
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.specs.trogdor.workloads import WORKLOADS
from streamgauge.report.assemble.result import assemble
from streamgauge.report.exports.trogdor import (
    MillisecondBins,
    ReceivedBy,
    WholeMilliseconds,
    metrics_of,
    read_histograms,
    read_received,
    summary,
    trogdor_status,
)


def of(*values: int) -> WholeMilliseconds:
    return WholeMilliseconds(np.array(values, np.int64), np.ones(len(values), np.int64))


def plainly(values: list[int], bins: MillisecondBins) -> dict[str, Any]:
    """The same as Trogdor does it: value after value, bin after bin."""
    counts = [0] * ((bins.most_ms - bins.least_ms) // bins.step_ms + 1)
    for value in values:
        counts[min(len(counts) - 1, max(0, int((value - bins.least_ms) / bins.step_ms)))] += 1
    found: dict[str, Any] = {}
    for name, share in (("p50LatencyMs", 0.5), ("p95LatencyMs", 0.95), ("p99LatencyMs", 0.99)):
        seen, place = counts[0], 0
        while seen < int(len(values) * share) and place < len(counts) - 1:
            place += 1
            seen += counts[place]
        found[name] = place * bins.step_ms + bins.least_ms
    return found


@given(
    values=st.lists(st.integers(0, 400), max_size=60),
    bins=st.builds(MillisecondBins, st.integers(0, 50), st.integers(60, 300), st.integers(1, 40)),
)
def test_bins_are_those_of_trogdor(values: list[int], bins: MillisecondBins) -> None:
    """Also that of few values it makes 0, and what it clips."""
    found = summary(of(*values), bins)

    assert {name: found[name] for name in found if name != "averageLatencyMs"} == plainly(values, bins)


@pytest.mark.parametrize(
    ("values", "bins", "mean", "p99"),
    [
        ((), MillisecondBins(), 0.0, 0),
        ((7,), MillisecondBins(), 7.0, 0),
        ((1, 2, 3, 20_000), MillisecondBins(), 2501.5, 3),
        ((95, 96, 4), MillisecondBins(10, 100, 10), 63.3333, 90),
    ],
)
def test_means_are_of_bins(values: tuple[int, ...], bins: MillisecondBins, mean: float, p99: int) -> None:
    found = summary(of(*values), bins)

    assert (found["averageLatencyMs"], found["p99LatencyMs"]) == (mean, p99)


def test_every_workload_has_its_status(make: Make) -> None:
    """What a run has none of is null, or 0 where Trogdor counts from 0."""
    result = assemble(make())
    histograms = {"ack_service": of(*[4] * 200), "poll_per_record": of(1), "end_to_end_service": of(*[30] * 200)}
    received = [ReceivedBy(0, 10, 1005, ("t-0", "t-2")), ReceivedBy(1, 0, 0)]
    sent = result.delivery.sent

    assert trogdor_status(result, "ConfigurableProducerSpec", histograms) == {
        "totalSent": sent, "averageLatencyMs": 4.0, "p50LatencyMs": 4, "p95LatencyMs": 4, "p99LatencyMs": 4,
    }  # fmt: skip
    assert trogdor_status(result, "ProduceBenchSpec", histograms)["transactionsCommitted"] == 0
    consumed = trogdor_status(result, "ConsumeBenchSpec", histograms, received, MillisecondBins(0, 100, 20))
    assert consumed["consumer-0"] == {
        "assignedPartitions": ["t-0", "t-2"],
        "totalMessagesReceived": 10, "totalBytesReceived": 1005, "averageMessageSizeBytes": 100,
        "averageLatencyMs": 1.0, "p50LatencyMs": 0, "p95LatencyMs": 0, "p99LatencyMs": 0,
        "recordProcessorStatus": {
            "averageLatencyMs": 20.0, "p50LatencyMs": 20, "p95LatencyMs": 20, "p99LatencyMs": 20,
        },
    }  # fmt: skip
    assert consumed["consumer-1"]["assignedPartitions"] == []
    shared = trogdor_status(result, "ShareConsumeBenchSpec", histograms, received)["consumer-1"]
    assert shared["subscription"] == [topic.name for topic in result.run.topics]
    assert "assignedPartitions" not in shared
    assert consumed["consumer-1"]["averageMessageSizeBytes"] == 0
    plain = trogdor_status(result, "ConsumeBenchSpec", histograms, received)["consumer-0"]
    assert plain["recordProcessorStatus"] is None
    assert trogdor_status(result, "RoundTripWorkloadSpec", {}) == {
        "totalUniqueSent": result.delivery.acked, "totalReceived": result.delivery.acked,
    }  # fmt: skip
    # Of 50 without a report nobody knows; they were not acknowledged either.
    counts = {"fate_unknown": 80, "fate_unknown_received": 30, "unknown": 51}
    killed = result.model_copy(update={"delivery": result.delivery.model_copy(update=counts)})
    assert trogdor_status(killed, "RoundTripWorkloadSpec", {})["totalReceived"] == (result.delivery.acked or 0) - 1
    assert trogdor_status(result, "ConnectionStressSpec", {}) == {
        "totalConnections": 0, "totalFailedConnections": 0, "connectsPerSec": 0,
    }  # fmt: skip
    assert trogdor_status(result, "SustainedConnectionSpec", {})["totalAbortedThreads"] == 0
    assert trogdor_status(result, "ShareConsumeBenchSpec", histograms, received)["consumer-0"]["p99LatencyMs"] == 0
    assert list(metrics_of("ShareConsumeBenchSpec")) == list(metrics_of("ConsumeBenchSpec"))
    for workload in WORKLOADS:
        assert trogdor_status(result, workload, histograms, received), workload


STATUSES = {
    "ProduceBenchSpec": "ProduceBenchWorker$StatusData",
    "ConfigurableProducerSpec": "ConfigurableProducerWorker$StatusData",
    "RoundTripWorkloadSpec": "RoundTripWorkerBase$StatusData",
    "ShareRoundTripWorkloadSpec": "RoundTripWorkerBase$StatusData",
    "SustainedConnectionSpec": "SustainedConnectionWorker$StatusData",
    "ConnectionStressSpec": "ConnectionStressWorker$StatusData",
    "ConsumeBenchSpec": "ConsumeBenchWorker$StatusData",
    "ShareConsumeBenchSpec": "ShareConsumeBenchWorker$StatusData",
}


@pytest.mark.kafka
@pytest.mark.parametrize("bins", [None, MillisecondBins(0, 100, 20)], ids=["plain", "processed"])
@pytest.mark.parametrize("workload", STATUSES)
def test_a_status_of_ours_is_one_of_its_own(
    workload: str, bins: MillisecondBins | None, make: Make, trogdor: Trogdor
) -> None:
    """It reads what we write, and writes the same again: no field has another name, and none is missing."""
    values = WholeMilliseconds(np.array([4, 30], np.int64), np.array([200, 3], np.int64))
    histograms = {"ack_service": values, "poll_per_record": values, "end_to_end_service": values}
    status = trogdor_status(assemble(make()), workload, histograms, [ReceivedBy(0, 10, 1005, ("t-0",))], bins)
    for one in status.values() if "Consume" in workload else [status]:
        written = trogdor.written(trogdor.read(one, STATUSES[workload]))
        assert flat(written) == pytest.approx(flat(one))


def flat(status: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Numbers and texts by their paths."""
    found: dict[str, Any] = {}
    for key, value in status.items():
        inner = {str(number): each for number, each in enumerate(value)} if isinstance(value, list) else value
        found |= flat(inner, f"{place}{key}.") if isinstance(inner, Mapping) else {f"{place}{key}": value}
    return found


def test_a_status_can_be_imported(make: Make) -> None:
    """Ours is read as Trogdor's own."""
    status = trogdor_status(assemble(make()), "ProduceBenchSpec", {"ack_service": of(*[4] * 200)})
    [run] = trogdor.read([ForeignFile("status.json", "", json.dumps(status).encode())], Asked())

    assert run.delivery["sent"] == status["totalSent"]
    assert [(point.percent, point.ms) for point in run.latencies[0].points] == [(50.0, 4), (95.0, 4), (99.0, 4)]


def test_histograms_are_those_of_the_whole_run(make: Make) -> None:
    """In whole milliseconds, without those that never arrived; below 0 they are 0."""
    buckets = bucket_of(np.array([-5, 1_500_000, 7_999_999, 9_000_000_000], np.int64)).tolist()

    def change(_facts: Any, tables: Any) -> None:
        row = {"metric": "ack_service", "topic": None, "partition": None, "measured": True, "censored": False}
        tables["latency_buckets"] = [
            *({**row, "second": place, "bucket": bucket, "count": place + 1} for place, bucket in enumerate(buckets)),
            {**row, "second": 1, "bucket": buckets[1], "count": 9, "censored": True},
        ]
        tables["workers"] = [
            {"second": second, "role": role, "number": 0, "duration_ns": 10**9, "messages": 5, "bytes": 50}
            for second in (0, 1)
            for role in ("producer", "consumer")
        ]

    folder = make(change)
    found = read_histograms(folder, ["ack_service", "poll_per_record"])

    assert list(found) == ["ack_service"]
    assert found["ack_service"].count.tolist() == [1, 2, 3, 4]
    assert found["ack_service"].ms.tolist() == [0, 1, 7, 8992]
    assert read_received(folder) == [ReceivedBy(0, 10, 100)]


def test_a_consumer_had_the_partitions_whose_positions_it_told(make: Make) -> None:
    """At the end; rows of log ends and of offsets of the group are nobody's."""

    def change(facts: Any, tables: Any) -> None:
        facts["topics"] = [{"id": 0, "name": "a"}, {"id": 1, "name": "b"}]
        row = {"second": 0, "role": "consumer", "duration_ns": 10**9, "messages": 5, "bytes": 50}
        tables["workers"] = [{**row, "number": number} for number in (0, 1, 2)]

    folder = make(change)
    rows = [(0, 1, 1), (0, 0, 2), (1, 0, 0), (None, 0, 7), (0, 0, 2)]
    part = folder.events / "lag" / "worker=consumer-0" / "part-0.parquet"
    part.parent.mkdir(parents=True)
    columns = dict(zip(("consumer", "topic", "partition"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()}), part)

    assert [each.assigned for each in read_received(folder)] == [("a-2", "b-1"), ("a-0",), ()]
    part.write_bytes(b"torn")
    with pytest.raises(AnalysisError, match=r"part-0\.parquet cannot be read"):
        read_received(folder)
