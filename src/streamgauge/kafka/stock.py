"""Messages that librdkafka delivered and nobody wants yet, partition by partition, in their order.

librdkafka has one queue for all partitions, in which the messages of one may stand before those of all others. To reach
these, the messages before them are set aside here. Pausing their partition instead would throw away what librdkafka
fetched of it: measured on 12 partitions, each slot was given messages for 37 % of its time.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from streamgauge.domain.blocks import Place

MOST_MESSAGES: Final = 4_000
"""A partition is paused with so many messages set aside, or so many bytes, and resumed with half of that."""
MOST_BYTES: Final = 8 << 20


@dataclass(slots=True)
class _Shelf:
    messages: deque[Any] = field(default_factory=deque)
    size_bytes: int = 0

    def is_above(self, share: float) -> bool:
        return len(self.messages) > MOST_MESSAGES * share or self.size_bytes > MOST_BYTES * share


class Stock:
    """What is set aside of each partition."""

    def __init__(self) -> None:
        self._shelves: dict[Place, _Shelf] = {}

    def __contains__(self, place: Place) -> bool:
        """Whether something of a partition is set aside."""
        return place in self._shelves

    def __bool__(self) -> bool:
        """Whether anything is set aside."""
        return bool(self._shelves)

    def add(self, place: Place, message: Any) -> None:
        """Set the next message of a partition aside."""
        shelf = self._shelves.setdefault(place, _Shelf())
        shelf.messages.append(message)
        shelf.size_bytes += len(message)

    def take(self, limit: int, room: Callable[[Place], int]) -> list[Any]:
        """At most `limit` messages, and of each partition at most as many as there is room for."""
        taken: list[Any] = []
        for place in list(self._shelves):
            shelf = self._shelves[place]
            for _ in range(min(room(place), limit - len(taken), len(shelf.messages))):
                message = shelf.messages.popleft()
                shelf.size_bytes -= len(message)
                taken.append(message)
            if not shelf.messages:
                del self._shelves[place]
        return taken

    def next_offset(self, place: Place) -> int | None:
        """Offset of the first message of a partition that is set aside; None for none."""
        return self._shelves[place].messages[0].offset() if place in self._shelves else None

    def drop(self, place: Place) -> None:
        """Forget what is set aside of a partition."""
        self._shelves.pop(place, None)

    def too_many(self) -> set[Place]:
        """Partitions of which so much is set aside that no more should come."""
        return {place for place, shelf in self._shelves.items() if shelf.is_above(1.0)}

    def too_many_still(self, places: set[Place]) -> set[Place]:
        """Those of these partitions of which there is more than half of that."""
        return {place for place in places if place in self._shelves and self._shelves[place].is_above(0.5)}
