"""What tells a carrier that single deliveries are over, and the rows that tell what it says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.delivery.deliveries import NAMED
from streamgauge.domain.blocks import NULL_INT32, NULL_INT64, Block, chosen
from streamgauge.engine.ports.clients import Acknowledgements
from streamgauge.engine.ports.rows import Sink

_UNSTAMPED: Final = {"producer": NULL_INT32, "seq": NULL_INT64}
"""Where no message of a block has a stamp, the block has no such column."""


@dataclass(slots=True)
class Acknowledger:
    """Acknowledges the deliveries of one consumer."""

    acknowledgements: Acknowledgements
    sink: Sink

    def settle(self, rows: Mapping[str, Any], count: int) -> None:
        """Tell what became of recorded deliveries; of those that were never begun nothing is told."""
        started, processed = rows["started_ns"], rows["processed_ns"]
        known = processed is not None and started is not None
        accepted = _known(processed, count) if known else np.ones(count, np.bool_)
        ended = _known(started, count) if known else accepted
        if not ended.any():
            return
        whole: Block = {name: _UNSTAMPED.get(name) if rows[name] is None else rows[name] for name in NAMED}
        self.acknowledgements.settle(whole if ended.all() else chosen(whole, ended), accepted[ended])

    @property
    def unwritten(self) -> int:
        """Deliveries that failed and are about to be written again."""
        return self.acknowledgements.unwritten

    def turn(self) -> None:
        """Record what was answered since the last time."""
        self._record(*self.acknowledgements.answered())

    def finish(self) -> None:
        """Wait for what is not answered yet, in bounded time, and record it."""
        self._record(*self.acknowledgements.finish())

    def _record(self, block: Block, count: int) -> None:
        if count:
            self.sink.append(block, count)


def _known(times_ns: Any, count: int) -> NDArray[np.bool_]:
    """Which of these times are some."""
    return np.broadcast_to(np.asarray(times_ns, np.int64) != NULL_INT64, count)
