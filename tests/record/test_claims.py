"""Which messages that were taken up have a row, read from closed parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamgauge.domain.errors import RecordError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.record.claims import gaps, left_by, recorded_rows
from streamgauge.record.openpart import HEAD_BYTES
from streamgauge.record.parts import PartSink


def record(folder: RunFolder, worker: str, producers: list[int], seqs: list[int], *, close: bool = True) -> None:
    """Rows of `sent` with these producers and sequences."""
    constants = {
        "topic": 0,
        "transaction": None,
        "admitted_ns": None,
        "handed_ns": None,
        "waited_ns": None,
        "polled_ns": None,
    }
    rest = dict.fromkeys(("partition", "offset", "due_ns", "sent_ns", "acked_ns", "size_bytes", "error"))
    sink = PartSink(folder, "sent", worker, constants, 3)
    block: dict[str, Any] = {**rest, "producer": np.array(producers, np.int32), "seq": np.array(seqs, np.int64)}
    sink.append(block, len(seqs))
    if close:
        sink.close()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def test_rows_are_counted_over_all_parts(folder: RunFolder) -> None:
    """Those of others in the same folder are not; those that the supervisor wrote for them are."""
    record(folder, "producer-0..1", [0, 0, 1, 1, 0], [0, 1, 0, 2, 4])
    record(folder, left_by(1), [1], [1])
    record(folder, "producer-2", [2], [0])

    assert recorded_rows(folder, "producer-0..1", {0: 5, 1: 3}) == 6


def test_gaps_are_told_by_producer(folder: RunFolder) -> None:
    """In the middle, at the end, of one that recorded nothing; what lies beyond apart, each once."""
    record(folder, "producer-0..2", [0, 0, 1, 1, 0, 1, 1], [0, 1, 0, 2, 4, 5, 4])
    record(folder, left_by(0), [0], [3])

    found = gaps(folder, "producer-0..2", {0: 7, 1: 3, 2: 2})

    assert {number: (gap.missing.tolist(), gap.beyond.tolist()) for number, gap in found.items()} == {
        0: ([2, 5, 6], []), 1: ([1], [4, 5]), 2: ([0, 1], []),
    }  # fmt: skip


def test_without_any_row_everything_is_missing(folder: RunFolder) -> None:
    """The producer died before it could write the first."""
    assert gaps(folder, "producer-0", {0: 3})[0].missing.tolist() == [0, 1, 2]
    assert recorded_rows(folder, "producer-0", {0: 3}) == 0


def test_rows_that_may_come_back_are_not_missing(folder: RunFolder) -> None:
    """An open part that could not be closed, a closed one that is damaged: both are told."""
    record(folder, "producer-0", [0], [0], close=False)
    with pytest.raises(RecordError, match=r"_open-0: is not closed"):
        gaps(folder, "producer-0", {0: 3})

    record(folder, "producer-1", [1], [0])
    (folder.worker_events("sent", "producer-1") / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(RecordError, match=r"part-0.parquet: cannot be read"):
        recorded_rows(folder, "producer-1", {1: 3})


def test_a_part_without_a_whole_head_has_no_rows_that_could_come_back(folder: RunFolder) -> None:
    """Whoever made it was killed, or had no room, before the first row: what is missing can be written."""
    record(folder, "producer-0", [0, 0], [0, 1])
    left = folder.worker_events("sent", left_by(0))
    left.mkdir(parents=True)
    for number, size in enumerate((0, HEAD_BYTES - 1, HEAD_BYTES)):
        (left / f"_open-{number}").write_bytes(b" " * size)

    assert recorded_rows(folder, "producer-0", {0: 3}) == 2
    assert gaps(folder, "producer-0", {0: 3})[0].missing.tolist() == [2]
    (left / "_open-2").write_bytes(b" " * (HEAD_BYTES + 1))
    with pytest.raises(RecordError, match="_open-2: is not closed"):
        gaps(folder, "producer-0", {0: 3})
