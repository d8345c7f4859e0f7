"""Random schedules: Poisson arrivals, and windows of a fixed number of messages.

Random numbers come in chunks, each from a generator of its own, so that any part can be made again. Where a chunk
begins is the sum of all before it; it is kept once it is known, and looked for from the last one that is.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.workload.pacing.pacer import Int64s

CHUNK: Final = 8_192

_ARRIVALS, _WINDOWS = 21, 22


@dataclass(slots=True, eq=False)
class _Sums(ABC):
    """Running sums of what is drawn."""

    seed: int
    _begins: list[int] = field(init=False, repr=False, default_factory=lambda: [0])
    """Sums before each chunk, as far as they are known."""
    _sums: Int64s = field(init=False, repr=False, default_factory=lambda: np.empty(0, np.int64))
    """Of one chunk."""
    _number: int = field(init=False, repr=False, default=-1)

    @abstractmethod
    def _draw(self, number: int) -> Int64s:
        """Running sums within a chunk."""

    def _sums_of(self, number: int) -> Int64s:
        """The sums up to and with each draw of a chunk."""
        while number != self._number:
            self._number = min(number, len(self._begins) - 1)
            self._sums = self._begins[self._number] + self._draw(self._number)
            if self._number == len(self._begins) - 1:
                self._begins.append(int(self._sums[-1]))
        return self._sums


@dataclass(slots=True, eq=False)
class PoissonPacer(_Sums):
    """Messages that come independently of each other: the gaps between them are exponential, from the start on."""

    rate_per_second: float

    def times_ns(self, first: int, step: int, count: int) -> Int64s:
        """Due times of the messages `first`, `first + step`, ...: the whole load's."""
        times = np.empty(count, np.int64)
        done = 0
        while done < count:
            number, place = divmod(first + done * step, CHUNK)
            taken = self._sums_of(number)[place::step][: count - done]
            times[done : done + len(taken)] = taken
            done += len(taken)
        return times

    def _draw(self, number: int) -> Int64s:
        draws = np.random.default_rng([self.seed, _ARRIVALS, number])
        # Rounded once they are summed: gaps of a few ns must not lose half of one each.
        return np.rint(np.cumsum(draws.exponential(NS_PER_SECOND / self.rate_per_second, CHUNK))).astype(np.int64)


@dataclass(slots=True, eq=False)
class WindowPacer(_Sums):
    """Windows of equal length, in each of which so many messages are due.

    How many is drawn from a normal distribution, rounded, at least 1 and at most `most`, and again after `hold`
    windows. They are due together at the begin of their window, or spread over it evenly.
    """

    messages: int
    deviation: float
    most: float
    hold: int
    window_ns: int
    spread: bool
    start_ns: int
    """When the first window begins."""

    def times_ns(self, first: int, step: int, count: int) -> Int64s:
        """Due times of the messages `first`, `first + step`, ...: the whole load's."""
        times = np.empty(count, np.int64)
        done = 0
        while done < count:
            message = first + done * step
            number = self._chunk_with(message)
            upto = int(self._sums_of(number)[-1])
            taken = min(count - done, -((message - upto) // step))
            times[done : done + taken] = self._times_in(number, message + step * np.arange(taken, dtype=np.int64))
            done += taken
        return times

    def _chunk_with(self, message: int) -> int:
        """The number of the chunk that a message is in."""
        while self._begins[-1] <= message:
            self._sums_of(len(self._begins) - 1)
        return bisect_right(self._begins, message) - 1

    def _times_in(self, number: int, messages: Int64s) -> Int64s:
        """Due times of messages of one chunk."""
        ends = self._sums_of(number)
        sizes = np.diff(ends, prepend=self._begins[number]) // self.hold
        draws = np.searchsorted(ends, messages, "right")
        size = sizes[draws]
        windows, places = np.divmod(messages - ends[draws] + size * self.hold, size)
        windows += (number * CHUNK + draws) * self.hold
        times: Int64s = self.start_ns + windows * self.window_ns
        if self.spread:
            times += np.rint(places * float(self.window_ns) / size).astype(np.int64)
        return times

    def _draw(self, number: int) -> Int64s:
        draws = np.random.default_rng([self.seed, _WINDOWS, number])
        drawn = np.rint(draws.normal(self.messages, self.deviation, CHUNK))
        return np.cumsum(np.clip(drawn, 1, self.most).astype(np.int64) * self.hold)
