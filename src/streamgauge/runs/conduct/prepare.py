"""What is decided about a run before anything of it starts: whether it may, its identity, its cluster, what to tell."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from streamgauge.cluster.data import check_name, check_room
from streamgauge.cluster.disks.mounts import why_not
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.cluster.nodes.security import Security, secrets_of
from streamgauge.cluster.standing import standing
from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.secrets import mask_setting, without_secrets
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.jvm.properties import java_value
from streamgauge.runs.conduct.identity import Identity
from streamgauge.runs.conduct.target import WantedCluster
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import load_scenario, setting_text
from streamgauge.runs.request.trust import check_trust
from streamgauge.scenario import Scenario, document, parse
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.kinds import link_of
from streamgauge.scenario.model.environment.faults.links import groups_of, links_of
from streamgauge.scenario.model.environment.faults.nemesis import Nemesis
from streamgauge.scenario.model.environment.security import MECHANISMS, PROTOCOLS, ClusterSecurity
from streamgauge.workload.pacing import Int64s

_SECTION: Final = "cluster."
_ANY: Final = "baseline"
"""A scenario that asks for nothing of its cluster."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that may start. Nothing in it changes, and nothing of it needs the cluster or the run folder."""

    identity: Identity
    pair: clock.ClockPair
    """When it was decided, on both clocks."""
    scenario: Scenario
    arrivals: Int64s | None
    """Those of a replay."""
    cluster: WantedCluster
    allow_reset: bool
    """Whether an existing topic of the user's cluster may be deleted."""
    out: Path
    """Folder for new run folders."""
    command: Sequence[str]
    hide: Callable[[str], str]
    """Masks the secrets of scenario and connection in what somebody says of the run."""


def prepare_run(request: Request) -> Prepared:
    """A run from what the user asked for.

    Raises BadInput for what was not granted, and for faults that would stop a broker of the user's; where topics are
    taken as they are, also for those that do not fit, and BrokerError where the cluster does not answer.
    """
    check_trust(request.scenario, request.trust)
    request = replace(request, scenario=_adopted(request))
    plan = check_cluster(request)
    used = request.broker.plan if request.broker else plan
    given = {
        "scenario": document(request.scenario),
        "connection": request.connection,
        "cluster": secrets_of(used.security),
    }
    pair = clock.clock_pair()
    return Prepared(
        identity=_identity(request.scenario.name, pair),
        pair=pair,
        scenario=request.scenario,
        arrivals=request.arrivals,
        cluster=WantedCluster(
            request.java,
            plan,
            request.bootstrap,
            request.connection,
            request.broker,
            keep_broker=request.keep_broker,
            admin=request.scenario.topic.client,
        ),
        allow_reset=request.allow_reset,
        out=request.out,
        command=request.command,
        hide=partial(without_secrets, given=given),
    )


def check_cluster(request: Request) -> ClusterPlan:
    """The embedded cluster that a run asks for.

    Raises BadInput for faults that cannot be done to the cluster of the run, for one that is not as it asks, and where
    its data cannot be in the folder of runs.
    """
    _check_faults(request.scenario, request.bootstrap)
    plan = cluster_plan(request.scenario)
    if request.broker:
        _check_shared(request.scenario, plan, request.broker.plan)
    elif not request.bootstrap:
        check_name(request.out)
        check_room(request.out, plan.brokers + plan.controllers)
    if request.keep_broker:
        _check_kept(request.scenario, plan)
    return plan


def _check_kept(scenario: Scenario, plan: ClusterPlan) -> None:
    """Brokers that stay are to be whole when the run is over, also where it was killed."""
    mend = "Leave it out"
    if plan.passing:
        what = "a log directory of its brokers ends with the run, as the scenario has faults of single directories"
    elif plan.links:
        what = "the links of its brokers end with the run, as the scenario has faults of the network"
    elif scenario.harms_cluster:
        what = "the scenario has faults of its cluster, and nobody would undo them if the run were killed"
        mend += ", or start the cluster with `streamgauge broker start` and name it with --bootstrap"
    else:
        return
    raise BadInput.single("--keep-broker", what, mend)


def cluster_plan(scenario: Scenario) -> ClusterPlan:
    """The embedded cluster that a scenario asks for."""
    spec = scenario.cluster
    configs = {name: java_value(value) for name, value in spec.configs.items()}
    security = Security(spec.security.protocol, spec.security.used)
    links = links_of(map(link_of, scenario.faults), groups_of(scenario.brokers, spec.controllers))
    return ClusterPlan(
        scenario.brokers, spec.controllers, spec.racks, spec.heap, configs, security, spec.data_dirs,
        _passing(scenario), links,
    )  # fmt: skip


def plan_of_settings(settings: Sequence[str]) -> ClusterPlan:
    """The cluster of `path=value` settings of the section `cluster` of scenarios, and of nothing else.

    Raises BadInput with all that is wrong with them.
    """
    others = [setting for setting in settings if not setting.startswith(_SECTION)]
    if others:
        mend = f"Write one of the section `cluster` of scenarios, like `{_SECTION}controllers=3`"
        raise BadInput([Fault(f"--set {mask_setting(each)}", "not a setting of a cluster", mend) for each in others])
    return cluster_plan(load_scenario(_ANY, settings))


def settings_of_cluster(brokers: int, security: Security, heap: str | None = None) -> list[str]:
    """Settings of the section `cluster` of scenarios that say this."""
    found = {"brokers": brokers, **({"heap": heap} if heap else {})}
    if security.is_on:
        found["security.protocol"] = security.protocol
    if security.mechanism:
        found["security.mechanism"] = security.mechanism
    return [setting_text(f"{_SECTION}{name}", value) for name, value in found.items()]


