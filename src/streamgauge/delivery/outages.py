"""How long a partition could not be written or read around a fault: the definition, message by message.

A partition is *unwritable* while a message of it waits for its acknowledgement and none comes, *unreadable* while a
message that was acknowledged lies above all that were delivered and nothing is delivered. What counts of a fault is the
longest such time that overlaps its span, counted from its begin at the earliest, and to the start of the next fault at
the latest: a message that is on its way when that begins may wait for it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from streamgauge.domain.clock import NS_PER_SECOND

AFTER_NS: Final = 60 * NS_PER_SECOND
"""What a fault does may show for so long after its end; but not beyond the start of the next fault."""
NEVER_NS: Final = 2**63 - 1


class PartitionWait(NamedTuple):
    """A message of a partition from its produce call to its delivery report."""

    sent_ns: int
    settled_ns: int
    offset: int | None
    acked: bool = True
    """Whether it was acknowledged; the waiting of one that failed counts, too."""


class PartitionRead(NamedTuple):
    """A delivery of a partition."""

    received_ns: int
    offset: int


class FaultSpan(NamedTuple):
    """When something that a fault did may show: from its begin until some time after its end, ends included."""

    begin_ns: int
    until_ns: int
    last_ns: int = NEVER_NS
    """Until when what waits counts: the start of the next fault."""


class Outage(NamedTuple):
    """The longest time without something that was waited for; the first of those that are equally long."""

    length_ns: int = 0
    from_ns: int | None = None
    """None where nothing was waited for."""
    held: int = 0
    """Messages that waited at its end."""


def unwritable(waits: Collection[PartitionWait], span: FaultSpan) -> Outage:
    """The longest time in which messages of the partition waited and none was acknowledged."""
    times = sorted({time for wait in waits for time in (wait.sent_ns, wait.settled_ns)})
    acks = {wait.settled_ns for wait in waits if wait.acked}

    def waiting(begin: int, end: int) -> int:
        return sum(wait.sent_ns <= begin and end <= wait.settled_ns for wait in waits)

    return _longest(times, acks, waiting, span)


def unreadable(
    waits: Iterable[PartitionWait], reads: Sequence[PartitionRead], span: FaultSpan, to_ns: int, end: int | None
) -> Outage:
    """The longest time in which there was something to read and nothing was delivered.

    `to_ns` is the end of the run, until when one waits for what never came. `end` is the last end of the log, if that
    is known: what was acknowledged at or above it is gone, and nobody waits for it.
    """
    written = [(wait.settled_ns, wait.offset) for wait in waits if wait.acked and wait.offset is not None]
    written = [(at_ns, offset if end is None else min(offset, end - 1)) for at_ns, offset in written]
    times = sorted({*(at_ns for at_ns, _ in written), *(read.received_ns for read in reads), to_ns})

    def waiting(begin: int, _: int) -> int:
        top = max((offset for at_ns, offset in written if at_ns <= begin), default=-1)
        return top > max((read.offset for read in reads if read.received_ns <= begin), default=-1)

    return _longest(times, {read.received_ns for read in reads}, waiting, span)._replace(held=0)


def _longest(
    times: Sequence[int], done: Collection[int], waiting: Callable[[int, int], int], span: FaultSpan
) -> Outage:
    """Of all times in which something waits without a break, and nothing of `done` happens, the longest."""
    found, since = Outage(), None
    for begin, end in pairwise(times):
        if begin >= span.last_ns:
            break
        held = waiting(begin, end)
        if not held:
            since = None
            continue
        since = begin if since is None or begin in done else since
        from_ns, to_ns = max(since, span.begin_ns), min(end, span.last_ns)
        if since <= span.until_ns and to_ns - from_ns > found.length_ns:
            found = Outage(to_ns - from_ns, from_ns, held)
    return found
