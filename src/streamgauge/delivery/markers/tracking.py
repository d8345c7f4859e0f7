"""Which messages are due again, decided from the markers of one partition.

A message is open from its start marker to its end marker. It is due when the clock reaches its deadline: the time of
its latest start marker, as the broker appended it, plus what the marker says. A message that is due is redelivered
once: it stays open, and is not due again, until its end marker is read, which whoever redelivers it writes.

The clock is the time of the latest marker. A partition in which nobody writes has no such clock: after a silence the
wall clock takes its place. It never goes back, so no message is due early by the broker's clock.

Markers that were written before the tracker began are read to their end before anything is due: the end marker of a
message may be the last of them. Deadlines are put in order only then, as most of these messages have ended by then.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from streamgauge.delivery.markers.wire import Marker

MOST_OPEN: Final = 5_000_000
"""Messages that may be open in one partition: each takes some 250 bytes."""


class TooManyOpen(Exception):
    """More messages are open than a tracker keeps."""


_FEW: Final = 1_000
"""Entries that were overtaken and may stay in any case."""
_Start = tuple[int, int, int]
"""Deadline, offset of the start marker, offset of the message."""


@dataclass(slots=True)
class Tracking:
    """The open messages of one partition, and the clock by which they are due."""

    history_end: int
    """End of the partition of markers when the tracker began: what lies below was written before."""
    silence_ms: int
    """After so long without a marker, the wall clock counts."""
    position: int = 0
    """Offset of the next marker to be read."""
    most: int = MOST_OPEN
    _open: dict[int, int] = field(default_factory=dict)
    """Of each open message the offset of its latest start marker."""
    _deadlines: list[_Start] = field(default_factory=list)
    """Heap of what is to become due; entries that were overtaken stay for a while. Empty while history is read."""
    _is_ordered: bool = False
    """Whether it is made."""
    _starts: deque[_Start] = field(default_factory=deque)
    """The same in the order of the start markers, also of what was due."""
    _due: dict[int, int] = field(default_factory=dict)
    """Open messages that were due, which are being redelivered, with their deadlines."""
    _most_starts: int = _FEW
    """With more of these it is looked how many were overtaken."""
    _latest_ms: int | None = None
    """Time of the latest marker."""
    _seen_ms: int = 0
    """Wall clock when it was read."""
    _clock_ms: int = 0

    @property
    def open(self) -> int:
        """How many messages are open."""
        return len(self._open)

    @property
    def is_current(self) -> bool:
        """Whether all that was written before the tracker began is read."""
        return self.position >= self.history_end

    @property
    def commit(self) -> int:
        """Where a successor has to begin: the start marker of the oldest open message, or the next marker."""
        starts = self._starts
        while starts and not self._is_latest(starts[0]):
            starts.popleft()
        return starts[0][1] if starts else self.position

    def take(self, at: int, appended_ms: int, marker: Marker, wall_ms: int) -> None:
        """Read the marker at offset `at`; raises TooManyOpen where the limit is reached."""
        self.position = at + 1
        self._seen_ms = wall_ms
        if self._latest_ms is None or appended_ms > self._latest_ms:
            self._latest_ms = appended_ms
        offset, after_ms = marker.offset, marker.redeliver_after_ms
        if self._due:
            self._due.pop(offset, None)
        if after_ms is None:
            self._open.pop(offset, None)
            return
        if len(self._open) >= self.most and offset not in self._open:
            raise TooManyOpen(f"{len(self._open):,} messages are open")
        start = appended_ms + after_ms, at, offset
        self._open[offset] = at
        self._starts.append(start)
        if self._is_ordered:
            heapq.heappush(self._deadlines, start)
        if max(len(self._starts), len(self._deadlines)) > self._most_starts:
            self._forget()

    def pass_over(self, position: int) -> None:
        """All below this offset is read: there may be records that are no markers, or none at all."""
        self.position = max(self.position, position)

    def clock_ms(self, wall_ms: int) -> int | None:
        """The clock: milliseconds since 1970; None before the first marker, when nothing is open."""
        if self._latest_ms is None:
            return None
        is_silent = wall_ms - self._seen_ms >= self.silence_ms
        self._clock_ms = max(self._clock_ms, self._latest_ms, wall_ms if is_silent else 0)
        return self._clock_ms

    def due(self, wall_ms: int, most: int | None = None) -> list[int]:
        """Offsets of messages that are due and were not due before, at most so many, the earliest deadline first."""
        clock_ms = self.clock_ms(wall_ms)
        if clock_ms is None or not self.is_current:
            return []
        return list(self._due_by(clock_ms, most))

    def put_back(self, offset: int) -> None:
        """A message that was due could not be redelivered: it is due again, unless it has ended meanwhile."""
        at, deadline_ms = self._open.get(offset), self._due.pop(offset, None)
        if at is not None and deadline_ms is not None:
            heapq.heappush(self._deadlines, (deadline_ms, at, offset))

    def next_due_ms(self) -> int | None:
        """The deadline of the next message; None while history is read, or no message is open that was not due."""
        if not self._is_ordered and self.is_current:
            self._deadlines, self._is_ordered = list(filter(self._is_latest, self._starts)), True
            heapq.heapify(self._deadlines)
        while self._deadlines and not self._is_latest(self._deadlines[0]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def _due_by(self, clock_ms: int, most: int | None) -> Iterator[int]:
        found = 0
        while most is None or found < most:
            deadline_ms = self.next_due_ms()
            if deadline_ms is None or deadline_ms > clock_ms:
                return
            _, _, offset = heapq.heappop(self._deadlines)
            self._due[offset] = deadline_ms
            found += 1
            yield offset

    def _is_latest(self, start: _Start) -> bool:
        """Whether a message is open by this start marker."""
        return self._open.get(start[2]) == start[1]

    def _forget(self) -> None:
        """Drop entries that were overtaken, where there are many: behind one open message all of them would stay."""
        self._most_starts = most = len(self._open) + len(self._open) // 2 + _FEW
        if len(self._starts) > most:
            self._starts = deque(filter(self._is_latest, self._starts))
        if len(self._deadlines) > most:
            self._deadlines = list(filter(self._is_latest, self._deadlines))
            heapq.heapify(self._deadlines)