def security_of(asked: str | None, where: str) -> Security:
    """How clients and brokers connect, from `PROTOCOL` or `PROTOCOL:MECHANISM`; plain for None.

    Raises BadInput, with the place `where`, for what no cluster can have.
    """
    if asked is None:
        return Security()
    protocol, _, mechanism = asked.partition(":")
    given = {"protocol": protocol} | ({"mechanism": mechanism} if mechanism else {})
    try:
        spec = ClusterSecurity.model_validate(given)
    except ValidationError as error:
        mend = f"Write one of {', '.join(PROTOCOLS)}; after SASL, `:` and one of {', '.join(MECHANISMS)}"
        raise BadInput.single(where, f"{asked!r} is not how brokers can be secured", mend) from error
    return Security(spec.protocol, spec.used)


def _passing(scenario: Scenario) -> frozenset[tuple[int, int]]:
    """Brokers, 0 for all, and their log directories to which faults of a single directory are done."""
    last = scenario.cluster.data_dirs
    return frozenset((fault.number or 0, fault.directory or last) for fault in _of_directories(scenario).values())


def _of_directories(scenario: Scenario) -> dict[int, DiskFault]:
    """The faults of single directories, by their places."""
    disks = {place: fault for place, fault in enumerate(scenario.faults) if isinstance(fault, DiskFault)}
    return {place: fault for place, fault in disks.items() if fault.is_of_one_directory}


def _identity(name: str, pair: clock.ClockPair) -> Identity:
    run_id = f"{clock.local_stamp(pair.wall_ns)}-{name}"
    return Identity(run_id, secrets.randbits(32), f"streamgauge-{run_id}-{secrets.token_hex(3)}")


def _check_shared(scenario: Scenario, plan: ClusterPlan, shared: ClusterPlan) -> None:
    """A cluster that runs share must be what a scenario asks for."""
    brokers = shared.brokers
    asked = {"topic.replication": scenario.topic.replication > brokers}
    asked["cluster.brokers"] = scenario.cluster.brokers not in {None, brokers}
    what, mend = f"the cluster that runs share has {brokers}", "Start one with as many brokers as the scenario needs"
    wrong = [Fault(where, what, mend) for where, is_wrong in asked.items() if is_wrong]
    if plan.data_dirs > shared.data_dirs or not plan.passing <= shared.passing:
        what = "the cluster that runs share has other log directories"
        wrong.append(Fault("cluster.data_dirs", what, "Start a cluster for this run"))
    if plan.security.is_on and plan.security != shared.security:
        what = f"the cluster that runs share has {shared.security.words or shared.security.protocol}"
        wrong.append(Fault("cluster.security", what, "Leave it out, or start a cluster for this run"))
    if not plan.links <= shared.links:
        what = "the cluster that runs share has no proxies on these links"
        wrong.append(Fault("faults", what, "Let the run start a cluster of its own"))
    if wrong:
        raise BadInput(wrong)


def _adopted(request: Request) -> Scenario:
    """The scenario, with the partitions of its topics where it takes them as they are and they are there."""
    scenario = request.scenario
    if not scenario.topic.adopt:
        return scenario
    address = request.broker.bootstrap if request.broker else request.bootstrap
    if address is None:
        return scenario
    cluster = Cluster(address, {} if request.broker else request.connection, own=scenario.topic.client)
    # A table has no partitions.
    names = [name for name in (*scenario.sent_topics, scenario.sink_topic, *scenario.retry_topics) if name]
    counts = {name: cluster.partitions_of(name) for name in names}
    found = {count for count in counts.values() if count is not None}
    if len(found) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items() if count is not None)
        raise BadInput.single(
            "topic.adopt", f"topics have the same number of partitions; {listed}", "Name topics that are alike"
        )
    if not found:
        return scenario
    written = document(scenario)
    return parse({**written, "topic": {**written["topic"], "partitions": found.pop()}})


def _check_faults(scenario: Scenario, bootstrap: str | None) -> None:
    """A cluster of the user's is not ours to stop; and what needs a start of its own needs a cluster of the run's."""
    embedded, wrong = not bootstrap, []
    ours = not bootstrap or bool(scenario.harms_cluster and standing(bootstrap))
    for place, fault in enumerate(scenario.faults):
        if (link := link_of(fault)) and not embedded:
            what = f"{link.kind}: only links of an embedded cluster have proxies, not those of --bootstrap"
            where = f"faults.{place}.{'kinds' if isinstance(fault, Nemesis) else 'between'}"
            wrong.append(Fault(where, what, "Leave --bootstrap out"))
        elif isinstance(fault, DiskFault) and fault.is_of_one_directory and not embedded:
            what = (
                f"{fault.kind}: single directories are prepared when the run starts its brokers, not with --bootstrap"
            )
            wrong.append(Fault(f"faults.{place}.target", what, "Leave --bootstrap out, or use kind: disk-fails"))
        elif fault.needs_own_cluster and not ours:
            what = (
                "is done to the cluster: on a cluster of --bootstrap only producers and consumers can be paused or "
                "killed"
            )
            mend = "Leave --bootstrap out, or start the cluster with `streamgauge broker start`"
            wrong.append(Fault(f"faults.{place}.{'targets' if isinstance(fault, Nemesis) else 'target'}", what, mend))
    if not wrong and (found := _of_directories(scenario)) and (reason := why_not()):
        mend = "Use kind: disk-fails, which needs none of this, or run where FUSE can be used"
        wrong = [Fault(f"faults.{place}.kind", f"{each.kind}: {reason}", mend) for place, each in found.items()]
    if wrong:
        raise BadInput(wrong)
