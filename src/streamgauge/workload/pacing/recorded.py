"""Messages due as others once came."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streamgauge.workload.pacing.pacer import NEVER, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """The due times of one producer, which end."""

    times_ns: Int64s

    @classmethod
    def share(cls, arrivals: Int64s, scale: Fraction, start_ns: int, producer: int, producers: int) -> "Recorded":
        """One of `producers` shares of arrivals (ns from the first one, never falling), `scale` times as fast.

        The first message of all is due at `start_ns`.
        """
        soon = np.searchsorted(arrivals, min(NEVER, int((NEVER - start_ns) * scale)))
        # Whole multiples apart from the rest, so that no product is larger than what comes of it.
        wholes, rests = np.divmod(arrivals[producer:soon:producers], scale.numerator)
        return cls(start_ns + wholes * scale.denominator + rests * scale.denominator // scale.numerator)

    def due_ns(self, first: int, count: int) -> Int64s:
        """Due times in ns after the start of the load; `NEVER` after the last."""
        times = np.full(count, NEVER, np.int64)
        known = self.times_ns[first : first + count]
        times[: len(known)] = known
        return times
