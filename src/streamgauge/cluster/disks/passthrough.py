"""A file system that hands everything on to another folder, and fails or lingers when it is told to.

Started as a program with that folder and the place where it is mounted. Each line of its standard input says what is
wrong from then on: the kind of a fault, and for a slow one the delay in ns; an empty line ends it. Each is answered
with a line. At the end of the input the folder is unmounted: whoever started it may have been killed.
"""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import mfusepy

from streamgauge.domain import clock

_DIRECT: Final = ".log"
"""Ending of the files whose reads are to reach us: others are mapped into memory, which needs the page cache."""
_SLOW: Final = "dir-slow"
_READ, _WRITE, _NAME = "read", "write", "name"
"""What is done: to what is in files, and to names where this needs no space."""
_FAILS: Final = {
    "dir-fails": (errno.EIO, frozenset({_READ, _WRITE, _NAME})),
    "dir-unreadable": (errno.EIO, frozenset({_READ})),
    "dir-full": (errno.ENOSPC, frozenset({_WRITE})),
}
"""The error of each kind, and what has it."""
_ATTRIBUTES: Final = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_blocks", "st_ino")
_TIMES: Final = ("st_atime", "st_mtime", "st_ctime")
_SPACE: Final = (
    "f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_frsize", "f_namemax"
)  # fmt: skip


class PassThrough(mfusepy.Operations):  # type: ignore[misc]
    """Its operations, by the names that FUSE has for them; paths begin with a slash."""

    use_ns = True
    """Times are in ns."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._told: list[str] = []

    def tell(self, line: str) -> None:
        """What is wrong from now on."""
        self._told = line.split()

    @contextmanager
    def _trouble(self, what: str) -> Iterator[None]:
        """Fail or linger, as was told."""
        told = self._told
        if told[:1] == [_SLOW]:
            clock.sleep_seconds(int(told[1]) / clock.NS_PER_SECOND)
        elif told:
            error, affected = _FAILS[told[0]]
            if what in affected:
                raise OSError(error, os.strerror(error))
        yield

    def _at(self, path: str) -> Path:
        return Path(self._folder + path)

    def init(self, _path: str) -> None:
        """Tell who started us that it is mounted."""
        _say("mounted")

    def getattr(self, path: str, _fi: Any = None) -> dict[str, int]:
        """What `stat` tells."""
        found = self._at(path).lstat()
        times = {name: getattr(found, f"{name}_ns") for name in _TIMES}
        return {name: getattr(found, name) for name in _ATTRIBUTES} | times

    def readdir(self, path: str, _fi: Any) -> list[str]:
        """Names in a folder."""
        return [".", "..", *(each.name for each in self._at(path).iterdir())]

    def statfs(self, path: str) -> dict[str, int]:
        """How much space there is."""
        found = os.statvfs(self._at(path))
        return {name: getattr(found, name) for name in _SPACE}

    def access(self, _path: str, _mode: int) -> int:
        """Whether it may be used: the folder behind it tells."""
        return 0

    def open(self, path: str, fi: Any) -> int:
        """Open a file that is there."""
        # Where to write is told with each write.
        fi.fh, fi.direct_io = os.open(self._at(path), fi.flags & ~os.O_APPEND), path.endswith(_DIRECT)
        return 0

    def create(self, path: str, mode: int, fi: Any) -> int:
        """Make a file, and open it."""
        with self._trouble(_WRITE):
            fi.fh = os.open(self._at(path), fi.flags & ~os.O_APPEND | os.O_CREAT, mode)
            fi.direct_io = path.endswith(_DIRECT)
        return 0

    def read(self, _path: str, size: int, offset: int, fi: Any) -> bytes:
        """Bytes of an open file."""
        with self._trouble(_READ):
            return os.pread(fi.fh, size, offset)

    def write(self, _path: str, data: bytes, offset: int, fi: Any) -> int:
        """Write to an open file; returns how much."""
        with self._trouble(_WRITE):
            return os.pwrite(fi.fh, data, offset)

    def truncate(self, path: str, length: int, _fi: Any = None) -> int:
        """Cut a file, or make it longer."""
        with self._trouble(_WRITE):
            os.truncate(self._at(path), length)
        return 0

    def fsync(self, _path: str, _data_only: int, fi: Any) -> int:
        """Bring what was written to the disk."""
        with self._trouble(_WRITE):
            os.fsync(fi.fh)
        return 0

    def release(self, _path: str, fi: Any) -> int:
        """Close a file."""
        os.close(fi.fh)
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        """Make a folder."""
        with self._trouble(_WRITE):
            self._at(path).mkdir(mode)
        return 0

    def rmdir(self, path: str) -> int:
        """Remove an empty folder."""
        with self._trouble(_NAME):
            self._at(path).rmdir()
        return 0

    def unlink(self, path: str) -> int:
        """Remove a file."""
        with self._trouble(_NAME):
            self._at(path).unlink()
        return 0

    def rename(self, old: str, new: str, _flags: int = 0) -> int:
        """Give a file another name."""
        with self._trouble(_NAME):
            self._at(old).replace(self._at(new))
        return 0

    def chmod(self, path: str, mode: int) -> int:
        """Change who may use a file."""
        self._at(path).chmod(mode)
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        """Change the times of a file."""
        if times is None:
            os.utime(self._at(path))
        else:
            os.utime(self._at(path), ns=times)
        return 0


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def _listen(operations: PassThrough, point: str) -> None:
    """Do what lines say, until there are no more."""
    for line in sys.stdin:
        operations.tell(line)
        _say("told")
    # Files may be open: who has them finds them gone.
    subprocess.run(["fusermount3", "-u", "-z", point], check=False)
    os._exit(0)


def main(folder: str, point: str) -> None:
    """Mount the folder and serve it until the input ends."""
    operations = PassThrough(folder)
    threading.Thread(target=_listen, args=(operations, point), daemon=True).start()
    mfusepy.FUSE(operations, point, raw_fi=True, foreground=True, fsname="streamgauge", auto_unmount=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
