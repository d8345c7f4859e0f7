"""Files of Java's properties."""

import re
import string
from collections.abc import Collection, Mapping
from typing import Final

_IN_NAMES: Final = frozenset(f"{string.ascii_letters}{string.digits}.-_")
_IN_VALUES: Final = frozenset(string.printable) - frozenset(string.whitespace) - frozenset("\\=")
"""What stands as it is, so that people can read it; a value ends with its line, and begins after spaces."""


def properties_text(given: Mapping[str, str]) -> str:
    """The content of a file that has these; ASCII alone."""
    return "".join(f"{_escaped(name, _IN_NAMES)}={_escaped(value, _IN_VALUES)}\n" for name, value in given.items())


def properties_in(text: str) -> dict[str, str]:
    """What a file has that `properties_text` wrote."""
    lines = [line.partition("=") for line in text.splitlines()]
    return {_plain(name): _plain(value) for name, is_there, value in lines if is_there}


def java_value(value: object) -> str:
    """A value as Java writes it: `true`, where Python has `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _escaped(text: str, plain: Collection[str]) -> str:
    """What could mean something, and what is not ASCII, as code."""
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]
    return "".join(chr(code) if chr(code) in plain else f"\\u{code:04x}" for code in codes)


def _plain(text: str) -> str:
    """The text that was escaped; a letter beyond U+FFFF is two units."""
    units = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
