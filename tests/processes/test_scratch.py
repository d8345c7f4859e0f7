"""Scratch folders: who holds one keeps it, and what was left by a process that was killed goes with the next one."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.processes.lock import FolderLock
from streamgauge.processes.scratch import ANALYSIS, QUERY, Scratch, joined, scratch_faults, unfit

HOLD = """
import sys
from streamgauge.processes.scratch import ANALYSIS, Scratch
print(Scratch(ANALYSIS).path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of this test, and of the processes that it starts."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextlib.contextmanager
def holder() -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Another process that holds a scratch folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        try:
            yield other, Path(other.stdout.readline().strip())
        finally:
            other.kill()


def left(place: Path, name: str = f"{ANALYSIS}abc_1234") -> Path:
    """A scratch folder that nobody holds, with something in it."""
    folder = place / name
    (folder / "blockmgr" / "0a").mkdir(parents=True)
    (folder / "blockmgr" / "0a" / "block").write_bytes(b"x")
    return folder


def test_a_scratch_folder_is_gone_at_the_end_with_all_that_is_in_it(place: Path) -> None:
    with Scratch(QUERY) as made:
        (made.path / "deep").mkdir()
        (made.path / "deep" / "file").touch()
        assert (made.path.parent, made.path.name.startswith(QUERY)) == (place, True)
    made.close()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_is_in_use_stays(place: Path) -> None:
    with holder() as (killed, first), holder() as (_, second):
        (first / "block").write_bytes(b"x")
        with Scratch(QUERY) as made:
            assert {first, second, made.path} == set(place.iterdir())
        killed.kill()
        killed.wait()
        with Scratch(QUERY) as made:
            assert {second, made.path} == set(place.iterdir())


def test_a_folder_stays_while_any_of_those_who_work_in_it_lives(place: Path) -> None:
    with holder() as (killed, folder):
        child = joined(folder)
        killed.kill()
        killed.wait()
        Scratch(QUERY).close()
        assert folder.is_dir()
        assert child
        child.close()
        Scratch(QUERY).close()
        assert not folder.exists()


def test_nobody_works_in_a_folder_that_is_gone(place: Path) -> None:
    assert joined(place / "gone") is None


@pytest.mark.parametrize(
    "name",
    [
        "streamgauge-analysis", "streamgauge-analysisabc", "streamgauge-abcdefgh", "streamgauge-analysis-a.b",
        "analysis-abcd", "streamgauge-spark-abcd1234", "streamgauge-query-abcd1234",
    ],
)  # fmt: skip
def test_folders_of_other_names_are_not_ours(place: Path, name: str) -> None:
    """Nor are those of versions that held no locks: nobody knows whether they are in use."""
    folder = left(place, name)
    Scratch(ANALYSIS).close()
    assert folder.is_dir()


def test_folders_of_other_users_and_links_stay(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = left(place, "kept")
    link = place / f"{ANALYSIS}abcd1234"
    link.symlink_to(mine)
    Scratch(ANALYSIS).close()
    assert (mine / "blockmgr").is_dir()
    link.unlink()

    folder, user = left(place), os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: user + 1)
        Scratch(ANALYSIS).close()
    assert folder.is_dir()
    Scratch(ANALYSIS).close()
    assert not folder.exists()


def test_nothing_is_removed_where_locks_keep_nobody_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FolderLock, "exclusive", FolderLock.shared)
    folder = left(place)
    Scratch(ANALYSIS).close()
    assert folder.is_dir()


def test_who_makes_a_folder_that_is_swept_before_it_is_held_makes_another(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[Path] = []
    make, take = tempfile.mkdtemp, FolderLock.shared

    def removed_at_once(prefix: str, dir: Path) -> str:  # noqa: A002 - the name that it has in Python
        made = make(prefix=prefix, dir=dir)
        if not swept:
            swept.append(Path(made))
            swept[0].rmdir()
        return made

    def removed_after_it_was_opened(folder: Path) -> FolderLock | None:
        lock = take(folder)
        if len(swept) == 1:
            swept.append(folder)
            folder.rmdir()
        return lock

    monkeypatch.setattr(tempfile, "mkdtemp", removed_at_once)
    monkeypatch.setattr(FolderLock, "shared", removed_after_it_was_opened)
    with Scratch(ANALYSIS) as made:
        assert len({*swept, made.path}) == 3
        assert list(place.iterdir()) == [made.path]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("/tmp/a b", None), ("/tmp/[1]{a}*?", None), ("/tmp/\u00fc\u20ac", None), ("/tmp/a'b\"c\\", None),
        ("/tmp/a,b", "comma"), ("/tmp/\U0001f600", "the character \U0001f600"),
    ],
)  # fmt: skip
def test_names_that_spark_cannot_use(name: str, wrong: str | None) -> None:
    found = unfit(name)
    assert (found is None) == (wrong is None)
    assert (wrong or "") in (found or "")


def test_what_is_wrong_with_the_temporary_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scratch_faults() == []
    monkeypatch.setattr(tempfile, "tempdir", "/tmp/a,b")
    (fault,) = scratch_faults()
    assert (fault.where, "TMPDIR" in fault.mend) == ("temporary folder /tmp/a,b", True)

    def none() -> str:
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", none)
    (fault,) = scratch_faults()
    assert fault.where == "TMPDIR"
