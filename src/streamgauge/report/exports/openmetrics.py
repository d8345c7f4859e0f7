"""The figures of a result as OpenMetrics text. What is not known is left out."""

from collections.abc import Iterator, Mapping
from typing import Final

from streamgauge.result import Result
from streamgauge.result.model.latency import LatencyFigures

_QUANTILES: Final = {
    "p50": "0.5", "p75": "0.75", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p99_5": "0.995", "p99_9": "0.999",
    "p99_99": "0.9999", "max": "1.0",
}  # fmt: skip
_STAGES: Final = ("target", "sent", "acked", "received", "processed")
_COUNTS: Final = (
    "sent", "acked", "failed", "unsent", "received", "delivered_once", "undelivered", "lost", "expired", "unknown",
    "duplicate_consumer", "duplicate_producer", "reordered", "corrupt",
)  # fmt: skip
_MS_PER_S: Final = 1e3


def openmetrics_text(result: Result, verdict: str) -> str:
    """All figures, each family once, and the end mark."""
    return "\n".join([*_info(result, verdict), *_rates(result), *_delivery(result), *_latencies(result), "# EOF", ""])


def _family(name: str, kind: str, about: str, unit: str = "") -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if unit:
        yield f"# UNIT {name} {unit}"
    yield f"# HELP {name} {about}"


def _labels(values: Mapping[str, str]) -> str:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in values.items()) + "}"


def _info(result: Result, verdict: str) -> Iterator[str]:
    yield from _family("streamgauge_run", "info", "The run, and whether it is valid.")
    labels = {"id": result.run.id, "name": result.run.name, "verdict": verdict, "imported": result.run.imported or ""}
    yield f"streamgauge_run_info{_labels(labels)} 1"


def _rates(result: Result) -> Iterator[str]:
    known = {each: getattr(result.throughput, f"{each}_per_second") for each in _STAGES}
    if any(value is not None for value in known.values()):
        yield from _family("streamgauge_rate", "gauge", "Messages per second in the measure phase.")
    for stage, value in known.items():
        if value is not None:
            yield f"streamgauge_rate{_labels({'stage': stage})} {value}"


def _delivery(result: Result) -> Iterator[str]:
    known = {each: getattr(result.delivery, each) for each in _COUNTS}
    if any(value is not None for value in known.values()):
        yield from _family("streamgauge_messages", "gauge", "Messages of the whole run by what became of them.")
    for name, value in known.items():
        if value is not None:
            yield f"streamgauge_messages{_labels({'class': name})} {value}"


def _latencies(result: Result) -> Iterator[str]:
    name = "streamgauge_latency_seconds"
    lines = [
        line
        for path in ("ack", "end_to_end", "processing")
        for kind, figures in getattr(result.latency, path).kinds.items()
        if figures
        for line in _latency(name, {"path": path, "kind": kind}, figures)
    ]
    if lines:
        yield from _family(name, "summary", "Latency in the measure phase; messages that never came count.", "seconds")
    yield from lines


def _latency(name: str, labels: Mapping[str, str], figures: LatencyFigures) -> Iterator[str]:
    for key, quantile in _QUANTILES.items():
        if (ms := figures.ms(key)) is not None:
            yield f"{name}{_labels({**labels, 'quantile': quantile})} {ms / _MS_PER_S}"
    if figures.count is not None:
        yield f"{name}_count{_labels(labels)} {figures.count}"
        if figures.mean_ms is not None:
            yield f"{name}_sum{_labels(labels)} {figures.mean_ms * figures.count / _MS_PER_S}"
