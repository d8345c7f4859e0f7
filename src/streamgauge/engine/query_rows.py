"""Rows of what a query tells: blocks for the sinks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from streamgauge.domain.blocks import NULL_FLOAT64, NULL_INT64, Block, Values
from streamgauge.domain.events import EVENTS
from streamgauge.domain.query import Looked, QueryProgress
from streamgauge.domain.tables.schema import Type


def progress_rows(told: Sequence[QueryProgress], start: int, checkpoint_bytes: int, limit: int | None) -> Block:
    """Rows of `progress`."""
    own: dict[str, Any] = {
        "at_ns": np.array([each.at_ns for each in told], np.int64),
        "start": start,
        "batch": np.array([each.batch for each in told], np.int64),
        "began_ms": np.array([each.began_ms for each in told], np.int64),
        "source": [each.source for each in told],
        "checkpoint_bytes": checkpoint_bytes,
        "max_offsets": _known(limit),
    }
    return own | _numbers("progress", [each.numbers for each in told], skip=tuple(own))


def executor_rows(looked: Sequence[Looked], start: int) -> Block:
    """Rows of `executors`."""
    own: dict[str, Any] = {
        "at_ns": np.array([each.at_ns for each in looked], np.int64),
        "start": start,
        "executor": [each.executor for each in looked],
    }
    return own | _numbers("executors", [each.numbers for each in looked], skip=tuple(own))


def advance_rows(told: Sequence[QueryProgress], start: int, topic: int) -> tuple[Block, int]:
    """Rows of `advances`, and their number; what the checkpoint does not call done is not committed."""
    rows = [(each, advance) for each in told for advance in each.advances]
    numbers = [
        (each.batch, each.began_ms, far.partition, far.from_offset, far.to_offset, _known(far.latest))
        for each, far in rows
    ]
    batch, began, partition, begin, end, latest = np.array(numbers, np.int64).reshape(-1, 6).T
    block: Block = {
        "start": start,
        "batch": batch,
        "began_ms": began,
        "topic": topic,
        "partition": partition.astype(np.int32),
        "from_offset": begin,
        "to_offset": end,
        "latest": latest,
        "committed": np.array([each.committed for each, _ in rows], np.int8),
    }
    return block, len(rows)


def _known(number: float | None) -> int:
    return NULL_INT64 if number is None else int(number)


def _numbers(kind: str, rows: Sequence[Mapping[str, int | float | None]], *, skip: Sequence[str]) -> dict[str, Values]:
    """The columns of numbers of an event, where a row may lack some."""
    found: dict[str, Values] = {}
    for column in EVENTS[kind].columns:
        if column.name in skip:
            continue
        values = [row.get(column.name) for row in rows]
        if column.type is Type.FLOAT64:
            found[column.name] = np.array([NULL_FLOAT64 if value is None else value for value in values], np.float64)
        else:
            found[column.name] = np.array([_known(value) for value in values], np.int64)
    return found
