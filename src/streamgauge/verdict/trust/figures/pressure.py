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
                yield f"{path}.{name}.{each}", sampled(value, _moved(run, samples, each))
    if (outstanding := found.outstanding) is not None:
        for each in _FIGURES:
            if (value := getattr(outstanding, each)) is not None:
                is_known = each != "max" or outstanding.exact
                yield f"{path}.outstanding.{each}", exact(value) if is_known else _highest(run, value, replayed)
    if (age := found.time_lag) is not None:
        for each in _FIGURES:
            if (value := getattr(age, f"{each}_ms")) is not None:
                yield f"{path}.time_lag.{each}_ms", exact(value)


def sampled(value: float, moved: float | None) -> FigureTrust:
    """A lag that may have moved by so many messages while it was sampled; None where nobody knows."""
    if moved is None:
        return disbelieved(exact(value), [_NOT_TOLD])
    low, high = max(0.0, value - moved), value + moved
    trust = limits.of_lag(value, low, high)
    because = [] if trust == "believed" else [f"it may have moved by {moved:,.0f} messages while it was sampled"]
    return FigureTrust(value=value, low=low, high=high, trust=trust, because=because)


def moved_at_most(run: Evidence) -> float | None:
    """By how many messages a lag can have moved during the longest sample of the measure phase."""
    return _moved(run, run.matching("lag", scope="group"), "max")


def _moved(run: Evidence, samples: Sequence[Row], figure: str) -> float | None:
    """By how many messages a lag can have moved while it was sampled; None where it is not known how long that took.

    It moves as fast as messages are sent or processed: in a burst, or while consumers catch up, much faster than on
    average. So the fastest second of the run counts.
    """
    known = [row for row in samples if row["error"] is None]
    ends = run.measured_seconds or 0.0
    chosen = known[-1:] if figure == "final" else [row for row in known if 0 <= row["second"] <= ends]
    took_ms = [each for row in chosen if (each := row.get("took_ms")) is not None]
    windows = run.matching("throughput", scope="window")
    fastest = max((count for name in _MOVES if (count := largest(windows, name)) is not None), default=None)
    if not took_ms or len(took_ms) < len(chosen) or fastest is None:
        return None
    took = sum(took_ms) / len(took_ms) if figure == "mean" else max(took_ms)
    return float(fastest * took / 1_000)


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
