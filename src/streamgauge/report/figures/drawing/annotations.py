"""What was done to a run, as spans of time: pauses, kills, other delays and bursts, each from its begin to its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from streamgauge.domain.text.numbers import listed
from streamgauge.report.figures.drawing.figure import Row

TOGETHER_S: Final = 0.1
"""The same thing done to several processes within this time is one annotation."""
MOST_TARGETS: Final = 3
"""More targets than these are counted."""
INSTANT: Final = frozenset({"kill"})
"""What has no end: it is over when it has begun."""

_ROLES: Final = frozenset({"consumers", "producers"})
"""All of a role."""


@dataclass(frozen=True, slots=True)
class _Span:
    kind: str
    targets: tuple[str, ...]
    detail: str | None
    begins: float
    ends: float

    def row(self) -> Row:
        return {"from": round(self.begins, 2), "to": round(self.ends, 2), "what": self._what()}

    def _what(self) -> str:
        # What is said of several at once by their role needs no names: `delay 4ms`, `burst 15,000/s`.
        targets = [each for each in self.targets if each not in _ROLES]
        who = f"{len(targets)} processes" if len(targets) > MOST_TARGETS else listed(targets)
        return " ".join(filter(None, (self.kind, who, self.detail)))

    def joins(self, other: "_Span") -> bool:
        """Whether the other is the same, done to somebody else."""
        near = abs(self.begins - other.begins) < TOGETHER_S and abs(self.ends - other.ends) < TOGETHER_S
        return near and (self.kind, self.detail) == (other.kind, other.detail)


def annotations_of(faults: Sequence[Row], first: float, last: float) -> list[Row]:
    """Rows {from, to, what} of what was carried out, from rows of the table `faults`, in the order of their begins.

    What began before the run lasts from its `first` second on, what never ended to its `last`.
    """
    together: list[_Span] = []
    for span in sorted(_spans(faults, first, last), key=lambda each: each.begins):
        place = next((at for at, known in enumerate(together) if known.joins(span)), None)
        if place is None:
            together.append(span)
        else:
            known = together[place]
            together[place] = replace(known, targets=(*known.targets, *span.targets))
    return [span.row() for span in together]


def _spans(faults: Sequence[Row], first: float, last: float) -> Iterator[_Span]:
    begun: dict[tuple[str, str], Row] = {}
    done = sorted((row for row in faults if row["error"] is None), key=lambda row: float(row["second"]))
    for row in done:
        who, at = (row["kind"], row["target"]), row["second"]
        if row["kind"] in INSTANT:
            yield _Span(row["kind"], (row["target"],), row["detail"], at, at)
            continue
        earlier = begun.pop(who, None)
        if row["action"] == "begin":
            begun[who] = row
        # A delay that grows in steps is one span for each of them.
        if earlier or row["action"] == "end":
            yield _span(row, earlier, at, first)
    for row in begun.values():
        yield _span(row, row, last, first)


def _span(row: Row, earlier: Row | None, ends: float, first: float) -> _Span:
    """From where it began, or from the begin of the run; what it was is told where it began."""
    begins = earlier["second"] if earlier else min(first, ends)
    return _Span(row["kind"], (row["target"],), earlier["detail"] if earlier else None, begins, max(begins, ends))
