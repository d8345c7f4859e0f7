"""Scratch folders: what Spark or a calibration needs on a disk meanwhile, and what those left behind that were killed.

Whoever works in one holds a lock on it, which the kernel lets go with the last of them. Whoever makes one removes those
of the same user that nobody holds.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from streamgauge.domain.errors import Fault
from streamgauge.processes.lock import FolderLock

# Not `streamgauge-spark-` and `streamgauge-query-`: versions that hold no locks call theirs so, and may be at work.
ANALYSIS: Final = "streamgauge-analysis-"
QUERY: Final = "streamgauge-pipeline-"
CALIBRATION: Final = "streamgauge-calibration-"
PROGRAM: Final = "streamgauge-program-"
_OURS: Final = re.compile(rf"({ANALYSIS}|{QUERY}|{CALIBRATION}|{PROGRAM})\w+")
_ATTEMPTS: Final = 10
_MEND: Final = "Name another folder with TMPDIR"
_LARGEST: Final = 0xFFFF
"""The last character that Spark reads as one in its Java options."""


class Scratch:
    """A new folder in the system's temporary folder, held by this process until `close`, which removes it.

    Raises OSError where none can be made.
    """

    def __init__(self, prefix: str) -> None:
        """`prefix` says what it is for: `ANALYSIS`, `QUERY`, `CALIBRATION` or `PROGRAM`."""
        place = Path(tempfile.gettempdir())
        self.path, self._lock = _made(prefix, place)
        _sweep(place, self.path)

    def close(self) -> None:
        """Remove the folder and all that is in it; may be called again."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def joined(folder: Path) -> FolderLock | None:
    """A hold on a scratch folder that another process made, for as long as this one works in it; None if it is gone."""
    try:
        return FolderLock.shared(folder)
    except OSError:
        return None


def scratch_faults() -> list[Fault]:
    """Why Spark could not work in the system's temporary folder."""
    try:
        place = tempfile.gettempdir()
    except FileNotFoundError:
        return [Fault("TMPDIR", "no temporary folder is writable", _MEND)]
    wrong = unfit(place)
    return [] if wrong is None else [Fault(f"temporary folder {place}", wrong, _MEND)]


def unfit(place: str) -> str | None:
    """Why Spark cannot use a folder of this name; None where it can."""
    if "," in place:
        return "Spark does not support commas in this path"
    beyond = next((letter for letter in place if ord(letter) > _LARGEST), None)
    return None if beyond is None else f"Spark cannot read the character {beyond} in a path"


def _made(prefix: str, place: Path) -> tuple[Path, FolderLock]:
    """A new folder, and our hold on it; somebody who sweeps may come in between."""
    for _ in range(_ATTEMPTS):
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        try:
            lock = FolderLock.shared(path)
        except FileNotFoundError:
            continue
        if lock is None:
            continue
        # From here on nobody gets it who sweeps; one who got it before has removed it.
        if path.is_dir():
            return path, lock
        lock.close()
    raise FileExistsError(f"{place}: folders that are created here disappear")


def _sweep(place: Path, ours: Path) -> None:
    """Remove the folders of this user that nobody holds any more, `ours` excepted, which is held."""
    if not _knows_locks(ours):
        return
    for path in _swept(place):
        try:
            lock = FolderLock.exclusive(path)
        except OSError:
            # Somebody else removed it.
            continue
        if lock is not None:
            with lock:
                shutil.rmtree(path, ignore_errors=True)


def _knows_locks(held: Path) -> bool:
    """Whether locks keep folders from others here: nobody may get alone what we hold."""
    lock = FolderLock.exclusive(held)
    if lock is not None:
        lock.close()
    return lock is None


def _swept(place: Path) -> Iterator[Path]:
    """Folders that look like ours and belong to this user; a link to one is not one."""
    try:
        found = list(os.scandir(place))
    except OSError:
        # A folder may be written and not read.
        return
    for entry in found:
        if _OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) and _is_mine(entry):
            yield Path(entry.path)


def _is_mine(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False
