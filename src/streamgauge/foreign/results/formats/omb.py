"""Results of OpenMessaging Benchmark: one JSON object for each workload and driver."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import (
    ForeignError,
    FoundDefect,
    LatencyKind,
    Measured,
    MeasuredLatency,
    MeasuredSpan,
    PercentPoint,
)
from streamgauge.foreign.results.values import (
    amount,
    amounts,
    an_object,
    checked_order,
    known,
    maybe_amount,
    maybe_count,
    percent_of,
)

PERIOD_S: Final = 10.0
"""OMB writes its statistics every ten seconds."""
CLIP_MS: Final = 60_000.0
"""Longer acknowledgements and delays are recorded as this."""
PERCENTS: Final[Mapping[str, float]] = {
    "50pct": 50, "75pct": 75, "95pct": 95, "99pct": 99, "999pct": 99.9, "9999pct": 99.99, "99999pct": 99.999,
}  # fmt: skip
"""Its names of percentiles."""
LATENCIES: Final[Mapping[str, tuple[str | None, LatencyKind | None, float, str]]] = {
    "publishLatency": ("ack", "service", 1.0, "ms"),
    "publishDelayLatency": (None, None, 1e-3, "us"),
    "endToEndLatency": ("end_to_end", "service", 1.0, "ms"),
}
"""Its latencies: where each stands in a result, ms in its unit, and that unit."""
_TIMESTAMP: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)-(\d\d)-(\d\d)-(\d\d)")
_SETTINGS: Final = (
    "workload", "driver", "messageSize", "topics", "partitions", "producersPerTopic", "consumersPerTopic",
)  # fmt: skip


def recognises(file: ForeignFile) -> bool:
    """Whether it is JSON with the rates of OMB."""
    head = file.head().lstrip()
    return head.startswith("{") and '"publishRate"' in head


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """The run of one workload; raises ForeignError."""
    file, document = files[0], files[0].document()
    published, consumed = (amounts(document.get(key), key) for key in ("publishRate", "consumeRate"))
    if not published:
        raise ForeignError("has no publishRate")
    latencies = [found for name in LATENCIES if (found := _latency(document, name))]
    return [
        Measured(
            tool="OpenMessaging Benchmark",
            form="workload JSON",
            name="-".join(["omb", *(str(document[key]) for key in ("workload", "driver") if document.get(key))]),
            started_s=_started(document, file),
            seconds=len(published) * PERIOD_S,
            throughput=known(
                acked_per_second=_mean(published),
                received_per_second=_mean(consumed),
                **_megabytes(document, published, consumed),
            ),
            latencies=latencies,
            spans=list(_spans(document)),
            interval_s=PERIOD_S,
            scenario=_scenario(document),
            settings={key: document[key] for key in _SETTINGS if document.get(key) is not None},
            figures=known(
                publishErrorRate=_mean(amounts(document.get("publishErrorRate"), "publishErrorRate")),
                backlog_max=max((each for each in amounts(document.get("backlog"), "backlog") if each), default=None),
            ),
            defects=list(_defects(document, latencies)),
            notes=[
                "Rates are means over the periods of the file; publishRate counts acknowledged messages",
                f"Periods are taken as {PERIOD_S:g} s, as OMB writes them",
            ],
        )
    ]


def _started(document: Mapping[str, Any], file: ForeignFile) -> float | None:
    begin = document.get("beginTime")
    if isinstance(begin, int | float) and not isinstance(begin, bool) and begin > 0:
        return amount(begin, "beginTime") / 1e3
    # OMB names its files by the time of their end, in the zone of the machine: that is no start.
    found = _TIMESTAMP.search(begin) if isinstance(begin, str) else None
    if found is None:
        return None
    try:
        return datetime(*map(int, found.groups()), tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]
    except ValueError as error:
        raise ForeignError(f"{file.name} has an invalid beginTime") from error


def _mean(values: Sequence[float | None]) -> float | None:
    found = [each for each in values if each is not None]
    return sum(found) / len(found) if found else None


def _megabytes(
    document: Mapping[str, Any], published: Sequence[float | None], consumed: Sequence[float | None]
) -> dict[str, float]:
    size, sent, received = maybe_count(document, "messageSize"), _mean(published), _mean(consumed)
    if not size:
        return {}
    return known(
        sent_mb_per_second=None if sent is None else sent * size / 1e6,
        received_mb_per_second=None if received is None else received * size / 1e6,
    )


def _latency(document: Mapping[str, Any], name: str) -> MeasuredLatency | None:
    """The latency over the whole run: its quantiles, and the percentiles that it has names for."""
    place, kind, factor, unit = LATENCIES[name]
    whole = f"aggregated{name[0].upper()}{name[1:]}"
    clip = None if name == "endToEndLatency" else CLIP_MS
    found = {
        percent: amount(document[f"{whole}{key}"], f"{whole}{key}") * factor
        for key, percent in PERCENTS.items()
        if document.get(f"{whole}{key}") is not None
    }
    for key, value in an_object(document.get(f"{whole}Quantiles"), f"{whole}Quantiles").items():
        percent = percent_of(key)
        if percent is None:
            raise ForeignError(f"`{whole}Quantiles` has an invalid percentile: {key[:20]!r}")
        found.setdefault(percent, amount(value, key) * factor)
    mean, longest = (maybe_amount(document, f"{whole}{key}") for key in ("Avg", "Max"))
    # A histogram of nothing has 0 everywhere, and latencies are in us: no message takes so short.
    if not any((mean, longest, *found.values())):
        return None
    points = [_point(percent, value, clip) for percent, value in found.items() if percent < 100]
    return MeasuredLatency(
        name=name,
        unit=unit,
        resolution="HdrHistogram of 5 significant digits, in us, shown in ms" if unit == "ms" else "whole us",
        place=place,
        kind=kind,
        mean_ms=None if mean is None else mean * factor,
        max_ms=None if longest is None else longest * factor,
        points=checked_order(points, whole),
    )


def _point(percent: float, ms: float, clip: float | None) -> PercentPoint:
    return PercentPoint(percent, ms, ms, None if clip is not None and ms >= clip else ms)


def _spans(document: Mapping[str, Any]) -> Iterator[MeasuredSpan]:
    series: dict[str, list[float | None]] = {
        "acked_per_second": amounts(document.get("publishRate"), "publishRate"),
        "received_per_second": amounts(document.get("consumeRate"), "consumeRate"),
        "committed_lag": amounts(document.get("backlog"), "backlog"),
    }
    placed = {name: f"{place}.{kind}" for name, (place, kind, _, _) in LATENCIES.items() if place}
    for name, path in placed.items():
        for key, figure in (("50pct", "p50"), ("99pct", "p99"), ("Max", "max")):
            series[f"{path}.{figure}_ms"] = amounts(document.get(f"{name}{key}"), f"{name}{key}")
    failed = amounts(document.get("publishErrorRate"), "publishErrorRate")
    series["errors"] = [None if each is None else round(each * PERIOD_S) for each in failed]
    # Backlog is what was sent and not received, and no lag of offsets.
    series["outstanding"] = series.pop("committed_lag")
    for at in range(max(map(len, series.values()))):
        values = {key: value for key, each in series.items() if at < len(each) and (value := each[at]) is not None}
        empty = tuple(f"{path}." for path in placed.values() if values.get(f"{path}.max_ms") == 0)
        kept = {key: value for key, value in values.items() if not key.startswith(empty)}
        yield MeasuredSpan(at * PERIOD_S, (at + 1) * PERIOD_S, kept)


def _scenario(document: Mapping[str, Any]) -> dict[str, Any]:
    topics, size = maybe_count(document, "topics"), maybe_count(document, "messageSize")
    producers, consumers = (maybe_count(document, f"{each}PerTopic") for each in ("producers", "consumers"))
    return {
        "load": {key: value for key, value in (("size", size), ("producers", _times(topics, producers))) if value},
        "consume": {"consumers": found} if (found := _times(topics, consumers)) else {},
        "topic": {"partitions": found} if (found := maybe_count(document, "partitions")) else {},
    }


def _times(topics: int | None, of_each: int | None) -> int | None:
    return topics * of_each if topics and of_each else of_each


def _defects(document: Mapping[str, Any], latencies: Sequence[MeasuredLatency]) -> Iterator[FoundDefect]:
    for each in latencies:
        if each.path is None:
            continue
        if each.place == "end_to_end":
            what = "it is the difference of two wall clocks in ms, of the producer's and the consumer's machine, and "
            yield FoundDefect(each.path, f"{what}values that are not above 0 are left out", "kept")
        clipped = [point for point in each.points if point.high_ms is None]
        longest = each.max_ms is not None and each.max_ms >= CLIP_MS and each.place == "ack"
        if clipped or longest:
            what = f"longer latencies are recorded as {CLIP_MS / 1e3:g} s"
            yield FoundDefect(each.path, what, "kept", f"{CLIP_MS:g} ms", f">= {CLIP_MS:g} ms")
    received = any(amounts(document.get("consumeRate"), "consumeRate"))
    if received and not any(each.place == "end_to_end" for each in latencies):
        yield FoundDefect("latency.end_to_end", "there is none, although messages were received", "left_out")
