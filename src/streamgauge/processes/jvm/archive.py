"""Archives of loaded classes (class data sharing): a JVM that maps one starts in half the time.

An archive belongs to one Java, one class path and one set of options, so its name is made of them; one that fits no
longer is never looked for again. It is written by a JVM that was started with `making`, at its orderly end, and used by
those started with `using`. A JVM that cannot use it says so in its log and starts without.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.processes.jvm.java import Java

_KEPT: Final = 4
"""Archives of one kind: of several environments, of an older version."""
_QUIET: Final = "-Xlog:cds=off,cds+dynamic=off"
"""Classes that cannot be archived are told one by one, on standard output."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the archive of one kind of JVM is kept, whether it is there or not."""

    path: Path

    @property
    def is_there(self) -> bool:
        """Whether a JVM can be started with it."""
        return self.path.is_file()

    @property
    def using(self) -> list[str]:
        """Options of a JVM that uses it; none where it is not there."""
        return [f"-XX:SharedArchiveFile={self.path}", "-Xshare:auto", _QUIET] if self.is_there else []

    @property
    def making(self) -> list[str]:
        """Options of a JVM that writes it to `draft` when it ends."""
        return [f"-XX:ArchiveClassesAtExit={self.draft}", _QUIET]

    @property
    def draft(self) -> Path:
        """What is being written; another process writes another one."""
        return self.path.with_name(f"{self.path.stem}-{os.getpid()}.new")

    def keep(self) -> bool:
        """Give the draft its name, and remove the oldest archives of the same kind; whether there was one."""
        if not self.draft.is_file():
            return False
        self.draft.replace(self.path)
        kind = self.path.name.partition("-")[0]
        others = sorted(self.path.parent.glob(f"{kind}-*.jsa"), key=lambda path: path.stat().st_mtime_ns)
        for old in others[:-_KEPT]:
            old.unlink(missing_ok=True)
        return True


def archive_of(kind: str, folder: Path, java: Java, jars: Iterable[Path], options: Sequence[str]) -> Archive | None:
    """The archive of a JVM with these jars on its class path and these options, without heap sizes and scratch folders.

    None where the class path cannot be archived: Java refuses one with a folder that holds files.
    """
    seen = hashlib.sha256("\0".join([str(java.path), java.version, *options]).encode())
    try:
        for jar in sorted(jars):
            if jar.is_dir():
                if any(jar.iterdir()):
                    return None
                continue
            stat = jar.stat()
            seen.update(f"\0{jar}\0{stat.st_size}\0{stat.st_mtime_ns}".encode())
        stat = java.path.parents[1].joinpath("lib", "modules").stat()
    except OSError:
        return None
    seen.update(f"\0{stat.st_size}\0{stat.st_mtime_ns}".encode())
    return Archive(folder / f"{kind}-{seen.hexdigest()[:16]}.jsa")
