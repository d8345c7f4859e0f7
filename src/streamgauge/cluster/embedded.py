"""A real Apache Kafka cluster of our own: KRaft, one node or several, on loopback, on ports that it chooses itself."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from streamgauge.cluster import outages, registry
from streamgauge.cluster.data import check_data, check_room
from streamgauge.cluster.jars import BROKER, KAFKA_VERSION, broker_jars, jar_folder
from streamgauge.cluster.links.listeners import Wiring, listeners_of
from streamgauge.cluster.links.network import Network
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.certificates import check_tool, tell_clients, with_kept_user
from streamgauge.cluster.nodes.layout import ClusterPlan, Ports, members_of, names_of, passing_of, properties_of
from streamgauge.cluster.nodes.node import OPTIONS, Mounts, Node, launch, passing, prepare
from streamgauge.cluster.nodes.ports import PortTaken, free_ports
from streamgauge.cluster.nodes.security import SecurityFiles, client_settings
from streamgauge.cluster.nodes.starting import await_start
from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.identity import identify
from streamgauge.processes.jvm.archive import Archive, archive_of
from streamgauge.processes.jvm.compilers import CompilerTime
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.patience import Check, Progress, no_check
from streamgauge.processes.places import archive_folder
from streamgauge.scenario.model.environment.faults.links import groups_of

_KIND: Final = "broker"
_ATTEMPTS: Final = 3
_LEFT: Final[list[EmbeddedBroker]] = []
"""Brokers that outlive us on purpose: a process that runs while its object is collected is taken for a mistake."""


class EmbeddedCluster:
    """A running cluster; as a context manager it is stopped at the end of the block, unless it was detached."""

    version: Final = KAFKA_VERSION

    def __init__(self, nodes: Sequence[EmbeddedBroker], plan: ClusterPlan, network: Network | None = None) -> None:
        self.nodes = tuple(nodes)
        """Brokers, and then the controllers apart from them."""
        self.plan = plan
        self.network = network
        """Its links that lead through proxies; None where there are none."""

    @property
    def brokers(self) -> tuple[EmbeddedBroker, ...]:
        """The nodes that serve clients."""
        return tuple(each for each in self.nodes if each.is_broker)

    @property
    def bootstrap(self) -> str:
        """`host:port` of each broker, for clients."""
        return ",".join(each.bootstrap for each in self.brokers)

    @property
    def connection(self) -> dict[str, str]:
        """Settings with which clients reach it, by librdkafka's names; a password may be among them."""
        return {"bootstrap.servers": self.bootstrap, **client_settings(self.plan.security, self.security)}

    @property
    def security(self) -> SecurityFiles:
        """What guards it; where nothing does, the files are not there."""
        return self.nodes[0].security

    @property
    def bootstraps(self) -> dict[str, str]:
        """The same for sets of clients that have links of their own."""
        names = self.brokers[0].bootstraps
        return {name: ",".join(each.bootstraps[name] for each in self.brokers) for name in names}

    @property
    def names(self) -> list[str]:
        """The names of all lives of all nodes, which their log files bear too."""
        return [name for each in self.nodes for name in each.names]

    @property
    def uses_archive(self) -> bool:
        """Whether all nodes started from an archive of their classes."""
        return all(each.uses_archive for each in self.nodes)

    @property
    def alive(self) -> bool:
        """Whether no process has ended."""
        return all(each.alive for each in self.nodes) and (self.network is None or self.network.alive)

    def how_ended(self) -> str | None:
        """In words, how the brokers ended; None while one of them lives."""
        told = [each.how_ended() for each in self.brokers]
        return None if None in told else ", ".join(map(str, told))

    def check(self) -> None:
        """Return while a broker may answer, or was ended to be started again, and links are carried.

        Raises BrokerError that says how one ended, with the end of its log.
        """
        if not any(each.alive or each.is_down_on_purpose for each in self.brokers):
            self.check_all()
        if self.network:
            self.network.check()

    def check_all(self) -> None:
        """Return while every node lives; raises BrokerError that says how one ended, with the end of its log."""
        for each in self.nodes:
            each.check()
        if self.network:
            self.network.check()

    def lost(self) -> list[str]:
        """In words, how nodes ended that nobody had ended."""
        return [told for each in self.nodes if not each.is_down_on_purpose and (told := each.how_ended())]

    def compiler_time(self) -> CompilerTime:
        """The CPU time that its nodes' JVMs use to compile their code."""
        return CompilerTime(each.pid for each in self.nodes)

    def compile_when_idle(self) -> None:
        """From now on nodes compile their code when nobody else wants a core; not so in a later life of theirs."""
        for each in self.nodes:
            each.compile_when_idle()

    def stop(self) -> None:
        """End all nodes and remove their data if these are temporary. May be called again."""
        if len(self.nodes) > 1 and self.nodes[0].entry.temporary:
            # The last ones would wait for a quorum to let them go, and nobody wants their data.
            self.abort()
            return
        # A node that cannot reach the others would wait for them.
        if self.network:
            self.network.undo()
        for each in self.nodes:
            each.ask_to_stop()
        self._stop()

    def abort(self) -> None:
        """The same at once, as of a start that failed."""
        for each in self.nodes:
            with contextlib.suppress(OSError):
                each.process.kill()
        self._stop()

    def _stop(self) -> None:
        for each in self.nodes:
            each.stop()
        if self.network:
            self.network.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.nodes[0].entry.owner:
            self.stop()
        else:
            _LEFT.extend(self.nodes)


