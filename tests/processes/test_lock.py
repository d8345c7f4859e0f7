"""Locks on folders, between objects of one process and between processes."""

import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.processes.lock import FolderLock

HOLD = """
import sys
from pathlib import Path
from streamgauge.processes.lock import FolderLock
lock = FolderLock.shared(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_many_share_a_folder_and_nobody_gets_it_alone_meanwhile(tmp_path: Path) -> None:
    first, second = FolderLock.shared(tmp_path), FolderLock.shared(tmp_path)
    assert first
    assert second

    assert FolderLock.exclusive(tmp_path) is None

    first.close()
    assert FolderLock.exclusive(tmp_path) is None

    second.close()
    with FolderLock.exclusive(tmp_path) or pytest.fail("it is free"):
        assert FolderLock.shared(tmp_path) is None
        assert FolderLock.exclusive(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        assert FolderLock.exclusive(tmp_path) is None
        holder.kill()
    with FolderLock.exclusive(tmp_path) or pytest.fail("nobody holds it"):
        pass


def test_a_lock_is_not_inherited_by_programs_that_are_started(tmp_path: Path) -> None:
    lock = FolderLock.exclusive(tmp_path)
    assert lock
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        lock.close()
        again = FolderLock.exclusive(tmp_path)
        child.kill()
    assert again
    again.close()


def test_a_lock_may_be_closed_twice(tmp_path: Path) -> None:
    lock = FolderLock.shared(tmp_path)
    assert lock
    lock.close()
    lock.close()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FolderLock.shared(tmp_path / "none")


def test_a_file_system_without_locks_gives_one_to_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _kind: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    first, second = FolderLock.exclusive(tmp_path), FolderLock.exclusive(tmp_path)
    assert first
    assert second
    first.close()
    second.close()
