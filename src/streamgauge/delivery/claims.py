"""Sequences that a producer claimed, beside the rows that there are of them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from streamgauge.delivery.rows import Sent
from streamgauge.domain.events import UNSENT


def unaccounted(sent: Sequence[Sent], next_seqs: Mapping[int, int]) -> int:
    """How far the rows of `sent` are from one row for each sequence that a producer claimed; 0 where all are there.

    `next_seqs` has, for every producer, the first sequence that it did not take up. Counted are sequences below it
    without a row, rows too many of one sequence, and rows at or above it that are not those of a message never sent.
    """
    rows = Counter((message.producer, message.seq) for message in sent)
    below = sum(seq < next_seqs.get(producer, 0) for producer, seq in rows)
    beyond = {
        (message.producer, message.seq)
        for message in sent
        if message.error != UNSENT and message.seq >= next_seqs.get(message.producer, 0)
    }
    return sum(next_seqs.values()) - below + rows.total() - len(rows) + len(beyond)
