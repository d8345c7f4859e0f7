"""tussle's metrics.json: one run for each step, that is each percent of the high bound, target rate and retry."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import (
    MS_PER,
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
    exact_point,
    known,
    maybe_amount,
    maybe_count,
    objects,
    percent_of,
)

_PLACES: Final = {"send": "ack", "end-to-end": "end_to_end", "end_to_end": "end_to_end", "poll": "poll"}
_SERIES: Final = {"P50_VALUES": "p50", "P99_VALUES": "p99", "P100_VALUES": "max"}
_OF_SERIES: Final = re.compile(r"^P(\d+(?:_\d+)?)_VALUES$")
_CONFORMING: Final = "conforming_rate"
_WINDOW: Final = "moving"
_RESOLUTION: Final = "HdrHistogram of 3 significant digits, in us"


def recognises(file: ForeignFile) -> bool:
    """Whether it is JSON with metrics of tussle."""
    head = file.head().lstrip()
    return head.startswith("{") and '"metricValues"' in head


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """A run for each step; raises ForeignError."""
    document = files[0].document()
    document = an_object(document.get("doc"), "doc") or document
    metrics = objects(document.get("metrics"), "metrics")
    properties = an_object(document.get("runProperties"), "runProperties")
    timed = [each for each in metrics if each.get("name") in ("service_time", "response_time")]
    if not timed:
        raise ForeignError("has no metric service_time or response_time")
    steps: defaultdict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for each in timed:
        steps[tuple(str(each.get(key)) for key in ("percentOfHighBound", "targetRate", "retry"))].append(each)
    defects = list(_of_summaries(metrics))
    return [_step(each, properties, defects, several=len(steps) > 1) for each in steps.values()]


def _step(
    metrics: Sequence[Mapping[str, Any]],
    properties: Mapping[str, Any],
    defects: Sequence[FoundDefect],
    *,
    several: bool,
) -> Measured:
    first = metrics[0]
    start, finish = maybe_amount(first, "start"), maybe_amount(first, "finish")
    latencies = [_latency(each) for each in metrics]
    rate, target = maybe_amount(first, "actualRate"), maybe_amount(first, "targetRate")
    percent, retry = (maybe_amount(first, key) or 0 for key in ("percentOfHighBound", "retry"))
    step = f"-{percent:g}-{target or 0:g}-{retry:g}" if several else ""
    sends = [each for each in latencies if each.place == "ack"]
    return Measured(
        tool="tussle",
        form="metrics.json",
        name=f"tussle{step}",
        started_s=start / 1e3 if start else None,
        seconds=(finish - start) / 1e3 if start and finish and finish > start else None,
        throughput=known(target_per_second=target or None, acked_per_second=rate if sends else None),
        latencies=latencies,
        spans=[span for each in metrics for span in _spans(each)],
        interval_s=_interval(first),
        settings=known(
            percentOfHighBound=maybe_amount(first, "percentOfHighBound"), highBound=maybe_amount(first, "highBound")
        ),
        machine={name: properties[name] for name in ("hardwareInfo", "osInfo", "jvmInfo") if name in properties},
        defects=[*defects, *_partial(metrics)],
        notes=["actualRate is that of the producers"] if rate and sends else [],
    )


def _interval(metric: Mapping[str, Any]) -> float | None:
    delay = maybe_amount(metric, "delay")
    return delay / 1e3 if delay else None


def _values(metric: Mapping[str, Any]) -> dict[str, list[float | None]]:
    return {
        str(each.get("type")): amounts(each.get("values"), str(each.get("type")))
        for each in objects(metric.get("metricValues"), "metricValues")
        if each.get("type") != "PERCENTILE_NAMES"
    }


def _latency(metric: Mapping[str, Any]) -> MeasuredLatency:
    operation, unit = str(metric.get("operation")), str(metric.get("units") or "ms")
    if unit not in MS_PER:
        raise ForeignError(f"has latencies in `{unit[:20]}`, which is an unknown unit")
    factor, kind = MS_PER[unit], _kind(metric)
    points = checked_order(list(_points(metric, factor)), operation)
    at = {each.percent: each.low_ms for each in points}
    mean = maybe_amount(metric, "meanValue")
    return MeasuredLatency(
        name=f"{operation} {metric['name']}",
        unit=unit,
        resolution=_RESOLUTION,
        place=_PLACES.get(operation),
        kind=kind,
        count=maybe_count(metric, "totalValues"),
        min_ms=at.get(0.0),
        mean_ms=None if mean is None else mean * factor,
        max_ms=at.get(100.0),
        points=[each for each in points if 0 < each.percent < 100],
    )


def _kind(metric: Mapping[str, Any]) -> LatencyKind:
    return "response" if metric["name"] == "response_time" else "service"


def _points(metric: Mapping[str, Any], factor: float) -> Iterator[PercentPoint]:
    """Percentiles of the whole run: pairs of names and values, or single values of their types."""
    of_types = {str(each.get("type")): each for each in objects(metric.get("metricValues"), "metricValues")}
    names = of_types.get("PERCENTILE_NAMES", {}).get("values") or metric.get("xValues") or []
    values = amounts(of_types.get("PERCENTILE_VALUES", {}).get("values"), "PERCENTILE_VALUES")
    if values:
        if not isinstance(names, list) or len(names) != len(values):
            raise ForeignError("has not as many names of percentiles as values")
        for name, value in zip(names, values, strict=True):
            percent = percent_of(str(name))
            if percent is not None and value is not None:
                yield exact_point(percent, value * factor)
        return
    for kind, each in of_types.items():
        if (found := _OF_SERIES.match(kind)) and each.get("value") is not None:
            yield exact_point(float(found.group(1).replace("_", ".")), amount(each["value"], kind) * factor)


def _spans(metric: Mapping[str, Any]) -> Iterator[MeasuredSpan]:
    place, length = _PLACES.get(str(metric.get("operation"))), _interval(metric)
    if place not in {"ack", "end_to_end"} or length is None:
        return
    found, factor = _values(metric), MS_PER.get(str(metric.get("units") or "ms"), 1.0)
    counts = found.get("COUNTS", [])
    for at in range(max((len(found.get(each, ())) for each in (*_SERIES, "COUNTS")), default=0)):
        values: dict[str, float] = {}
        for kind, name in _SERIES.items():
            series = found.get(kind, [])
            if at < len(series) and (value := series[at]) is not None:
                values[f"{place}.{_kind(metric)}.{name}_ms"] = value * factor
        if at < len(counts) and (messages := counts[at]) is not None:
            values["acked_per_second" if place == "ack" else "received_per_second"] = messages / length
        yield MeasuredSpan(at * length, (at + 1) * length, values)


def _partial(metrics: Sequence[Mapping[str, Any]]) -> Iterator[FoundDefect]:
    """The last interval, where its end is not that of the run: its count is over less time than it seems."""
    for each in metrics:
        start, finish, length = maybe_amount(each, "start"), maybe_amount(each, "finish"), _interval(each)
        counts = _values(each).get("COUNTS", [])
        if not (start and finish and length and counts and counts[-1] is not None):
            continue
        left = (finish - start) / 1e3 - (len(counts) - 1) * length
        if 0 < left < 0.9 * length:
            what = f"the last interval lasted {left:.3f} s, and its count stands for {length:.3f} s"
            yield FoundDefect(f"{each.get('operation')} COUNTS", what, "kept", counts[-1], counts[-1])


def _of_summaries(metrics: Sequence[Mapping[str, Any]]) -> Iterator[FoundDefect]:
    """Conforming rates, and figures of moving windows that were not full."""
    for each in metrics:
        name = str(each.get("name"))
        if _CONFORMING in name:
            value = maybe_amount(each, "value")
            what = "it is the first rate that broke the service level, not the last that kept it"
            yield FoundDefect(name, what, "left_out", value)
        elif _WINDOW in name.lower():
            what = "windows at the start are partial: they cover less time than they are named by"
            yield FoundDefect(name, what, "left_out")
