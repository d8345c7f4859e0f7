"""Checks and expectations."""

from typing import Literal

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
    """Whether no check of the instrument failed; null if the run was not judged."""
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
    reason: str | None
    """Why there was nothing to compare, or why it failed; null otherwise."""
