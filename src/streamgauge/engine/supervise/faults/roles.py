"""Who has a role now: the leader of a partition, the active controller, the coordinator of a group, anybody."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from streamgauge.domain.blocks import PartitionPlace, PartitionState
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.ports.cluster import Administrator
from streamgauge.engine.supervise.faults.actions import Target
from streamgauge.processes.patience import asked
from streamgauge.scenario.model.environment.faults.schedule import Occurrence
from streamgauge.scenario.model.environment.faults.targets import ByRole

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Roles:
    """Finds who has a role; the cluster is asked in a thread of its own."""

    administrator: Administrator | None
    """None where no fault asks for it."""
    topics: Sequence[str] = ()
    """Those of the load."""
    groups: Sequence[str] = ()
    """Those of the run's consumers."""
    seed: int = 0

    def find(self, each: Occurrence, wanted: ByRole, free: Sequence[Target], number: int) -> "Future[Target]":
        """The target that has a role which a fault names; BrokerError where there is none.

        `free` are the targets that a fault can be done to, `number` how often the fault was done before.
        """
        if wanted.role == "random":
            random = Random(f"{self.seed}-{each.place}-{each.at_ns}-{number}")  # noqa: S311 - no secret is drawn
            return _known(lambda: _drawn([each for each in free if f"{wanted.any_of}s" in each.meant_by], random))
        return asked(lambda: _of_node(self._number(wanted), free))

    def is_back(self, node: int) -> "Future[bool]":
        """Whether a node is in sync wherever it has a replica, and leads or follows somebody."""
        return asked(lambda: is_back(self._asked().partitions(), node))

    def _asked(self) -> Administrator:
        if self.administrator is None:
            raise BrokerError("this target needs a cluster that Streamgauge started")
        return self.administrator

    def _number(self, wanted: ByRole) -> int:
        administrator = self._asked()
        if wanted.role == "controller":
            return administrator.controller()
        if wanted.role == "coordinator":
            return administrator.coordinator(wanted.group or self.groups[0])
        place = PartitionPlace(wanted.topic or self.topics[0], wanted.partition)
        state = next((each for each in administrator.partitions() if each.place == place), None)
        return node_of_role(state, place, is_leader=wanted.role == "leader")


NO_ROLES: Final = Roles(None)
"""Of a run whose faults name their targets."""


def node_of_role(state: PartitionState | None, place: PartitionPlace, *, is_leader: bool) -> int:
    """The leader of a partition, or its first follower that is in sync; BrokerError where there is none."""
    if state is None:
        raise BrokerError(f"{place.topic}/{place.partition} does not exist")
    if is_leader and state.leader is not None:
        return state.leader
    followers = [each for each in state.replicas if each in state.in_sync and each != state.leader]
    if is_leader or not followers:
        raise BrokerError(f"{place.topic}/{place.partition} has no {'leader' if is_leader else 'follower in sync'}")
    return followers[0]


def is_back(states: Sequence[PartitionState], node: int) -> bool:
    """Whether a node is in sync in each partition of which it has a replica, and each of them has a leader."""
    mine = [each for each in states if node in each.replicas]
    return all(node in each.in_sync and each.leader is not None for each in mine)


def _of_node(number: int, free: Sequence[Target]) -> Target:
    found = next((each for each in free if each.node == number), None)
    if found is None:
        raise BrokerError(f"it is node {number}, which is under another fault, or was not started by Streamgauge")
    return found


def _drawn(candidates: Sequence[Target], random: Random) -> Target:
    if not candidates:
        raise BrokerError("no target is left to choose from")
    return random.choice(sorted(candidates, key=lambda each: each.name))


def _known(call: Callable[[], _T]) -> "Future[_T]":
    """What is known without asking anybody."""
    future: Future[_T] = Future()
    try:
        future.set_result(call())
    except BrokerError as error:
        future.set_exception(error)
    return future
