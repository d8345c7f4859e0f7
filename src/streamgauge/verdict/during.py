"""What the faults of a scenario did, told from what the instrument did: which of it lies within a fault, in words."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from streamgauge.domain.text.numbers import listed, whole
from streamgauge.verdict.evidence import Evidence, largest

NAMED: Final = 2
"""Faults that are named."""


class Disturbance(NamedTuple):
    """A fault from its begin until the run had recovered from it, in seconds from the start of the measure phase."""

    words: str
    begin: float
    until: float

    def touches(self, begin: float, end: float) -> bool:
        """Whether it shares time with an interval."""
        return self.begin < end and begin <= self.until


def disturbances(run: Evidence) -> list[Disturbance]:
    """The faults that were over; until they were drained, and to the end of their span where that is not known."""
    return [
        Disturbance(
            f"{row['kind']} of {row['target']} (second {row['began_second']:.1f} to {row['ended_second']:.1f})",
            row["began_second"],
            _recovered(run, row["kind"], row["target"], row["ended_second"]) or row["until_second"],
        )
        for row in run.rows("fault_scores")
    ]


def _recovered(run: Evidence, kind: str, target: str, ended: float) -> float | None:
    """When the last group was back after a fault; None where one was not, or nobody knows."""
    rows = run.matching("recovery", quantity="outstanding", cause=kind, target=target, ended_second=ended)
    took = None if any(row["time_to_drain_s"] is None for row in rows) else largest(rows, "time_to_drain_s")
    return None if took is None else ended + took


def of_stretches(run: Evidence, stretches: Sequence[tuple[float, float]]) -> str:
    """Which faults the intervals that something happened in lie in; empty where they lie in none."""
    found = disturbances(run)
    inside = [each for each in stretches if any(fault.touches(*each) for fault in found)]
    if not inside:
        return ""
    named = _named(fault for fault in found if any(fault.touches(*each) for each in inside))
    if len(inside) < len(stretches):
        return f"{len(inside)} of {len(stretches)} times within {named}"
    return f"all within {named}" if len(stretches) > 1 else f"within {named}"


def of_messages(run: Evidence, kind: str) -> str:
    """How many messages of a class were due within faults, by the second; empty without faults, or if nobody knows.

    Of several groups, those of the group that has most are counted.
    """
    found, counts = disturbances(run), _by_second(run, kind)
    known = counts.total() - counts[None]
    if not known or not found:
        return ""
    inside = [each for each in counts if each is not None and any(fault.touches(each, each + 1) for fault in found)]
    if not inside:
        unknown = f" {whole(known)} due within a fault, and of {whole(counts[None])} it is not known"
        return f"none of{unknown if counts[None] else ' them due within a fault'}"
    named = _named(fault for fault in found if any(fault.touches(each, each + 1) for each in inside))
    count = sum(counts[each] for each in inside)
    share = "all" if count == counts.total() else f"{whole(count)} of {whole(counts.total())}"
    return f"{share} due within {named}"


def _by_second(run: Evidence, kind: str) -> Counter[int | None]:
    """All messages of a class by the second that they were due in, None where that is not known."""
    groups: dict[int | None, Counter[int | None]] = {}
    for row in run.matching("problem_counts", **{"class": kind}):
        groups.setdefault(row["group"], Counter())[row["second"]] += row["count"]
    return max(groups.values(), key=Counter.total, default=Counter())


def _named(faults: Iterable[Disturbance]) -> str:
    words = [fault.words for fault in faults]
    more = [f"{len(words) - NAMED} more faults"] if len(words) > NAMED else []
    return listed([*words[:NAMED], *more])
