"""How long a delay of the generator goes on to delay others: what sending on time could have changed, at most.

Messages that were sent late arrive together, and punctual ones queue behind them. Under the assumption that sending a
message earlier ends no message later, and that a message waits for those before it and for nothing else (first in,
first out), a message would have ended at most as much earlier as the largest own delay in whose aftermath it was sent:
what it waits for was itself late by no more. The aftermath of a delay is over when the messages that were late have
ended and no more are in flight than before it began; then what was late has been caught up with, to within what one
message takes. (That holds as long as there would not have been fewer by then without the delay, so for a load that is
steady meanwhile. When nothing is in flight it holds in any case.)

Time is cut into bins of equal length; a message is delayed by as much as any other that was sent in its bin.
"""

from typing import Final, NamedTuple

import numpy as np

from streamgauge.domain.latency.buckets import Int64s

BEFORE: Final = 10
"""Bins before a delay began in which the lowest level counts as the level before it: messages come in batches."""


class _Delay(NamedTuple):
    """A delay whose aftermath goes on."""

    own_ns: int
    sent: int
    """Messages sent when the late ones were: so many have ended when these have."""
    level: int
    """Messages in flight before it began."""


def delays(own_ns: Int64s, sent: Int64s, ended: Int64s, bin_ns: int) -> Int64s:
    """By how much each bin's messages can have ended later because messages were sent late, in ns.

    `own_ns` is the largest own delay of a message sent in each bin (0 for none); `sent` and `ended` are how many
    messages were sent and had ended since the begin of the run, at the end of each bin.
    """
    out = np.zeros(len(own_ns), np.int64)
    in_flight = sent - ended
    going_on: list[_Delay] = []
    before = (0, 0)
    # In plain Python: the state of each bin follows from that of the one before.
    for at, (own, *now) in enumerate(zip(own_ns.tolist(), sent.tolist(), ended.tolist(), strict=True)):
        has_ended, level = before
        going_on = [each for each in going_on if level and (level > each.level or has_ended < each.sent)]
        if own:
            # A smaller one that is older says nothing any more. The larger ones stand first.
            going_on = [each for each in going_on if each.own_ns > own]
            going_on.append(_Delay(own, now[0], _level_before(in_flight, at, own, bin_ns)))
        out[at] = going_on[0].own_ns if going_on else 0
        before = (now[1], now[0] - now[1])
    return out


def _level_before(in_flight: Int64s, at: int, own_ns: int, bin_ns: int) -> int:
    """The lowest level in the bins before the delay that ended in bin `at` began; 0 at the begin of a run."""
    began = at - -(-own_ns // bin_ns)
    return int(in_flight[max(0, began - BEFORE) : began].min()) if began > 0 else 0
