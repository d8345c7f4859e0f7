"""What a user gave, as messages repeat it: in the words of YAML, short, on one line, never a secret."""

import reprlib
from typing import Final

from streamgauge.domain.text.secrets import MASK, carries_secret, is_secret

LONGEST: Final = 80
"""Characters of a text that are repeated; nobody needs more to find it."""
_WORDS: Final = {None: "null", True: "true", False: "false"}


class _Short(reprlib.Repr):
    """Cuts what is long at its end: a name is never parted from the value before it."""

    def repr_str(self, x: str, level: int) -> str:  # noqa: ARG002 - the signature is reprlib's
        # A text that is cut may have lost what gives it away.
        if carries_secret(x):
            return MASK
        return repr(x) if len(x) <= LONGEST else f"{x[:LONGEST]!r}..."

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002 - the signature is reprlib's
        try:
            text = repr(x)
        except ValueError:
            return "a number of thousands of digits"
        return text if len(text) <= LONGEST else f"a number of {len(text)} digits"


_short: Final = _Short()
_short.maxlevel = 3


def shown(name: str, value: object) -> str:
    """A value of this name; `***` where either speaks of a secret."""
    if is_secret(name) or (isinstance(value, str) and _speaks(value)):
        return MASK
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    text = _short.repr(value)
    return MASK if MASK in text or _speaks(text) else text if len(text) <= 2 * LONGEST else f"{text[:LONGEST]}..."


def _speaks(text: str) -> bool:
    """Whether a text names a secret, or has one in it."""
    return is_secret(text) or carries_secret(text)


def one_line(text: str) -> str:
    """A text from outside, fit for a terminal: cut where it is long, `?` for what would move its cursor.

    `***` where it has a secret in it; the name of one is no secret.
    """
    if carries_secret(text):
        return MASK
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return "".join(character if character.isprintable() else "?" for character in cut)
