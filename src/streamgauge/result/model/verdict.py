"""Checks and expectations."""

from typing import Literal

from pydantic import Field

from streamgauge.result.model.base import Section, Text


class CheckResult(Section):
    """One check."""

    name: Text
    """Name of the check."""
    title: str = ""
    """Title of the check, like `Schedule kept`; empty in results of older versions."""
    about: Literal["instrument", "system"]
    """Only checks of the instrument can make a run invalid."""
    status: Literal["pass", "warn", "fail", "unknown"]
    """`unknown` if its data are missing."""
    evidence: Text
    """What was measured: numbers with units."""
    advice: str
    """What to do; empty if it passed."""

    @property
    def shown(self) -> str:
        """Text for display: the title, or the name if there is none."""
        return self.title or self.name


class VerdictSection(Section):
    """Whether the measurement can be trusted, and what the measured system did."""

    valid: bool | None
    """Whether every figure that is used is believed or bounded; null if the run was not judged."""
    state: Literal["valid", "in_part", "not_valid"] | None = None
    """`valid`: every figure is believed or bounded. `in_part`: every figure that is used is, and another is not. Null
    where the run was not judged."""
    used: list[str] = Field(default_factory=list)
    """Paths of the figures that the verdict is about: rates, delivery, p50 and p99 of the end-to-end latency, and what
    expectations name; or those of `judge_by`."""
    judge_by: list[str] = Field(default_factory=list)
    """What the scenario narrows the verdict to; empty for nothing."""
    calibration: Text | None = None
    """Why it is not known how wrong the instrument is on this machine; null where a calibration of the last 30 days
    says it. `run.calibration` has its errors, and intervals are at least as wide."""
    place: Text | None = None
    """How much of the tail waits for a core can explain, on the machine that produced the load: those of broker and
    pipeline are this machine's, and not the system's; those of the workers are the instrument's. Null where there is
    nothing to say."""
    checks: list[CheckResult]
    """The checks that apply to the run, in display order."""


class ExpectationResult(Section):
    """One expectation of the scenario, and the value found."""

    path: str
    """Path into this document, like `delivery.lost`."""
    wanted: str | int | float | bool
    """The expected value or bound."""
    found: str | int | float | bool | None
    """The value at that path; null if there is none."""
    passed: bool
    """Whether it passed; null never passes."""
    decided: bool = True
    """Whether it could be decided: false where the figure is not believed, or where its interval lies on both sides of
    the bound. What cannot be decided has not passed."""
    reason: str | None
    """Why there was nothing to compare, why it failed, or why it could not be decided; null otherwise."""
