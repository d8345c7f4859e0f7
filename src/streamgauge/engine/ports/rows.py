"""Where rows go; `record.parts` satisfies it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from streamgauge.domain.blocks import Block


class Sink(Protocol):
    """Where the rows of one kind of event go."""

    def append(self, block: Block, count: int) -> None:
        """Take `count` rows."""
        ...

    def close(self) -> None:
        """Write what is still open."""
        ...


OpenSink = Callable[[Path, str, str, Mapping[str, int | str | None]], Sink]
"""(run folder, kind, worker, constant columns) -> sink."""
