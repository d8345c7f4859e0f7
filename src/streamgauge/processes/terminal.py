"""The terminal of a program, which may be closed while it is still at work."""

import os
from collections.abc import Sequence
from typing import Final

_STANDARD: Final = (0, 1, 2)


def terminals() -> list[int]:
    """The standard descriptors that are a terminal."""
    return [descriptor for descriptor in _STANDARD if os.isatty(descriptor)]


def silence(descriptors: Sequence[int]) -> None:
    """Let what is still said go nowhere: writing to a terminal that is gone fails."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
