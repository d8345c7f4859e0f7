"""How long a delay of the generator goes on to delay others: what sending on time could have changed, at most.

Messages that were sent late arrive together, and punctual ones queue behind them. Assume that messages of a partition
are served in their order, in stages of its own or shared with others, and that sending a message earlier ends no
message later. Then a message would have ended earlier by no more than the largest own delay of those sent up to it.

Two things end that. Once a message of its partition has ended, what was sent before can delay later ones by no more
than this message's own delay and what its service took beyond the least that any message of the partition needs. It
left a stage no later than it ended, less the least that it needed from there; it could have left it no sooner than it
was due, and the least that it needed up to there. So each message that ends soon limits what is still to come of an
earlier delay. And once no more messages are in flight than usual before the delay, what it piled up has been served. If
nothing is in flight this is certain. Otherwise a single message may still end later than it would have, but later
messages are no more delayed than they usually are: of figures over many messages it holds.

Time is cut into bins of equal length; a message is delayed by as much as any other that was sent in its bin.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.latency.buckets import Int64s

_QUARTILE: Final = 0.25
_GROUPS: Final = 3
NEVER_NS: Final = 1 << 62
"""The service time of messages that never ended: they limit nothing."""
_ENOUGH: Final = 100
"""So many messages of a partition show the least service time that one of them needs."""


def usual(in_flight: Int64s, length: int) -> Int64s:
    """How many messages were in flight before each bin when few were: a level that every load comes back to often.

    Bins are taken in groups of `length`. A bin has the median of the lower quartiles of the three groups before its
    own. Nothing is before the first group, which has its own lower quartile: a backlog that grows from the start does
    not come back to it.
    """
    groups = [in_flight[begin : begin + length] for begin in range(0, len(in_flight), length)]
    quartiles = [np.quantile(group, _QUARTILE) for group in groups]
    levels = [np.median(quartiles[max(0, at - _GROUPS) : max(1, at)]) for at in range(len(groups))]
    return np.repeat(np.array(levels, np.int64), length)[: len(in_flight)]


def fastest(service_ns: Int64s, lanes: Int64s, counts: Int64s, told_ns: Int64s) -> Int64s:
    """What is told of the fastest message of each cell's partition (`lanes`, all from 0 on), in ns.

    Where a partition has few messages, of the fastest of all; where all together are few, 0. `service_ns` is the
    service time of the fastest message of each cell, `told_ns` what is told of it, and `counts` the number of messages.
    """
    order = np.lexsort((told_ns, service_ns, lanes))
    first = order[np.unique(lanes[order], return_index=True)[1]]
    of_lanes, of_all = told_ns[first], told_ns[first[np.lexsort((told_ns[first], service_ns[first]))[:1]]]
    sizes = np.bincount(lanes, counts, len(first))
    of_lanes[sizes < _ENOUGH] = of_all if sizes.sum() >= _ENOUGH else 0
    return np.asarray(of_lanes[lanes], np.int64)


def slower(service_ns: Int64s, lanes: Int64s, counts: Int64s) -> Int64s:
    """How much slower the fastest message of each cell was than the `fastest` of its partition, in ns."""
    return np.where(service_ns < NEVER_NS, service_ns - fastest(service_ns, lanes, counts, service_ns), NEVER_NS)


def delays(own_ns: Int64s, in_flight: Int64s, usual: Int64s, bins: Int64s, lanes: Int64s, slower_ns: Int64s) -> Int64s:
    """By how much messages can have ended later because messages were sent late, in ns, for each cell.

    `own_ns` is the largest own delay of the messages sent in each bin (0 for none), `in_flight` how many messages were
    in flight at its end, and `usual` how many usually were before it. A cell is a bin and a partition (`lanes`, counted
    from 0) in which messages were sent, in the order of bins; `slower_ns` is how much longer the service of its
    messages took, at the least, than the service of any message of the partition must.
    """
    began = _began(own_ns, in_flight, usual)[bins]
    # One partition after the other, where somebody is delayed.
    order = np.argsort(lanes, kind="stable")
    order = order[began[order] >= 0]
    at, began, lanes = bins[order], began[order], lanes[order]
    goes_on = np.zeros(len(order), np.bool_)
    goes_on[1:] = (lanes[1:] == lanes[:-1]) & (began[1:] == began[:-1])
    added_ns = _largest(own_ns, np.where(goes_on, np.roll(at, 1) + 1, began), at)
    left_ns = _left(added_ns, own_ns[at] + slower_ns[order], goes_on)
    out = np.zeros(len(bins), np.int64)
    out[order] = np.maximum(np.where(goes_on, np.roll(left_ns, 1), 0), added_ns)
    return out


def _began(own_ns: Int64s, in_flight: Int64s, usual: Int64s) -> Int64s:
    """The bin in which that began which still delays others in each bin; -1 where nothing does."""
    found, began, level = [], -1, 0
    for at, (own, left_over, before) in enumerate(
        zip(own_ns.tolist(), in_flight.tolist(), usual.tolist(), strict=True)
    ):
        if own and began < 0:
            # What piles up meanwhile is not usual.
            began, level = at, before
        found.append(began)
        if left_over <= level:
            began = -1
    return np.array(found, np.int64)


def _largest(values: Int64s, since: Int64s, until: Int64s) -> Int64s:
    """The largest value from each place of `since` on, up to that of `until`, which is not before it."""
    edges = np.stack([since, until + 1], axis=1).ravel()
    found: Int64s = np.maximum.reduceat(np.append(values, 0), edges)[::2] if len(edges) else values[:0]
    return found


def _left(added_ns: Int64s, most_ns: Int64s, goes_on: NDArray[np.bool_]) -> Int64s:
    """What is left of a delay after each cell: no less than the cell added, but no more than its most.

    A cell `goes_on` with what the cell before it left; others begin with nothing. Two cells in a row do what a single
    one could, with limits that follow from theirs; so cells are put together by twos, fours and so on.
    """
    places = np.arange(len(added_ns))
    follows = places - np.maximum.accumulate(np.where(goes_on, 0, places))
    low, high, reach = np.minimum(added_ns, most_ns), most_ns.copy(), 1
    while len(later := np.flatnonzero(follows >= reach)):
        low[later], high[later] = (
            np.minimum(np.maximum(each[later - reach], low[later]), high[later]) for each in (low, high)
        )
        reach *= 2
    return low
