"""What can be done to whom: targets of faults and their actions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Something that was begun and takes longer than a moment: it is asked at every tick whether it is done."""

    is_done: Callable[[], bool]
    """OSError or BrokerError where it failed."""
    within_ns: int
    """How long it may take before it is forced."""
    force: Callable[[], None]
    """Make an end of it; OSError where that is not possible."""
    late: str
    """What is said where it had to be forced."""


class Action(Protocol):
    """What can be done to a target of faults, and undone; neither may block for longer than a moment.

    A fault without `for` whose begin is unfinished ends as soon as it is done; another one without `for` has no end.
    """

    def begin(self, fault: Any, /) -> Unfinished | None:
        """Do it, as the fault says; OSError or BrokerError where that is not possible."""
        ...

    def end(self, fault: Any, /) -> Unfinished | None:
        """Undo it, where it can be undone; OSError or BrokerError where that is not possible."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """What faults can be done to: `consumer-0`, `broker-1`, a link."""

    name: str
    meant_by: frozenset[str]
    """The targets of scenarios that mean it, like `consumer-0` and `consumers`."""
    actions: Mapping[str, Action]
    """What can be done to it, by the kind of the fault."""
    ended: Callable[[], bool] = lambda: False
    """Whether it is gone for good, so that nothing can be done to it."""
    node: int | None = None
    """The number of the node that it is of the cluster; None where it is none."""
