"""Event sinks: what was taken is in the folder, whatever happens to the worker."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from streamgauge.arrow import arrow_schema
from streamgauge.domain.blocks import NULL_BOOL, NULL_INT32, NULL_INT64
from streamgauge.domain.errors import RecordError
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.processes.lock import FolderLock
from streamgauge.record.openpart import HEAD_BYTES
from streamgauge.record.parts import PartSink, close_left_open, hold, open_sink

CONSTANTS = {
    "topic": 0,
    "producer": 3,
    "transaction": None,
    "admitted_ns": None,
    "handed_ns": None,
    "waited_ns": None,
    "polled_ns": None,
}


def block(first: int, count: int, errors: list[str | None] | None = None) -> dict[str, Any]:
    seqs = np.arange(first, first + count, dtype=np.int64)
    return {
        "seq": seqs,
        "partition": (seqs % 4).astype(np.int32),
        "offset": seqs * 2,
        "due_ns": seqs + 1000,
        "sent_ns": seqs + 2000,
        "acked_ns": seqs + 3000,
        "size_bytes": 512,
        "error": errors,
    }


def sink(folder: RunFolder, rows_per_part: int = 100, **options: Any) -> PartSink:
    return PartSink(folder, "sent", "producer-3", CONSTANTS, rows_per_part, **options)


def rows_of(folder: RunFolder, kind: str = "sent") -> list[dict[str, Any]]:
    files = sorted(folder.events.glob(f"{kind}/worker=*/part-*.parquet"))
    return [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "run").mkdir()
    return RunFolder(tmp_path / "run")


def test_rows_come_back_as_they_were_given(folder: RunFolder) -> None:
    """Over several parts, with constants, in order; nothing is left open."""
    taken = sink(folder)
    for first in range(0, 250, 30):
        taken.append(block(first, 30), 30)
    taken.close()

    rows = rows_of(folder)

    assert [row["seq"] for row in rows] == list(range(270))
    assert rows[7] == {
        "topic": 0, "producer": 3, "seq": 7, "partition": 3, "offset": 14, "due_ns": 1007, "sent_ns": 2007,
        "acked_ns": 3007, "size_bytes": 512, "error": None, "transaction": None, "admitted_ns": None,
        "handed_ns": None, "waited_ns": None, "polled_ns": None,
    }  # fmt: skip
    assert [path.name for path in sorted(folder.worker_events("sent", "producer-3").iterdir())] == [
        "part-0.parquet", "part-1.parquet", "part-2.parquet",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", sorted(EVENTS))
def test_a_closed_part_has_the_schema_of_its_kind(folder: RunFolder, kind: str) -> None:
    """Types and nullability, with every column that may be null null."""
    schema = EVENTS[kind]
    row = {c.name: None if c.nullable else "x" if c.type == "string" else 1 for c in schema.columns}
    taken = PartSink(folder, kind, "w", {})
    taken.append(row, 1)
    taken.close()

    table = pq.read_table(next(folder.events.glob(f"{kind}/*/part-0.parquet")), partitioning=None)

    assert table.schema.equals(arrow_schema(schema))
    assert table.to_pylist() == [row]


def test_null_is_null_in_every_type(folder: RunFolder) -> None:
    """NULL in a block of numbers, None in a sequence of strings."""
    taken = PartSink(
        folder, "received", "c", {"topic": 0, "group": 0, "consumer": 0, "delivery_count": None, "deadline_ms": None}
    )
    numbers = {
        "poll": 0, "partition": 0, "received_ns": 5, "size_bytes": 1, "append_ms": None, "created_ms": None,
        "started_ns": None, "processed_ns": None, "empty_ns": None,
    }  # fmt: skip
    taken.append(
        {
            **numbers,
            "producer": np.array([1, NULL_INT32], np.int32),
            "seq": np.array([1, NULL_INT64]),
            "offset": np.array([0, 1]),
            "due_ns": np.array([NULL_INT64, 2]),
            "sent_ns": np.array([0, -1]),
            "intact": np.array([0, NULL_BOOL], np.int8),
        },
        2,
    )
    taken.close()

    first, second = rows_of(folder, "received")

    assert (first["producer"], first["seq"], first["due_ns"], first["sent_ns"], first["intact"]) == (
        1,
        1,
        None,
        0,
        False,
    )
    assert (second["producer"], second["seq"], second["due_ns"], second["sent_ns"], second["intact"]) == (
        None, None, 2, -1, None,
    )  # fmt: skip


def test_texts_are_kept(folder: RunFolder) -> None:
    """Also those that appear for the first time in the middle of a part."""
    taken = sink(folder)
    taken.append(block(0, 3, [None, "_MSG_TIMED_OUT", None]), 3)
    taken.append(block(3, 2, ["unsent", "_MSG_TIMED_OUT"]), 2)
    taken.append(block(5, 1), 1)
    taken.close()

    assert [row["error"] for row in rows_of(folder)] == [None, "_MSG_TIMED_OUT", None, "unsent", "_MSG_TIMED_OUT", None]


def test_what_a_dead_worker_left_open_is_closed_by_others(folder: RunFolder) -> None:
    """The worker never closes; closing twice changes nothing."""
    dead = sink(folder, rows_per_part=1000)
    dead.append(block(0, 130, ["x", *[None] * 129]), 130)
    left = folder.worker_events("sent", "producer-3") / "_open-0"

    assert close_left_open(folder) == []
    assert close_left_open(folder) == []

    rows = rows_of(folder)
    assert [row["seq"] for row in rows] == list(range(130))
    assert rows[0]["error"] == "x"
    assert not left.exists()


@pytest.mark.parametrize(
    "end",
    [b"\x02\x00\x00\x00half a block", b"\x02", bytes(4096), b"\x00\x00\x00\x00\x05\x00\x00\x00[oops", b"\xff" * 77],
    ids=["half a block", "half a number", "zeros", "half a text", "garbage"],
)
def test_an_end_that_cannot_be_read_is_told_and_kept(folder: RunFolder, end: bytes) -> None:
    """The rows before it are used, once; the file stays, so that a second look tells the same."""
    dead = sink(folder, rows_per_part=1000)
    dead.append(block(0, 130, ["x", *[None] * 129]), 130)
    left = folder.worker_events("sent", "producer-3") / "_open-0"
    whole = left.read_bytes()
    left.write_bytes(whole + end)

    ((told, reason),) = close_left_open(folder)

    assert told == left.with_name("_torn-0")
    assert f"last {len(end):,} bytes" in reason
    assert "after 130 rows" in reason
    assert told.read_bytes() == whole + end
    assert close_left_open(folder) == []
    assert [row["seq"] for row in rows_of(folder)] == list(range(130))


def test_rows_of_another_process_with_the_same_name_get_numbers_of_their_own(folder: RunFolder) -> None:
    """Also beside parts that are still open, or could not be read."""
    for first in (0, 10):
        taken = sink(folder)
        taken.append(block(first, 10), 10)
        taken.close()
    (folder.worker_events("sent", "producer-3") / "_torn-7").write_bytes(b"")
    taken = sink(folder)
    taken.append(block(20, 10), 10)
    taken.close()

    assert [row["seq"] for row in rows_of(folder)] == list(range(30))
    assert (folder.worker_events("sent", "producer-3") / "part-8.parquet").exists()


def test_a_part_that_is_closed_already_is_not_written_again(folder: RunFolder) -> None:
    """A worker may die after renaming the closed part and before removing the open one."""
    dead = sink(folder)
    dead.append(block(0, 10), 10)
    left = folder.worker_events("sent", "producer-3") / "_open-0"
    kept = left.read_bytes()
    assert close_left_open(folder) == []
    left.write_bytes(kept)

    assert close_left_open(folder) == []

    assert len(rows_of(folder)) == 10


@pytest.mark.parametrize("content", [b"", b"garbage", b"{}".ljust(HEAD_BYTES), b"\xff" * HEAD_BYTES])
def test_an_open_part_that_cannot_be_read_is_told_and_kept(folder: RunFolder, content: bytes) -> None:
    """It is somebody's data; it is not for us to delete."""
    path = folder.worker_events("sent", "w") / "_open-0"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    ((told, reason),) = close_left_open(folder)

    assert told == path
    assert "not an open part that can be read" in reason
    assert path.exists()


