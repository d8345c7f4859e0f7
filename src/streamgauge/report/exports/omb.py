"""A result as OpenMessaging Benchmark writes it. What is not known is left out, and lists of it are empty."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from streamgauge.foreign.results.formats.omb import LATENCIES, PERCENTS, PERIOD_S
from streamgauge.result import Result
from streamgauge.result.model.latency import LatencyFigures
from streamgauge.result.model.throughput import TimelineSecond
from streamgauge.result.reading import number_at

_OURS: Final = {50.0: "p50", 75.0: "p75", 90.0: "p90", 95.0: "p95", 99.0: "p99", 99.9: "p99_9", 99.99: "p99_99"}
_SERIES: Final = {"50pct": "p50", "99pct": "p99", "Max": "max"}
_RATES: Final = {"publishRate": "acked_per_second", "consumeRate": "received_per_second"}


def omb_document(result: Result) -> dict[str, Any]:
    """The JSON object of a workload; its periods have ten seconds."""
    settings = dict(result.imported.settings) if result.imported else _settings(result)
    document: dict[str, Any] = {"workload": result.run.name, "driver": "Kafka"} | settings
    seconds = _measured(result)
    for name, key in _RATES.items():
        document[name] = _periods((each.second, getattr(each, key)) for each in seconds)
    errors = _periods(((each.second, each.errors) for each in seconds), sum)
    document["publishErrorRate"] = [each / PERIOD_S for each in errors]
    document["backlog"] = _periods(((each.second, each.outstanding) for each in seconds), lambda found: found[-1])
    for name, (place, kind, factor, _) in LATENCIES.items():
        _add_whole(document, result, name, factor)
        for key, figure in _SERIES.items() if place and kind else ():
            # Percentiles of seconds do not make those of a period.
            if key == "Max" or (result.imported and result.imported.interval_s == PERIOD_S):
                values = ((each.second, number_at(each, f"{place}.{kind}.{figure}_ms")) for each in seconds)
                document[f"{name}{key}"] = _periods(values, max)
    return document


def _settings(result: Result) -> dict[str, Any]:
    load, consume = result.run.profile.load, result.run.profile.consume
    topics = max(1, result.run.profile.sent_topics(len(result.run.topics)))
    found = {
        "messageSize": load.size if load and isinstance(load.size, int) else None,
        "topics": topics,
        "partitions": result.run.profile.partitions,
        "producersPerTopic": load.producers // topics if load else None,
        "consumersPerTopic": consume.consumers // topics if consume else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _measured(result: Result) -> list[TimelineSecond]:
    end = result.throughput.measured_seconds
    return [each for each in result.timeline if each.second >= 0 and (end is None or each.second < end)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _periods(values: Iterable[tuple[int, float | None]], of: Callable[[Sequence[float]], float] = _mean) -> list[float]:
    """One value for each period, without those of which nothing is known."""
    found: dict[int, list[float]] = {}
    for second, value in values:
        if value is not None:
            found.setdefault(int(second // PERIOD_S), []).append(value)
    return [of(known) for _, known in sorted(found.items())]


def _add_whole(document: dict[str, Any], result: Result, name: str, factor: float) -> None:
    """The figures of the whole run, in the unit of this latency; whole numbers where OMB has them."""
    points, mean, longest = _figures(result, name)

    def shown(ms: float) -> float:
        return ms / factor if factor == 1 else round(ms / factor)

    whole = f"aggregated{name[0].upper()}{name[1:]}"
    for key, percent in PERCENTS.items():
        if percent in points:
            document[f"{whole}{key}"] = shown(points[percent])
    if mean is not None:
        document[f"{whole}Avg"] = mean / factor
    if longest is not None:
        document[f"{whole}Max"] = shown(longest)
    if points:
        document[f"{whole}Quantiles"] = {str(float(percent)): shown(ms) for percent, ms in sorted(points.items())}


def _figures(result: Result, name: str) -> tuple[Mapping[float, float], float | None, float | None]:
    """Percentiles in ms, mean and maximum of one of its latencies."""
    place, kind, _, _ = LATENCIES[name]
    path = f"latency.{place}.{kind}" if place else None
    for each in result.imported.latencies if result.imported else ():
        if each.name == name or (path and each.place == path):
            return {point.percent: point.low_ms for point in each.points}, each.mean_ms, each.max_ms
    if place is None:
        delay = result.schedule_delay
        points = {50.0: delay.p50_ms, 99.0: delay.p99_ms, 99.9: delay.p99_9_ms} if delay else {}
        return {percent: ms for percent, ms in points.items() if ms is not None}, None, delay.max_ms if delay else None
    figures: LatencyFigures | None = getattr(result.latency, place).service
    if figures is None:
        return {}, None, None
    known = {percent: ms for percent, key in _OURS.items() if (ms := figures.ms(key)) is not None}
    return known, figures.mean_ms, figures.max_ms
