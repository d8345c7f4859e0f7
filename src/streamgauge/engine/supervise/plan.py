"""What a run consists of, what its user may ask meanwhile, and how it went."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.folder.facts import Ending, Phase, WorkerFacts
from streamgauge.engine.observe.looks import Observer
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.ports.clients import OpenOffsets
from streamgauge.engine.ports.disks import StoringBroker
from streamgauge.engine.ports.links import Links
from streamgauge.engine.ports.rows import OpenSink
from streamgauge.engine.ports.workers import Board
from streamgauge.engine.supervise.faults.roles import NO_ROLES, Roles
from streamgauge.engine.supervise.faults.targets import watched_brokers
from streamgauge.engine.worker.observers import ConnectorJob, LookupJob, QueryJob, ReplicasJob, TrackerJob
from streamgauge.engine.worker.roles import ConsumerJob, ProducerJob
from streamgauge.scenario.model.backpressure import Backpressure
from streamgauge.scenario.model.environment.faults.schedule import Occurrence
from streamgauge.workload.pacing import ConstantPacer

PROXY: Final = "proxy"
"""The role of the process that carries links."""


@dataclass(frozen=True, slots=True)
class LagPlan:
    """How lag is sampled."""

    open_offsets: OpenOffsets
    client: ClientSpec
    groups: tuple[str, ...]
    """Names of the groups that commit to the cluster."""
    partitions: int
    """Partitions of each topic."""
    every_ns: int
    timeout_seconds: float
    """Longest wait for an answer of the cluster."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run consists of."""

    run: Path
    producers: Sequence[ProducerJob]
    """What each process that sends has to do."""
    consumers: Sequence[ConsumerJob]
    connectors: Sequence[ConnectorJob]
    brokers: Sequence[StoringBroker]
    """Brokers of our own, which are looked at, and to which faults can be done."""
    places: int
    """Partitions of all topics together: place = number of the topic x partitions + partition."""
    read_places: Sequence[int]
    """The places that each group of consumers reads."""
    warmup_ns: int
    measure_ns: int
    """How long the measure phase lasts at most."""
    drain_ns: int
    open_sink: OpenSink
    read_topics: int = 1
    """How many topics `read_places` are of."""
    network: Links | None = None
    """The links of a cluster of our own; None where nothing is done to any."""
    start_at_ns: int | None = None
    """When the load is to begin, on the monotonic clock; None for at once."""
    until_drained: bool = False
    """Whether the measure phase ends when the groups have read what there was at its begin."""
    until_received: int | None = None
    """After how many messages of all consumers together the measure phase ends; None where that ends nothing."""
    trackers: Sequence[TrackerJob] = ()
    """Who delivers messages again that are not acknowledged in time."""
    query: QueryJob | None = None
    """What stands between the topic that is sent to and the one that is read; None for nothing."""
    lookups: LookupJob | None = None
    """Who asks the table that a query writes; None for nobody."""
    lag: LagPlan | None = None
    """None where lag is not sampled."""
    replicas: ReplicasJob | None = None
    """Who looks at the replicas of partitions; None where each has one."""
    backpressure: Backpressure | None = None
    """What holds producers back; None for nothing."""
    faults: Sequence[Occurrence] = ()
    """What is done to workers and brokers during the measure phase."""
    roles: Roles = NO_ROLES
    """Who tells which broker has a role that a fault names."""

    @property
    def others(self) -> list[Watched]:
        """Processes to look at that are no workers of this run."""
        links = [Watched("links", PROXY, self.network.pid)] if self.network else []
        return watched_brokers(self.brokers) + links

    def observer(self, board: Board) -> Observer:
        """Who takes looks at this run."""
        members = [member for job in self.producers for member in job.members]
        groups = {member.group for job in self.consumers for member in job.members}
        again = bool(self.trackers) or any(job.redelivers for job in self.consumers)
        return Observer(
            board,
            self.warmup_ns,
            self.backpressure,
            self.run.name,
            is_constant=all(isinstance(member.sending.pacer, ConstantPacer) for member in members),
            reads_once=len(groups) <= 1 and self.query is None and not again,
        )

    @property
    def redelivers(self) -> bool:
        """Whether messages are written again, so that logs grow after the load."""
        # A share group delivers again what stands in the log already.
        return bool(self.trackers) or any(job.redelivers and not job.shares for job in self.consumers)

    @property
    def awaits_reading(self) -> bool:
        """Whether the drain waits for readers: for what was sent, or what failed of a topic that is read to its end."""
        sends_to_readers = bool(self.producers) and bool(self.consumers or self.query)
        return sends_to_readers or (self.until_drained and self.redelivers)

    @property
    def is_counted(self) -> bool:
        """Whether the number of messages ends the measure phase."""
        return self.until_received is not None or any(
            member.sending.measured_messages is not None for job in self.producers for member in job.members
        )

    @property
    def is_unacknowledged(self) -> bool:
        """Whether producers are not told when their messages are in the logs."""
        return any(member.client.unacknowledged for job in self.producers for member in job.members)


@dataclass(slots=True)
class Interrupts:
    """How often the user asked to end. Once during the load is stop, drain and analyse; twice is now.

    Before the load there is nothing to analyse, and after it nothing to stop: once is now.
    """

    count: int = 0
    load_began: bool = False
    load_ended: bool = False
    """Whether the workers are gone, also where no load began."""
    breaks: bool = False
    """Whether nobody looks at the count any more: to ask breaks off what is under way."""
    _heeded: int = 0
    """How often may be asked without meaning now."""

    def note(self) -> None:
        """The user asked."""
        self.count += 1

    def begin_load(self) -> None:
        """From now on there is something to lose."""
        self.load_began, self._heeded = True, 1

    def end_load(self) -> None:
        """Everything is sent and drained; what was asked so far is done."""
        self.load_ended, self._heeded = True, min(self.count, self._heeded)

    @property
    def at_once(self) -> bool:
        """Whether the user wants to wait for nothing more."""
        return self.count > self._heeded

    @property
    def in_vain(self) -> bool:
        """Whether the user asked before there was anything to keep."""
        return self.at_once and not self.load_began


@dataclass(frozen=True, slots=True)
class Begun:
    """What is known when the order to go is given, and must be known if everything is killed afterwards."""

    phases: Sequence[Phase]
    """As they are planned."""
    workers: Sequence[WorkerFacts]


@dataclass(slots=True)
class Outcome:
    """How the run went."""

    phases: list[Phase] = field(default_factory=list)
    workers: list[WorkerFacts] = field(default_factory=list)
    load_ended_ns: int | None = None
    drain_ended_ns: int | None = None
    drained: bool | None = None
    ending: Ending = "finished"
    reasons: list[str] = field(default_factory=list)
    cluster_answers: bool = True
    """Whether the cluster could still be asked when the run was over."""
    query_ends: list[int] | None = None
    """Of each partition that a query reads, the first offset that it is not done with."""

    def interrupt(self, reason: str | None = None) -> None:
        """The user would not wait for something; a run that failed before stays failed."""
        if self.ending == "finished":
            self.ending = "interrupted"
        if reason and reason not in self.reasons:
            self.reasons.append(reason)

    def fail(self, reason: str) -> None:
        """The run failed; the first reasons say why."""
        self.ending = "failed"
        if reason not in self.reasons:
            self.reasons.append(reason)
