"""The tables `latency`, `bounds`, `sampling`, `cdf` and `schedule_delay`, from histograms and sums."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.latency.buckets import NEGATIVE
from streamgauge.domain.latency.percentiles import EMPTY, PERCENTILES, Buckets, Latency, Moments, summarise
from streamgauge.domain.tables.latency import BOUNDS, DELIVERED_PERCENTILES, UNPLACED
from streamgauge.pipeline.columns import SELECTED, TOPIC
from streamgauge.pipeline.metrics.aggregates.bounds import Widths, high_ends, low_ends, low_percentiles_ns
from streamgauge.pipeline.metrics.aggregates.histogram import By, Counts, Histograms
from streamgauge.pipeline.metrics.aggregates.sampling import BLOCK_SECONDS, intervals
from streamgauge.pipeline.metrics.aggregates.sums import NO_MOMENTS, Sums
from streamgauge.pipeline.metrics.expressions import SCHEDULE_DELAY
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import SHIFT_SECONDS, TOPIC_BITS, is_measured, place_of
from streamgauge.pipeline.stream.stages import Rounding
from streamgauge.scenario.profile.steps import LoadStep


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a run: what selects its messages, where its moments are, or why it is absent."""

    name: str
    selected_by: str
    sums: Sums | None
    absent: str | None = None
    clock: str | None = None
    """Whose clock its begin was read from, where that is not the run's own."""
    tick: str = SELECTED
    """The tick that says when its messages count."""
    rounding: Rounding | None = None
    """Of a stage of a pipeline: how its edges are rounded. Only a stage may have been longer than it was measured."""


def latency_rows(
    metrics: Iterable[Metric], histograms: Histograms, steps: Sequence[LoadStep] = ()
) -> tuple[list[Row], list[Row]]:
    """Rows of `latency` and of `cdf`; `steps` are those of the load."""
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
        rows += _steps(metric, metric.sums, histograms, steps)
        rows += _partitions(metric, metric.sums, histograms) if metric.name not in UNPLACED else []
    return rows, cdf


def bound_rows(
    metrics: Iterable[Metric], histograms: Histograms, widths: Mapping[str, Widths], steps: Sequence[LoadStep] = ()
) -> list[Row]:
    """Rows of `bounds`: of each metric that has messages in partitions, or of which the instrument is the subject.

    After those of the measure phase come those of `steps`, for the metrics that steps have. Of the messages that took
    equally long, a step is taken to have those to which the instrument may have added most.
    """
    bounded = [metric for metric in metrics if not metric.absent and len(widths[metric.name].count)]
    stepped = [metric for metric in bounded if metric.name in _STEPPED] if steps else []
    return [
        *(_bounds(each, widths[each.name], of_phase(histograms.censored, each.name).buckets()) for each in bounded),
        *(
            _bounds(each, widths[each.name].widest_in(delivered), ages) | {"second": step.begin}
            for each in stepped
            for step, delivered, ages in _by_step(each, histograms, steps)
        ),
    ]


