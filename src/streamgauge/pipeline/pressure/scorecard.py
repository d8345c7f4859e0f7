"""How a quantity came back after a cause was over: the scorecard of one recovery, from a series of values.

A quantity has recovered when it is back within a tolerance of its floor and stays there for three samples. The floor is
its median before the cause, or of the end of that time where it was still falling after the cause before. A cause that
held from the begin of the run on has no before, and is judged by the tail of the series, provided that it has settled.
What is not known is None, and what is not drained has no time to drain.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.latency.buckets import Floats

HELD: Final = 3
"""A value has to be back for so many samples; so many make a floor, too."""
MADS: Final = 3.0
"""Median absolute deviations from the floor that are still the floor."""
TAIL: Final = 4
"""The last of so many parts of a series is its tail."""
TOGETHER: Final = 0.5
"""What is done to several targets at once takes place within so many seconds, and is no cause after another."""

ROUNDING: Final = 1e-9


class FaultEvent(NamedTuple):
    """One row of `faults` that was carried out, in seconds of any clock."""

    second: float
    kind: str
    target: str
    action: str
    detail: str | None = None
    error: str | None = None
    """Of its end, as what could not be begun was not carried out."""


class Cause(NamedTuple):
    """Something that disturbed the run, and was over."""

    kind: str
    target: str
    detail: str | None
    """Of its begin, as what ends a burst tells the rate after it; of its end where it was never begun."""
    began: float | None
    """None where it held from the begin of the run on."""
    ended: float
    since: float | None
    """When the cause before it was over; None for the first."""
    until: float | None
    """When the next cause began; None for the last."""
    error: str | None = None
    """What went wrong at its end; None where nothing did."""


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity over time: seconds, rising, and values of equal length, none of them unknown."""

    seconds: Floats
    values: Floats

    def between(self, begin: float | None, end: float | None) -> "Series":
        """The part [begin, end) of it; None for no limit."""
        first = 0 if begin is None else int(np.searchsorted(self.seconds, begin))
        last = len(self.seconds) if end is None else int(np.searchsorted(self.seconds, end))
        return Series(self.seconds[first:last], self.values[first:last])

    @property
    def interval(self) -> float | None:
        """The median time between two values; None where there are fewer than two."""
        return float(np.median(np.diff(self.seconds))) if len(self.seconds) > 1 else None


@dataclass(frozen=True, slots=True)
class Recovery:
    """The scorecard of one recovery; times in seconds, rates by the second."""

    floor: float | None = None
    tolerance: float | None = None
    detected: float | None = None
    """From the begin of the cause until the value first lay above the floor by more than the tolerance."""
    peak: float | None = None
    peak_second: float | None = None
    at_end: float | None = None
    time_to_drain: float | None = None
    drain_rate: float | None = None
    peak_slope: float | None = None


def carried_out(rows: Iterable[Mapping[str, Any]]) -> list[FaultEvent]:
    """What was carried out, from rows of `faults`.

    What could not be begun is left out, and its end, which is tried to be sure. An end that failed is an end: until
    then at least it lasted.
    """
    found: list[FaultEvent] = []
    has_begun: dict[tuple[str, str], bool] = {}
    for row in sorted(rows, key=lambda row: float(row["second"])):
        event = FaultEvent(*(row[name] for name in FaultEvent._fields))
        key = (event.kind, event.target)
        if event.action == "begin":
            # Where the one before still lasts, the next end is its own.
            has_begun[key] = event.error is None or has_begun.get(key, False)
            is_done = event.error is None
        else:
            is_done = has_begun.pop(key, True)
        found += [event] if is_done else []
    return found


def causes(events: Iterable[FaultEvent]) -> list[Cause]:
    """The causes that were over, in the order of their ends.

    A kill that nothing ends is over when it happens: what is asked is how the rest takes over. What ends was begun by
    the last begin of its kind and target; a delay that is removed and was never begun held since the run began.
    """
    events = sorted(events, key=lambda event: event.second)
    found: list[Cause] = []
    begun: dict[tuple[str, str], FaultEvent] = {}
    for place, event in enumerate(events):
        key = (event.kind, event.target)
        if event.action == "begin":
            begun[key] = event
        if event.action == "end" or (event.kind == "kill" and not _is_ended(event, events[place + 1 :])):
            begin = begun.get(key)
            detail = event.detail if begin is None else begin.detail
            found.append(Cause(*key, detail, begin and begin.second, event.second, None, None, event.error))
    ends = [cause.ended for cause in found]
    begins = [event.second for event in events if event.action == "begin"]
    return [
        cause._replace(
            since=max((end for end in ends if end < _first(cause) - TOGETHER), default=None),
            until=min((begin for begin in begins if begin > cause.ended + TOGETHER), default=None),
        )
        for cause in found
    ]


