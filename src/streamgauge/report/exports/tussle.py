"""A result as tussle writes it: metrics.json, and logs with its names."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.foreign.results.formats.hlog import UNMEASURED
from streamgauge.result import Result
from streamgauge.result.model.latency import LatencyFigures

OPERATIONS: Final[Mapping[str, str]] = {"ack": "send", "end_to_end": "end-to-end"}
"""Its names of operations by ours."""
_OURS: Final = {
    "p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_5": 99.5, "p99_9": 99.9, "p99_99": 99.99,
}  # fmt: skip
_SERIES: Final = {"P50_VALUES": "p50", "P99_VALUES": "p99", "P100_VALUES": "max"}


def tussle_document(result: Result) -> dict[str, Any]:
    """metrics.json: a metric for each latency of acknowledgements and of the way from end to end, and of polls."""
    machine = {key: value for key, value in result.run.machine.items() if key in {"hardwareInfo", "osInfo", "jvmInfo"}}
    properties = machine or {"hardwareInfo": str(result.run.machine.get("processor") or "")}
    return {"doc": {"runProperties": properties, "metrics": list(_metrics(result))}}


def _metrics(result: Result) -> Iterator[dict[str, Any]]:
    for path, operation in OPERATIONS.items():
        for kind, figures in getattr(result.latency, path).kinds.items():
            if figures and (figures.count or figures.max_ms is not None):
                yield _metric(result, operation, kind, figures) | {"metricValues": _values(result, path, kind, figures)}
    if poll := result.latency.poll_per_record or result.latency.poll:
        yield _metric(result, "poll", "service", poll) | {"metricValues": _whole(poll)}


def _metric(result: Result, operation: str, kind: str, figures: LatencyFigures) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": f"{kind}_time",
        "operation": operation,
        "units": "ms",
        "rateUnits": "op/s",
        "delay": 1000,
        "retry": 0,
        "totalValues": figures.count,
        "meanValue": figures.mean_ms,
        "targetRate": result.throughput.target_per_second,
        "actualRate": result.throughput.acked_per_second,
    }
    seconds = result.throughput.measured_seconds
    started = result.imported is None or result.imported.started is not None
    if measure := next((each for each in result.run.phases if each.name == "measure"), None) if started else None:
        start = (result.run.wall_ns + measure.from_ns - result.run.monotonic_ns) / NS_PER_MS
        found |= {"start": round(start), "finish": round(start + (seconds or 0) * 1e3)}
    return {key: value for key, value in found.items() if value is not None}


def _whole(figures: LatencyFigures) -> list[dict[str, Any]]:
    """Percentiles of the whole run, the ends included."""
    known = {0.0: figures.min_ms, **{percent: figures.ms(key) for key, percent in _OURS.items()}, 100.0: figures.max_ms}
    pairs = [(percent, ms) for percent, ms in known.items() if ms is not None]
    return [
        {"type": "PERCENTILE_NAMES", "values": [percent for percent, _ in pairs]},
        {"type": "PERCENTILE_VALUES", "values": [ms for _, ms in pairs]},
    ]


def _values(result: Result, path: str, kind: str, figures: LatencyFigures) -> list[dict[str, Any]]:
    """The same, and series of seconds, as far as all seconds from the start have a value."""
    end = math.ceil(result.throughput.measured_seconds or 0)
    seconds = {each.second: each for each in result.timeline if 0 <= each.second < end}
    found = _whole(figures)
    for name, key in _SERIES.items():
        series = [getattr(getattr(getattr(seconds.get(at), path, None), kind, None), f"{key}_ms", None)
                  for at in range(end)]  # fmt: skip
        if series and None not in series:
            found.append({"type": name, "values": series})
    rate = "acked_per_second" if path == "ack" else "received_per_second"
    counts = [getattr(seconds.get(at), rate, None) for at in range(end)]
    if counts and None not in counts:
        found.append({"type": "COUNTS", "values": counts})
    return found


def log_name(metric: str, result: Result) -> str | None:
    """Tussle's name of one of our logs; None for a latency that it has not."""
    found = operation_of(metric)
    if found is None:
        return None
    operation, kind = found
    return f"{operation}_{kind}_time_100_{result.throughput.target_per_second or 0:.0f}_0.hlog"


def operation_of(metric: str) -> tuple[str, str] | None:
    """Tussle's operation of one of our latencies, and whether it is `response` or `service`; None where it has none."""
    path, _, kind = metric.rpartition("_")
    if metric in {"poll", "poll_per_record"}:
        return "poll", "service"
    return (OPERATIONS[path], kind) if path in OPERATIONS and kind in {"response", "service"} else None


def log_text(text: str) -> str:
    """One of our logs without the intervals that are not of the measure phase: tussle counts all that it finds."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(f"Tag={UNMEASURED},"))
