"""Since when what a client hands over may have been ready in it: a bound for the time that a poll added.

A client hands over what its own threads have put into a queue. What a call finds there came after the queue was last
seen empty. A call that waits is woken by the first that comes, so what it brings was ready when it woke up, less the
time that its thread was ready to run and had no core.
"""

from dataclasses import dataclass
from typing import Final

from streamgauge.domain.clock import NS_PER_US

WAITED_NS: Final = 100 * NS_PER_US
"""A call that took longer to bring its first, its run delay apart, has waited for it."""
WAKE_NS: Final = 100 * NS_PER_US
"""What waking up may take without a wait for a core, at p99.9 beside busy programs: `benchmarks.waking` measures it."""


@dataclass(slots=True)
class Arrivals:
    """The bound for each call that takes from one queue."""

    seen_empty_ns: int
    """A time at which the queue was empty, or before which nobody asked for anything."""

    def ready_ns(self, began_ns: int, first_ns: int, delay_ns: int | None) -> int:
        """The earliest time at which something that a call brought can have been ready.

        `first_ns` is when it brought the first; `delay_ns` the run delay of its thread meanwhile, None for a call that
        did not wait, and where the kernel does not count it.
        """
        if delay_ns is not None and first_ns - began_ns - delay_ns > WAITED_NS:
            return max(self.seen_empty_ns, first_ns - delay_ns - WAKE_NS)
        return self.seen_empty_ns
