"""The only place where the engine meets real clients and real files: from a scenario to a plan."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_MS, ClockPair
from streamgauge.domain.errors import BadInput, Fault, WorkerError
from streamgauge.engine.consume.buffer import ARGUMENTS
from streamgauge.engine.consume.loop import Consuming, Reading
from streamgauge.engine.ports.workers import Broker
from streamgauge.engine.produce.compose import Composer, Recipe
from streamgauge.engine.produce.loop import Sending
from streamgauge.engine.produce.stops import Flush, Transactions
from streamgauge.engine.supervise.plan import LagPlan, Plan
from streamgauge.engine.worker.roles import (
    ConnectorJob,
    ConsumerJob,
    ConsumerMember,
    ProducerJob,
    ProducerMember,
)
from streamgauge.kafka.clients.connections import KafkaConnections
from streamgauge.kafka.clients.producer import TRANSACTIONAL_ID, KafkaProducer
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.kafka.clients.settings import NO_SETTINGS, consumer_faults, producer_faults
from streamgauge.kafka.offsets import open_offsets
from streamgauge.processes.functions import JOB_ARGUMENTS, ORACLE_ARGUMENTS, load_function
from streamgauge.record.arrivals import read_arrivals
from streamgauge.record.corpus import read_events
from streamgauge.record.parts import open_sink
from streamgauge.record.table import TableConsumer
from streamgauge.runs.conduct.piping import lookup_job, query_job, table_folder
from streamgauge.scenario import Connections, Consume, Load, Scenario, Setting
from streamgauge.scenario.model import load as loads
from streamgauge.scenario.model.consume import consumer_settings
from streamgauge.scenario.model.pace import Pace, Replay
from streamgauge.scenario.model.pipeline import AGGREGATE, CHANGED
from streamgauge.scenario.model.values import epoch_ns
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.pacing.build import pacer_of

MESSAGE_TIMEOUT: Final = "message.timeout.ms"
MESSAGE_TIMEOUT_DEFAULT_MS: Final = 300_000
"""librdkafka's."""
LAG_TIMEOUT_SECONDS: Final = 1.0
"""A sample of lag that has no answer by then has failed."""
FETCH_BACKOFF: Final = {"fetch.queue.backoff.ms": 10}
"""librdkafka's second makes a fast consumer stand still whenever its queue was full."""

Settings = Mapping[str, Setting]
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

    def groups(self, scenario: Scenario) -> tuple[str, ...]:
        """The names of its groups of consumers."""
        count = scenario.consume.groups if scenario.consume else 0
        return (self.group,) if count == 1 else tuple(f"{self.group}-{number}" for number in range(count))


def check_settings(scenario: Scenario, connection: Settings = NO_SETTINGS) -> None:
    """Ask the client about the scenario's settings before anything starts; raises BadInput with all faults."""
    faults = []
    if load := scenario.load:
        transacted = {TRANSACTIONAL_ID: "check"} if load.transactions else {}
        faults += producer_faults("load.client", load.client, {**connection, **transacted})
    if scenario.consume:
        faults += consumer_faults("consume.client", scenario.consume.client, connection)
    if faults:
        raise BadInput(faults)


def read_materials(scenario: Scenario) -> Int64s | None:
    """Look at what a scenario names outside itself, files and functions, before anything starts.

    Returns the arrivals of a replay, None where there is none; raises BadInput with all that cannot be used.
    """
    faults: list[Fault] = []
    arrivals = None
    load = scenario.load
    try:
        arrivals = arrivals_of(scenario)
    except BadInput as error:
        faults += error.faults
    if load and load.is_from_outside:
        try:
            Composer(_recipe(scenario, load, 0, 0), 1).compose(np.zeros(1, np.int64), None, 0)
        except BadInput as error:
            faults += [Fault(f"load: {fault.where}", fault.what, fault.mend) for fault in error.faults]
        except WorkerError as error:
            faults.append(Fault("load.payload", str(error), "Correct the function, or name another"))
    for where, name, arguments in _functions(scenario):
        try:
            load_function(name, arguments)
        except WorkerError as error:
            faults.append(Fault(where, str(error), "Correct the function, or name another"))
    if faults:
        raise BadInput(faults)
    return arrivals


def arrivals_of(scenario: Scenario) -> Int64s | None:
    """The arrivals of a replay; None where there is none. Raises BadInput where they cannot be read."""
    replay = replayed(scenario.load) if scenario.load else None
    return read_arrivals(Path(replay.file), replay.column) if replay else None


def replayed(load: Load) -> Replay | None:
    """What a load replays; None for one that follows a shape."""
    return load.rate.replay if isinstance(load.rate, Pace) else None


