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
    out = np.zeros(len(bins), np.int64)
    carry = np.zeros(int(lanes.max(initial=-1)) + 1, np.int64)
    ends = np.searchsorted(bins, np.arange(len(own_ns)), side="right").tolist()
    begin, is_clear, level = 0, True, 0
    # One bin after the other: what is carried over follows from the bin before.
    for own, end, left_over, before in zip(own_ns.tolist(), ends, in_flight.tolist(), usual.tolist(), strict=True):
        if own or not is_clear:
            if is_clear:
                # What piles up meanwhile is not usual.
                level = before
            np.maximum(carry, own, out=carry)
            cells = lanes[begin:end]
            out[begin:end] = left = carry[cells]
            carry[cells] = np.minimum(left, own + slower_ns[begin:end])
            is_clear = left_over <= level
            if is_clear:
                carry[:] = 0
        begin = end
    return out
