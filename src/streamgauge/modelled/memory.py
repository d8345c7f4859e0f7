"""The memory that the clients of a modelled broker share: for each partition a ring of messages with one writer.

Readers tell how far they are, each in cells of its own; what all of them have read may be overwritten.
"""

import fcntl
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from streamgauge.domain.errors import BrokerError
from streamgauge.modelled.model import NEVER, Model

HEAD: Final = 0
"""The cell of a partition with the offset of the next message."""
COMMITTED: Final = 1
"""The cell with the offset that was committed."""
TAKEN: Final = 2
"""The cell that counts the messages that arrived, those that are lost included."""
_READERS: Final = 8
CELLS: Final = 3 + _READERS
UNREAD: Final = -1
LENGTH_BITS: Final = 24
APART: Final = 1 << LENGTH_BITS
"""Flag of a message whose stamp, which stands before the value, travels in a header."""
LOST: Final = 2 << LENGTH_BITS
"""Flag of a message that no reader gets."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the memory is, and what is in it; plain values that can be sent to another process."""

    file: Path
    models: tuple[Model, ...]
    """Of each producer; the partitions of the first come first."""
    slots: int = 16_384
    """Messages of each partition that not everybody has read, at most."""
    slot_bytes: int = 144
    """Bytes of value, or of stamp and value, at most."""

    @property
    def lanes(self) -> int:
        """Partitions of all producers."""
        return sum(len(model.servers) for model in self.models)

    def first_lane(self, producer: int) -> int:
        """The first partition of a producer."""
        return sum(len(model.servers) for model in self.models[:producer])

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return self.lanes * (8 * (CELLS + 2 * self.slots) + self.slots * self.slot_bytes)


class Memory:
    """The memory of a modelled broker, mapped by one process. Raises BrokerError where it cannot be."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        lanes, slots = shape.lanes, shape.slots
        try:
            with shape.file.open("r+b") as file:
                flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
                self._mapped: Any = mmap.mmap(file.fileno(), shape.size, flags)
        except (OSError, ValueError) as error:
            raise BrokerError(f"modelled broker: {shape.file} cannot be mapped: {error}") from error
        numbers = np.frombuffer(self._mapped, np.int64, lanes * (CELLS + 2 * slots))
        cells, self.readable_ns, self.facts = np.split(numbers, np.cumsum([lanes * CELLS, lanes * slots]))
        self.cells = cells.reshape(lanes, CELLS)
        self.data = np.frombuffer(self._mapped, np.uint8, offset=numbers.nbytes).reshape(-1, shape.slot_bytes)

    def readers(self, lane: int) -> int:
        """Below which offset of a partition everybody has read."""
        positions = self.cells[lane, CELLS - _READERS :]
        known = positions[positions != UNREAD]
        return int(known.min()) if len(known) else 0

    def join(self, lanes: list[int]) -> int:
        """Take part as a reader of some partitions; returns the column of its positions in `cells`.

        Raises BrokerError where there is no room for another reader.
        """
        with self.shape.file.open("r+b") as file:
            # Several may join at a time; the lock ends with the block.
            fcntl.lockf(file, fcntl.LOCK_EX)
            free = np.flatnonzero((self.cells == UNREAD).all(axis=0))
            if not len(free):
                raise BrokerError(f"modelled broker: more than {_READERS} readers")
            column = int(free[0])
            self.cells[:, column] = NEVER
            self.cells[lanes, column] = np.maximum(0, self.cells[lanes, HEAD] - self.shape.slots)
        return column


def begin(shape: Shape) -> Memory:
    """The memory of a broker that has no messages yet."""
    memory = Memory(shape)
    memory.cells[:] = 0
    memory.cells[:, CELLS - _READERS :] = UNREAD
    return memory