def _functions(scenario: Scenario) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Functions of the user's: where the scenario names each, its name, and what it is called with."""
    processing = scenario.consume.processing if scenario.consume else None
    if processing and processing.function:
        yield "consume.processing.function", processing.function, ARGUMENTS
    job = scenario.pipeline.job.function if scenario.pipeline else None
    if job:
        yield "pipeline.job.function.call", job.call, JOB_ARGUMENTS
    if job and job.expects:
        yield "pipeline.job.function.expects", job.expects, ORACLE_ARGUMENTS


def plan_of(
    scenario: Scenario,
    identity: Identity,
    connection: Settings,
    run: Path,
    brokers: Sequence[Broker],
    *,
    pair: ClockPair,
    starts: Sequence[int] = (),
    arrivals: Int64s | None = None,
) -> Plan:
    """The plan that carries a scenario out on the cluster of `connection`.

    `brokers` are those of our own. `starts` are the offsets where a query begins, one for each partition; `arrivals`
    are those of a replay.
    """
    load, consume, phases = scenario.load, scenario.consume, scenario.phases
    return Plan(
        run=run,
        producers=[] if load is None else _producers(scenario, load, identity, connection, arrivals),
        consumers=[] if consume is None else _consumers(scenario, consume, identity, connection, run),
        connectors=_connectors(scenario, scenario.connections, identity, connection) if scenario.connections else [],
        brokers=brokers,
        places=scenario.places,
        read_places=_read_places(scenario),
        warmup_ns=phases.warmup,
        measure_ns=phases.measure_ns,
        drain_ns=phases.drain,
        open_sink=open_sink,
        start_at_ns=None if phases.start_at is None else epoch_ns(phases.start_at) - pair.wall_ns + pair.monotonic_ns,
        query=query_job(scenario, scenario.pipeline, identity.query, connection, run, starts)
        if scenario.pipeline
        else None,
        lookups=lookup_job(scenario, run),
        lag=_lag(scenario, identity, connection),
        backpressure=scenario.backpressure,
        faults=scenario.faults,
        until_drained=load is None and consume is not None and (phases.is_drained or start_of(scenario) == "earliest"),
    )


def _producers(
    scenario: Scenario, load: Load, identity: Identity, connection: Settings, arrivals: Int64s | None
) -> list[ProducerJob]:
    settings = {**connection, **producer_settings(load, scenario.phases.drain)}
    members = []
    for number in range(load.producers):
        client_id = f"{identity.id}-producer-{number}"
        transacted = {TRANSACTIONAL_ID: client_id} if load.transactions else {}
        members.append(
            ProducerMember(
                client=ClientSpec(
                    worker=f"producer-{number}",
                    topics=scenario.sent_topics,
                    settings={**settings, **transacted, "client.id": client_id},
                    stamp_in_header=load.stamped_in_headers,
                ),
                recipe=_recipe(scenario, load, identity.tag, number),
                sending=sending_of(scenario, load, number, arrivals),
            )
        )
    held_back = scenario.backpressure is not None
    return [ProducerJob(KafkaProducer, part, held_back) for part in dealt(members, load.processes)]


def _recipe(scenario: Scenario, load: Load, tag: int, number: int) -> Recipe:
    return Recipe(
        producer=number,
        tag=tag,
        payload=load.payload,
        size=load.size,
        seed=scenario.seed,
        in_headers=load.stamped_in_headers,
        scheduled=load.has_schedule,
        keys=load.keys,
        topics=topics_of(number, load.producers, len(scenario.sent_topics)),
        partition=load.partition,
        partitions=scenario.topic.partitions,
        producers=load.producers,
        read_events=read_events,
    )


def sending_of(scenario: Scenario, load: Load, number: int, arrivals: Int64s | None) -> Sending:
    """How one producer sends; `arrivals` are those of a replay."""
    whole = scenario.measured_messages
    return Sending(
        pacer=pacer_of(
            load.rate,
            producer=number,
            producers=load.producers,
            seed=scenario.seed,
            warmup_ns=scenario.phases.warmup,
            arrivals=arrivals,
        ),
        flush=_flush(load),
        transactions=_transactions(load.transactions),
        resend=load.resend,
        drops_held=scenario.backpressure is not None and scenario.backpressure.held == "drop",
        measured_messages=None if whole is None else len(range(number, whole, load.producers)),
    )


def _flush(load: Load) -> Flush | None:
    """A closed loop waits for reports without hurrying them: what lingers is part of what it measures."""
    if load.batch is not None:
        return Flush(load.batch, hurries=False)
    if isinstance(load.flush, loads.Flush):
        return Flush(load.flush.mean, load.flush.deviation)
    return None if load.flush is None else Flush(load.flush)


def _transactions(asked: loads.Transactions | None) -> Transactions | None:
    return Transactions(asked.messages, asked.interval, asked.abort) if asked else None


