"""What is asked of the disk."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk: a new name may otherwise get there before what it
    names. Raises OSError where that cannot be done.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def whole(path: Path, draft: Path | None = None, *, synced: bool = False) -> Iterator[Path]:
    """The unfinished name to write a file under, which appears whole under `path` at the end, or not at all.

    The unfinished name is `draft`, or begins with `_`. With `synced`, what was written is on the disk before it gets
    its name. Raises OSError where the file cannot be written.
    """
    draft = draft or path.with_name(f"_{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield draft
        if synced:
            sync(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def reserve(descriptor: int, size: int) -> None:
    """Have room for so many bytes of an open file; it is at least as long then. Raises OSError where there is none.

    Where the system cannot reserve room, the file is only made that long.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.truncate(descriptor, max(size, os.fstat(descriptor).st_size))


def free_bytes(folder: Path) -> int | None:
    """What is left on the disk where a folder is, or where it would be made; None where that cannot be known."""
    try:
        # Raises, too, for a name that is longer than any.
        there = next((path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir()), None)
        return shutil.disk_usage(there).free if there else None
    except OSError:
        return None
