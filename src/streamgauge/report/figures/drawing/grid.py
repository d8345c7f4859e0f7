"""Values that were looked at now and then, as means over equal spans of time: what can be added up and stacked."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.report.figures.drawing.figure import Row

ValueOf = Callable[[Row], float | None]


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """The time from `first` to `last`, in seconds, in `count` equal spans."""

    first: float
    last: float
    count: int

    @classmethod
    def over(cls, looks: Iterable[Row], most: int) -> "TimeGrid | None":
        """Whole seconds, or spans of a few of them so that there are at most `most`; None without a look.

        A look is a row with `second`, at which it ended, and `duration_ns`.
        """
        ends = [(row["second"], _began(row)) for row in looks]
        if not ends:
            return None
        first, last = math.floor(min(began for _, began in ends)), max(1, math.ceil(max(ended for ended, _ in ends)))
        step = max(1, -(-(last - first) // most))
        count = -(-(last - first) // step)
        return cls(first, first + step * count, count)

    @property
    def step(self) -> float:
        """Seconds of one span."""
        return (self.last - self.first) / self.count

    @property
    def middles(self) -> list[float]:
        """The middle of each span."""
        return [self.first + (at + 0.5) * self.step for at in range(self.count)]

    def means(self, looks: Iterable[Row], value: ValueOf) -> list[float | None]:
        """The mean of each span, by how long each look lasted within it; None where less than half of it is known."""
        known: defaultdict[int, float] = defaultdict(float)
        total: defaultdict[int, float] = defaultdict(float)
        for row in looks:
            found = value(row)
            if found is None:
                continue
            began, ended = _began(row), row["second"]
            for at in range(self._at(began), self._at(ended) + 1):
                begins = self.first + at * self.step
                shared = min(ended, begins + self.step) - max(began, begins)
                if shared > 0:
                    known[at] += shared
                    total[at] += shared * found
        return [total[at] / known[at] if 2 * known[at] >= self.step else None for at in range(self.count)]

    def _at(self, second: float) -> int:
        return min(self.count - 1, max(0, int((second - self.first) // self.step)))


def summed(parts: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The sum of each span over all parts; what is known of none is not known."""
    return [
        sum(known) if (known := [value for value in values if value is not None]) else None
        for values in zip(*parts, strict=True)
    ]


def _began(row: Row) -> float:
    return float(row["second"]) - (row["duration_ns"] or NS_PER_SECOND) / NS_PER_SECOND
