"""The exit codes."""

from enum import IntEnum
from typing import Self


class Exit(IntEnum):
    """How the program ends; `about` says what each code means."""

    about: str

    DONE = 0, "completed and valid"
    FAILED = 1, "the run failed; recorded events are kept"
    BAD_INPUT = 2, "bad input; nothing was started"
    EXPECTATION_FAILED = 3, "completed and valid, but an expectation failed"
    NOT_VALID = 4, "completed, but a figure that is used cannot be believed, or an expectation cannot be decided"
    INTERRUPTED = 130, "interrupted; recorded events are kept and reported"

    def __new__(cls, code: int, about: str) -> Self:
        """The code, with what it means."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.about = about
        return member
