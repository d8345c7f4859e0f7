"""Credit: never more messages are sent and not processed than a limit, whatever is late and whoever dies.

Grants are cumulative: producer p may have sent `granted[p]` messages since the begin of the run, and what was granted
is never taken back from a producer that lives. With `claimed[p]` messages that it began to send,

    claimed[p] <= granted[p]    and    sum of granted <= processed + returned + limit    (a dead producer: claimed)

hold at any time, because `processed` and `returned` only rise and are seen late at worst. So the messages sent and
neither processed nor failed for certain are at most `limit`, exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Seen(NamedTuple):
    """What a controller sees, each number at most as large as it is by now."""

    processed: int
    """Messages processed by the slowest group, up to the first gap of each partition."""
    claimed: Sequence[int]
    """Of each producer: messages that it began to send."""
    returned: int = 0
    """Messages that failed for certain, of all producers."""
    dead: frozenset[int] = frozenset()
    """Producers that are known to have ended: what they claimed is final."""

    @property
    def outstanding(self) -> int:
        """Messages claimed, and neither processed nor failed for certain."""
        return sum(self.claimed) - self.processed - self.returned


@dataclass(frozen=True, slots=True)
class Credits:
    """What every producer was granted since the begin of the run."""

    limit: int
    granted: tuple[int, ...]

    @classmethod
    def none(cls, limit: int, producers: int) -> "Credits":
        """Before the first decision, nothing is granted."""
        return cls(limit, (0,) * producers)

    def decide(self, seen: Seen) -> "Credits":
        """Grant what is free: each message to the producer with the least unused credit, then the least granted.

        So producers that wait for credit share it evenly, and one that has nothing to send holds no more than others.
        """
        granted = [
            claimed if producer in seen.dead else granted
            for producer, (granted, claimed) in enumerate(zip(self.granted, seen.claimed, strict=True))
        ]
        free = seen.processed + seen.returned + self.limit - sum(granted)
        alive = [producer for producer in range(len(granted)) if producer not in seen.dead]
        if free > 0 and alive:
            unused = {producer: granted[producer] - seen.claimed[producer] for producer in alive}
            for producer, more in filled(unused, granted, free).items():
                granted[producer] += more
        return Credits(self.limit, tuple(granted))


def filled(unused: dict[int, int], granted: Sequence[int], free: int) -> dict[int, int]:
    """How `free` credits are dealt out so that the least unused is as large as it can be; ties by the least granted."""
    order = sorted(unused, key=lambda producer: (unused[producer], granted[producer], producer))
    levels = [unused[producer] for producer in order]
    # The water stands at one level over the first `count` of them; the rest have more already.
    count, volume = 1, free
    while count < len(order) and volume >= count * (levels[count] - levels[count - 1]):
        volume -= count * (levels[count] - levels[count - 1])
        count += 1
    level, over = levels[count - 1] + volume // count, volume % count
    poorest = sorted(order[:count], key=lambda producer: (granted[producer] - unused[producer], producer))
    return {producer: level - unused[producer] + (place < over) for place, producer in enumerate(poorest)}
