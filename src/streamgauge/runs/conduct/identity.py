"""What distinguishes one run from every other, and how clients are dealt out to processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from streamgauge.scenario import Scenario

_Member = TypeVar("_Member")


@dataclass(frozen=True, slots=True)
class Identity:
    """What distinguishes one run from every other."""

    id: str
    tag: int
    group: str
    """How the names of its groups begin."""

    @property
    def query(self) -> str:
        """What stands for the query of a pipeline among the groups."""
        return f"{self.group}-query"

    @property
    def trackers(self) -> str:
        """How the names of the groups of trackers begin."""
        return f"{self.group}-tracker"

    def groups(self, scenario: Scenario) -> tuple[str, ...]:
        """The names of its groups of consumers."""
        if scenario.consume and scenario.consume.group:
            return (scenario.consume.group,)
        count = scenario.consume.groups if scenario.consume else 0
        return (self.group,) if count == 1 else tuple(f"{self.group}-{number}" for number in range(count))


def dealt(members: Sequence[_Member], processes: int | None) -> list[tuple[_Member, ...]]:
    """The members of each process: neighbours together, and as many in one as in another, or one more."""
    count, processes = len(members), processes or len(members)
    edges = [count * process // processes for process in range(processes + 1)]
    return [tuple(members[begin:end]) for begin, end in pairwise(edges)]
