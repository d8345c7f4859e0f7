"""The tables `latency`, `latency_buckets`, `cdf` and `lateness`, from histograms and sums."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.domain.latency.buckets import NEGATIVE, Int64s
from streamgauge.domain.latency.percentiles import EMPTY, PERCENTILES, Buckets, Latency, Moments, summarise
from streamgauge.domain.tables.latency import DELIVERED_PERCENTILES, LATENCY_BUCKETS, METRICS, UNPLACED
from streamgauge.pipeline.metrics.histogram import By, Counts, Value
from streamgauge.pipeline.metrics.sums import NO_MOMENTS, Sums
from streamgauge.pipeline.metrics.throughput import SENT_TICK
from streamgauge.pipeline.read.schemas import arrow_schema
from streamgauge.pipeline.read.silver import SHIFT_SECONDS, TOPIC_BITS

Row = dict[str, Any]
ACK = ("ack_response", "ack_service")
END_TO_END = ("end_to_end_response", "end_to_end_service")
PROCESSING = ("processing_response", "processing_service")
LATENESS = "lateness"
THROTTLE = ("throttle", "own_lateness")
"""What a policy made messages wait, and what they waited then."""
OF_SENDING = (LATENESS, *THROTTLE)
SINCE_RECORD_TIME = "since_record_time"


# The definition of a metric in the domain is mostly SQL already.
_SQL: Mapping[str, str] = {**METRICS, "throttle": "let_go_ns - due_ns", "own_lateness": "sent_ns - let_go_ns"}
_PARTS: Mapping[str, str] = {LATENESS: "cast(producer as bigint)", **dict.fromkeys(THROTTLE, "cast(null as bigint)")}


def values(metrics: Iterable[str], *, throttled: bool) -> dict[str, Value]:
    """The values of some metrics; most are counted by partition, lateness by producer, those of a policy by neither.

    Where a policy held messages back (`throttled`), some are counted by when messages were sent.
    """
    return {name: Value(_SQL[name], _PARTS.get(name, "place"), tick_of(name, throttled=throttled)) for name in metrics}


def tick_of(metric: str, *, throttled: bool) -> str:
    """The column whose tick says in which window a message counts for a metric.

    What a policy holds back may be sent long after it was due, or never: by due time, only what was let go early would
    be seen.
    """
    return SENT_TICK if throttled and (metric.endswith("service") or metric in THROTTLE) else "selected"


AGE_SQL: Mapping[str, str] = {
    name: f"ended_ns - {'due_ns' if name.endswith('response') else 'sent_ns'}"
    for name in (*ACK, *END_TO_END, *PROCESSING)
}
"""SQL for the age that a message which never came had at the end of the drain."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a run: what selects its messages, where its moments are, or why it is absent."""

    name: str
    selected_by: str
    sums: Sums | None
    absent: str | None = None
    clock: str | None = None
    """Whose clock its begin was read from, where that is not the run's own."""
    tick: str = "selected"
    """The tick that says when its messages count."""


@dataclass(frozen=True, slots=True)
class Histograms:
    """Counts of what was delivered, and of the ages of what never was."""

    delivered: Counts
    censored: Counts


def latency_rows(metrics: Iterable[Metric], histograms: Histograms) -> tuple[list[Row], list[Row]]:
    """Rows of `latency` and of `cdf`."""
    rows: list[Row] = []
    cdf: list[Row] = []
    for metric in metrics:
        if metric.absent or metric.sums is None:
            rows.append(_row("measure", metric, summarise(EMPTY, NO_MOMENTS, metric.selected_by, absent=metric.absent)))
            continue
        whole = _measured(metric, histograms)
        rows.append(_row("measure", metric, whole) | _of_clock(metric, histograms) | _of_delivered(metric, histograms))
        cdf += [{"metric": metric.name, "le_ms": edge, "share": share} for edge, share in whole.cdf]
        rows += _windows(metric, metric.sums, histograms)
        rows += _partitions(metric, metric.sums, histograms) if metric.name not in UNPLACED else []
    return rows, cdf


def _of_clock(metric: Metric, histograms: Histograms) -> Row:
    """What another clock did to a metric; nothing where there is none."""
    if metric.clock is None:
        return {}
    buckets = of_phase(histograms.delivered, metric.name).buckets()
    return {"negative": int(buckets.count[buckets.index == NEGATIVE].sum()), "clock": metric.clock}


def _of_delivered(metric: Metric, histograms: Histograms) -> Row:
    """Percentiles of what was delivered alone; nothing where all was."""
    if not of_phase(histograms.censored, metric.name).buckets().total:
        return {}
    delivered = of_phase(histograms.delivered, metric.name).buckets()
    shown = summarise(delivered, _moments(metric), metric.selected_by).as_result()
    return {f"delivered_{name}_ms": shown[f"{name}_ms"] for name in DELIVERED_PERCENTILES}


def _measured(metric: Metric, histograms: Histograms) -> Latency:
    moments = _moments(metric)
    delivered, censored = (of_phase(counts, metric.name).buckets() for counts in _both(histograms))
    return summarise(delivered, moments, metric.selected_by, censored)


def _moments(metric: Metric) -> Moments:
    sums = (metric.sums or _NO_SUMS).windows
    return sums.where(_is_measured(sums, metric)).moments(metric.name)


def _is_measured(sums: Sums, metric: Metric) -> Any:
    """Which rows belong to the measure phase, by the tick that counts for a metric."""
    tick = sums.column(f"at_{metric.tick}")
    return (tick >= 0) & (tick & 1 == 1)


