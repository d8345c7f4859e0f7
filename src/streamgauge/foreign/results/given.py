"""Files that are given to be imported: their content within limits, also out of a ZIP archive."""

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.results.measured import ForeignError

MOST_BYTES: Final = 256 << 20
"""Of one file, and of all files of an archive together."""
MOST_FILES: Final = 1_000
"""In one archive, or in a folder and those below it."""
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError)
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file: its name for messages, the folder that it is in, and its content."""

    name: str
    folder: str
    content: bytes

    @property
    def stem(self) -> str:
        """Its name without folders and extension."""
        return PurePosixPath(self.name).name.rsplit(".", 1)[0]

    @property
    def is_archive(self) -> bool:
        """Whether it is a ZIP archive, by its first bytes."""
        return self.content.startswith(_ZIP)

    def text(self) -> str:
        """Its content as text; raises ForeignError where it is none."""
        try:
            found = self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ForeignError("is no text in UTF-8") from error
        if "\0" in found:
            raise ForeignError("is no text: it has bytes of value 0")
        if not found.strip():
            raise ForeignError("is empty")
        return found

    def lines(self) -> list[str]:
        """The lines of its text."""
        return self.text().splitlines()

    def head(self) -> str:
        """The begin of its text, as far as it can be read: enough to recognise it."""
        return self.content[:65_536].decode("utf-8-sig", errors="replace")

    def document(self) -> Mapping[str, Any]:
        """Its JSON object; raises ForeignError where it is none."""
        try:
            found = json.loads(self.text())
        except RecursionError as error:
            raise ForeignError("is nested too deeply") from error
        except ForeignError:
            raise
        except ValueError as error:
            raise ForeignError(f"is no complete JSON: {one_line(str(error))}") from error
        if not isinstance(found, dict):
            raise ForeignError("is no JSON object")
        return found


def unpacked(file: ForeignFile) -> list[ForeignFile]:
    """The files of an archive, in memory, the first of each name; any other file as it is.

    Raises ForeignError where an archive is damaged, too large, encrypted, or names files outside of itself.
    """
    if not file.is_archive:
        return [file]
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            entries = [each for each in archive.infolist() if not each.filename.endswith("/")]
            _check(entries)
            found, left = [], MOST_BYTES
            for entry in entries:
                with archive.open(entry) as opened:
                    # What an entry says about its size may be false.
                    content = opened.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise ForeignError(f"unpacks to more than {MOST_BYTES >> 20} MiB", "Name its files one by one")
                path = PurePosixPath(entry.filename)
                found.append(ForeignFile(path.name, f"{file.name}/{path.parent}", content))
    except (*_DAMAGED, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, ForeignError):
            raise
        raise ForeignError(f"is a damaged archive: {one_line(str(error))}") from error
    if inner := next((each for each in found if each.is_archive), None):
        raise ForeignError(f"has an archive in it: {one_line(inner.name)}", "Unpack it first")
    return found


def _check(entries: list[zipfile.ZipInfo]) -> None:
    if not entries:
        raise ForeignError("is an empty archive")
    if len(entries) > MOST_FILES:
        raise ForeignError(f"has more than {MOST_FILES:,} files", "Name its files one by one")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise ForeignError(f"unpacks to more than {MOST_BYTES >> 20} MiB", "Name its files one by one")
    for entry in entries:
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if not path.parts:
            raise ForeignError("has a file without a name", "Make the archive again")
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            raise ForeignError(f"names a file outside of itself: {one_line(entry.filename)}", "Make the archive again")
        if entry.flag_bits & 0x1:
            raise ForeignError("is encrypted", "Unpack it first")
