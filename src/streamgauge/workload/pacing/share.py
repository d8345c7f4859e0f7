"""One schedule for the whole load, of which every producer sends its share."""

from dataclasses import dataclass
from typing import Protocol

from streamgauge.workload.pacing.pacer import Int64s


class Whole(Protocol):
    """The schedule of all producers together."""

    def times_ns(self, first: int, step: int, count: int) -> Int64s:
        """Due times, as a pacer has them, of the messages `first`, `first + step`, ..., `count` of them."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """Message i of producer k of n is message `i * n + k` of the whole, so that the dues of producers interleave."""

    whole: Whole
    producer: int
    producers: int

    def due_ns(self, first: int, count: int) -> Int64s:
        """Due times in ns after the start of the load."""
        return self.whole.times_ns(first * self.producers + self.producer, self.producers, count)
