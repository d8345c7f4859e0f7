"""Status documents of Trogdor's tasks: produce and consume benchmarks, round trips and connections."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import ForeignError, FoundDefect, Measured, MeasuredLatency
from streamgauge.foreign.results.values import (
    an_object,
    checked_order,
    known,
    known_counts,
    maybe_amount,
    maybe_count,
    truncated_point,
)


class _Bins(NamedTuple):
    """Bins of one of its histograms: each is `step_ms` wide, and the last one has all that is longer."""

    last_ms: float = 10_000.0
    step_ms: float = 1.0


_PERCENTILES: Final = {"p50LatencyMs": 50.0, "p95LatencyMs": 95.0, "p99LatencyMs": 99.0}
_ENOUGH: Final = 100
"""With fewer messages, its histogram has percentiles of 0."""
_KEYS: Final = (
    "totalSent", "totalMessagesReceived", "totalUniqueSent", "totalConnections", "totalProducerConnections",
)  # fmt: skip


def recognises(file: ForeignFile) -> bool:
    """Whether it is JSON with a status of one of the workloads."""
    head = file.head()
    return head.lstrip().startswith("{") and any(f'"{key}"' in head for key in _KEYS)


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """The run of one task; raises ForeignError."""
    document = files[0].document()
    spec = an_object(document.get("spec"), "spec")
    status = an_object(document["status"], "status") if "status" in document else document
    started, done = maybe_amount(document, "startedMs"), maybe_amount(document, "doneMs")
    seconds = (done - started) / 1e3 if started and done and done > started else None
    named = str(spec.get("class") or "").rpartition(".")[2].removesuffix("Spec")
    parts = _workers(status)
    if not parts:
        raise ForeignError("has no status of a workload that has figures")
    problem = document.get("error")
    notes = ["Its latencies count from the send, in whole ms; there is no maximum and no count of errors"]
    notes += [f"The task ended with an error: {str(problem)[:200]}"] if problem else []
    return [
        Measured(
            tool="Trogdor",
            form="task status",
            name="-".join(filter(None, ["trogdor", named or files[0].stem, name if len(parts) > 1 else ""])),
            started_s=started / 1e3 if started else None,
            seconds=seconds,
            throughput=_rates(part, spec, seconds),
            delivery=_counts(part),
            latencies=list(_latencies(part, spec)),
            scenario={"load": {"rate": rate} if (rate := maybe_amount(spec, "targetMessagesPerSec")) else {}},
            settings={key: value for key, value in spec.items() if not isinstance(value, dict | list)},
            figures=known(**{key: maybe_amount(part, key) for key in _NO_PLACE}),
            defects=list(_defects(part, spec)),
            notes=notes,
        )
        for name, part in parts
    ]


_NO_PLACE: Final = (
    "transactionsCommitted", "averageMessageSizeBytes", "totalConnections", "totalFailedConnections", "connectsPerSec",
    "totalProducerConnections", "totalProducerFailedConnections", "totalConsumerConnections",
    "totalConsumerFailedConnections", "totalMetadataConnections", "totalMetadataFailedConnections",
    "totalAbortedThreads",
)  # fmt: skip


def _workers(status: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The figures of a status, or of each client or node of it."""
    if any(key in status for key in _KEYS):
        return [("", status)]
    inner = [(name, each) for name, each in status.items() if isinstance(each, dict)]
    return [(f"{name}-{below}".strip("-"), part) for name, each in inner for below, part in _workers(each)]


def _rates(part: Mapping[str, Any], spec: Mapping[str, Any], seconds: float | None) -> dict[str, float]:
    sent, received, size = (maybe_count(part, key) for key in (*_KEYS[:2], "totalBytesReceived"))
    target = maybe_amount(spec, "targetMessagesPerSec")
    return known(
        target_per_second=target or None,
        sent_per_second=sent / seconds if sent is not None and seconds else None,
        received_per_second=received / seconds if received is not None and seconds else None,
        received_mb_per_second=size / 1e6 / seconds if size is not None and seconds else None,
    )


