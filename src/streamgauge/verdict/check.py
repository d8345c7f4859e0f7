"""One check of the verdict."""

from dataclasses import dataclass
from typing import Literal

About = Literal["instrument", "system"]
Status = Literal["pass", "warn", "fail", "unknown"]


@dataclass(frozen=True, slots=True)
class Check:
    """One question about a run and its answer.

    A check of the instrument asks whether the measurement may be believed; one of the system says what the measured
    system did, and never makes a measurement invalid.
    """

    name: str
    about: About
    status: Status
    evidence: str
    """What was seen: numbers with units."""
    advice: str = ""
    """What to do next; empty when it passed."""


def passed(name: str, about: About, evidence: str) -> Check:
    """A check that passed."""
    return Check(name, about, "pass", evidence)


def unknown(name: str, about: About, missing: str, advice: str = "Run `streamgauge analyse` on the folder.") -> Check:
    """A check that could not be decided for want of something."""
    return Check(name, about, "unknown", missing, advice)
