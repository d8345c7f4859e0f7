"""Messages that librdkafka delivered and nobody wants yet, partition by partition, in their order.

librdkafka has one queue for all partitions, in which the messages of one may stand before those of all others. To reach
these, the messages before them are set aside here. Pausing their partition instead would throw away what librdkafka
fetched of it: measured on 12 partitions, each slot was given messages for 37 % of its time.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from streamgauge.domain.blocks import Place

MOST_MESSAGES: Final = 4_000
"""A partition is paused with so many messages set aside, or so many bytes, and resumed with half of that."""
MOST_BYTES: Final = 8 << 20
FEW_MESSAGES: Final = 500
"""A partition with less is short: thousands of messages of others may stand before its next ones."""


@dataclass(slots=True)
class _Shelf:
    messages: deque[Any] = field(default_factory=deque)
    size_bytes: int = 0

    def is_above(self, share: float) -> bool:
        return len(self.messages) > MOST_MESSAGES * share or self.size_bytes > MOST_BYTES * share


class Left(dict[Place, int]):
    """How much room there is left for each partition, asked for once."""

    def __init__(self, room: Callable[[Place], int]) -> None:
        super().__init__()
        self._room = room

    def __missing__(self, place: Place) -> int:
        """Ask."""
        self[place] = left = self._room(place)
        return left


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

    def add(self, place: Place, messages: Sequence[Any]) -> None:
        """Set the next messages of a partition aside."""
        shelf = self._shelves.setdefault(place, _Shelf())
        shelf.messages.extend(messages)
        shelf.size_bytes += sum(map(len, messages))

    def take(self, limit: int, left: "Left") -> list[Any]:
        """At most `limit` messages, of each partition at most as many as there is room for; most of the neediest."""
        taken: list[Any] = []
        for most, place in sorted(((left[place], place) for place in self._shelves), reverse=True):
            shelf = self._shelves[place]
            count = min(most, limit - len(taken), len(shelf.messages))
            if count <= 0:
                break
            messages = [shelf.messages.popleft() for _ in range(count)]
            shelf.size_bytes -= sum(map(len, messages))
            left[place] -= count
            taken += messages
            if not shelf.messages:
                del self._shelves[place]
        return taken

    def is_short(self, places: Iterable[Place]) -> bool:
        """Whether there is little of one of these partitions."""
        return any(place not in self._shelves or len(self._shelves[place].messages) < FEW_MESSAGES for place in places)

    def next_offset(self, place: Place) -> int | None:
        """Offset of the first message of a partition that is set aside; None for none."""
        return self._shelves[place].messages[0].offset() if place in self._shelves else None

    def waiting(self, place: Place) -> Sequence[Any]:
        """What is set aside of a partition, in its order; not to be changed."""
        return self._shelves[place].messages if place in self._shelves else ()

    def places(self) -> list[Place]:
        """Partitions of which something is set aside."""
        return list(self._shelves)

    def drop(self, place: Place) -> None:
        """Forget what is set aside of a partition."""
        self._shelves.pop(place, None)

    def too_many(self) -> set[Place]:
        """Partitions of which so much is set aside that no more should come."""
        return {place for place, shelf in self._shelves.items() if shelf.is_above(1.0)}

    def too_many_still(self, places: set[Place]) -> set[Place]:
        """Those of these partitions of which there is more than half of that."""
        return {place for place in places if place in self._shelves and self._shelves[place].is_above(0.5)}
