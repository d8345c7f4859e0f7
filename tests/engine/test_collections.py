"""Collections of Python's garbage collector are counted in the cells of a worker."""

import gc
from itertools import count

import numpy as np

from streamgauge.engine.board import Cells, Slot
from streamgauge.engine.worker.context import CountedCollections


def test_collections_are_counted_with_their_time() -> None:
    """One of 10 ns, as the clock moves on by that much with each look at it, and another."""
    cells = Cells.new(1, 1).slots[0]
    ticks = count(step=10)
    callback = CountedCollections(cells, lambda: next(ticks))
    gc.disable()
    gc.callbacks.append(callback)
    try:
        gc.collect()
        gc.collect(0)
    finally:
        gc.callbacks.remove(callback)
        gc.enable()

    assert (cells[Slot.COLLECTIONS], cells[Slot.COLLECTED_NS]) == (2, 20)
    assert np.count_nonzero(cells) == 2
