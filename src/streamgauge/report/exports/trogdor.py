"""The status of a task as Trogdor writes it, by workload, from a result and the histograms of a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from streamgauge.delivery.reports import unreported
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import lower_edge_ns
from streamgauge.domain.tables.cluster_events import LAG
from streamgauge.domain.tables.latency import LATENCY_BUCKETS
from streamgauge.domain.tables.throughput import WORKER_THROUGHPUT
from streamgauge.report.files import metric_windows, read_facts, rows_of
from streamgauge.report.ledger.rows import event_rows
from streamgauge.result import Result
from streamgauge.result.model.clients import ConnectionsOfKind
from streamgauge.workload.pacing import Int64s

CLIP_MS: Final = 10_000
"""The last bin of histograms that no specification sets."""
_SHARES: Final = {"p50LatencyMs": 0.5, "p95LatencyMs": 0.95, "p99LatencyMs": 0.99}
_HELD: Final = {"Producer": "hold_producer", "Consumer": "hold_consumer", "Metadata": "hold_metadata"}


@dataclass(frozen=True, slots=True)
class MillisecondBins:
    """Bins of a histogram of whole milliseconds."""

    least_ms: int = 0
    most_ms: int = CLIP_MS
    step_ms: int = 1


@dataclass(frozen=True, slots=True)
class WholeMilliseconds:
    """Latencies in whole milliseconds, the fraction cut off, and how many of each; negative ones are 0."""

    ms: Int64s
    count: Int64s


TaskHistograms = Mapping[str, WholeMilliseconds]
"""By latency metric; one that nothing was recorded of is not there."""


@dataclass(frozen=True, slots=True)
class ReceivedBy:
    """What one consumer received in the whole run."""

    number: int
    messages: int
    size_bytes: int
    assigned: tuple[str, ...] = ()
    """Partitions that it had when the run ended, like `topic-0`."""


WHOLE_MS: Final = MillisecondBins()
NO_MS: Final = WholeMilliseconds(np.zeros(0, np.int64), np.zeros(0, np.int64))


def trogdor_status(
    result: Result,
    workload: str,
    histograms: TaskHistograms,
    received: Sequence[ReceivedBy] = (),
    bins: MillisecondBins | None = None,
) -> dict[str, Any]:
    """The status of a workload, with Trogdor's names; `bins` are those of a record processor, where there is one.

    What is not known is null, as of a record processor where there is none. KeyError for a workload that has no status
    of its own.
    """
    status: dict[str, Any] = _STATUS[workload](result, histograms, received, bins)
    return status


def summary(found: WholeMilliseconds, bins: MillisecondBins = WHOLE_MS) -> dict[str, Any]:
    """Mean and percentiles as Trogdor's histogram gives them: values beyond its bins are in the first or the last.

    A percentile is the first bin up to which there are as many values as the share of all, rounded down.
    """
    last = max(0, (bins.most_ms - bins.least_ms) // bins.step_ms)
    # As in Java, a negative number is divided towards 0; what is below the least is in the first bin in any case.
    places = np.clip((found.ms - bins.least_ms) // bins.step_ms, 0, last)
    counts = np.bincount(places, weights=found.count, minlength=1).astype(np.int64)
    total, sums = int(counts.sum()), np.cumsum(counts)
    mean = float((np.arange(len(counts)) * counts).sum() / total) if total else 0.0
    percentiles = {
        name: int(np.searchsorted(sums, int(total * share))) * bins.step_ms + bins.least_ms
        for name, share in _SHARES.items()
    }
    return {"averageLatencyMs": round(mean * bins.step_ms + bins.least_ms, 4), **percentiles}


def read_histograms(folder: RunFolder, metrics: Sequence[str]) -> dict[str, WholeMilliseconds]:
    """The histograms of the whole run, without messages that never arrived; raises AnalysisError.

    A value lies in a bucket of relative width 2^-8, of which the lower edge is taken.
    """
    if not folder.table(LATENCY_BUCKETS.name).exists():
        return {}
    found = {}
    for metric in metrics:
        rows = metric_windows(folder, metric).to_pydict()
        kept = ~np.array(rows["censored"], bool)
        if kept.any():
            edges = lower_edge_ns(np.array(rows["bucket"], np.int64)[kept])
            found[metric] = WholeMilliseconds(
                np.maximum(edges, 0) // NS_PER_MS, np.array(rows["count"], np.int64)[kept]
            )
    return found


def read_received(folder: RunFolder) -> list[ReceivedBy]:
    """What each consumer received; nothing where the run has no such table."""
    try:
        rows = rows_of(folder, WORKER_THROUGHPUT.name, role="consumer")
    except AnalysisError:
        return []
    sums: dict[int, tuple[int, int]] = {}
    for row in rows:
        messages, size = sums.get(row["number"], (0, 0))
        sums[row["number"]] = (messages + row["messages"], size + row["bytes"])
    assigned = _assigned(folder)
    return [ReceivedBy(number, *each, tuple(assigned.get(number, ()))) for number, each in sorted(sums.items())]


def _assigned(folder: RunFolder) -> dict[int, list[str]]:
    """The partitions of each consumer, in the order of topics and numbers: those of which it told its position."""
    names = {topic.id: topic.name for topic in read_facts(folder).topics}
    found: dict[int, list[str]] = {}
    rows = event_rows(folder, LAG.name, pc.field("consumer").is_valid())
    for row in sorted(rows, key=lambda row: (row["topic"], row["partition"])):
        found.setdefault(row["consumer"], []).append(f"{names.get(row['topic'], row['topic'])}-{row['partition']}")
    return {number: list(dict.fromkeys(each)) for number, each in found.items()}


def _sent(
    result: Result, histograms: TaskHistograms, _: Sequence[ReceivedBy], __: MillisecondBins | None
) -> dict[str, Any]:
    return {"totalSent": result.delivery.sent, **summary(histograms.get("ack_service", NO_MS))}


def _produced(
    result: Result, histograms: TaskHistograms, received: Sequence[ReceivedBy], bins: MillisecondBins | None
) -> dict[str, Any]:
    committed = result.transactions.committed.count if result.transactions else 0
    return {**_sent(result, histograms, received, bins), "transactionsCommitted": committed}


def _consumed(
    _result: Result, histograms: TaskHistograms, received: Sequence[ReceivedBy], bins: MillisecondBins | None
) -> dict[str, Any]:
    """For each consumer, and the partitions that it had."""
    return _received(histograms, received, bins, lambda each: {"assignedPartitions": list(each.assigned)})


def _shared(
    result: Result, histograms: TaskHistograms, received: Sequence[ReceivedBy], bins: MillisecondBins | None
) -> dict[str, Any]:
    """For each consumer of a share group, and the topics that it reads."""
    topics = [topic.name for topic in result.run.topics]
    return _received(histograms, received, bins, lambda _: {"subscription": topics})


def _received(
    histograms: TaskHistograms,
    received: Sequence[ReceivedBy],
    bins: MillisecondBins | None,
    had: Callable[[ReceivedBy], Mapping[str, Any]],
) -> dict[str, Any]:
    """For each consumer; histograms are those of all of them together, as of a processor that threads share."""
    processed = histograms.get("since_record_time") or histograms.get("end_to_end_service") or NO_MS
    return {
        f"consumer-{each.number}": {
            **had(each),
            "totalMessagesReceived": each.messages,
            "totalBytesReceived": each.size_bytes,
            "averageMessageSizeBytes": each.size_bytes // each.messages if each.messages else 0,
            **summary(histograms.get("poll_per_record", NO_MS)),
            "recordProcessorStatus": summary(processed, bins) if bins else None,
        }
        for each in received
    }


def _round_trip(result: Result, *_: object) -> dict[str, Any]:
    delivery = result.delivery
    lasting = (delivery.acked, delivery.undelivered, delivery.lost, delivery.expired, delivery.unknown)
    acked, *missing = (each or 0 for each in lasting)
    not_received = sum(missing) - unreported(delivery.fate_unknown, delivery.fate_unknown_received)
    return {
        "totalUniqueSent": delivery.acked,
        "totalReceived": None if delivery.acked is None else acked - not_received,
    }


def _sustained(result: Result, *_: object) -> dict[str, Any]:
    status: dict[str, Any] = {}
    for name, kind in _HELD.items():
        found: ConnectionsOfKind | None = getattr(result.connections, kind) if result.connections else None
        status[f"total{name}Connections"] = (found.held or 0) if found else 0
        status[f"total{name}FailedConnections"] = found.failed if found else 0
    return {**status, "totalAbortedThreads": 0, "updatedMs": _ended_ms(result)}


def _stressed(result: Result, *_: object) -> dict[str, Any]:
    kinds = [result.connections.open, result.connections.metadata] if result.connections else []
    found = [each for each in kinds if each]
    return {
        "totalConnections": sum(each.made for each in found),
        "totalFailedConnections": sum(each.failed for each in found),
        "connectsPerSec": sum(each.per_second or 0 for each in found),
    }


def _ended_ms(result: Result) -> int:
    run = result.run
    last = max((phase.to_ns for phase in run.phases), default=run.monotonic_ns)
    return (run.wall_ns + last - run.monotonic_ns) // NS_PER_MS


_STATUS: Final[Mapping[str, Any]] = {
    "ConfigurableProducerSpec": _sent,
    "ProduceBenchSpec": _produced,
    "ConsumeBenchSpec": _consumed,
    "ShareConsumeBenchSpec": _shared,
    "RoundTripWorkloadSpec": _round_trip,
    "ShareRoundTripWorkloadSpec": _round_trip,
    "SustainedConnectionSpec": _sustained,
    "ConnectionStressSpec": _stressed,
}


def metrics_of(workload: str) -> Iterator[str]:
    """The latency metrics that the status of a workload is made of."""
    if workload in {"ConfigurableProducerSpec", "ProduceBenchSpec"}:
        yield "ack_service"
    if workload in {"ConsumeBenchSpec", "ShareConsumeBenchSpec"}:
        yield from ("poll_per_record", "since_record_time", "end_to_end_service")
