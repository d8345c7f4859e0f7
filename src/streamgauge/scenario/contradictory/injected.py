"""Faults to inject that do not fit the rest of a scenario."""

from collections.abc import Iterator, Sequence

from streamgauge.domain.errors import Fault
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.families import DISK_FAILS, FAMILIES, LEADERSHIP
from streamgauge.scenario.model.environment.faults.fault import BROKER, PAUSE
from streamgauge.scenario.model.environment.faults.kinds import DoneFault, Injected
from streamgauge.scenario.model.environment.faults.leadership import ELECT_PREFERRED, LeadershipFault
from streamgauge.scenario.model.environment.faults.nemesis import Nemesis
from streamgauge.scenario.model.environment.faults.processes import (
    CONTROLLER,
    DRIVER,
    EXECUTOR,
    EXECUTORS,
    QUORUM,
    ProcessFault,
)
from streamgauge.scenario.model.environment.faults.schedule import Occurrence, occurrences
from streamgauge.scenario.model.environment.faults.targets import ByRole
from streamgauge.scenario.model.environment.faults.when import Condition
from streamgauge.scenario.model.pipeline import Pipeline
from streamgauge.scenario.model.scenario import Scenario

_TARGET = "Name a target that the run has"


def injected(scenario: Scenario) -> Iterator[Fault]:
    """What a fault is done to must be there, at a time when it can be."""
    found = occurrences(scenario.faults, scenario.phases.measure_ns, scenario.seed)
    for place, fault in enumerate(scenario.faults):
        where = f"faults.{place}"
        yield from _begins(scenario, fault, where)
        if isinstance(fault, ProcessFault | DiskFault):
            yield from _process(scenario, fault, f"{where}.target")
        elif isinstance(fault, LeadershipFault):
            yield from _leadership(scenario, fault, f"{where}.target")
            yield from _moved(scenario, fault, f"{where}.to")
        elif isinstance(fault, Nemesis):
            yield from _nemesis(scenario, fault, where, [each.fault for each in found if each.place == place])
    if later := _first_overlap(found):
        what = f"{later.fault.target} is still down when the next fault begins"
        yield Fault("faults", what, "Let one end before the other begins")


def _begins(scenario: Scenario, fault: Injected, where: str) -> Iterator[Fault]:
    if fault.at >= scenario.phases.measure_ns:
        yield Fault(f"{where}.at", "lies after the measure phase", "Write an earlier time, or measure for longer")
    elif fault.at + (fault.for_ or 0) > scenario.phases.measure_ns:
        yield Fault(f"{where}.for", "ends after the measure phase", "Make it shorter, or measure for longer")
    if fault.when:
        yield from _condition(scenario, fault.when, f"{where}.when")


def _condition(scenario: Scenario, when: Condition, where: str) -> Iterator[Fault]:
    if when.sent is not None and scenario.load is None:
        yield Fault(where, "sent: nothing is sent", "Write `received`, or add a load")
    if when.received is not None and scenario.consume is None:
        yield Fault(where, "received: nothing is consumed", "Write `sent`, or add a consume")
    if when.lag is not None and (scenario.lag is None or scenario.consume is None):
        yield Fault(where, "lag: it is not sampled", "Write how often, like `lag: {every: 200ms}`, or add a consume")


def _process(scenario: Scenario, fault: ProcessFault | DiskFault, where: str) -> Iterator[Fault]:
    markers = scenario.consume.markers if scenario.consume else None
    counts = {
        "producer": scenario.producers,
        "consumer": scenario.consumers * scenario.consume.groups if scenario.consume else 0,
        "tracker": markers.trackers if markers else 0,
        CONTROLLER: int(scenario.backpressure is not None),
        BROKER: scenario.brokers,
        QUORUM: scenario.cluster.controllers,
        DRIVER: int(scenario.pipeline is not None),
        EXECUTOR: EXECUTORS if _has_cluster(scenario.pipeline) else 0,
    }
    if (fault.number or 0) - fault.first >= counts[fault.role]:
        apart = " apart from the brokers" if fault.role == QUORUM else ""
        known = f"the run has {counts[fault.role] or 'none'}{apart}"
        yield Fault(where, f"{fault.target}: {known}", _TARGET)
    elif fault.target == BROKER and scenario.brokers > 1:
        what = f"{fault.target}: the cluster has {scenario.brokers}"
        yield Fault(where, what, "Write broker-1 or another number, or brokers for all")
    elif fault.by_role:
        if isinstance(fault, DiskFault) and fault.by_role.role == "controller" and scenario.cluster.controllers:
            what = f"{fault.target}: controllers apart from the brokers have no log directories"
            yield Fault(where, what, "Name a broker, or leave cluster.controllers out")
        yield from of_role(scenario, fault.target, fault.by_role, where)


