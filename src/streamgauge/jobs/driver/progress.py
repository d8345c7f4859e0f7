"""What Spark says of one batch, as the numbers of the event `progress`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from streamgauge.domain.query import Advance, QueryProgress

Json = Mapping[str, Any]
Number = int | float | None
_DURATIONS: Final = {
    "duration_ms": "triggerExecution",
    "latest_offset_ms": "latestOffset",
    "get_batch_ms": "getBatch",
    "planning_ms": "queryPlanning",
    "wal_commit_ms": "walCommit",
    "add_batch_ms": "addBatch",
    "commit_ms": "commitOffsets",
}
_STATE: Final = {
    "state_rows": "numRowsTotal",
    "state_updated": "numRowsUpdated",
    "state_bytes": "memoryUsedBytes",
    "late_rows": "numRowsDroppedByWatermark",
}
_NOT_TOLD: Final = (
    "processing_p50_ms", "processing_p99_ms", "processing_max_ms", "queuing_p50_ms", "queuing_p99_ms", "e2e_p50_ms",
    "e2e_p99_ms", "e2e_max_ms",
)  # fmt: skip
"""Latencies in real-time mode: Apache Spark 4.2 measures none, some that are built on it do."""


def progress_of(said: Json, at_ns: int, topic: str, starts: Sequence[int]) -> QueryProgress:
    """What Spark says of a batch, told at this time; `starts` is where the query began to read the topic."""
    source = _source(said, topic)
    advances = _advances(source, topic, starts)
    numbers: dict[str, Number] = {
        "rows": source.get("numInputRows"),
        **{name: said.get("durationMs", {}).get(step) for name, step in _DURATIONS.items()},
        "input_per_second": source.get("inputRowsPerSecond"),
        "processed_per_second": source.get("processedRowsPerSecond"),
        "committed_lag": _behind(source, advances),
        **{name: _sum(said.get("stateOperators", []), key) for name, key in _STATE.items()},
        "watermark_ms": _watermark(said),
        "sink_rows": _told(said.get("sink", {}).get("numOutputRows")),
        **dict.fromkeys(_NOT_TOLD),
    }
    return QueryProgress(at_ns, said["batchId"], _epoch_ms(said["timestamp"]), numbers, advances)


def _source(said: Json, topic: str) -> Json:
    """The source that reads the topic; a query may have others beside it."""
    return next((each for each in said.get("sources", []) if topic in (_offsets(each, "endOffset") or {})), {})


def _offsets(source: Json, name: str) -> Json | None:
    found = source.get(name)
    return found if isinstance(found, Mapping) else None


def _advances(source: Json, topic: str, starts: Sequence[int]) -> list[Advance]:
    """How far the batch went in each partition."""

    def offsets(name: str) -> Json:
        found: Json = (_offsets(source, name) or {}).get(topic, {})
        return found

    begins, latest = offsets("startOffset"), offsets("latestOffset")
    first = {str(partition): offset for partition, offset in enumerate(starts)}
    return [
        Advance(int(partition), begins.get(partition, first.get(partition, 0)), end, latest.get(partition))
        for partition, end in sorted(offsets("endOffset").items(), key=lambda item: int(item[0]))
    ]


def _behind(source: Json, advances: Sequence[Advance]) -> int | None:
    """Messages behind the log ends. In real-time mode `latest` is as old as the batch, and only the mean is fresh."""
    mean = source.get("metrics", {}).get("avgOffsetsBehindLatest")
    return None if mean is None else round(float(mean) * len(advances))


def _sum(operators: Sequence[Json], key: str) -> int | None:
    """Of all operators that keep state; None without one."""
    return sum(_told(each.get(key)) or 0 for each in operators) if operators else None


def _watermark(said: Json) -> int | None:
    """None without a watermark, and before there is one."""
    text = said.get("eventTime", {}).get("watermark")
    return (_epoch_ms(text) or None) if text else None


def _told(count: int | None) -> int | None:
    """Spark says -1 where it does not count."""
    return None if count is None or count < 0 else count


def _epoch_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
