"""Rows of `faults`, each written as soon as something was done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streamgauge.domain.blocks import NULL_INT64, Block
from streamgauge.domain.errors import RecordError
from streamgauge.engine.ports.rows import Sink

BEGIN, END = "begin", "end"


class FaultRow(NamedTuple):
    """A row of `faults`."""

    at_ns: int
    kind: str
    target: str
    action: str
    detail: str | None = None
    error: str | None = None
    asked_ns: int | None = None
    """The time that the scenario asks for; None where it waits for something else."""


def block_of(rows: Sequence[FaultRow]) -> Block:
    """The rows as columns; there must be one."""
    at_ns, *texts, asked_ns = zip(*rows, strict=True)
    columns = {name: list(values) for name, values in zip(FaultRow._fields[1:-1], texts, strict=True)}
    asked = np.array([NULL_INT64 if each is None else each for each in asked_ns], np.int64)
    return {"at_ns": np.array(at_ns, np.int64), **columns, "asked_ns": asked}


@dataclass(frozen=True, slots=True)
class FaultLog:
    """Writes down every fault as soon as it is done: whoever ends the supervisor must not hide what it did.

    `failed` is told why a row could not be written.
    """

    sink: Sink
    failed: Callable[[str], None]

    def note(self, row: FaultRow) -> None:
        """Write one row."""
        try:
            self.sink.append(block_of([row]), 1)
        except RecordError as error:
            self.failed(f"a fault event was not recorded: {error}")

    def close(self) -> None:
        """Nothing more is done to the run; what cannot be written stays in the open part."""
        try:
            self.sink.close()
        except RecordError as error:
            self.failed(str(error))
