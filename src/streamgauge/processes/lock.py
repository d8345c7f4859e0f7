"""Locks on folders: who works in a folder holds one, and the kernel lets it go with the last process that does.

A lock belongs to the open folder itself (`flock`), so it leaves no file behind and needs none to be swept. A file can
be held in the same way.
"""

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_NO_LOCKS: Final = frozenset({errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS})
"""What file systems say that know no locks on folders, as some network file systems do."""


class FolderLock:
    """A lock on a folder that is there: shared by all who write to it side by side, or exclusive.

    Held until `close`, or until the process ends. Descriptors are not inherited by programs that the process starts.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def shared(cls, folder: Path) -> Self | None:
        """Hold the folder together with others; None while somebody holds it alone. Raises OSError without a folder."""
        return cls._taken(folder, fcntl.LOCK_SH)

    @classmethod
    def exclusive(cls, folder: Path) -> Self | None:
        """Hold the folder alone; None while anybody else holds it. Raises OSError without a folder.

        Where the file system knows no locks, everybody gets one: what they protect from cannot be noticed there.
        """
        return cls._taken(folder, fcntl.LOCK_EX)

    @classmethod
    def _taken(cls, folder: Path, kind: int) -> Self | None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(descriptor)
                raise
        return cls(descriptor)

    def close(self) -> None:
        """Let the folder go; may be called again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
