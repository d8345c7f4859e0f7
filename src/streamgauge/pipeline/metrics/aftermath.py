"""How long a delay of the generator goes on to delay others: what sending on time could have changed, at most.

Messages that were sent late arrive together, and punctual ones queue behind them. Assume that messages of a partition
are served in their order, in stages of its own or shared with others, and that sending a message earlier ends no
message later. Then a message would have ended earlier by no more than the largest own delay of those sent up to it. And
once a message of its partition has ended, what was sent before can delay later ones by no more than this message's own
delay and service time: no stage was left later than it ended, and none could have been left before it was due. So each
message that ends soon limits what is still to come of an earlier delay.

Time is cut into bins of equal length; a message is delayed by as much as any other that was sent in its bin.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.latency.buckets import Int64s

NEVER_NS: Final = 1 << 62
"""The service time of messages that never ended: they limit nothing."""


def delays(own_ns: Int64s, idle: NDArray[np.bool_], bins: Int64s, lanes: Int64s, service_ns: Int64s) -> Int64s:
    """By how much messages can have ended later because messages were sent late, in ns, for each cell.

    `own_ns` is the largest own delay of the messages sent in each bin (0 for none), and `idle` whether nothing was in
    flight at its end. A cell is a bin and a partition (`lanes`, counted from 0) in which messages were sent, in the
    order of bins; `service_ns` is the least service time of its messages.
    """
    out = np.zeros(len(bins), np.int64)
    carry = np.zeros(int(lanes.max(initial=-1)) + 1, np.int64)
    ends = np.searchsorted(bins, np.arange(len(own_ns)), side="right").tolist()
    begin, is_clear = 0, True
    # One bin after the other: what is carried over follows from the bin before.
    for own, end, nothing_left in zip(own_ns.tolist(), ends, idle.tolist(), strict=True):
        if own or not is_clear:
            np.maximum(carry, own, out=carry)
            cells = lanes[begin:end]
            out[begin:end] = left = carry[cells]
            carry[cells] = np.minimum(left, own + service_ns[begin:end])
            is_clear = nothing_left
            if nothing_left:
                carry[:] = 0
        begin = end
    return out
