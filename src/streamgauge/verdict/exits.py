"""The exit codes, said once."""

from enum import IntEnum
from typing import Self


class Exit(IntEnum):
    """How the program ends; `about` says what each code means."""

    about: str

    DONE = 0, "done and valid"
    FAILED = 1, "the run failed; what was recorded is kept"
    BAD_INPUT = 2, "bad input; nothing was started"
    EXPECTATION_FAILED = 3, "done and valid, but an expectation failed"
    NOT_VALID = 4, "done, but not valid as a measurement"
    INTERRUPTED = 130, "interrupted; what was measured is kept and reported"

    def __new__(cls, code: int, about: str) -> Self:
        """The code, with what it means."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.about = about
        return member
