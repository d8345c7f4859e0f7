"""Which of the messages that a producer claimed have a row of `sent`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.domain.errors import RecordError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.record.openpart import HEAD_BYTES

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Gaps:
    """What the rows of one producer lack."""

    missing: Int64s
    """Sequences below its `next_seq` without a row, rising."""
    beyond: Int64s
    """Sequences from its `next_seq` on that have a row, rising: recorded as never sent just before it died."""


def left_by(producer: int) -> str:
    """Under which name the supervisor writes the rows that a producer could not write itself."""
    return f"supervisor-{producer}"


def recorded_rows(folder: RunFolder, worker: str, producers: Mapping[int, int]) -> int:
    """How many rows of `sent` there are of the producers of a worker, by the footers of closed parts.

    Raises RecordError where a part is still open or cannot be read.
    """
    return sum(_read(path, lambda file: int(file.metadata.num_rows)) for path in _parts(folder, worker, producers))


def gaps(folder: RunFolder, worker: str, next_seqs: Mapping[int, int]) -> dict[int, Gaps]:
    """What is missing of each producer of a worker, `next_seqs` by producer.

    Takes a byte for each message. Raises RecordError where a part is still open or cannot be read: rows that may come
    back must not be replaced.
    """
    seen = {producer: np.zeros(next_seq, np.bool_) for producer, next_seq in next_seqs.items()}
    beyond: dict[int, list[Int64s]] = {producer: [] for producer in next_seqs}
    for path in _parts(folder, worker, next_seqs):
        for producers, seqs in _read(path, _columns):
            for producer, marks in seen.items():
                mine = seqs[producers == producer]
                marks[mine[(mine >= 0) & (mine < len(marks))]] = True
                beyond[producer].append(mine[mine >= len(marks)])
    return {
        producer: Gaps(np.flatnonzero(~marks).astype(np.int64), np.unique(np.concatenate([_NONE, *beyond[producer]])))
        for producer, marks in seen.items()
    }


_NONE: Int64s = np.empty(0, np.int64)


def _parts(folder: RunFolder, worker: str, producers: Mapping[int, int]) -> Iterator[Path]:
    for name in (worker, *(left_by(producer) for producer in producers)):
        directory = folder.worker_events("sent", name)
        for still_open in directory.glob("_open-*"):
            # Rows stand behind the head: whoever was killed before it was whole had not written any.
            if still_open.stat().st_size > HEAD_BYTES:
                raise RecordError(f"{still_open}: is not closed, and may contain rows")
        yield from sorted(directory.glob("part-*.parquet"))


def _read(path: Path, of: Callable[[pq.ParquetFile], _T]) -> _T:
    try:
        with pq.ParquetFile(path) as file:
            return of(file)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{path}: cannot be read: {error}") from error


def _columns(file: pq.ParquetFile) -> list[tuple[Int64s, Int64s]]:
    """Producer and sequence of the rows, in batches."""
    return [
        (batch.column("producer").to_numpy(), batch.column("seq").to_numpy())
        for batch in file.iter_batches(columns=["producer", "seq"])
    ]