def max_ns_of(metric: Metric) -> int | None:
    """The exact maximum in the measure phase; None where nothing was delivered."""
    return _moments(metric).max_ns


def _both(histograms: Histograms) -> tuple[Counts, Counts]:
    return histograms.delivered, histograms.censored


def of_phase(counts: Counts, metric: str) -> Counts:
    """The counts of a metric in the measure phase."""
    windows = counts.metric_by(metric, By.TICK)
    return windows.where(windows.at & 1 == 1)


def _windows(metric: Metric, sums: Sums, histograms: Histograms) -> list[Row]:
    windows = sums.windows
    moments = windows.moments_by(windows.column(f"at_{metric.tick}") >> 1, metric.name)
    delivered, censored = (dict(counts.metric_by(metric.name, By.TICK).split(1)) for counts in _both(histograms))
    return [
        _row("window", metric, latency) | {"second": at - SHIFT_SECONDS}
        for at, latency in _each(metric, delivered, moments, censored)
    ]


def _partitions(metric: Metric, sums: Sums, histograms: Histograms) -> list[Row]:
    places = sums.places
    measured = places.where(places.column(f"at_{metric.tick}") == 1)
    moments = measured.moments_by(measured.column("place"), metric.name)
    delivered, censored = (dict(counts.metric_by(metric.name, By.PART).split()) for counts in _both(histograms))
    return [
        _row("partition", metric, latency) | _of_place(at)
        for at, latency in _each(metric, delivered, moments, censored)
    ]


def _of_place(place: int) -> Row:
    return {"topic": place >> TOPIC_BITS, "partition": place & (1 << TOPIC_BITS) - 1}


def _each(
    metric: Metric, delivered: Mapping[int, Buckets], moments: Mapping[int, Moments], censored: Mapping[int, Buckets]
) -> Iterable[tuple[int, Latency]]:
    for at in sorted(delivered.keys() | censored.keys()):
        ages = censored.get(at, EMPTY)
        yield at, summarise(delivered.get(at, EMPTY), moments.get(at, NO_MOMENTS), metric.selected_by, ages)


def _row(scope: str, metric: Metric, latency: Latency) -> Row:
    """One row of `latency`, from the object that the result shows."""
    shown = latency.as_result()
    row: Row = {"metric": metric.name, "scope": scope, "second": None, "topic": None, "partition": None}
    row |= {"negative": None, "clock": None} | {f"delivered_{name}_ms": None for name in DELIVERED_PERCENTILES}
    row |= {name: shown[name] for name in ("selected_by", "count", "censored")}
    row |= {f"{name}_ms": shown[f"{name}_ms"] for name in ("min", "mean", "stddev", "mad", "max", *PERCENTILES)}
    row["variance_ms2"] = shown["variance_ms2"]
    for name in PERCENTILES:
        row[f"{name}_hi_ms"] = shown.get(f"{name}_hi_ms")
        row[f"{name}_censored"] = name in latency.high_ends_ns
    return row | {"reason": metric.absent}


def lateness_rows(sums: Sums, counts: Counts) -> list[Row]:
    """Rows of `lateness`: each producer, and all together; none where nothing was sent on a schedule."""
    windows = sums.windows
    measured = windows.where(windows.column("at_selected") & 1 == 1)
    everybody = of_phase(counts, LATENESS).buckets()
    if not everybody.total:
        return []
    rows = [_lateness(None, everybody, measured.moments(LATENESS))]
    moments = measured.moments_by(measured.column("producer"), LATENESS)
    for producer, buckets in counts.metric_by(LATENESS, By.PART).split():
        rows.append(_lateness(producer, buckets, moments[producer]))
    return rows


def _lateness(producer: int | None, buckets: Buckets, moments: Moments) -> Row:
    shown = summarise(buckets, moments, "due").as_result()
    return {"producer": producer, **{name: shown[name] for name in ("count", "p50_ms", "p99_ms", "p99_9_ms", "max_ms")}}


def bucket_table(histograms: Histograms) -> pa.Table:
    """The table `latency_buckets`; lateness by producer is not in it."""
    tables = [_bucket_table(counts, censored=number == 1) for number, counts in enumerate(_both(histograms))]
    return pa.concat_tables(tables)


def _bucket_table(counts: Counts, *, censored: bool) -> pa.Table:
    names = list(METRICS)
    counts = counts.where(~((counts.by == By.PART) & (counts.metric == names.index(LATENESS))))
    by_window = counts.by == By.TICK
    metric = pa.DictionaryArray.from_arrays(counts.metric.astype(np.int32), names)
    columns = {
        "metric": metric.cast(pa.string()),
        "second": _where(by_window, (counts.at >> 1) - SHIFT_SECONDS),
        "topic": _where(~by_window, counts.at >> TOPIC_BITS),
        "partition": _where(~by_window, counts.at & (1 << TOPIC_BITS) - 1),
        "measured": pa.array(~by_window | (counts.at & 1 == 1)),
        "censored": pa.array(np.full(len(by_window), censored)),
        "bucket": pa.array(counts.bucket),
        "count": pa.array(counts.count),
    }
    schema = arrow_schema(LATENCY_BUCKETS)
    return pa.Table.from_arrays([columns[field.name].cast(field.type) for field in schema], schema=schema)


def _where(chosen: Any, numbers: Int64s) -> pa.Array:
    return pa.array(numbers, mask=~chosen)


_NO_SUMS = Sums(pa.table({name: pa.array([], pa.int64()) for name in ("place", "at_selected", "at_sent_tick")}))