def test_texts_have_no_limit(folder: RunFolder) -> None:
    """Also in an open part that others close: a host that fails with a long text each time goes on recording."""
    texts: list[str | None] = [f"{number}: " + "x" * 2000 for number in range(100)]
    dead = sink(folder)
    for number, text in enumerate(texts[:-1]):
        dead.append(block(number, 1, [text]), 1)

    assert close_left_open(folder) == []
    assert [row["error"] for row in rows_of(folder)] == texts[:-1]


def test_half_a_block_on_a_full_disk_is_taken_back(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written before it stays, and nothing unreadable behind it."""
    taken = sink(folder)
    taken.append(block(0, 20), 20)
    write = os.writev

    def half(descriptor: int, pieces: list[bytes]) -> int:
        write(descriptor, [b"".join(pieces)[:100]])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", half)
        with pytest.raises(RecordError, match="No space left") as told:
            taken.append(block(20, 30), 30)

    assert told.value.dropped_rows == 30
    assert close_left_open(folder) == []
    assert [row["seq"] for row in rows_of(folder)] == list(range(20))


def test_rows_after_a_block_that_was_taken_back_are_read(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no hole before them, and they have the texts that the block would have been the first to have."""
    taken = sink(folder)
    taken.append(block(0, 20), 20)
    write = os.writev

    def half(descriptor: int, pieces: list[bytes]) -> int:
        write(descriptor, [b"".join(pieces)[:100]])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", half)
        with pytest.raises(RecordError):
            taken.append(block(20, 1, ["timed out"]), 1)
    taken.append(block(21, 2, ["timed out", "purged"]), 2)

    assert close_left_open(folder) == []
    rows = rows_of(folder)
    assert [row["seq"] for row in rows] == [*range(20), 21, 22]
    assert [row["error"] for row in rows[20:]] == ["timed out", "purged"]


def test_a_part_that_a_full_disk_has_no_room_for_leaves_no_file(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would look like rows that cannot be read, for ever after."""
    write = os.pwrite

    def half(descriptor: int, data: bytes, at: int) -> int:
        if at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:100], at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half)
        with pytest.raises(RecordError, match="No space left"):
            sink(folder)

    assert not list(folder.events.glob("*/*/*"))
    sink(folder).append(block(0, 20), 20)
    assert close_left_open(folder) == []
    assert [row["seq"] for row in rows_of(folder)] == list(range(20))


def test_rows_that_were_taken_before_an_error_are_not_counted_as_dropped(folder: RunFolder) -> None:
    """The block fills a part, which cannot be closed: its rows are in the open one."""

    def full(table: pa.Table, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    taken = sink(folder, write=full)
    taken.append(block(0, 150), 150)
    with pytest.raises(RecordError) as told:
        taken.append(block(150, 70), 70)

    assert told.value.dropped_rows == 20
    assert close_left_open(folder) == []
    assert [row["seq"] for row in rows_of(folder)] == list(range(200))


def test_a_closed_part_is_on_the_disk_before_the_open_one_goes(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power failure one of the two is whole."""
    done: list[str] = []

    def noting(call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def note(*given: Any, **more: Any) -> Any:
            done.append(f"{name} {given[0].name}" if isinstance(given[0], Path) else name)
            return call(*given, **more)

        return note

    for owner, name in ((os, "fsync"), (Path, "rename"), (Path, "unlink")):
        monkeypatch.setattr(owner, name, noting(getattr(owner, name), name))
    taken = sink(folder)
    taken.append(block(0, 10), 10)
    taken.close()

    assert done == ["fsync", "rename _part-0.parquet", "fsync", "unlink _open-0"]


def test_temporary_parts_of_the_dead_are_removed(folder: RunFolder) -> None:
    """Their rows are in the open part."""
    dead = sink(folder)
    dead.append(block(0, 10), 10)
    unfinished = folder.worker_events("sent", "producer-3") / "_part-5.parquet"
    unfinished.write_bytes(b"PAR1")

    assert close_left_open(folder) == []
    assert not unfinished.exists()
    assert len(rows_of(folder)) == 10


def test_nobody_analyses_a_folder_that_a_sink_writes_to(folder: RunFolder) -> None:
    """Until the sink is closed; and no sink begins while somebody analyses."""
    taken = open_sink(folder.root, "polls", "consumer-0", {})
    assert FolderLock.exclusive(folder.root) is None
    taken.close()

    analysis = FolderLock.exclusive(folder.root)
    assert analysis
    with analysis, pytest.raises(RecordError, match="is being analysed"):
        open_sink(folder.root, "polls", "consumer-0", {})


def test_a_sink_that_cannot_be_closed_lets_its_folder_go(folder: RunFolder) -> None:
    """Or the process could not analyse what it recorded."""

    def full(table: pa.Table, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    taken = sink(folder, write=full, lock=hold(folder))
    taken.append(block(0, 10), 10)
    with pytest.raises(RecordError, match="No space left"):
        taken.close()

    alone = FolderLock.exclusive(folder.root)
    assert alone
    alone.close()


def test_a_full_disk_costs_no_row_that_was_taken(folder: RunFolder) -> None:
    """Closed parts cannot be written; the worker is told; the rows stay in open parts and are closed later."""

    def full(table: pa.Table, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    taken = sink(folder, write=full)
    taken.append(block(0, 150), 150)
    with pytest.raises(RecordError, match="No space left"):
        taken.append(block(150, 50), 50)

    assert close_left_open(folder) == []
    assert [row["seq"] for row in rows_of(folder)] == list(range(200))


def test_a_worker_that_recorded_nothing_leaves_nothing(folder: RunFolder) -> None:
    """No part, no folder of its own."""
    open_sink(folder.root, "polls", "consumer-0", {}).close()

    assert list(folder.events.rglob("*")) == [folder.events / "polls"]


def test_parts_are_small(folder: RunFolder) -> None:
    """Rising numbers are stored as differences: a few bytes a row, not eighty."""
    taken = sink(folder, rows_per_part=100_000)
    taken.append(block(0, 100_000), 100_000)
    taken.close()

    size = sum(path.stat().st_size for path in folder.events.rglob("*.parquet"))

    assert ds.dataset(folder.events / "sent").count_rows() == 100_000
    assert size < 3 * 100_000
