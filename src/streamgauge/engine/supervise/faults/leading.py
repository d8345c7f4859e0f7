"""Faults of leadership, carried out: the cluster is asked in threads, and looked at until it has done it."""

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.blocks import PartitionPlace, PartitionState
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.ports.cluster import Administrator
from streamgauge.engine.supervise.faults.actions import Action, Target, Unfinished
from streamgauge.processes.patience import asked
from streamgauge.scenario.model.environment.faults.leadership import (
    ELECT_PREFERRED,
    MOVE_LEADER,
    REASSIGN,
    LeadershipFault,
    LeadershipFaultKind,
)
from streamgauge.scenario.model.environment.faults.schedule import Occurrence

DONE_NS: Final = 60 * NS_PER_SECOND
"""Within this a change of leaders or replicas is to be done."""

Replicas = Mapping[PartitionPlace, tuple[int, ...]]
"""The replicas that partitions are to have, the preferred leader first."""


@dataclass(slots=True)
class _Change:
    """A change that was asked for: what is wanted as soon as it is known, and what the cluster says of it."""

    administrator: Administrator
    wanted: "Future[Replicas]"
    kind: LeadershipFaultKind
    _look: "Future[Sequence[PartitionState]] | None" = None

    def is_done(self) -> bool:
        """Whether the cluster has done it, as far as it has answered; BrokerError where it could not be asked for."""
        if not self.wanted.done():
            return False
        wanted = self.wanted.result()
        look = self._look = self._look or asked(self.administrator.partitions)
        if not look.done():
            return False
        self._look = None
        # Nobody may answer for a while: what is not done by then has failed.
        with contextlib.suppress(BrokerError):
            return is_reached(self.kind, wanted, look.result())
        return False


@dataclass(frozen=True, slots=True)
class Led:
    """A change of leaders or replicas, which ends when Kafka has done it."""

    administrator: Administrator
    brokers: int

    def begin(self, fault: LeadershipFault) -> Unfinished:
        """Ask for it."""
        change = _Change(self.administrator, asked(lambda: self._ask(fault)), fault.kind)
        return Unfinished(change.is_done, DONE_NS, lambda: None, "Kafka did not complete it in time")

    def end(self, _fault: LeadershipFault) -> None:
        """It is done, and stays."""

    def _ask(self, fault: LeadershipFault) -> Replicas:
        """Ask for the replicas and leaders that the fault means, which are returned."""
        states = [each for each in self.administrator.partitions() if _is_meant(fault, each.place)]
        if not states:
            raise BrokerError(f"{fault.target}: the cluster knows no such partition")
        wanted = wanted_replicas(fault, states, self.brokers)
        if fault.kind != ELECT_PREFERRED:
            self.administrator.reassign(wanted)
        if fault.kind != REASSIGN:
            self.administrator.elect_preferred(list(wanted))
        return wanted


def targets_of_leadership(
    faults: Sequence[Occurrence], administrator: Administrator | None, brokers: int
) -> list[Target]:
    """The partitions that faults of leadership are done to, by the names that the scenario has for them."""
    if administrator is None:
        return []
    names = sorted({each.fault.target for each in faults if isinstance(each.fault, LeadershipFault)})
    led: Action = Led(administrator, brokers)
    actions = dict.fromkeys((MOVE_LEADER, ELECT_PREFERRED, REASSIGN), led)
    return [Target(name, frozenset({name}), actions) for name in names]


def _is_meant(fault: LeadershipFault, place: PartitionPlace) -> bool:
    topic, partition = fault.meant
    return topic in {None, place.topic} and partition in {None, place.partition}


def wanted_replicas(fault: LeadershipFault, states: Sequence[PartitionState], brokers: int) -> Replicas:
    """The replicas that a fault asks for; BrokerError where a leader cannot move, as nobody else is in sync."""
    if fault.kind == ELECT_PREFERRED:
        return {each.place: each.replicas for each in states}
    if fault.kind == REASSIGN:
        return {each.place: fault.to or tuple(number % brokers + 1 for number in each.replicas) for each in states}
    return {each.place: _with_other_leader(each) for each in states}


def _with_other_leader(state: PartitionState) -> tuple[int, ...]:
    """The same replicas with another one in front: the next one behind the leader that is in sync."""
    at = state.replicas.index(state.leader) if state.leader in state.replicas else -1
    behind = (*state.replicas[at + 1 :], *state.replicas[: max(at, 0)])
    new = next((each for each in behind if each in state.in_sync and each != state.leader), None)
    if new is None:
        raise BrokerError(f"{state.place.topic}/{state.place.partition}: no other replica is in sync")
    return (new, *(each for each in state.replicas if each != new))


def is_reached(kind: LeadershipFaultKind, wanted: Replicas, states: Sequence[PartitionState]) -> bool:
    """Whether partitions have the replicas that are wanted, all in sync, or the leaders where these are what counts."""
    now = {each.place: each for each in states}
    return all(place in now and _is_as_wanted(kind, now[place], replicas) for place, replicas in wanted.items())


def _is_as_wanted(kind: LeadershipFaultKind, state: PartitionState, replicas: tuple[int, ...]) -> bool:
    if kind == REASSIGN:
        return state.replicas == replicas and set(replicas) <= set(state.in_sync)
    # Which replica is preferred may have been read from a broker that had not heard of the last change.
    return state.leader == (state.replicas if kind == ELECT_PREFERRED else replicas)[0]
