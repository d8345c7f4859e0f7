"""Lag: sampled, and so known to within the time between question and answer, or replayed from the rows."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from streamgauge.result.model.pressure import LagFigures, Lags, LagSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.scenario.profile.model import CONSTANT
from streamgauge.verdict.evidence import Evidence, Row, largest
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.figures.interval import disbelieved, exact

_FIGURES: Final = ("max", "mean", "final")
_MOVES: Final = ("due", "acked", "processed")
_NOTHING: Final[Row] = {"outstanding": 0, "sent": 0, "processed": 0}
"""What there was before the run."""
_ABOVE: Final = "position"
"""Positions are looked at after the ends of the log: what was read meanwhile makes their lag too small. Commits are
asked before: what was appended meanwhile makes theirs too large."""
_NOT_TOLD: Final = "it is not known how long a sample took"
_BETWEEN: Final = "between the ends of two intervals it may have been higher"


def lags(run: Evidence, lag: LagSection | None) -> Iterator[tuple[str, FigureTrust]]:
    """Lags by their paths: of the group that is furthest behind, and of each of several."""
    if lag is None:
        return
    ids = {group.name: group.id for group in run.facts.groups}
    samples, replayed = run.matching("lag", scope="group"), run.rows("outstanding")
    yield from _lags_of(run, "lag", lag, samples, replayed)
    for place, group in enumerate(lag.groups):
        mine = ([row for row in rows if row["group"] == ids.get(group.group)] for rows in (samples, replayed))
        yield from _lags_of(run, f"lag.groups.{place}", group, *mine)


def _lags_of(
    run: Evidence, path: str, found: Lags, samples: Sequence[Row], replayed: Sequence[Row]
) -> Iterator[tuple[str, FigureTrust]]:
    for name in ("committed", "position"):
        shown: LagFigures | None = getattr(found, name)
        for each in _FIGURES:
            if shown is not None and (value := getattr(shown, each)) is not None:
                yield f"{path}.{name}.{each}", sampled(value, _ends(run, samples, name, each, value))
    if (outstanding := found.outstanding) is not None:
        for each in _FIGURES:
            if (value := getattr(outstanding, each)) is not None:
                is_known = each != "max" or outstanding.exact
                yield f"{path}.outstanding.{each}", exact(value) if is_known else _highest(run, value, replayed)
    if (age := found.time_lag) is not None:
        for each in _FIGURES:
            if (value := getattr(age, f"{each}_ms")) is not None:
                yield f"{path}.time_lag.{each}_ms", exact(value)


def sampled(value: float, ends: tuple[float, float] | None) -> FigureTrust:
    """A lag that was sampled, and lay between these ends; None where nobody knows."""
    if ends is None:
        return disbelieved(exact(value), [_NOT_TOLD])
    low, high = max(0.0, ends[0]), ends[1]
    trust, moved = limits.of_lag(value, low, high), max(value - low, high - value)
    because = [] if trust == "believed" else [f"it may have moved by {moved:,.0f} messages while it was sampled"]
    return FigureTrust(value=value, low=low, high=high, trust=trust, because=because)


def moved_at_most(run: Evidence) -> float | None:
    """By how many messages a lag can have moved during the longest sample of the measure phase."""
    moved = _moved(run, _in_measure(run, run.matching("lag", scope="group")))
    return max(moved) if moved else None


def _ends(run: Evidence, samples: Sequence[Row], name: str, figure: str, value: float) -> tuple[float, float] | None:
    """The ends of a figure of sampled lags; None where it is not known how long a sample took.

    The greatest lag was at least the greatest low end of a sample, and at most the greatest high end.
    """
    chosen = [row for row in samples if row["error"] is None][-1:] if figure == "final" else _in_measure(run, samples)
    moved = _moved(run, chosen)
    if not moved:
        return None
    sign = 1 if name == _ABOVE else -1
    if figure == "max":
        lags_of = ((row[f"{name}_lag"], off) for row, off in zip(chosen, moved, strict=True))
        other = max((lag + sign * off for lag, off in lags_of if lag is not None), default=value + sign * max(moved))
    else:
        other = value + sign * sum(moved) / len(moved)
    return (value, max(value, other)) if name == _ABOVE else (min(value, other), value)


def _in_measure(run: Evidence, samples: Sequence[Row]) -> list[Row]:
    """The samples of the measure phase that were answered."""
    ends = run.measured_seconds or 0.0
    return [row for row in samples if row["error"] is None and 0 <= row["second"] <= ends]


def _moved(run: Evidence, samples: Sequence[Row]) -> list[float]:
    """By how many messages the lag can have moved during each sample; none where it is not known of all of them.

    It moves as fast as messages are sent or processed: in a burst, or while consumers catch up, much faster than on
    average. So the fastest second of the run counts.
    """
    took_ms = [each for row in samples if (each := row.get("took_ms")) is not None]
    windows = run.matching("throughput", scope="window")
    fastest = max((count for name in _MOVES if (count := largest(windows, name)) is not None), default=None)
    if len(took_ms) < len(samples) or fastest is None:
        return []
    return [fastest * each / 1_000 for each in took_ms]


def _highest(run: Evidence, value: float, rows: Sequence[Row]) -> FigureTrust:
    """The maximum of what was outstanding, known at the ends of intervals.

    Within an interval it was at most what it was before, with all that was sent in it; and at most what it was after,
    with all that was processed in it.
    """
    ends = run.measured_seconds or 0.0
    tops = [
        min(
            before["outstanding"] + row["sent"] - before["sent"],
            row["outstanding"] + row["processed"] - before["processed"],
        )
        for group in {row["group"] for row in rows}
        for before, row in pairwise([_NOTHING, *(row for row in rows if row["group"] == group)])
        if 0 < row["second"] <= ends
    ]
    if not tops:
        return disbelieved(exact(value), [_BETWEEN])
    high = max(value, min(max(tops), _in_flight(run, rows)))
    if limits.of_lag(value, value, high) == "believed":
        return FigureTrust(value=value, low=value, high=high, trust="believed", because=[])
    return FigureTrust(value=value, low=value, high=high, trust="bounded", because=[_BETWEEN])


def _in_flight(run: Evidence, rows: Sequence[Row]) -> float:
    """The most messages that can be outstanding at a constant rate: those due within the longest response time.

    Infinite without a constant rate, and where messages were left over, or passed through a pipeline.
    """
    pace = run.profile.pace
    metric = "processing_response" if run.profile.processing else "end_to_end_response"
    longest_ms = largest(run.matching("latency", scope="window", metric=metric), "max_ms")
    is_constant = pace is not None and pace.kind == CONSTANT and run.profile.is_steady and run.piped is None
    is_empty = len({row["group"] for row in rows}) == 1 and rows[-1]["outstanding"] == 0
    if not (pace and pace.per_second and run.profile.load and is_constant and is_empty) or longest_ms is None:
        return float("inf")
    return float(-(-pace.per_second * longest_ms // 1_000)) + run.profile.load.producers
