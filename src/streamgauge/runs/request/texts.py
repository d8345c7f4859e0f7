"""Texts that users name: files of a limited size, in UTF-8."""

from pathlib import Path
from typing import BinaryIO, Final

from streamgauge.domain.errors import BadInput

LARGEST_BYTES: Final = 256 << 10


def read_file(path: Path, where: str, mend: str, wanted: str) -> str:
    """The text of a file with what is `wanted`; raises BadInput for what cannot be read, is no text, or too large."""
    try:
        with path.open("rb") as file:
            return read_stream(file, where, mend, wanted)
    except OSError as error:
        raise BadInput.single(where, f"cannot be read: {error.strerror}", mend) from error
    except ValueError as error:
        # A name with a NUL in it.
        raise BadInput.single(where, "cannot be read: not a name of a file", mend) from error


def read_stream(file: BinaryIO, where: str, mend: str, wanted: str) -> str:
    """The text of a stream; raises BadInput for what is no text, or too large."""
    content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        what = f"is larger than {LARGEST_BYTES >> 10} KiB, the limit for {wanted}"
        raise BadInput.single(where, what, f"Name a file with {wanted}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput.single(where, "cannot be read: it is not UTF-8 text", mend) from error
