"""One rule of the verdict, as it is listed: its name, what it may be about, and the function that answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from streamgauge.verdict.check import About, Check
from streamgauge.verdict.evidence import Evidence

INSTRUMENT: Final[tuple[About, ...]] = ("instrument",)
SYSTEM: Final[tuple[About, ...]] = ("system",)
EITHER: Final[tuple[About, ...]] = ("instrument", "system")
"""Of a rule that first finds out who is the cause."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pure function from the evidence to a check, or to None where the question does not arise.

    `doc` is also its reference: the question, then paragraphs that begin with `Data:`, `Warns when:`, `Fails when:`
    and `Remedy:`. A constant of the verdict in braces stands for its value.
    """

    name: str
    title: str
    """The name for people: what holds if it passes."""
    about: tuple[About, ...]
    answer: Callable[[Evidence], Check | None]
    doc: str


def rule(name: str, title: str, about: tuple[About, ...], answer: Callable[[Evidence], Check | None]) -> Rule:
    """The rule that a function is, its docstring included."""
    return Rule(name, title, about, answer, answer.__doc__ or "")
