"""From a scenario to the jobs of its producers."""

from streamgauge.domain.blocks import ClientSpec
from streamgauge.engine.ports.clients import OpenProducer
from streamgauge.engine.produce.loop import Sending
from streamgauge.engine.produce.sources import Recipe
from streamgauge.engine.produce.stops import FlushPolicy, TransactionPolicy
from streamgauge.engine.worker.roles import ProducerJob, ProducerMember
from streamgauge.kafka.clients.producer import TRANSACTIONAL_ID
from streamgauge.kafka.clients.settings import Settings
from streamgauge.record.corpus import read_events
from streamgauge.runs.conduct.identity import Identity, dealt
from streamgauge.scenario import Load, Scenario, Setting
from streamgauge.scenario.model import load as loads
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.pacing.build import pacer_of
from streamgauge.workload.payload.build import content_of, keys_of, law_of


def producers_of(
    scenario: Scenario,
    load: Load,
    identity: Identity,
    connection: Settings,
    arrivals: Int64s | None,
    opens: OpenProducer,
) -> list[ProducerJob]:
    """The jobs of all processes that produce; `arrivals` are those of a replay."""
    settings = {**connection, **producer_settings(load, scenario.phases.drain)}
    members = []
    for number in range(scenario.producers):
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
                recipe=recipe_of(scenario, load, identity.tag, number),
                sending=sending_of(scenario, load, number, arrivals),
            )
        )
    held_back = scenario.backpressure is not None
    return [ProducerJob(opens, part, held_back) for part in dealt(members, load.processes)]


def recipe_of(scenario: Scenario, load: Load, tag: int, number: int) -> Recipe:
    """What producer `number` sends; `tag` is that of the run."""
    return Recipe(
        producer=number,
        tag=tag,
        payload=content_of(load.payload),
        size=law_of(load.size),
        seed=scenario.seed,
        in_headers=load.stamped_in_headers,
        scheduled=load.has_schedule,
        keys=keys_of(load.keys),
        topics=topics_of(number, scenario.producers, len(scenario.sent_topics)),
        partition=number // len(scenario.sent_topics) if load.producers == "per-partition" else load.partition,
        partitions=scenario.topic.partitions,
        producers=scenario.producers,
        read_events=read_events,
    )


def sending_of(scenario: Scenario, load: Load, number: int, arrivals: Int64s | None) -> Sending:
    """How one producer sends; `arrivals` are those of a replay."""
    whole = scenario.measured_messages
    return Sending(
        pacer=pacer_of(
            load.rate,
            producer=number,
            producers=scenario.producers,
            seed=scenario.seed,
            warmup_ns=scenario.phases.warmup,
            arrivals=arrivals,
        ),
        flush=_flush(load),
        transactions=_transactions(load.transactions),
        resend=load.resend,
        drops_held=scenario.backpressure is not None and scenario.backpressure.held == "drop",
        measured_messages=None if whole is None else len(range(number, whole, scenario.producers)),
    )


def _flush(load: Load) -> FlushPolicy | None:
    """A closed loop waits for reports without hurrying them: what lingers is part of what it measures."""
    match load.batch:
        case None:
            pass
        case int(messages):
            return FlushPolicy(messages, hurries=False)
        case made if made.uniform:
            extent = (made.uniform.from_, made.uniform.to)
            return FlushPolicy(made.uniform.mean, hurries=False, extent=extent)
        case made:
            drawn = made.chosen[1]
            return FlushPolicy(drawn.mean, drawn.deviation, hurries=False)
    if isinstance(load.flush, loads.Flush):
        return FlushPolicy(load.flush.mean, load.flush.deviation)
    return None if load.flush is None else FlushPolicy(load.flush)


def _transactions(asked: loads.Transactions | None) -> TransactionPolicy | None:
    return TransactionPolicy(asked.messages, asked.interval, asked.abort) if asked else None


def topics_of(producer: int, producers: int, topics: int) -> tuple[int, ...]:
    """The topics of one producer: every topic has as many producers as another, or each producer as many topics."""
    if producers >= topics:
        return (producer % topics,)
    return tuple(range(producer, topics, producers))


def producer_settings(load: Load, drain_ns: int) -> dict[str, Setting]:
    """The scenario's settings of the producing client, with the life of a message bounded by the drain.

    Of two names of one setting the client obeys the later.
    """
    others = {name: value for name, value in load.client.items() if name not in loads.MESSAGE_TIMEOUT}
    return {**others, loads.MESSAGE_TIMEOUT[0]: load.message_timeout_ms(drain_ns)}
