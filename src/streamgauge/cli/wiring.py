"""The only place where the engine meets real clients and real files: from a scenario to a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadInput
from streamgauge.domain.pacing import constant
from streamgauge.domain.scenario import Consume, Load, Scenario, Setting
from streamgauge.engine.compose import Recipe
from streamgauge.engine.consume import Reading
from streamgauge.engine.sample import Watched
from streamgauge.engine.supervise import Plan
from streamgauge.engine.worker import ConsumerJob, ProducerJob
from streamgauge.kafka.consumer import KafkaConsumer
from streamgauge.kafka.producer import KafkaProducer
from streamgauge.kafka.settings import NO_SETTINGS, consumer_faults, producer_faults
from streamgauge.record.parts import open_sink

MESSAGE_TIMEOUT: Final = "message.timeout.ms"
MESSAGE_TIMEOUT_DEFAULT_MS: Final = 300_000
"""librdkafka's."""
FETCH_BACKOFF: Final = {"fetch.queue.backoff.ms": 10}
"""librdkafka's second makes a fast consumer stand still whenever its queue was full."""

Settings = Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class Identity:
    """What distinguishes one run from every other."""

    id: str
    tag: int
    group: str


def check_settings(scenario: Scenario, connection: Settings = NO_SETTINGS) -> None:
    """Ask the client about the scenario's settings before anything starts; raises BadInput with all faults."""
    faults = []
    if scenario.load:
        faults += producer_faults("load.client", scenario.load.client, connection)
    if scenario.consume:
        faults += consumer_faults("consume.client", scenario.consume.client, connection)
    if faults:
        raise BadInput(faults)


def plan_of(scenario: Scenario, identity: Identity, connection: Settings, run: Path, others: Sequence[Watched]) -> Plan:
    """The plan that carries a scenario out on the cluster of `connection`."""
    load, consume = scenario.load, scenario.consume
    return Plan(
        run=run,
        producers=[] if load is None else _producers(scenario, load, identity, connection),
        consumers=[] if consume is None else _consumers(scenario, consume, identity, connection),
        others=others,
        partitions=scenario.topic.partitions,
        warmup_ns=scenario.phases.warmup,
        measure_ns=scenario.phases.measure,
        drain_ns=scenario.phases.drain,
        open_sink=open_sink,
    )


def _producers(scenario: Scenario, load: Load, identity: Identity, connection: Settings) -> list[ProducerJob]:
    settings = {**connection, **producer_settings(load, scenario.phases.drain)}
    rate = load.rate_per_second
    return [
        ProducerJob(
            open_client=KafkaProducer,
            client=ClientSpec(
                worker=f"producer-{number}",
                topics=(scenario.topic_name,),
                settings={**settings, "client.id": f"{identity.id}-producer-{number}"},
                stamp_in_header=load.stamped_in_headers,
            ),
            recipe=Recipe(
                producer=number,
                tag=identity.tag,
                kind=load.payload,
                size_bytes=load.size,
                seed=scenario.seed,
                in_headers=load.stamped_in_headers,
                scheduled=rate is not None,
            ),
            pacer=None if rate is None else constant(rate, number, load.producers),
            topic=0,
        )
        for number in range(load.producers)
    ]


def _consumers(scenario: Scenario, consume: Consume, identity: Identity, connection: Settings) -> list[ConsumerJob]:
    load = scenario.load
    settings = {**FETCH_BACKOFF, **connection, **consume.client, "group.id": identity.group}
    return [
        ConsumerJob(
            open_client=KafkaConsumer,
            client=ClientSpec(
                worker=f"consumer-{number}",
                topics=(scenario.topic_name,),
                settings={
                    **settings,
                    # Every partition has a committed offset; without one something is wrong and must not be hidden.
                    "auto.offset.reset": "error",
                    "client.id": f"{identity.id}-consumer-{number}",
                },
                stamp_in_header=load.stamped_in_headers if load else None,
            ),
            reading=Reading(tag=identity.tag if load else None, verify_every=scenario.verify_every),
            topic=0,
            group=0,
            consumer=number,
            hold=load is None,
        )
        for number in range(consume.consumers)
    ]


def producer_settings(load: Load, drain_ns: int) -> dict[str, Setting]:
    """The scenario's settings of the producing client, with the life of a message bounded by the drain."""
    asked = load.client.get(MESSAGE_TIMEOUT, MESSAGE_TIMEOUT_DEFAULT_MS)
    asked_ms = int(asked) or MESSAGE_TIMEOUT_DEFAULT_MS
    return {**load.client, MESSAGE_TIMEOUT: max(1, min(asked_ms, drain_ns // NS_PER_MS))}


def starts_earliest(scenario: Scenario) -> bool:
    """Whether the group begins at the log start."""
    consume = scenario.consume
    if consume is None or consume.start == "latest":
        return False
    return consume.start == "earliest" or scenario.load is None