@dataclass(frozen=True, slots=True)
class _Start:
    """What is to be started; what stays the same when it is tried again."""

    plan: ClusterPlan
    nodes: tuple[Node, ...]
    data: Path
    temporary: bool
    check: Check
    mounts: Mapping[str, Mounts]
    """Log directories that pass through us, of nodes by name."""


def start_cluster(
    plan: ClusterPlan | None = None,
    *,
    logs: Path,
    java: Java,
    jars: Sequence[Path] | None = None,
    data: Path | None = None,
    keep_data: bool = False,
    detached: bool = False,
    names: Sequence[str] = (),
    archives: Path | None = None,
    progress: Progress | None = None,
    check: Check = no_check,
) -> EmbeddedCluster:
    """Start a cluster, of one broker without a `plan`, and return it when it serves clients; logs go to `logs`.

    Without `data` its data lie in a temporary folder. They are removed when it stops, unless `keep_data` is set or the
    folder was there before. A broker ends with the thread that started it (Linux), or is ended by the next start after
    that process has gone; a `detached` one stays until it is asked to stop. With `archives`, a folder, it writes an
    archive of its classes there when it stops; else it uses the one that is there.

    Raises BadInput for a data folder in use or unusable, BrokerError with the end of a log if a node does not start,
    and what `check` raises, which is asked some twenty times a second while something is waited for.
    """
    plan = plan or ClusterPlan()
    check_tool(plan.security, java)
    registry.check_writable()
    outages.undo()
    registry.sweep()
    jars = jars or broker_jars(progress, check=check)
    if data is not None:
        check_data(data)
    temporary = not keep_data and (data is None or not data.exists())
    data = (data or Path(tempfile.mkdtemp(prefix="streamgauge-"))).resolve()
    archive = archive_of(_KIND, archives or archive_folder(), java, jars, OPTIONS)
    sharing = [] if archive is None else archive.making if archives else archive.using
    members = members_of(plan, names or names_of(plan))
    security = with_kept_user(plan.security, data if len(members) == 1 else data / members[0].name)
    plan = replace(plan, security=security)
    nodes = tuple(
        Node(
            each.name, each, data / each.name if len(members) > 1 else data, logs.absolute(), java, jars,
            plan.heap_of_node, detached, sharing, plan.security, plan.data_dirs,
            passing_of(plan, each), Wiring(members, plan.links).hosts(each),
        )
        for each in members
    )  # fmt: skip
    if progress:
        several = f", {len(nodes)} nodes" if len(nodes) > 1 else ""
        progress(f"starting Apache Kafka {KAFKA_VERSION}{several}")
    try:
        check_room(data, len(nodes))
        with registry.claimed(data, temporary=temporary):
            with passing(nodes) as mounts:
                # From the end of the block on each node ends its own.
                cluster = _start(_Start(plan, nodes, data, temporary, check, mounts))
            for each in cluster.nodes:
                each.archive = archive if archives else None
            return cluster
    except BaseException:
        if temporary and not registry.brokers_in(data):
            shutil.rmtree(data, ignore_errors=True)
        raise


