"""A sink that several clients of one process share."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.domain.blocks import Block
from streamgauge.engine.ports.rows import Sink


@dataclass(frozen=True, slots=True)
class LabelledSink:
    """A sink that adds to every row what distinguishes its writer; what a block says itself stands."""

    sink: Sink
    labels: Mapping[str, int]

    def append(self, block: Block, count: int) -> None:
        """Take rows."""
        self.sink.append({**self.labels, **block}, count)

    def close(self) -> None:
        """Write what is still open."""
        self.sink.close()
