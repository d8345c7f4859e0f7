"""From a scenario to a plan: the only place where the engine meets real clients and real files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import ClockPair
from streamgauge.engine.ports.clients import OpenProducer, OpenReader
from streamgauge.engine.ports.disks import StoringBroker
from streamgauge.engine.ports.links import Links
from streamgauge.engine.supervise.faults.roles import Roles
from streamgauge.engine.supervise.plan import LagPlan, Plan
from streamgauge.engine.worker.observers import ConnectorJob, ReplicasJob
from streamgauge.kafka.carriers.share.asking import open_share_offsets
from streamgauge.kafka.clients.connections import KafkaConnections
from streamgauge.kafka.clients.producer import KafkaProducer
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.kafka.clients.settings import Settings
from streamgauge.kafka.metadata.leadership import KafkaLeadership
from streamgauge.kafka.metadata.quorum import KafkaQuorum
from streamgauge.kafka.metadata.replicas import KafkaReplicas
from streamgauge.kafka.offsets import open_offsets
from streamgauge.record.parts import open_sink
from streamgauge.runs.conduct.consumers import consumers_of, start_of, trackers_of
from streamgauge.runs.conduct.identity import Identity
from streamgauge.runs.conduct.producers import producers_of
from streamgauge.runs.conduct.query import lookup_job, query_job
from streamgauge.scenario import Connections, Scenario
from streamgauge.scenario.model.environment.faults.schedule import occurrences
from streamgauge.scenario.model.values import epoch_ns
from streamgauge.workload.pacing import Int64s

LAG_TIMEOUT_SECONDS: Final = 1.0
"""A sample of lag that has no answer by then has failed."""


def plan_of(
    scenario: Scenario,
    identity: Identity,
    connection: Settings,
    run: Path,
    brokers: Sequence[StoringBroker],
    *,
    pair: ClockPair,
    network: Links | None = None,
    bootstraps: Mapping[str, str] | None = None,
    starts: Sequence[int] = (),
    arrivals: Int64s | None = None,
    open_producer: OpenProducer = KafkaProducer,
    open_reader: OpenReader = KafkaReader,
) -> Plan:
    """The plan that carries a scenario out on the cluster of `connection`.

    `brokers` are those of our own, and `network` their links that faults can be done to; `bootstraps` are the addresses
    for sets of clients that have links of their own. `starts` are the offsets where a query begins, one for each
    partition; `arrivals` are those of a replay.
    """
    load, consume, phases = scenario.load, scenario.consume, scenario.phases

    def of(clients: str) -> Settings:
        addresses = (bootstraps or {}).get(clients)
        return {**connection, "bootstrap.servers": addresses} if addresses else connection

    return Plan(
        run=run,
        producers=[]
        if load is None
        else producers_of(scenario, load, identity, of("producers"), arrivals, open_producer),
        consumers=[]
        if consume is None
        else consumers_of(scenario, consume, identity, of("consumers"), run, open_reader, pair),
        trackers=trackers_of(scenario, consume.markers, identity, of("consumers"))
        if consume and consume.markers
        else [],
        connectors=_connectors(scenario, scenario.connections, identity, connection) if scenario.connections else [],
        brokers=brokers,
        network=network,
        places=scenario.places,
        read_places=_read_places(scenario),
        read_topics=max(1, len(scenario.read_topics)),
        warmup_ns=phases.warmup,
        measure_ns=phases.measure_ns,
        drain_ns=phases.drain,
        open_sink=open_sink,
        start_at_ns=None if phases.start_at is None else epoch_ns(phases.start_at) - pair.wall_ns + pair.monotonic_ns,
        query=query_job(scenario, scenario.pipeline, identity.query, of("pipeline"), run, starts)
        if scenario.pipeline
        else None,
        lookups=lookup_job(scenario, run),
        lag=_lag(scenario, identity, connection),
        replicas=_replicas(scenario, identity, connection) if asks_for_replicas(scenario, len(brokers)) else None,
        backpressure=scenario.backpressure,
        faults=occurrences(scenario.faults, scenario.phases.measure_ns, scenario.seed),
        roles=_roles(scenario, identity, connection),
        until_received=scenario.received_messages,
        until_drained=load is None and consume is not None and (phases.is_drained or start_of(scenario) == "earliest"),
    )


def _connectors(
    scenario: Scenario, connections: Connections, identity: Identity, connection: Settings
) -> list[ConnectorJob]:
    client = ClientSpec(
        worker="connector-0",
        topics=scenario.topic_names,
        settings={**connection, "client.id": f"{identity.id}-connector-0"},
    )
    return [ConnectorJob(KafkaConnections, client, connections.work)]


def asks_for_replicas(scenario: Scenario, nodes: int) -> bool:
    """Whether leaders, replicas or the controller can change; `nodes` are those of the cluster if it is our own.

    The looks cost requests: of one replica on the user's cluster, or on one node that nothing is done to, there is
    nothing to see that messages do not show.
    """
    return scenario.topic.replication > 1 or nodes > 1 or scenario.harms_cluster


def _replicas(scenario: Scenario, identity: Identity, connection: Settings) -> ReplicasJob:
    """Who looks at replicas, leaders and the controller."""
    settings = {**connection, "client.id": f"{identity.id}-replicas"}
    client = ClientSpec(worker="replicas", topics=scenario.sent_topics, settings=settings)
    return ReplicasJob(KafkaReplicas, KafkaQuorum, client, scenario.topic.partitions, LAG_TIMEOUT_SECONDS)


def _roles(scenario: Scenario, identity: Identity, connection: Settings) -> Roles:
    """Who tells which broker has a role: nobody where no fault is done to the cluster."""
    topics, groups = scenario.sent_topics, identity.groups(scenario)
    settings = {**connection, "client.id": f"{identity.id}-faults"}
    administrator = KafkaLeadership(settings, topics) if scenario.harms_cluster else None
    return Roles(administrator, topics, groups, scenario.seed)


def _lag(scenario: Scenario, identity: Identity, connection: Settings) -> LagPlan | None:
    """How lag is sampled; where there is no load and nobody reads there is none."""
    if scenario.lag is None or (scenario.load is None and scenario.consume is None):
        return None
    # A table is no topic: nobody commits what was read of it.
    is_table = scenario.pipeline is not None and scenario.pipeline.table is not None
    client = ClientSpec(
        worker="lag",
        topics=scenario.sent_topics if is_table else scenario.topic_names,
        settings={**connection, "client.id": f"{identity.id}-lag"},
    )
    every_ns = scenario.lag.every
    groups = () if is_table else identity.groups(scenario)
    shares = scenario.consume is not None and scenario.consume.share is not None
    opens = open_share_offsets if shares else open_offsets
    return LagPlan(opens, client, groups, scenario.topic.partitions, every_ns, LAG_TIMEOUT_SECONDS)


def _read_places(scenario: Scenario) -> list[int]:
    """The places that each group of consumers reads: all of its topics, or those of the partitions that it is given."""
    partitions = scenario.topic.partitions
    read = [topic * partitions + each for topic in scenario.read_topics for each in range(partitions)]
    if scenario.pipeline and scenario.pipeline.table:
        return read[:1]
    wanted = scenario.consume.partitions if scenario.consume else None
    return [place for place in read if wanted is None or place % partitions in wanted]
