"""Archives of loaded classes (class data sharing): a JVM that maps one starts in half the time.

An archive belongs to one Java, one class path and one set of options, so its name is made of them; one that fits no
longer is never looked for again. It is written by a JVM that was started with `making`, at its orderly end, and used by
those started with `using`. A JVM that cannot use it warns on its standard output, which is its log, and starts
without; Java 17 says nothing of a damaged one. Asked for more than warnings, it dies of an empty one. Each archive has
a seal beside it, by which one that was damaged since it was made is known, and made again.
"""

import hashlib
import os
import signal
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.processes.jvm.java import Java

_KEPT: Final = 4
"""Archives of one kind: of several environments, of an older version."""
_QUIET: Final = "-Xlog:cds=off,cds+dynamic=off"
"""Who makes one is told each class that cannot be archived, on standard output."""
_USING: Final = "-XX:SharedArchiveFile="
_REFUSED: Final = "Unable to use shared archive"
"""Java's warning. Java 25 leaves an archive mapped that it refused."""
_PAGE: Final = 4096
_STRIDE: Final = 1 << 20
_ORDERLY: Final = (0, 128 + signal.SIGTERM)
"""How a JVM ends of its own accord, or as it was asked to. One that cannot write its archive ends with 1."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Where the archive of one kind of JVM is kept, whether it is there or not."""

    path: Path

    @property
    def is_whole(self) -> bool:
        """Whether it is there as it was made: a JVM can be started with it."""
        try:
            return self.seal.read_text(encoding="ascii") == _sealed(self.path)
        except (OSError, ValueError):
            return False

    @property
    def seal(self) -> Path:
        """The file with its size and checksum when it was made."""
        return self.path.with_suffix(".seal")

    @property
    def using(self) -> list[str]:
        """Options of a JVM that uses it; none where it is not there, or damaged."""
        return [f"{_USING}{self.path}", "-Xshare:auto"] if self.is_whole else []

    @property
    def making(self) -> list[str]:
        """Options of a JVM that writes it to `draft` when it ends."""
        return [f"-XX:ArchiveClassesAtExit={self.draft}", _QUIET]

    @property
    def draft(self) -> Path:
        """What is being written; another process writes another one."""
        return self.path.with_name(f"{self.path.stem}-{os.getpid()}.new")

    def keep(self, exit_code: int | None) -> bool:
        """Give the draft its name and a seal, and remove the oldest archives of the same kind; whether there was one.

        `exit_code` is that of the JVM that wrote it. The draft of one that was killed, fell over, or is still there is
        removed: it may be half of one, and Java 17 dies of half an archive.
        """
        if exit_code not in _ORDERLY:
            self.draft.unlink(missing_ok=True)
        if not self.draft.is_file():
            return False
        try:
            self.seal.write_text(_sealed(self.draft), encoding="ascii")
            self.draft.replace(self.path)
        except OSError:
            # The disk is full: an archive that does not fit its seal is none.
            self.draft.unlink(missing_ok=True)
            return False
        kind = self.path.name.partition("-")[0]
        others = sorted(self.path.parent.glob(f"{kind}-*.jsa"), key=lambda path: path.stat().st_mtime_ns)
        for old in map(Archive, others[:-_KEPT]):
            old.path.unlink(missing_ok=True)
            old.seal.unlink(missing_ok=True)
        return True


def _sealed(path: Path) -> str:
    """Size of a file, and checksum of a page in each MiB: reading all of it would take part of the time that it saves.

    So it is known what was cut off, or never reached the disk.
    """
    with path.open("rb") as file:
        size, checksum = os.fstat(file.fileno()).st_size, 0
        for at in range(0, size, _STRIDE):
            checksum = zlib.crc32(os.pread(file.fileno(), _PAGE, at), checksum)
    return f"{size} {checksum:08x}\n"


def uses(options: Sequence[str], pid: int, said: str) -> bool:
    """Whether a JVM with these options uses the archive that they name; `said` is its log up to now.

    On Linux it has mapped it, and did not refuse it afterwards. Elsewhere it is believed unless it says otherwise.
    """
    named = next((each.removeprefix(_USING) for each in options if each.startswith(_USING)), None)
    if named is None or _REFUSED in said:
        return False
    if sys.platform != "linux":
        return True
    # Where a newer one has its name, or it was one of the oldest, its file is gone by now.
    path = os.path.realpath(named)
    try:
        with Path(f"/proc/{pid}/maps").open(encoding="utf-8", errors="surrogateescape") as lines:
            return any(line.rstrip("\n").removesuffix(" (deleted)").endswith(f" {path}") for line in lines)
    except OSError:
        return False


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
