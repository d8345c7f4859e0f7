"""The logs of a checkpoint, as Spark writes them and as a crash leaves them."""

import json
from pathlib import Path

import pytest

from streamgauge.domain.errors import RecordError
from streamgauge.jobs.checkpoint import CheckpointBatch, batches, check, committed_ends, size_bytes


def write(folder: Path, number: int, ends: tuple[int, ...], *, committed: bool, topic: str = "t") -> None:
    for log in ("offsets", "commits"):
        (folder / log).mkdir(parents=True, exist_ok=True)
    told = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1000 + number, "conf": {}})
    offsets = json.dumps({topic: {str(partition): end for partition, end in enumerate(ends)}})
    (folder / "offsets" / str(number)).write_text(f"v1\n{told}\n{offsets}")
    (folder / "offsets" / f".{number}.crc").write_bytes(b"crc")
    if committed:
        (folder / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_batches_by_number(tmp_path: Path) -> None:
    for number in range(11):
        write(tmp_path, number, (number, 2 * number), committed=number < 10)

    found = batches(str(tmp_path), "t")

    assert [batch.number for batch in found] == list(range(11))
    assert found[9:] == [
        CheckpointBatch(9, 1009, (9, 18), committed=True),
        CheckpointBatch(10, 1010, (10, 20), committed=False),
    ]
    assert committed_ends(str(tmp_path), "t") == (9, 18)


@pytest.mark.parametrize("folder", ["nowhere", "s3a://bucket/checkpoint"])
def test_no_checkpoint_knows_no_batch(tmp_path: Path, folder: str) -> None:
    named = folder if "://" in folder else str(tmp_path / folder)

    assert batches(named, "t") == []
    assert committed_ends(named, "t") is None
    assert size_bytes(named) == 0


def test_a_checkpoint_may_be_named_by_its_address(tmp_path: Path) -> None:
    write(tmp_path, 0, (3,), committed=True)

    assert committed_ends(f"file://{tmp_path}", "t") == (3,)


@pytest.mark.parametrize("text", ["", "v1", "v1\n{", 'v1\n{"batchTimestampMs": 1}\n{"t": {"0"'])
def test_a_last_file_that_is_not_whole_was_not_written(tmp_path: Path, text: str) -> None:
    write(tmp_path, 0, (3,), committed=True)
    (tmp_path / "offsets" / "1").write_text(text)

    assert [batch.number for batch in batches(str(tmp_path), "t")] == [0]


def test_files_that_spark_has_not_finished_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, 0, (3,), committed=True)
    (tmp_path / "offsets" / ".1.0a1b.tmp").write_text("v1")

    assert committed_ends(str(tmp_path), "t") == (3,)


def test_a_source_that_had_nothing(tmp_path: Path) -> None:
    write(tmp_path, 0, (3,), committed=True)
    path = tmp_path / "offsets" / "0"
    path.write_text(path.read_text().replace('{"t"', '-\n{"t"'))

    assert committed_ends(str(tmp_path), "t") == (3,)


@pytest.mark.parametrize("garbled", [0, 1])
def test_a_broken_checkpoint_is_said_to_be_broken(tmp_path: Path, garbled: int) -> None:
    """An earlier file, or one of a batch that is done."""
    write(tmp_path, 0, (3,), committed=True)
    write(tmp_path, 1, (4,), committed=True)
    (tmp_path / "offsets" / str(garbled)).write_text("garbage")

    with pytest.raises(RecordError, match=f"is broken: offsets/{garbled} is not in Spark's format"):
        batches(str(tmp_path), "t")


def test_a_checkpoint_of_another_topic_cannot_be_used(tmp_path: Path) -> None:
    write(tmp_path, 0, (3,), committed=False, topic="other")

    with pytest.raises(RecordError, match="cannot be used: offsets/0 does not contain the topic t"):
        batches(str(tmp_path), "t")


def test_a_checkpoint_that_spark_can_go_on_from(tmp_path: Path) -> None:
    check(str(tmp_path), "t")
    write(tmp_path, 0, (3,), committed=True)
    (tmp_path / "metadata").write_text('{"id":"72c3e680-3c1a-444d-bc33-b6eac9630bd9"}')
    check(str(tmp_path), "t")


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("metadata", None, "metadata is missing"),
        ("metadata", "garbage", "metadata is not in Spark's format"),
        ("metadata", "[]", "metadata is not in Spark's format"),
        ("commits/0", "garbage", "commits/0 is not in Spark's format"),
    ],
)
def test_a_checkpoint_that_spark_cannot_go_on_from(tmp_path: Path, file: str, text: str | None, why: str) -> None:
    write(tmp_path, 0, (3,), committed=True)
    (tmp_path / "metadata").write_text('{"id":"72c3e680-3c1a-444d-bc33-b6eac9630bd9"}')
    (tmp_path / file).unlink() if text is None else (tmp_path / file).write_text(text)

    with pytest.raises(RecordError, match=f"is broken: {why}"):
        check(str(tmp_path), "t")


def test_its_bytes(tmp_path: Path) -> None:
    write(tmp_path, 0, (3,), committed=False)
    before = size_bytes(str(tmp_path))
    (tmp_path / "state" / "0").mkdir(parents=True)
    (tmp_path / "state" / "0" / "1.delta").write_bytes(bytes(500))

    assert size_bytes(str(tmp_path)) == before + 500
