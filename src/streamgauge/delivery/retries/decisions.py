"""What becomes of a message that failed, when it may be delivered again, and what may be committed meanwhile."""

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from streamgauge.domain.blocks import Place
from streamgauge.domain.clock import NS_PER_MS

MAIN: Final = 0
"""The level of the topics that producers write; retry topics have the levels from 1."""


@dataclass(frozen=True, slots=True)
class Retries:
    """After how long messages that failed come again, and how often."""

    delays_ns: tuple[int, ...]
    """Of each retry topic, at least one; the last one also counts for all later redeliveries."""
    limit: int | None
    """Redeliveries of a message before it becomes a dead letter, at least one for each delay; None for no limit."""


class NextRetry(NamedTuple):
    """Where a message goes that is to come again."""

    level: int
    """Number of the retry topic, from 1."""
    delay_ns: int


def after_failure(delivery: int, retries: Retries) -> NextRetry | None:
    """Where a message goes whose delivery of this number, from 1, failed; None for the topic of dead letters."""
    if retries.limit is not None and delivery > retries.limit:
        return None
    level = min(delivery, len(retries.delays_ns))
    return NextRetry(level, retries.delays_ns[level - 1])


def due_ms(failed_ns: int, delay_ns: int) -> int:
    """The first whole millisecond in which a message is due that failed at a time of the wall clock."""
    return -((failed_ns + delay_ns) // -NS_PER_MS)


def ripe(dues_ms: Iterable[int], now_ms: int) -> int:
    """How many messages of a partition may be delivered: the first ones, up to one that is not due."""
    count = 0
    for each in dues_ms:
        if each > now_ms:
            break
        count += 1
    return count


def number_at(topic: int, level: int, topics: int) -> int:
    """The number of a topic's topic of a level, where `topics` are sent to: the retry topics follow, by level."""
    return level * topics + topic % topics


def level_of(number: int, topics: int) -> int:
    """The level of a topic."""
    return number // topics


@dataclass(slots=True)
class HeldBack:
    """Messages that failed and are not yet written where they come again: none of them may be committed."""

    _heaps: dict[Place, list[int]] = field(default_factory=dict)
    """Offsets of each partition; those that are written stay until they are the first."""
    _waiting: Counter[tuple[int, int, int]] = field(default_factory=Counter)

    def __len__(self) -> int:
        """How many there are."""
        return self._waiting.total()

    def add(self, place: Place, offset: int) -> None:
        """It is about to be written."""
        heapq.heappush(self._heaps.setdefault(place, []), offset)
        self._waiting[*place, offset] += 1

    def written(self, place: Place, offset: int) -> None:
        """It is written; nothing where its partition was forgotten meanwhile."""
        if self._waiting[*place, offset] > 1:
            self._waiting[*place, offset] -= 1
        else:
            self._waiting.pop((*place, offset), None)

    def forget(self, place: Place) -> None:
        """Somebody else has this partition: what it reads is not ours to hold back."""
        for offset in self._heaps.pop(place, []):
            self._waiting.pop((*place, offset), None)

    def allowed(self, place: Place, offset: int) -> int:
        """Up to where a partition may be committed that is over up to `offset`."""
        heap = self._heaps.get(place)
        while heap and (*place, heap[0]) not in self._waiting:
            heapq.heappop(heap)
        return min(offset, heap[0]) if heap else offset