def _is_ended(begin: FaultEvent, later: Iterable[FaultEvent]) -> bool:
    """Whether what happens next to the same target in the same way is its end."""
    actions = (event.action for event in later if (event.kind, event.target) == (begin.kind, begin.target))
    return next(actions, None) == "end"


def _first(cause: Cause) -> float:
    return cause.ended if cause.began is None else cause.began


def scorecard(series: Series, cause: Cause, rate: float | None) -> Recovery:
    """How the series came back after a cause; `rate` is of the load, in messages per second.

    `series` is what was seen under load, up to where the load ended: what drains because nothing is sent any more has
    not recovered.
    """
    series = series.between(cause.since, cause.until)
    after = series.between(cause.ended, None)
    base = _base(series, cause, after, rate)
    affected = series.between(cause.began, None)
    if not len(affected.values):
        return Recovery()
    top = int(np.argmax(affected.values))
    known = Recovery(
        peak=float(affected.values[top]), peak_second=float(affected.seconds[top]), at_end=_at(series, cause.ended),
        peak_slope=_steepest_fall(after),
    )  # fmt: skip
    return known if base is None else _judged(known, base, cause, affected)


class _Base(NamedTuple):
    floor: float
    tolerance: float

    def exceeded(self, values: Floats) -> NDArray[np.bool_]:
        # Values are counts, and lie on the edge often: rounding must not decide.
        above: NDArray[np.bool_] = values > self.floor + self.tolerance * (1 + ROUNDING)
        return above


def _base(series: Series, cause: Cause, after: Series, rate: float | None) -> _Base | None:
    """Floor and tolerance; None where nothing tells them."""
    grain = (rate or 0.0) * (series.interval or 0.0)
    before = series.between(None, cause.began) if cause.began is not None else None
    if before is not None and len(before.values) >= HELD:
        base = _base_of(before.values, grain)
        if cause.since is None or _settled(before.values, grain):
            return base
        return _settled(before.values[-max(HELD, len(before.values) // TAIL) :], grain) or base
    tail = after.values[-(len(after.values) // TAIL) :] if len(after.values) >= TAIL * HELD else after.values[:0]
    return _settled(tail, grain) if len(tail) >= HELD else None


def _settled(values: Floats, grain: float) -> _Base | None:
    """Floor and tolerance of the later half; None where the values still fall or rise."""
    earlier, later = np.array_split(values, 2)
    base = _base_of(later, grain)
    return base if abs(float(np.median(earlier)) - base.floor) <= base.tolerance else None


def _base_of(values: Floats, grain: float) -> _Base:
    floor = float(np.median(values))
    return _Base(floor, max(MADS * float(np.median(np.abs(values - floor))), grain))


def _judged(known: Recovery, base: _Base, cause: Cause, affected: Series) -> Recovery:
    """The scorecard with all that a floor tells."""
    above = np.flatnonzero(base.exceeded(affected.values))
    seen = float(affected.seconds[above[0]]) if len(above) else None
    # What shows only after the cause, like a kill, cannot be over before it shows.
    back = _back(affected, base, cause.ended if seen is None else max(seen, cause.ended))
    drained = None if back is None else (back - cause.ended if seen is not None else 0.0)
    excess = None if known.at_end is None else known.at_end - base.floor
    return replace(
        known,
        floor=base.floor,
        tolerance=base.tolerance,
        detected=None if seen is None or cause.began is None else seen - cause.began,
        time_to_drain=drained,
        drain_rate=excess / drained if drained and excess is not None and excess > base.tolerance else None,
    )


def _back(series: Series, base: _Base, since: float) -> float | None:
    """When the value was back for the first time from `since` on, and stayed so."""
    rest = series.between(since, None)
    is_back = ~base.exceeded(rest.values)
    held = np.convolve(is_back, np.ones(HELD), "valid") == HELD if len(is_back) >= HELD else np.zeros(0, bool)
    return float(rest.seconds[np.argmax(held)]) if held.any() else None


def _at(series: Series, second: float) -> float | None:
    """The last value at a time or before it; None where there is none."""
    place = int(np.searchsorted(series.seconds, second, side="right"))
    return float(series.values[place - 1]) if place else None


def _steepest_fall(series: Series) -> float | None:
    """The fastest fall between two values, 0 where nothing fell; None where there are fewer than two."""
    if len(series.values) < 2:
        return None
    return max(0.0, float(np.max(-np.diff(series.values) / np.diff(series.seconds))))


def debt(values: Mapping[int, float], reference: float, begin: float, end: float) -> float:
    """Integral over [begin, end) of what a value exceeds `reference`, never less than 0 at any time.

    `values` are those of windows of one second, by the second that they begin with; without a value nothing is added.
    """
    inside = {second: min(second + 1, end) - max(second, begin) for second in values}
    return sum(max(0.0, values[second] - reference) * length for second, length in inside.items() if length > 0)
