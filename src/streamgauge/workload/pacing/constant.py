"""Messages at one rate, exact to the last ns."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.quantities import fraction
from streamgauge.workload.pacing.pacer import Int64s


@dataclass(frozen=True, slots=True)
class ConstantPacer:
    """Evenly spaced messages: message i of producer k of n is due at `(i + k/n) * n / rate`.

    The offset k/n makes the dues of n producers interleave instead of coinciding.
    """

    rate_per_second: Fraction
    producer: int
    producers: int

    def due_ns(self, first: int, count: int) -> Int64s:
        """Due times in ns; exact to the rounding of the last ns for as long as `2**63` holds."""
        interval = NS_PER_SECOND / self.rate_per_second
        top, bottom = interval.numerator, interval.denominator
        start = first * self.producers + self.producer
        # Whole parts in Python integers, and that of a step apart from its fraction: a block's own product cannot
        # overflow where its due times do not.
        base, rest = divmod(start * top, bottom)
        whole, part = divmod(self.producers * top, bottom)
        steps = np.arange(count, dtype=np.int64)
        return base + steps * whole + (steps * part + rest) // bottom


def constant(rate_per_second: float, producer: int, producers: int) -> ConstantPacer:
    """The constant schedule of one of `producers` producers that together send `rate_per_second`."""
    return ConstantPacer(fraction(rate_per_second), producer, producers)
