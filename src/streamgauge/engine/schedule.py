"""The due times of one producer as the produce loop asks for them, looked up in chunks of a pacer."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamgauge.domain.pacing import Int64s, Pacer

CHUNK: Final = 8_192
_LOOK_AHEAD: Final = 8


@dataclass(slots=True)
class Schedule:
    """Due times on the monotonic clock, from `start_ns` to before `end_ns`; knows which message is the next."""

    pacer: Pacer
    start_ns: int
    end_ns: int
    _chunk: Int64s = field(init=False)
    _first: int = field(init=False, default=0)
    _place: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Look up the first chunk."""
        self._load(0)

    def next_ns(self) -> int | None:
        """When the next message is due; None when there is none before the end."""
        due_ns = int(self._chunk[self._place])
        return due_ns if due_ns < self.end_ns else None

    def due(self, now_ns: int, limit: int) -> Int64s:
        """Due times of the next messages that are due by `now_ns` and before the end, at most `limit` of them."""
        ahead = self._chunk[self._place : self._place + limit]
        return ahead[: int(np.searchsorted(ahead, min(now_ns, self.end_ns - 1), side="right"))]

    def advance(self, count: int) -> None:
        """Go past the next `count` messages."""
        self._place += count
        if self._place >= len(self._chunk):
            self._load(self._first + self._place)

    def is_closer_than(self, gap_ns: int) -> bool:
        """Whether the next messages follow each other in less than `gap_ns`, on average."""
        ahead = self._chunk[self._place : self._place + _LOOK_AHEAD]
        return len(ahead) > 1 and int(ahead[-1] - ahead[0]) < gap_ns * (len(ahead) - 1)

    def _load(self, first: int) -> None:
        self._chunk = self.start_ns + self.pacer.due_ns(first, CHUNK)
        self._first, self._place = first, 0
