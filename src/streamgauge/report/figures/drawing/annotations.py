"""What was done to a run, as spans of time: pauses, kills, other delays and bursts, each from its begin to its end."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from streamgauge.domain.text.numbers import listed
from streamgauge.report.figures.drawing.figure import Row

TOGETHER_S: Final = 0.1
"""The same thing done to several processes within this time is one annotation."""
NAME_LINES: Final = 4
CHARACTER_SHARE: Final = 0.018
"""What a character of a name takes of the width of a figure: on a page where two stand side by side."""
MOST_TARGETS: Final = 3
"""More targets than these are counted."""
INSTANT: Final = frozenset({"kill"})
"""What is over when it has begun, unless it has an end: a broker that is killed may be started again."""

_ROLES: Final = frozenset({"consumers", "producers"})
"""All of a role."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """Something that was done to a run, from one second to another: all at once that was done to several processes."""

    kind: str
    targets: tuple[str, ...]
    detail: str | None
    begins: float
    ends: float

    def row(self) -> Row:
        """As figures over time draw it."""
        return {"from": round(self.begins, 2), "to": round(self.ends, 2), "what": self.what}

    @property
    def what(self) -> str:
        """In words."""
        # What is said of several at once by their role needs no names: `delay 4ms`, `burst 15,000/s`.
        targets = [each for each in self.targets if each not in _ROLES]
        who = f"{len(targets)} processes" if len(targets) > MOST_TARGETS else listed(targets)
        return " ".join(filter(None, (self.kind, who, self.detail)))

    def joins(self, other: "Annotation") -> bool:
        """Whether the other is the same, done to somebody else."""
        near = abs(self.begins - other.begins) < TOGETHER_S and abs(self.ends - other.ends) < TOGETHER_S
        return near and (self.kind, self.detail) == (other.kind, other.detail)


def annotations_of(faults: Sequence[Row], first: float, last: float) -> list[Row]:
    """Rows {from, to, what, level} of what was carried out, from rows of the table `faults`, in order of their begins.

    What began before the run lasts from its `first` second on, what never ended to its `last`.
    """
    rows = [each.row() for each in annotated(faults, first, last)]
    return [{**row, "level": level} for row, level in zip(rows, _levels(rows, last - first), strict=True)]


def annotated(faults: Sequence[Row], first: float, last: float) -> list[Annotation]:
    """The same, to the nanosecond."""
    together: list[Annotation] = []
    for span in sorted(_spans(faults, first, last), key=lambda each: each.begins):
        place = next((at for at, known in enumerate(together) if known.joins(span)), None)
        if place is None:
            together.append(span)
        else:
            known = together[place]
            together[place] = replace(known, targets=(*known.targets, *span.targets))
    return together


def _levels(rows: Sequence[Row], seconds: float) -> list[int]:
    """In which line, from the top, the name of each has room beside those before it; none on the last line may have."""
    free = [-math.inf] * NAME_LINES
    levels = []
    for row in rows:
        level = next((at for at, since in enumerate(free) if since <= row["from"]), NAME_LINES - 1)
        free[level] = row["from"] + seconds * CHARACTER_SHARE * (len(row["what"]) + 1)
        levels.append(level)
    return levels


def _spans(faults: Sequence[Row], first: float, last: float) -> Iterator[Annotation]:
    begun: dict[tuple[str, str], Row] = {}
    done = sorted((row for row in faults if row["error"] is None), key=lambda row: float(row["second"]))
    for row in done:
        who, at = (row["kind"], row["target"]), row["second"]
        earlier = begun.pop(who, None)
        if row["action"] == "begin":
            begun[who] = row
        # A delay that grows in steps is one span for each of them.
        if row["action"] == "end" or (earlier and row["kind"] not in INSTANT):
            yield _span(row, earlier, at, first)
        elif earlier:
            yield _span(earlier, earlier, earlier["second"], first)
    for row in begun.values():
        yield _span(row, row, row["second"] if row["kind"] in INSTANT else last, first)


def _span(row: Row, earlier: Row | None, ends: float, first: float) -> Annotation:
    """From where it began, or from the begin of the run; what it was is told where it began."""
    begins = earlier["second"] if earlier else min(first, ends)
    return Annotation(row["kind"], (row["target"],), earlier["detail"] if earlier else None, begins, max(begins, ends))