def _counts(part: Mapping[str, Any]) -> dict[str, int]:
    sent = maybe_count(part, "totalSent")
    return known_counts(
        sent=maybe_count(part, "totalUniqueSent") if sent is None else sent,
        received=maybe_count(part, "totalReceived" if "totalReceived" in part else "totalMessagesReceived"),
    )


def _processor_bins(spec: Mapping[str, Any]) -> _Bins:
    """The bins of a record processor; those of all others where the specification does not say them."""
    given = an_object(spec.get("recordProcessor"), "recordProcessor")
    least, most, step = (maybe_amount(given, f"histogram{each}Ms") for each in ("Min", "Max", "Step"))
    if most is None or not step:
        return _Bins()
    begin = least or 0.0
    return _Bins(begin + max(0.0, most - begin) // step * step, step)


def _latencies(part: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[MeasuredLatency]:
    if "totalSent" in part:
        yield _latency(part, "latency", "ack", maybe_count(part, "totalSent"), _Bins())
    elif "totalMessagesReceived" in part:
        received = maybe_count(part, "totalMessagesReceived")
        yield _latency(part, "time from one batch to the next", None, received, _Bins())
    if processor := an_object(part.get("recordProcessorStatus"), "recordProcessorStatus"):
        received = maybe_count(part, "totalMessagesReceived")
        yield _latency(processor, "recordProcessorStatus", "end_to_end", received, _processor_bins(spec))


def _latency(
    part: Mapping[str, Any], name: str, place: str | None, messages: int | None, bins: _Bins
) -> MeasuredLatency:
    found = {percent: maybe_amount(part, key) for key, percent in _PERCENTILES.items()}
    points = [
        truncated_point(percent, value, bins.step_ms, bins.last_ms)
        for percent, value in found.items()
        if value is not None
    ]
    width = "whole ms" if bins.step_ms == 1 else f"steps of {bins.step_ms:g} ms"
    clip = f"longer than {bins.last_ms / 1e3:g} s are recorded as {bins.last_ms / 1e3:g} s"
    if messages is not None and messages < _ENOUGH:
        points = [each for each in points if each.low_ms > 0]
    return MeasuredLatency(
        name=name, unit="ms", resolution=f"{width}, the fraction cut off; {clip}",
        place=place, kind="service" if place else None, count=messages,
        mean_ms=maybe_amount(part, "averageLatencyMs"), points=checked_order(points, name),
    )  # fmt: skip


def _defects(part: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[FoundDefect]:
    sources = [("latency.ack.service", part, _Bins())] if "totalSent" in part else []
    if processor := an_object(part.get("recordProcessorStatus"), "recordProcessorStatus"):
        sources.append(("latency.end_to_end.service", processor, _processor_bins(spec)))
    messages = maybe_count(part, "totalSent" if "totalSent" in part else "totalMessagesReceived") or 0
    for path, source, bins in sources:
        for key in _PERCENTILES:
            value = maybe_amount(source, key)
            if value is not None and value >= bins.last_ms:
                what = f"longer latencies are recorded as {bins.last_ms / 1e3:g} s"
                yield FoundDefect(f"{path} {key}", what, "kept", value, f">= {bins.last_ms:g}")
            elif value == 0 and messages < _ENOUGH:
                yield FoundDefect(f"{path} {key}", "of few messages its percentiles are 0", "left_out", 0)
        yield FoundDefect(
            f"{path}.mean_ms", "it is added up in 32 bits", "kept", maybe_amount(source, "averageLatencyMs")
        )
    if "totalMessagesReceived" in part:
        what = "it is the time from one batch to the next, idle time included, and no latency of messages"
        yield FoundDefect("averageLatencyMs", what, "kept", maybe_amount(part, "averageLatencyMs"))
