"""Recovery: times are known to within one interval, lags as they were sampled, latencies by their bounds."""

from collections.abc import Iterator, Sequence
from typing import Final

from streamgauge.result.model.pressure import RecoveryScore
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.figures.interval import ANALYSED_BEFORE, at_least, disbelieved, exact
from streamgauge.verdict.trust.figures.pressure import moved_at_most, sampled

_TIMES: Final = ("detected_s", "time_to_drain_s")
_LAGS: Final = ("floor", "peak", "at_end")
_STRETCHES: Final = ("before", "during", "after")
_NO_BOUND: Final = "it is not known how much of the latency of these seconds the instrument added"
_BETWEEN: Final = "it drained between two samples"


def recoveries(run: Evidence, recovery: Sequence[RecoveryScore]) -> Iterator[tuple[str, FigureTrust]]:
    """Figures of recovery by their paths."""
    rows = run.rows("recovery")
    # Where bounds are known, only an older analysis has none of these seconds.
    is_known = any(row["known"] for row in run.rows("bounds") if row["metric"].startswith("end_to_end"))
    missing = ANALYSED_BEFORE if is_known or "bounds" not in run.tables else _NO_BOUND
    for place, score in enumerate(recovery):
        found = {
            **_times(score),
            **_lags(run, score),
            **_felt(score, rows[place] if place < len(rows) else {}, missing),
        }
        yield from ((f"recovery.{place}.{name}", figure) for name, figure in found.items())


def _times(score: RecoveryScore) -> dict[str, FigureTrust]:
    """A time is that of a sample: off by at most the time between two."""
    off = score.interval_ms / 1_000
    known = {name: value for name in _TIMES if (value := getattr(score, name)) is not None}
    return {
        name: FigureTrust(value=value, low=max(0.0, value - off), high=value, trust="believed", because=[])
        for name, value in known.items()
    }


def _lags(run: Evidence, score: RecoveryScore) -> dict[str, FigureTrust]:
    """Lags and how fast they fell: exact if they are replayed from the rows, else as they were sampled."""
    moved = 0.0 if score.quantity == "outstanding" else moved_at_most(run)
    known = {name: value for name in _LAGS if (value := getattr(score, name)) is not None}
    # Commits are asked before the ends of the log: a lag is never larger than it was sampled.
    found = {name: sampled(value, None if moved is None else (value - moved, value)) for name, value in known.items()}
    if (slope := score.peak_slope_per_second) is not None:
        # A slope is the difference of two samples, each of which is too large by at most that.
        per_second = None if moved is None else moved * 1_000 / (score.interval_ms or 1.0)
        found["peak_slope_per_second"] = _rate(slope, per_second)
    if (rate := score.drain_rate_per_second) is not None and score.time_to_drain_s is not None:
        found["drain_rate_per_second"] = _drained(rate, score.time_to_drain_s, score.interval_ms / 1_000, moved)
    return found


def _rate(value: float, off: float | None) -> FigureTrust:
    if off is None:
        return sampled(value, None)
    low, high = max(0.0, value - off), value + off
    trust = limits.of_rate(value, low, high)
    because = [] if trust == "believed" else [f"it may be off by {off:,.0f} per second, as samples are"]
    return FigureTrust(value=value, low=low, high=high, trust=trust, because=because)


def _drained(rate: float, took_s: float, interval_s: float, moved: float | None) -> FigureTrust:
    """What drained, by a time that may have been an interval shorter, from a lag that may have moved."""
    if moved is None:
        return sampled(rate, None)
    drained = rate * took_s
    low = max(0.0, drained - moved) / took_s if took_s else 0.0
    if took_s <= interval_s:
        return at_least(low, _BETWEEN).model_copy(update={"value": rate})
    high = (drained + moved) / (took_s - interval_s)
    trust = limits.of_rate(rate, low, high)
    # Both ends are known: of an interval that follows from the sampling nothing is worse than bounded.
    return FigureTrust(
        value=rate,
        low=low,
        high=high,
        trust="believed" if trust == "believed" else "bounded",
        because=[] if trust == "believed" else ["the time to drain is known to within an interval"],
    )


def _felt(score: RecoveryScore, row: Row, missing: str) -> dict[str, FigureTrust]:
    """Latencies of the seconds before, during and after; high ends are the values."""
    ends = {f"p99_{name}_ms": (row.get(f"p99_{name}_low_ms"), getattr(score, f"p99_{name}_ms")) for name in _STRETCHES}
    ends["latency_debt_ms_s"] = (row.get("latency_debt_low_ms_s"), row.get("latency_debt_high_ms_s"))
    known = {name: value for name in ends if (value := getattr(score, name)) is not None}
    return {name: _latency(value, *ends[name], missing) for name, value in known.items()}


def _latency(value: float, low: float | None, high: float | None, missing: str) -> FigureTrust:
    if low is None or high is None:
        return disbelieved(exact(value), [missing])
    trust = limits.of_latency(value, low, high)
    because = [] if trust == "believed" else ["the instrument may have added the rest"]
    return FigureTrust(value=value, low=min(low, value), high=max(high, value), trust=trust, because=because)