def sampling_rows(metrics: Iterable[Metric], histograms: Histograms, cycle_ns: int) -> list[Row]:
    """Rows of `sampling`: every percentile of each metric that has messages in partitions.

    What never came counts as it does in the percentiles: in the second that it belongs to, at its age. Where there is
    such, the percentiles of what was delivered alone have rows, too, as `delivered_p99`.
    """
    block = max(BLOCK_SECONDS, -(-cycle_ns // NS_PER_SECOND))
    rows: list[Row] = []
    for metric in metrics:
        if metric.absent or metric.name in UNPLACED:
            continue
        delivered, censored = (dict(of_phase(counts, metric.name).split(shift=1)) for counts in histograms.both)
        merged = [delivered.get(at, EMPTY).plus(censored.get(at, EMPTY)) for at in sorted({*delivered, *censored})]
        rows += _sampled(metric, merged, PERCENTILES, block)
        if censored:
            ranks = {f"delivered_{name}": PERCENTILES[name] for name in DELIVERED_PERCENTILES}
            rows += _sampled(metric, list(delivered.values()), ranks, block)
    return rows


def _sampled(metric: Metric, windows: Sequence[Buckets], ranks: Mapping[str, int], block: int) -> Iterator[Row]:
    for name, found in zip(ranks, intervals(windows, list(ranks.values()), block), strict=True):
        low, high = (None if each is None else each / NS_PER_MS for each in (found.low_ns, found.high_ns))
        row = {"metric": metric.name, "percentile": name, "low_ms": low, "high_ms": high}
        yield row | {"block_seconds": block, "reason": found.reason}


def _bounds(metric: Metric, widths: Widths | None, ages: Buckets) -> Row:
    row: Row = {"metric": metric.name, "known": False, **dict.fromkeys(_ENDS)}
    if widths is None or not widths.are_known:
        return row
    row["known"], rounding = True, metric.rounding
    low = low_ends(widths, ages, rounding.less_ns if rounding else 0)
    if low is None:
        return row
    percentiles = {f"{each}_ms": low.percentiles_ns[each] for each in PERCENTILES}
    found = {"min_ms": low.min_ns, "mean_ms": low.mean_ns, "max_ms": low.max_ns, **percentiles}
    if ages.total:
        delivered_ns = low_percentiles_ns(widths)
        found |= {f"delivered_{each}_ms": delivered_ns[each] for each in DELIVERED_PERCENTILES}
    for name, ends in (("stddev", low.stddev_ns), ("mad", low.mad_ns)):
        found |= dict(zip((f"{name}_low_ms", f"{name}_high_ms"), ends, strict=True))
    if rounding and (high := high_ends(widths, rounding.more_ns, moves=rounding.moves)):
        found |= {"min_high_ms": high.min_ns, "mean_high_ms": high.mean_ns, "max_high_ms": high.max_ns}
        found |= {f"{each}_high_ms": high.percentiles_ns[each] for each in PERCENTILES}
    return row | {key: value / NS_PER_MS for key, value in found.items()}


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
    delivered, censored = (of_phase(counts, metric.name).buckets() for counts in histograms.both)
    return summarise(delivered, moments, metric.selected_by, censored)


def _moments(metric: Metric) -> Moments:
    sums = (metric.sums or _NO_SUMS).windows
    return sums.where(is_measured(sums.column(f"at_{metric.tick}"))).moments(metric.name)


def max_ns_of(metric: Metric) -> int | None:
    """The exact maximum in the measure phase; None where nothing was delivered."""
    return _moments(metric).max_ns


def of_phase(counts: Counts, metric: str) -> Counts:
    """The counts of a metric in the measure phase."""
    windows = counts.metric_by(metric, By.TICK)
    return windows.where(is_measured(windows.at))


def _windows(metric: Metric, sums: Sums, histograms: Histograms) -> list[Row]:
    windows = sums.windows
    moments = windows.moments_by(windows.column(f"at_{metric.tick}") >> 1, metric.name)
    found = _each(metric, moments, histograms, By.TICK, 1)
    return [_row("window", metric, latency) | {"second": at - SHIFT_SECONDS} for at, latency in found]


def _steps(metric: Metric, sums: Sums, histograms: Histograms, steps: Sequence[LoadStep]) -> Iterator[Row]:
    """A row for each step: its seconds merged."""
    windows = sums.windows
    seconds = (windows.column(f"at_{metric.tick}") >> 1) - SHIFT_SECONDS
    for step, delivered, ages in _by_step(metric, histograms, steps):
        moments = windows.where((step.begin <= seconds) & (seconds < step.end)).moments(metric.name)
        found = summarise(delivered, moments, metric.selected_by, ages)
        yield _row("step", metric, found) | {"second": step.begin}


def _by_step(
    metric: Metric, histograms: Histograms, steps: Sequence[LoadStep]
) -> Iterator[tuple[LoadStep, Buckets, Buckets]]:
    """Each step with what was delivered of it, and the ages of what never was."""
    counts = [each.metric_by(metric.name, By.TICK) for each in histograms.both]
    at = [(each.at >> 1) - SHIFT_SECONDS for each in counts]
    for step in steps:
        delivered, ages = (
            each.where((step.begin <= own) & (own < step.end)).buckets() for each, own in zip(counts, at, strict=True)
        )
        yield step, delivered, ages


def _partitions(metric: Metric, sums: Sums, histograms: Histograms) -> list[Row]:
    """Rows of each partition and, where there are several, of each topic."""
    places = sums.places
    measured = places.where(places.column(f"at_{metric.tick}") == 1)
    place = measured.column("place")
    found = _each(metric, measured.moments_by(place, metric.name), histograms, By.PART)
    rows = [_row("partition", metric, latency) | place_of(at) for at, latency in found]
    if len({row[TOPIC] for row in rows}) > 1:
        moments = measured.moments_by(place >> TOPIC_BITS, metric.name)
        topics = _each(metric, moments, histograms, By.PART, TOPIC_BITS)
        rows += [_row("topic", metric, latency) | {TOPIC: at} for at, latency in topics]
    return rows


def _each(
    metric: Metric, moments: Mapping[int, Moments], histograms: Histograms, by: By, shift: int = 0
) -> Iterable[tuple[int, Latency]]:
    """The latency of each value of `at >> shift`: of a second, a partition, or a topic."""
    delivered, censored = (dict(counts.metric_by(metric.name, by).split(shift)) for counts in histograms.both)
    for at in sorted(delivered.keys() | censored.keys()):
        ages = censored.get(at, EMPTY)
        yield at, summarise(delivered.get(at, EMPTY), moments.get(at, NO_MOMENTS), metric.selected_by, ages)


def _row(scope: str, metric: Metric, latency: Latency) -> Row:
    """One row of `latency`, from the object that the result shows."""
    shown = latency.as_result()
    row: Row = {"metric": metric.name, "scope": scope}
    row |= {name: shown[name] for name in ("selected_by", "count", "censored")}
    row |= {f"{name}_ms": shown[f"{name}_ms"] for name in ("min", "mean", "stddev", "mad", "max", *PERCENTILES)}
    row["variance_ms2"] = shown["variance_ms2"]
    for name in PERCENTILES:
        row[f"{name}_hi_ms"] = shown.get(f"{name}_hi_ms")
        row[f"{name}_censored"] = name in latency.high_ends_ns
    return row | {"reason": metric.absent}


def schedule_delay_rows(sums: Sums, counts: Counts) -> list[Row]:
    """Rows of `schedule_delay`: each producer, and all together; none where nothing was sent on a schedule."""
    windows = sums.windows
    measured = windows.where(is_measured(windows.column("at_selected")))
    everybody = of_phase(counts, SCHEDULE_DELAY).buckets()
    if not everybody.total:
        return []
    rows = [_schedule_delay(None, everybody, measured.moments(SCHEDULE_DELAY))]
    moments = measured.moments_by(measured.column("producer"), SCHEDULE_DELAY)
    for producer, buckets in counts.metric_by(SCHEDULE_DELAY, By.PART).split():
        rows.append(_schedule_delay(producer, buckets, moments[producer]))
    return rows


def _schedule_delay(producer: int | None, buckets: Buckets, moments: Moments) -> Row:
    shown = summarise(buckets, moments, "due").as_result()
    return {"producer": producer, **{name: shown[name] for name in ("count", "p50_ms", "p99_ms", "p99_9_ms", "max_ms")}}


_STEPPED: Final = tuple(f"{path}_{kind}" for path in ("ack", "end_to_end") for kind in ("response", "service"))
"""Metrics that steps of a load have."""
_ENDS = tuple(column.name for column in BOUNDS.columns if column.name not in {"metric", "known", "second"})
_NO_SUMS = Sums(pa.table({name: pa.array([], pa.int64()) for name in ("place", "at_selected", "at_sent_tick")}))