def of_role(scenario: Scenario, target: str, wanted: ByRole, where: str) -> Iterator[Fault]:
    """What a role needs must be there."""
    if wanted.role in {"leader", "follower"}:
        yield from _partition(scenario, target, wanted.topic, wanted.partition, where)
    if wanted.role == "follower" and scenario.topic.replication == 1:
        yield Fault(where, f"{target}: a partition of one replica has no follower", "Raise topic.replication")
    if wanted.role == "coordinator" and wanted.group is None and scenario.consume is None:
        yield Fault(where, f"{target}: the run has no group", "Name one, like coordinator-of:my-group")


def _partition(scenario: Scenario, target: str, topic: str | None, number: int | None, where: str) -> Iterator[Fault]:
    if topic is not None and topic not in scenario.topic_names:
        yield Fault(where, f"{target}: the run has no topic {topic}", f"Name one of {', '.join(scenario.topic_names)}")
    elif number is not None and number >= scenario.topic.partitions:
        what = f"{target}: the topic has the partitions 0 to {scenario.topic.partitions - 1}"
        yield Fault(where, what, "Name one of them, or raise topic.partitions")


def _leadership(scenario: Scenario, fault: LeadershipFault, where: str) -> Iterator[Fault]:
    yield from _partition(scenario, fault.target, *fault.meant, where)
    if fault.kind != ELECT_PREFERRED and scenario.brokers == 1:
        yield Fault(where, f"{fault.kind} needs several brokers", "Raise topic.replication or cluster.brokers")


def _moved(scenario: Scenario, fault: LeadershipFault, where: str) -> Iterator[Fault]:
    if fault.to and max(fault.to) > scenario.brokers:
        what = f"{max(fault.to)}: the cluster has {scenario.brokers} brokers"
        yield Fault(where, what, "Name brokers that the cluster has")
    elif fault.to and len(fault.to) != scenario.topic.replication:
        what = f"{len(fault.to)} brokers for {scenario.topic.replication} replicas"
        yield Fault(where, what, "Name as many brokers as topic.replication")


def _nemesis(scenario: Scenario, fault: Nemesis, where: str, drawn: Sequence[DoneFault]) -> Iterator[Fault]:
    if not drawn:
        what, mend = "no fault begins in the measure phase", "Write a shorter pace, or measure for longer"
        yield Fault(f"{where}.pace", what, mend)
    for kind in fault.kinds:
        if kind in FAMILIES[LEADERSHIP]:
            some = LeadershipFault.model_validate({"kind": kind, "target": "partitions", "at": "0s"})
            yield from _leadership(scenario, some, f"{where}.kinds")
    model, of = (DiskFault, DISK_FAILS) if DISK_FAILS in fault.kinds else (ProcessFault, PAUSE)
    for target in fault.targets:
        some_process = model.model_validate({"kind": of, "target": target, "at": "0s", "for": "1s"})
        yield from _process(scenario, some_process, f"{where}.targets")


def _first_overlap(found: list[Occurrence]) -> Occurrence | None:
    """The first fault whose target is under another one, as far as that is known before the run."""
    under: list[Occurrence] = []
    for later in found:
        if not isinstance(later.fault, ProcessFault | DiskFault) or later.fault.when or later.fault.by_role:
            continue
        under = [each for each in under if each.at_ns + each.lasts_ns > later.at_ns]
        if any(isinstance(each.fault, ProcessFault | DiskFault) and _same(each.fault, later.fault) for each in under):
            return later
        under.append(later)
    return None


def _same(one: ProcessFault | DiskFault, other: ProcessFault | DiskFault) -> bool:
    """Whether they are done to the same process: `brokers` are also `broker-1`."""
    return one.role == other.role and (one.number is None or other.number is None or one.number == other.number)


def _has_cluster(pipeline: Pipeline | None) -> bool:
    return pipeline is not None and pipeline.engine.client is None and pipeline.master is not None
