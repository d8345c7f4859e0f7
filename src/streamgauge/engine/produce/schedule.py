"""The due times of one producer as the produce loop asks for them, looked up in chunks of a pacer."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from streamgauge.workload.pacing import NEVER, Int64s, Pacer

CHUNK: Final = 8_192
_LOOK_AHEAD: Final = 8


@dataclass(slots=True)
class Schedule:
    """Due times on the monotonic clock, from `start_ns` to before `end_ns`; knows which message is the next."""

    pacer: Pacer
    start_ns: int
    end_ns: int
    _chunk: Int64s = field(init=False)
    _times: list[int] = field(init=False)
    """The chunk again: the loop asks for one due time at a time, which a list answers ten times faster."""
    _first: int = field(init=False, default=0)
    _place: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Look up the first chunk."""
        self._load(0)

    def next_ns(self) -> int | None:
        """When the next message is due; None when there is none before the end."""
        due_ns = self._times[self._place]
        return due_ns if due_ns < self.end_ns else None

    @property
    def is_exhausted(self) -> bool:
        """Whether no message follows at all, however long the load lasts."""
        return self._times[self._place] >= NEVER

    def due(self, now_ns: int, limit: int) -> Int64s:
        """Due times of the next messages that are due by `now_ns` and before the end, at most `limit` of them."""
        begin = self._place
        upto = min(begin + limit, len(self._times))
        return self._chunk[begin : bisect_right(self._times, min(now_ns, self.end_ns - 1), begin, upto)]

    def due_from(self, first: int, limit: int) -> Int64s:
        """Due times of the messages from `first` on that are due before the end, at most `limit` of them."""
        due_ns = self.start_ns + self.pacer.due_ns(first, limit)
        found: Int64s = due_ns[due_ns < self.end_ns]
        return found

    def advance(self, count: int) -> None:
        """Go past the next `count` messages."""
        self._place += count
        if self._place >= len(self._chunk):
            self._load(self._first + self._place)

    def is_closer_than(self, gap_ns: int) -> bool:
        """Whether the next messages follow each other in less than `gap_ns`, on average."""
        last = min(self._place + _LOOK_AHEAD, len(self._times)) - 1
        steps = last - self._place
        return steps > 0 and self._times[last] - self._times[self._place] < gap_ns * steps

    def _load(self, first: int) -> None:
        self._chunk = self.start_ns + self.pacer.due_ns(first, CHUNK)
        self._times = self._chunk.tolist()
        self._first, self._place = first, 0