def archive_of_broker(java: Java) -> Archive | None:
    """The archive that a broker uses if it is there; None where it can have none."""
    return archive_of(_KIND, archive_folder(), java, [jar_folder() / jar.file_name for jar in BROKER.jars()], OPTIONS)


def _start(start: _Start) -> EmbeddedCluster:
    for _ in range(_ATTEMPTS - 1):
        try:
            return _attempt(start)
        except PortTaken:
            continue
    return _attempt(start)


def _attempt(start: _Start) -> EmbeddedCluster:
    """A cluster on ports that are free now; if it does not start, its processes are gone."""
    members = [each.member for each in start.nodes]
    ports = _ports(len(members), listeners_of(start.plan.links))
    wiring = Wiring(members, start.plan.links, ports)
    try:
        for node in start.nodes:
            properties = properties_of(node.member, members, ports, node.storage, start.plan)
            properties |= wiring.settings(node.member, properties)
            formatted = None if node is start.nodes[0] else start.nodes[0]
            prepare(node, properties, formatted, start.check)
    except OSError as error:
        raise BadInput.single(f"data folder {start.data}", f"cannot be used: {error}", "Name another folder") from error
    started: list[EmbeddedBroker] = []
    network = None
    try:
        if start.plan.links:
            # Before a node looks for another one there.
            groups = groups_of(start.plan.brokers, start.plan.controllers)
            network = Network.start(wiring.proxies(), groups, start.nodes[0].logs / "links.log")
        for node in start.nodes:
            started.append(_launched(node, wiring, start))
            registry.register(started[-1].entry)
        await_start(started, start.nodes, start.check)
    except BaseException:
        EmbeddedCluster(started, start.plan, network).abort()
        raise
    cluster = EmbeddedCluster(started, start.plan, network)
    if start.plan.security.is_on:
        tell_clients(start.plan.security, cluster.security, cluster.bootstrap)
    return cluster


def _ports(count: int, more: Sequence[str]) -> Mapping[int, Ports]:
    """Ports of so many nodes, by their numbers, that are free now and that no other node of ours may want again."""
    free = iter(free_ports((2 + len(more)) * count, registry.reserved_ports()))
    return {
        number: Ports(next(free), next(free), {name: next(free) for name in more}) for number in range(1, count + 1)
    }


def _launched(node: Node, wiring: Wiring, start: _Start) -> EmbeddedBroker:
    process, ports = launch(node), wiring.ports[node.member.number]
    entry = registry.Entry(
        name=node.name,
        process=identify(process.pid),
        owner=None if node.detached else identify(os.getpid()),
        bootstrap=f"{LOOPBACK}:{ports.clients}",
        version=KAFKA_VERSION,
        data=node.data,
        temporary=start.temporary,
        log=node.log,
        cluster=start.data,
        ports=(ports.clients, ports.quorum, *ports.more.values()),
        is_broker=node.member.is_broker,
    )
    return EmbeddedBroker(entry, process, node, start.mounts[node.name], wiring.bootstraps(node.member))
