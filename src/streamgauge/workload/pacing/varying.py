"""Rates that change: pieces of time, in each of which the rate is the same or rises or falls evenly.

Message j is due when the number of messages that were asked for passes j: within a piece that number is linear or
quadratic in time, so its inverse is known. Nothing is due where the rate is zero. Where pieces begin, in messages and
in time, is kept exactly, so that neither their number nor their repetition drifts; what is rounded is the time within
one piece, to the nearest ns.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, Final

import numpy as np

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.workload.pacing.pacer import NEVER, Int64s

_TINY: Final = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time, longer than nothing; rates are in messages a second, at its begin and at its end."""

    begin: Fraction
    end: Fraction
    duration_ns: int

    @property
    def messages(self) -> Fraction:
        """How many messages it asks for."""
        return (self.begin + self.end) * self.duration_ns / (2 * NS_PER_SECOND)


class VaryingRate:
    """The pieces of `once`, followed by those of `again` for as long as anybody asks; either may be none."""

    def __init__(self, once: Sequence[Piece], again: Sequence[Piece]) -> None:
        self._once, self._again = _Stretch(once), _Stretch(again)

    def times_ns(self, first: int, step: int, count: int) -> Int64s:
        """Due times of the messages `first`, `first + step`, ...: within 1 ns of the exact ones."""
        once, again = self._once, self._again
        split = max(0, min(count, -((first - once.messages) // step)))
        times = np.full(count, NEVER, np.int64)
        if split:
            times[:split] = once.times_ns(Fraction(first), step, split)
        if split < count and again.messages:
            place = first + split * step - once.messages
            times[split:] = once.duration_ns + again.times_ns(place, step, count - split)
        return np.minimum(times, NEVER)


class _Stretch:
    """Pieces one after the other, and again from the first one on: when the message at a place in them is due."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        begins = list(accumulate((piece.messages for piece in pieces), initial=Fraction(0)))
        begins_ns = list(accumulate((piece.duration_ns for piece in pieces), initial=0))
        self.messages, self.duration_ns = begins[-1], begins_ns[-1]
        # Places are counted in parts of a message, so small that every piece begins at a whole number of them.
        self._unit = lcm(*(begin.denominator for begin in begins))
        self._begins = [int(begin * self._unit) for begin in begins]
        self._bounds = np.array(self._begins, _kind(self._begins[-1]))
        # Counted from the end where the rate is lowest, no time is the difference of two much longer ones.
        lowest = [number + (piece.end < piece.begin) for number, piece in enumerate(pieces)]
        self._anchors = self._bounds[lowest]
        self._anchors_ns = np.array([begins_ns[number] for number in lowest], np.int64)
        self._signs = np.array([-1 if piece.end < piece.begin else 1 for piece in pieces], np.int64)
        self._rates = np.array([float(min(piece.begin, piece.end)) for piece in pieces])
        self._changes = np.array(
            [float(abs(piece.end - piece.begin) * 2 * NS_PER_SECOND / piece.duration_ns) for piece in pieces]
        )
        self._last_ns = np.array(begins_ns[1:], np.int64) - 1

    def times_ns(self, place: Fraction, step: int, count: int) -> Int64s:
        """Times of `place`, `place + step`, ... after the begin of the row.

        With m messages since the piece was at its lowest rate r, and a the change of the rate, these are
        2m / (r + sqrt(r^2 + 2am)): the solution of a quadratic equation that subtracts nothing.
        """
        whole, rest = divmod(place * self._unit, 1)
        length = self._begins[-1]
        turn, begin = divmod(whole, length)
        stride = step * self._unit
        places = np.arange(count, dtype=_kind(length + count * stride)) * stride + begin
        turns: Any = 0
        at: Any = bisect_right(self._begins, begin) - 1
        if places[-1] >= self._begins[at + 1]:
            rounds = places // length
            turns, places = rounds.astype(np.int64), places - rounds * length
            at = np.searchsorted(self._bounds, places, "right") - 1
        signs, rates = self._signs[at], self._rates[at]
        messages = signs * ((places - self._anchors[at]).astype(np.float64) + float(rest)) / self._unit
        slopes = rates + np.sqrt(rates * rates + self._changes[at] * messages)
        # Where a rate rises from zero, the first message has neither messages before it nor a slope.
        within = np.rint(2 * NS_PER_SECOND * messages / np.maximum(slopes, _TINY)).astype(np.int64)
        times: Int64s = np.minimum(self._anchors_ns[at] + signs * within, self._last_ns[at])
        times += turns * self.duration_ns + min(turn * self.duration_ns, NEVER)
        return times


def _kind(largest: int) -> type[Any]:
    """The type of whole numbers up to a largest one: fast where that fits, exact where it does not."""
    return np.int64 if largest < NEVER else object
