"""Which files of a run folder are parts to be read, what cannot be used, and how Spark is told of a file."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.pipeline.read.bronze import look
from streamgauge.pipeline.read.parts import MISPLACED, NOT_CLOSED, TORN, UNKNOWN_KIND, listed, spark_path

W = "events/sent/worker=w"
FILES = [
    (f"{W}/part-0.parquet", "sent", None),
    (f"{W}/_open-3", "sent", NOT_CLOSED),
    (f"{W}/_torn-2", "sent", TORN),
    # The open part is still there when the writing of the closed one is cut off.
    (f"{W}/_part-1.parquet", None, None),
    (f"{W}/.part-0.parquet.crc", None, None),
    (f"{W}/notes.txt", None, None),
    # A copy would be counted twice.
    (f"{W}/part-0 (1).parquet", "sent", MISPLACED),
    (f"{W}/part-0-copy.parquet", "sent", MISPLACED),
    ("events/sent/part-0.parquet", "sent", MISPLACED),
    ("events/sent/_open-0", "sent", MISPLACED),
    ("events/sent/copy of worker=w/part-0.parquet", "sent", MISPLACED),
    ("events/sent/empty/notes.txt", None, None),
    ("events/tides/worker=w/part-0.parquet", "tides", UNKNOWN_KIND),
    ("events/tides/worker=w/_open-0", "tides", UNKNOWN_KIND),
    ("events/tides/worker=w/notes.txt", None, None),
    ("events/.DS_Store", None, None),
]


@pytest.mark.parametrize(("name", "kind", "reason"), FILES)
def test_what_holds_rows_is_read_or_told(tmp_path: Path, name: str, kind: str | None, reason: str | None) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    found = list(listed(RunFolder(tmp_path)))
    assert [(each[0], each[2]) for each in found] == ([] if kind is None else [(kind, reason)])
    assert all(path.is_relative_to(each[1]) for each in found)


def test_parts_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("worker=b/part-0", "worker=a/part-10", "worker=a/part-9"):
        path = tmp_path / "events" / "sent" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = [str(path.relative_to(tmp_path / "events" / "sent")) for _, path, _ in listed(RunFolder(tmp_path))]
    assert found == ["worker=a/part-9.parquet", "worker=a/part-10.parquet", "worker=b/part-0.parquet"]


def test_folders_that_cannot_be_listed_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(listed(RunFolder(tmp_path))) == []
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "sent").touch()
    assert [each[2] for each in listed(RunFolder(tmp_path))] == ["cannot be read: Not a directory"]

    # Who runs the tests may be allowed to read anything.
    worker, read = tmp_path / "events" / "received" / "worker=w", Path.iterdir
    worker.mkdir(parents=True)

    def refused(folder: Path) -> Any:
        if folder == worker:
            raise PermissionError(13, "Permission denied")
        return read(folder)

    monkeypatch.setattr(Path, "iterdir", refused)
    assert ("received", worker, "cannot be read: Permission denied") in list(listed(RunFolder(tmp_path)))


def test_events_that_cannot_be_listed_leave_no_answer(tmp_path: Path) -> None:
    (tmp_path / "events").touch()
    with pytest.raises(AnalysisError, match="events cannot be read: Not a directory"):
        list(listed(RunFolder(tmp_path)))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/runs/a/part-0.parquet", "file:///runs/a/part-0.parquet"),
        ("/runs/a[1]{b,c}/x*?", "file:///runs/a\\[1\\]\\{b\\,c\\}/x\\*\\?"),
        ("/runs/back\\slash", "file:///runs/back\\\\slash"),
        ("/runs/a b#c%20:d", "file:///runs/a b#c%20:d"),
        ("/no-such/../runs/x", "file:///runs/x"),
    ],
)
def test_spark_is_told_of_one_file(path: str, told: str) -> None:
    assert spark_path(Path(path)) == told


def test_spark_is_told_of_files_by_their_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert spark_path(Path("s3:x/part-0.parquet")) == f"file://{tmp_path}/s3:x/part-0.parquet"


NAMES = [
    "a[1]b", "c{d,e}", "q?r", "f*", "[", "]", "{", "}", "back\\slash", "trail\\", "co,mma", "sp ace", "ha#sh",
    "per%20cent", "per%", "co:lon", "s3:x", "\u00fcn\u00ef \u20ac", "em\U0001f600ji", "new\nline", "tab\t", "a=b",
    "a[1]:b", "12:00*",
    "seq=1", "'q'", '"', "$HOME", "`x`", "~", "semi;colon", "amp&", "plus+", "_under", ".dot", "-x", "^", "|",
]  # fmt: skip


@pytest.mark.spark
def test_a_run_is_read_whatever_its_folder_is_called_and_nothing_else_is(
    spark: SparkSession, tmp_path: Path, writer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each folder lies beside one that its name would match as a pattern; its rows are counted by a relative path."""
    columns = {"topic": 0, "producer": 0, "partition": 0, "offset": 0, "size_bytes": 1}
    for place, name in enumerate([*NAMES, "fX", "qXr", "cd", "ce", "a1b", "backslash"]):
        run = writer(tmp_path / name / "run")
        for part in range(2):
            run.events("sent", {**columns, "seq": [place, place]}, part=part)
    monkeypatch.chdir(tmp_path)
    for place, name in enumerate(NAMES):
        bronze = look(RunFolder(Path(name) / "run"))
        assert (bronze.rows("sent"), bronze.columns("sent").num_rows, bronze.set_aside) == (4, 4, ()), name
        found = look(RunFolder(tmp_path / name / "run")).frame(spark, "sent").select("seq").collect()
        assert [row["seq"] for row in found] == [place] * 4, name