def _consumers(
    scenario: Scenario, consume: Consume, identity: Identity, connection: Settings, run: Path
) -> list[ConsumerJob]:
    load, table = scenario.load, table_folder(scenario, run)
    # A table is read where it is.
    topics = (*scenario.sent_topics, str(table)) if table else scenario.topic_names
    settings = {**FETCH_BACKOFF, **connection, **consumer_settings(consume)}
    members = []
    for number in range(consume.consumers * consume.groups):
        group, place = divmod(number, consume.consumers)
        dealt_out = consume.partitions_of(place)
        members.append(
            ConsumerMember(
                client=ClientSpec(
                    worker=f"consumer-{number}",
                    topics=topics,
                    settings={
                        **settings,
                        "group.id": identity.groups(scenario)[group],
                        # Every partition has a committed offset; without one something is wrong and must not be hidden.
                        "auto.offset.reset": "error",
                        "client.id": f"{identity.id}-consumer-{number}",
                    },
                    stamp_in_header=_stamp_in_header(scenario),
                    assigned=None
                    if dealt_out is None
                    else tuple((topic, each) for topic in scenario.read_topics for each in dealt_out),
                    reads=scenario.read_topics,
                    # What somebody else sends may be transactions, whose ends lie where no message is.
                    sees_ends=load is None or load.transactions is not None,
                ),
                reading=Reading(tag=identity.tag if load else None, verify_every=_verify_every(scenario)),
                consuming=Consuming(
                    topics=scenario.topic_names,
                    partitions=scenario.topic.partitions,
                    processing=consume.processing,
                    buffer=consume.in_hand,
                    commit=consume.commit,
                    per_second=consume.rate_per_consumer,
                    seed=scenario.seed,
                    who=(group, place),
                ),
                group=group,
                number=number,
            )
        )
    credit = scenario.backpressure.credit if scenario.backpressure else None
    # Behind a pipeline it is the query that says what is done with.
    tells = credit is not None and scenario.pipeline is None
    opens = TableConsumer if table else KafkaReader
    parts = dealt(members, consume.processes)
    return [ConsumerJob(opens, part, hold=load is None, tells_progress=tells) for part in parts]


def _verify_every(scenario: Scenario) -> int | None:
    """The n where every n-th message is verified: none where a job changes what is in them."""
    changes = scenario.pipeline is not None and scenario.pipeline.job.does in {CHANGED, AGGREGATE}
    return None if changes else scenario.verify_every


def _stamp_in_header(scenario: Scenario) -> bool | None:
    """Where consumers find stamps: where producers put them; None, to look, where a job may move them."""
    if scenario.load is None or (scenario.pipeline and scenario.pipeline.job.does in {CHANGED, AGGREGATE}):
        return None
    return scenario.load.stamped_in_headers


def _connectors(
    scenario: Scenario, connections: Connections, identity: Identity, connection: Settings
) -> list[ConnectorJob]:
    client = ClientSpec(
        worker="connector-0",
        topics=scenario.topic_names,
        settings={**connection, "client.id": f"{identity.id}-connector-0"},
    )
    return [ConnectorJob(KafkaConnections, client, connections.work)]


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
    return LagPlan(open_offsets, client, groups, scenario.topic.partitions, every_ns, LAG_TIMEOUT_SECONDS)


def _read_places(scenario: Scenario) -> list[int]:
    """The places that each group of consumers reads: all of its topics, or those of the partitions that it is given."""
    partitions = scenario.topic.partitions
    read = [topic * partitions + each for topic in scenario.read_topics for each in range(partitions)]
    if scenario.pipeline and scenario.pipeline.table:
        return read[:1]
    wanted = scenario.consume.partitions if scenario.consume else None
    return [place for place in read if wanted is None or place % partitions in wanted]


def dealt(members: Sequence[_Member], processes: int | None) -> list[tuple[_Member, ...]]:
    """The members of each process: neighbours together, and as many in one as in another, or one more."""
    count, processes = len(members), processes or len(members)
    edges = [count * process // processes for process in range(processes + 1)]
    return [tuple(members[begin:end]) for begin, end in pairwise(edges)]


def topics_of(producer: int, producers: int, topics: int) -> tuple[int, ...]:
    """The topics of one producer: every topic has as many producers as another, or each producer as many topics."""
    if producers >= topics:
        return (producer % topics,)
    return tuple(range(producer, topics, producers))


def producer_settings(load: Load, drain_ns: int) -> dict[str, Setting]:
    """The scenario's settings of the producing client, with the life of a message bounded by the drain."""
    asked = load.client.get(MESSAGE_TIMEOUT, MESSAGE_TIMEOUT_DEFAULT_MS)
    asked_ms = int(asked) or MESSAGE_TIMEOUT_DEFAULT_MS
    return {**load.client, MESSAGE_TIMEOUT: max(1, min(asked_ms, drain_ns // NS_PER_MS))}


def start_of(scenario: Scenario) -> str | int:
    """Where the groups begin: `earliest`, `latest`, or at a time, in milliseconds since 1970."""
    consume = scenario.consume
    if consume is None or (consume.start == "auto" and scenario.load):
        return "latest"
    return "earliest" if consume.start == "auto" else consume.start if consume.start_ms is None else consume.start_ms
