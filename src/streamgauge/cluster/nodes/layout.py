"""What the nodes of a cluster of our own are, and how each of them is configured; arithmetic only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from streamgauge.cluster.nodes.security import Security, SecurityFiles, listener_settings
from streamgauge.domain.text.address import LOOPBACK

VOTERS: Final = 3
"""Brokers that are controllers, too, in a cluster that has no others: one may fail."""
_LONE_HEAP: Final = "1g"
_HEAP: Final = "512m"
"""Of each node where there are several."""
_INTERNAL: Final = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
"""How the settings of Kafka's own topics begin."""

_SHARE: Final = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.max.delivery.count.limit": "25",
    "group.share.max.partition.max.record.locks": "10000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.assignment.interval.ms": "0",
}
"""The widest bounds for the settings of share groups; and members join in half a second, not in five."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """What a cluster of our own consists of."""

    brokers: int = 1
    controllers: int = 0
    """Controllers apart from the brokers; with 0, up to three of the brokers are controllers, too."""
    racks: int = 0
    """Racks that the brokers are spread over, `rack-0` and so on; 0 for none."""
    heap: str | None = None
    """Java heap of each node; None for what their number suggests."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """Settings of every node."""
    security: Security = field(default_factory=Security)
    """How clients and brokers connect."""
    data_dirs: int = 1
    """Log directories of each broker."""
    passing: frozenset[tuple[int, int]] = frozenset()
    """Numbers of nodes, 0 for each broker, and of their log directories that pass through us for faults."""
    links: frozenset[tuple[str, str]] = frozenset()
    """Who opens connections to which node through a proxy, by their names: a set of clients or a node, and a node."""

    @property
    def heap_of_node(self) -> str:
        """Java heap of each node, like `1g`."""
        return self.heap or (_LONE_HEAP if self.brokers + self.controllers == 1 else _HEAP)


@dataclass(frozen=True, slots=True)
class Member:
    """One node of a cluster."""

    number: int
    """Kafka's `node.id`, from 1."""
    name: str
    is_broker: bool = True
    is_controller: bool = True
    rack: str | None = None


def names_of(plan: ClusterPlan, base: str = "") -> list[str]:
    """Names of the nodes, brokers first: `broker-1`, `broker-2`, `controller-1`; with a base, `base-1`, `base-2`.

    A single node with a base has the base as its name.
    """
    nodes = plan.brokers + plan.controllers
    if base:
        return [base] if nodes == 1 else [f"{base}-{number}" for number in range(1, nodes + 1)]
    brokers = [f"broker-{number}" for number in range(1, plan.brokers + 1)]
    return [*brokers, *(f"controller-{number}" for number in range(1, plan.controllers + 1))]


def members_of(plan: ClusterPlan, names: Sequence[str]) -> list[Member]:
    """The nodes of a cluster, brokers first, with these names.

    An even number of voters tolerates no more failures than one voter less: of two brokers one is a controller.
    """
    voters = 0 if plan.controllers else VOTERS if plan.brokers >= VOTERS else 1
    found = []
    for place, name in enumerate(names):
        is_broker = place < plan.brokers
        rack = f"rack-{place % plan.racks}" if is_broker and plan.racks else None
        found.append(Member(place + 1, name, is_broker, not is_broker or place < voters, rack))
    return found


def passing_of(plan: ClusterPlan, member: Member) -> tuple[int, ...]:
    """The log directories of a node that pass through us, by number from 1."""
    if not member.is_broker:
        return ()
    return tuple(sorted({directory for node, directory in plan.passing if node in {0, member.number}}))


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a node listens, on loopback."""

    clients: int
    """For clients and other brokers."""
    quorum: int
    """For the controllers' quorum."""
    more: Mapping[str, int] = field(default_factory=dict)
    """For those who connect through proxies, by the name of the listener."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Folders of a node."""

    logs: Path
    """Where a broker keeps topics; Kafka calls it a log directory."""
    metadata: Path
    """Where a node keeps the metadata log."""
    more: tuple[Path, ...] = ()
    """Further log directories."""
    security: SecurityFiles = field(default_factory=lambda: SecurityFiles(Path()))
    """What guards it."""

    @property
    def log_dirs(self) -> tuple[Path, ...]:
        """All log directories."""
        return (self.logs, *self.more)


def properties_of(
    member: Member, members: Sequence[Member], ports: Mapping[int, Ports], storage: Storage, plan: ClusterPlan
) -> dict[str, str]:
    """The configuration of a node; `ports` by number of node."""
    own, protocol = ports[member.number], plan.security.protocol
    clients, quorum = f"{protocol}://{LOOPBACK}:{own.clients}", f"CONTROLLER://{LOOPBACK}:{own.quorum}"
    roles = [("broker", member.is_broker, clients), ("controller", member.is_controller, quorum)]
    voters = [f"{each.number}@{LOOPBACK}:{ports[each.number].quorum}" for each in members if each.is_controller]
    found = {
        "process.roles": ",".join(role for role, has, _ in roles if has),
        "node.id": str(member.number),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(listener for _, has, listener in roles if has),
        "log.dirs": ",".join(map(str, storage.log_dirs)),
        "metadata.log.dir": str(storage.metadata),
        "auto.create.topics.enable": "false",
        # Without it the first consumer gets all partitions, and learns of others with its next heartbeat, after 3 s.
        "group.initial.rebalance.delay.ms": "200",
        **_SHARE,
        # Nothing that a run wrote may expire before it is read.
        "log.retention.ms": "-1",
        **_internal(plan.brokers),
        **listener_settings(plan.security, storage.security),
    }
    if member.is_broker:
        found |= {"advertised.listeners": clients, "inter.broker.listener.name": protocol}
    if member.rack:
        found["broker.rack"] = member.rack
    return {**found, **plan.configs}


def _internal(brokers: int) -> dict[str, str]:
    """Kafka's own topics: as many replicas as may fail with a majority left; a few groups need no fifty partitions."""
    replicas = min(3, brokers)
    found: dict[str, str] = {}
    for topic in _INTERNAL:
        found |= {f"{topic}.num.partitions": "4", f"{topic}.replication.factor": str(replicas)}
        # The topic of committed offsets has no setting of its own for this.
        if topic != "offsets.topic":
            found[f"{topic}.min.isr"] = str(max(1, replicas - 1))
    return found
