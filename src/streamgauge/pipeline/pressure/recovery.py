"""The tables `faults` and `recovery`: what was done to the run, and how it came back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.latency.percentiles import Buckets, Latency, summarise
from streamgauge.pipeline.metrics.aggregates.bounds import Widths, low_ends_of
from streamgauge.pipeline.metrics.aggregates.histogram import By, Counts, Histograms
from streamgauge.pipeline.metrics.aggregates.sums import NO_MOMENTS
from streamgauge.pipeline.metrics.expressions import END_TO_END
from streamgauge.pipeline.pressure.lives import Grid
from streamgauge.pipeline.pressure.outstanding import Outstanding
from streamgauge.pipeline.pressure.scorecard import Cause, Recovery, Series, carried_out, causes, debt, scorecard
from streamgauge.pipeline.read.rows import Row, numbers
from streamgauge.pipeline.read.silver import SHIFT_SECONDS, Span

OUTSTANDING: Final = "outstanding"
COMMITTED_LAG: Final = "committed_lag"
_DEBTS: Final = ("latency_debt_ms_s", "latency_debt_low_ms_s", "latency_debt_high_ms_s")


def fault_rows(rows: pa.Table, span: Span) -> list[Row]:
    """Rows of `faults` from those of the event, in the order of their times."""
    names = ("kind", "target", "action", "detail", "error")
    return [
        {
            "second": span.second(row["at_ns"]),
            **{name: row[name] for name in names},
            "asked_second": None if row["asked_ns"] is None else span.second(row["asked_ns"]),
        }
        for row in rows.sort_by("at_ns").to_pylist()
    ]


def outstanding_series(grid: Grid, groups: Mapping[int, Outstanding], span: Span) -> dict[int | None, Series]:
    """What was outstanding of each group at the ends of intervals, under load."""
    seconds = (grid.edges_ns - span.measure.from_ns) / NS_PER_SECOND
    return {group: _under_load(seconds, each.outstanding.astype(np.float64), span) for group, each in groups.items()}


def committed_series(together: pa.Table, span: Span) -> dict[int | None, Series]:
    """The committed lag of each group as it was sampled, under load; samples that failed are left out."""
    known = together.filter(pc.is_valid(together.column(COMMITTED_LAG)))
    found: dict[int | None, Series] = {}
    for group in pc.unique(known.column("group")).to_pylist():
        mine = known.filter(pc.equal(known.column("group"), group))
        seconds = (numbers(mine, "at_ns") - span.measure.from_ns) / NS_PER_SECOND
        found[group] = _under_load(seconds, mine.column(COMMITTED_LAG).to_numpy().astype(np.float64), span)
    return found


def _under_load(seconds: Any, values: Any, span: Span) -> Series:
    """Up to the end of the measure phase: what drains because nothing is sent any more has not recovered."""
    return Series(seconds, values).between(span.second(span.from_ns), span.second(span.measure.to_ns))


@dataclass(frozen=True, slots=True)
class WindowLatencies:
    """The end-to-end latency of the group that is timed, second by second."""

    delivered: Counts
    censored: Counts
    widths: Widths | None
    """How much of the messages of the measure phase the instrument may have added; None where nobody tells."""
    medians: Mapping[int, float]
    """The p50 in ms of each second that has one, messages that never came at their age."""
    groups: frozenset[int | None]
    """Whose it is: of the group that is timed, and of the query that passed its messages on."""
    to_second: float
    """When the measure phase was over."""

    @classmethod
    def of(
        cls,
        histograms: Histograms,
        widths: Mapping[str, Widths],
        rows: Iterable[Row],
        groups: frozenset[int | None],
        span: Span,
        *,
        scheduled: bool,
    ) -> "WindowLatencies":
        """Response time, or service time where there is no schedule; `rows` are those of `latency`."""
        metric = END_TO_END[0 if scheduled else 1]
        delivered, censored = (each.metric_by(metric, By.TICK) for each in (histograms.delivered, histograms.censored))
        windows = (row for row in rows if row["metric"] == metric and row["scope"] == "window")
        medians = {row["second"]: row["p50_ms"] for row in windows if row["p50_ms"] is not None}
        return cls(delivered, censored, widths.get(metric), medians, groups, span.second(span.measure.to_ns))

    def within(self, begin: float, end: float) -> Latency:
        """The latency of all seconds whose middle lies in [begin, end), their buckets merged."""
        delivered, censored = (_within(counts, begin, end) for counts in (self.delivered, self.censored))
        return summarise(delivered, NO_MOMENTS, "", censored)

    def low_ms(self, name: str, begin: float, end: float) -> float | None:
        """The low end of a percentile of these seconds; None where it is not known."""
        delivered, censored = (_within(counts, begin, end) for counts in (self.delivered, self.censored))
        low = low_ends_of(self.widths, delivered, censored)
        return None if low is None else low.percentiles_ns[name] / NS_PER_MS

    def debt(self, begin: float, end: float, usual: float) -> float:
        """What the p50 of seconds exceeded `usual` by, added up, in ms times s."""
        return debt(self.medians, usual, begin, end)

    def low_debt(self, begin: float, end: float, usual: float) -> float:
        """The low end of that, from the low end of each p50; one that is not known adds nothing."""
        inside = [second for second in self.medians if begin - 1 < second < end]
        return debt({each: self.low_ms("p50", each, each + 1) or 0.0 for each in inside}, usual, begin, end)


def _within(counts: Counts, begin: float, end: float) -> Buckets:
    middle = (counts.at >> 1) - SHIFT_SECONDS + 0.5
    return counts.where((middle >= begin) & (middle < end)).buckets()


def _ms(latency: Latency, name: str) -> float | None:
    value = latency.percentiles_ns[name]
    return None if value is None else value / NS_PER_MS


def recovery_rows(
    faults: list[Row],
    series: Mapping[str, Mapping[int | None, Series]],
    latencies: WindowLatencies,
    rate: float | None,
) -> Iterator[Row]:
    """Rows of `recovery`: each cause that was over, by each quantity and group.

    `series` are the series of each quantity by group; `rate` is that of the load, in messages per second. What could
    not be carried out is no cause.
    """
    for cause in causes(carried_out(faults)):
        felt = _felt(cause, latencies)
        for quantity, groups in series.items():
            for group, each in groups.items():
                if each.interval is not None:
                    known = felt if group in latencies.groups else dict.fromkeys(felt)
                    yield _row(cause, quantity, group, each, scorecard(each, cause, rate)) | known


def _row(cause: Cause, quantity: str, group: int | None, series: Series, found: Recovery) -> Row:
    return {
        "cause": cause.kind,
        "target": cause.target,
        "detail": cause.detail,
        "quantity": quantity,
        "group": group,
        "began_second": cause.began,
        "ended_second": cause.ended,
        "interval_ms": (series.interval or 0.0) * NS_PER_SECOND / NS_PER_MS,
        **{name: getattr(found, name) for name in ("floor", "tolerance", "peak", "peak_second", "at_end")},
        "detected_s": found.detected,
        "time_to_drain_s": found.time_to_drain,
        "drain_rate_per_second": found.drain_rate,
        "peak_slope_per_second": found.peak_slope,
    }


def _felt(cause: Cause, latencies: WindowLatencies) -> Row:
    """What the cause did to latency: of the measure phase, from the cause before it to the one after it."""
    since = 0.0 if cause.since is None else max(0.0, cause.since)
    until = latencies.to_second if cause.until is None else min(cause.until, latencies.to_second)
    began = since if cause.began is None else cause.began
    stretches = {"before": (since, began), "during": (began, cause.ended), "after": (cause.ended, until)}
    found = {f"p99_{name}_ms": _ms(latencies.within(*each), "p99") for name, each in stretches.items()}
    found |= {f"p99_{name}_low_ms": latencies.low_ms("p99", *each) for name, each in stretches.items()}
    return found | _debt(latencies, began, until, _ms(latencies.within(since, began), "p50"), since)


def _debt(latencies: WindowLatencies, began: float, until: float, usual: float | None, since: float) -> Row:
    """How much longer than usual messages took, and how much that may have been more or less."""
    low_usual = latencies.low_ms("p50", since, began)
    if usual is None:
        return dict.fromkeys(_DEBTS)
    known = latencies.debt(began, until, usual)
    if low_usual is None:
        return dict(zip(_DEBTS, (known, None, None), strict=True))
    ends = latencies.low_debt(began, until, usual), latencies.debt(began, until, low_usual)
    return dict(zip(_DEBTS, (known, *ends), strict=True))
