"""What identifies messages and single deliveries, and blocks of deliveries: what a carrier is told, and what it tells.

In plain values that workers can load without the model of scenarios.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import Block

NAMED: Final = ("topic", "partition", "offset", "producer", "seq", "delivery_count")
"""Columns that say which delivery it is."""
_COLUMNS: Final = ("at_ns", "topic", "partition", "offset", "producer", "seq", "attempt")
Stamp = tuple[int, int, int]
"""Topic that the message was sent to, producer, sequence."""
Position = tuple[int, int, int]
"""Topic, partition, offset."""
DeliveryKey = tuple[int, int, int, int, int, int]
"""Topic, partition, offset, producer, sequence and number of a delivery."""


def each_settled(deliveries: Block, accepted: NDArray[np.bool_]) -> Iterator[tuple[DeliveryKey, bool]]:
    """Each delivery of a block with the columns `NAMED`, and whether it is accepted."""
    columns = [np.broadcast_to(np.asarray(deliveries[name]), len(accepted)).tolist() for name in NAMED]
    keys: Any = zip(*columns, strict=True)
    return zip(keys, accepted.tolist(), strict=True)


def attempt_rows(known: Sequence[tuple[int, DeliveryKey, str]]) -> tuple[Block, int]:
    """Rows of `attempts`: time, delivery and outcome of each."""
    if not known:
        return {}, 0
    numbers = np.array([(at_ns, *delivery) for at_ns, delivery, _ in known], np.int64).T
    block: dict[str, Any] = dict(zip(_COLUMNS, numbers, strict=True))
    return {**block, "outcome": [outcome for _, _, outcome in known]}, len(known)
