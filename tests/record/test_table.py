"""A table read as it grows: only what is noted, each row once, with the stamp that it carries."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.domain import stamp
from streamgauge.domain.blocks import ClientSpec
from streamgauge.engine.fake import FakeTime
from streamgauge.engine.ports.clients import Reader
from streamgauge.record.table import NOTES, TableConsumer, batches, committed_rows


def stamps_of(seqs: list[int]) -> list[bytes]:
    rows = stamp.blank(len(seqs), 7, 0, scheduled=True)
    rows["seq"] = seqs
    return [row.tobytes() for row in rows]


class Growing:
    """A table that a test lets grow as Spark's file sink does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.noted: list[dict[str, object]] = []
        (folder / NOTES).mkdir(parents=True)

    def write(self, name: str, seqs: list[int]) -> Path:
        path = self.folder / name
        pq.write_table(pa.table({"stamp": pa.array(stamps_of(seqs), pa.binary()), "n": seqs}), path)
        return path

    def note(self, batch: str, *paths: Path, whole: bool = True) -> None:
        fresh = [
            {"path": path.as_uri(), "size": 1, "isDir": False, "modificationTime": 1700, "action": "add"}
            for path in paths
        ]
        self.noted += fresh
        lines = ["v1", *map(json.dumps, self.noted if batch.endswith("compact") else fresh)]
        text = "\n".join(lines)
        (self.folder / NOTES / batch).write_text(text if whole else text[:-5], encoding="utf-8")


def consumer(folder: Path) -> TableConsumer:
    time = FakeTime()
    spec = ClientSpec("consumer-0", ("t", str(folder)), {}, reads=(1,))
    return TableConsumer(spec, time.now_ns, time.sleep)


def seqs_of(reader: TableConsumer, limit: int = 1000) -> list[int]:
    found: list[int] = []
    while (fetched := reader.poll(0.0, limit)) is not None:
        assert fetched.count <= limit
        found += fetched.stamps["seq"].tolist()
    return found


def test_it_is_a_client_of_the_engine(tmp_path: Path) -> None:
    client: Reader = consumer(tmp_path)
    assert client.assigned() == 1


def test_rows_are_visible_from_the_note_on_and_read_once(tmp_path: Path) -> None:
    growing, reader = Growing(tmp_path), consumer(tmp_path)
    assert seqs_of(reader) == []
    first = growing.write("a b.parquet", [1, 2])
    growing.write("never-noted.parquet", [9])
    assert seqs_of(reader) == []
    growing.note("0", first)
    assert seqs_of(reader) == [1, 2]
    growing.note("1", growing.write("c.parquet", [3]))
    growing.note("2.compact")
    growing.note("3", growing.write("d.parquet", [4, 5]))
    assert seqs_of(reader) == [3, 4, 5]
    assert seqs_of(reader) == []
    assert reader.positions() == [(1, 0, 5)]
    assert committed_rows(tmp_path) == 5


def test_a_note_that_is_being_written_waits_for_the_next_look(tmp_path: Path) -> None:
    growing, reader = Growing(tmp_path), consumer(tmp_path)
    path = growing.write("a.parquet", [1])
    growing.note("0", path, whole=False)
    assert seqs_of(reader) == []
    growing.note("0", path)
    assert seqs_of(reader) == [1]


def test_notes_that_spark_removes_while_they_are_read_are_repeated_by_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written after the others were listed; they go one after the other."""
    growing, reader = Growing(tmp_path), consumer(tmp_path)
    for number in range(3):
        growing.note(str(number), growing.write(f"{number}.parquet", [number]))
    read = Path.read_text

    def compacted(path: Path, *given: Any, **more: Any) -> str:
        if path.suffix == "" and path.parent.name == NOTES:
            growing.note("3.compact")
            path.unlink()
        return read(path, *given, **more)

    monkeypatch.setattr(Path, "read_text", compacted)

    assert committed_rows(tmp_path) == 3
    assert [number for number, _ in batches(tmp_path, -1)] == [3]
    assert sorted(seqs_of(reader)) == [0, 1, 2]


def test_polls_are_no_larger_than_asked_and_offsets_go_on(tmp_path: Path) -> None:
    growing, reader = Growing(tmp_path), consumer(tmp_path)
    growing.note("0", growing.write("a.parquet", list(range(10))))
    fetched = reader.poll(0.0, 4)
    assert fetched is not None
    assert fetched.offset.tolist() == [0, 1, 2, 3]
    assert fetched.append_ms is not None
    assert np.unique(fetched.append_ms).tolist() == [1700]
    assert reader.positions() == [(1, 0, 4)]
    assert reader.poll(0.0, 4, room=lambda _place: 0) is None
    assert seqs_of(reader, 3) == [4, 5, 6, 7, 8, 9]


def test_what_carries_no_stamp_does_not_look_like_one(tmp_path: Path) -> None:
    growing, reader = Growing(tmp_path), consumer(tmp_path)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"stamp": pa.array([None, b"short"], pa.binary())}), path)
    growing.note("0", path)
    fetched = reader.poll(0.0, 10)
    assert fetched is not None
    assert not stamp.is_stamp(fetched.stamps, None).any()


def test_held_readers_read_nothing(tmp_path: Path) -> None:
    growing, reader = Growing(tmp_path), consumer(tmp_path)
    growing.note("0", growing.write("a.parquet", [1]))
    reader.hold(held=True)
    assert seqs_of(reader) == []
    reader.hold(held=False)
    assert seqs_of(reader) == [1]


def test_where_there_is_no_table_yet_there_are_no_rows(tmp_path: Path) -> None:
    assert batches(tmp_path / "nowhere", -1) == []
    assert committed_rows(tmp_path / "nowhere") == 0
