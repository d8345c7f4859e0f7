"""Faults that lie between fields of a scenario, each of which is right by itself."""

from collections.abc import Iterator, Mapping
from typing import Final

from streamgauge.domain.errors import BadValue, Fault
from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.shown import shown
from streamgauge.scenario.contradictory.acknowledged import acknowledged
from streamgauge.scenario.contradictory.disks import disks
from streamgauge.scenario.contradictory.injected import injected
from streamgauge.scenario.contradictory.links import links
from streamgauge.scenario.contradictory.piped import piped
from streamgauge.scenario.contradictory.placed import placed
from streamgauge.scenario.model.consume import Consume
from streamgauge.scenario.model.content import content_faults, largest_bytes
from streamgauge.scenario.model.environment.verified import log_asked
from streamgauge.scenario.model.expectations import parse_bound
from streamgauge.scenario.model.load import ACKS, Load
from streamgauge.scenario.model.scenario import Measure, Scenario
from streamgauge.scenario.model.values import MOST_WORKERS, ClientSettings, Setting
from streamgauge.scenario.topic_names import expanded

DEFAULT_MAX_MESSAGE_BYTES = 1_000_000
"""`message.max.bytes` of the client when nobody sets it."""
_RETRIES: Final = ("retries", "message.send.max.retries")

OWNED_SETTINGS: Mapping[str, str] = {
    "bootstrap.servers": "name the cluster with --bootstrap",
    "metadata.broker.list": "name the cluster with --bootstrap",
    "group.id": "use consume.group",
    "enable.auto.offset.store": "offsets are stored when their messages are recorded",
    "auto.offset.reset": "use consume.start",
    "enable.auto.commit": "use consume.commit",
    "client.id": "the run sets it by worker",
    "transactional.id": "use load.transactions",
    "statistics.interval.ms": "the run enables statistics",
    "enable.partition.eof": "the run sets it as needed",
}
"""Client settings that the run decides, and what to do instead."""


def contradictions(scenario: Scenario) -> Iterator[Fault]:
    """Faults that lie between fields, each of which is right by itself."""
    if scenario.load is None and scenario.consume is None and scenario.connections is None:
        yield Fault(
            "load, consume", "both are off, so the run would do nothing", "Leave one of them on, or add connections"
        )
    if scenario.phases.measure_ns == 0:
        yield Fault("phases.measure", "0s leaves nothing to measure", "Write a duration like 30s")
    if scenario.phases.drain == 0:
        yield Fault("phases.drain", "0s leaves no time for messages to arrive", "Write a duration like 30s")
    yield from placed(scenario)
    yield from _owned("topic.client", scenario.topic.client)
    if scenario.topic.count is not None and len(expanded(scenario.topic_name)) > 1:
        what = f"{scenario.topic_name} names several topics already"
        yield Fault("topic.count", what, "Leave it out, or write a name without a range")
    if scenario.load:
        yield from _many("load.producers", scenario.producers, "producers")
        yield from _owned("load.client", scenario.load.client)
        yield from _acks(scenario.load.client)
        yield from _too_large(scenario.load)
        in_value = scenario.load.stamp == "value"
        yield from content_faults(scenario.load.payload, scenario.load.size, in_value=in_value)
        yield from _shared("load.processes", scenario.load.processes, scenario.producers, "producers")
        yield from _of_load(scenario, scenario.load)
    if scenario.consume:
        clients = scenario.consumers * scenario.consume.groups
        yield from _many("consume.consumers", scenario.consumers, "consumers")
        yield from _owned("consume.client", scenario.consume.client)
        yield from _shared("consume.processes", scenario.consume.processes, clients, "consumers")
        yield from _of_consume(scenario, scenario.consume)
        yield from acknowledged(scenario, scenario.consume)
        if scenario.consume.sent_time == "value" and scenario.load:
            what = "value: messages of the run's own load carry their time in a stamp"
            yield Fault("consume.sent_time", what, "Leave it out, or write `load: off`")
    if scenario.pipeline:
        yield from piped(scenario, scenario.pipeline)
    yield from _held_back(scenario)
    yield from injected(scenario)
    yield from _read_again(scenario)
    yield from disks(scenario)
    yield from links(scenario)
    yield from _ends(scenario)
    yield from _expected(scenario.expect)


def _read_again(scenario: Scenario) -> Iterator[Fault]:
    """A log that is read again must hold messages of the run, and keep them."""
    asked, where = log_asked(scenario.verify), "verify.log"
    if asked is False and scenario.pipeline:
        yield Fault(where, "false: the source of a pipeline is always read again", "Leave it out")
    if not asked:
        return
    if scenario.load is None:
        yield Fault(where, "true: nothing is sent, so nothing can be missing", "Leave it out, or add a load")
    elif scenario.load.acks == "0":
        yield Fault(
            where, "true: with acks 0 nobody knows where a message should be", "Write acks: all, or leave it out"
        )
    if scenario.topic.is_compacted:
        what = "true: compaction removes messages on purpose"
        yield Fault(where, what, "Leave it out, or leave cleanup.policy out of topic.configs")


def _many(where: str, workers: int, role: str) -> Iterator[Fault]:
    if workers > MOST_WORKERS:
        what = f"{workers:,} {role} are more than {MOST_WORKERS}"
        yield Fault(where, what, "Write per-topic or a number, or fewer topics or partitions")


def _shared(where: str, processes: int | None, clients: int, role: str) -> Iterator[Fault]:
    if processes is not None and processes > clients:
        yield Fault(where, f"{processes} processes for {clients} {role}", f"Write at most {clients}, or leave it out")


def _of_load(scenario: Scenario, load: Load) -> Iterator[Fault]:
    partitions = scenario.topic.partitions
    if isinstance(load.partition, int) and load.partition >= partitions:
        what = f"{load.partition}: the topic has the partitions 0 to {partitions - 1}"
        yield Fault("load.partition", what, "Name one of them, or raise topic.partitions")
    if isinstance(load.partition, int) and load.producers == "per-partition":
        what = "with a producer per partition, each sends to its own"
        yield Fault("load.partition", what, "Leave it out, or write another number of producers")
    if load.transactions and load.resend:
        what = "a transaction in which a message failed must be aborted"
        yield Fault("load.resend", what, "Leave out load.resend or load.transactions")
    if load.transactions and load.is_closed:
        yield Fault(
            "load.transactions",
            "a closed loop already waits for the reports of every batch",
            "Write `rate: max` or a rate, or leave load.transactions out",
        )
    if load.flush and load.is_closed:
        what = "a closed loop already waits for the reports of every batch"
        yield Fault("load.flush", what, "Leave it out, and set the batch of the closed loop")


def _of_consume(scenario: Scenario, consume: Consume) -> Iterator[Fault]:
    partitions = scenario.topic.partitions
    wrong = [number for number in consume.partitions or () if number >= partitions]
    if wrong:
        what = f"{', '.join(map(str, wrong))}: the topic has the partitions 0 to {partitions - 1}"
        yield Fault("consume.partitions", what, "Name some of them, or raise topic.partitions")
    if consume.group is not None:
        yield from _own_group(scenario, consume)


def _own_group(scenario: Scenario, consume: Consume) -> Iterator[Fault]:
    """A group that belongs to the user is one, and begins where it is."""
    if consume.groups > 1:
        yield Fault("consume.group", f"one name for {consume.groups} groups", "Leave groups out, or the name")
    if consume.carrier:
        # Without a commit of the run, a group of retry topics could begin behind what was written to them.
        what = "groups of markers, of retry topics and share groups belong to the run"
        yield Fault("consume.group", what, "Leave it out, or write `acknowledge: offsets`")
    if scenario.pipeline:
        what = "consumers read what the pipeline of this run writes"
        yield Fault("consume.group", what, "Leave it out")
    if consume.start_ms is not None:
        what = f"{consume.start}: the group begins where it has committed"
        yield Fault("consume.start", what, "Leave it out, or write earliest or latest for where it has not")


def _held_back(scenario: Scenario) -> Iterator[Fault]:
    """A policy needs somebody to hold back, and somebody whose progress it sees."""
    if scenario.backpressure is None:
        return
    if scenario.load is None or scenario.consume is None:
        what = "backpressure needs producers and consumers"
        yield Fault("backpressure", what, "Leave it out, or add a load and a consume")
        return
    if scenario.backpressure.credit:
        yield from _credited(scenario, scenario.load, scenario.consume)
        return
    if scenario.lag is None:
        yield Fault("lag", "off: hysteresis needs lag samples", "Write how often, like {every: 1s}")
    if scenario.consume.commit == "never":
        what = "never: hysteresis uses committed lag, which would only rise"
        yield Fault("consume.commit", what, "Write auto, batch or an interval")


def _credited(scenario: Scenario, load: Load, consume: Consume) -> Iterator[Fault]:
    """Credit counts offsets: each has to be one message of this run, and every message has to be processed once."""
    where = "backpressure.credit"
    if load.transactions:
        what = "transactions write markers between messages, which would count as processed"
        yield Fault(where, what, "Leave load.transactions out, or write hysteresis")
    if load.resend:
        what = "a message that is sent again may be written twice, and count twice"
        yield Fault(where, what, "Leave load.resend out, or write hysteresis")
    if not _writes_once(load):
        what = "a producer that retries may write a message twice, which would count twice"
        yield Fault(where, what, "Write `enable.idempotence: true` or `retries: 0` in load.client")
    unprocessed = [name for name in ("skip", "fail", "poison") if getattr(consume.processing, name, 0)]
    if unprocessed:
        what = "a message that is never processed would never return its credit"
        yield Fault(where, what, f"Leave {listed(unprocessed)} out of consume.processing, or write hysteresis")
    if consume.partitions is not None and len(consume.partitions) < scenario.topic.partitions:
        what = "messages of partitions that are not consumed would never return their credit"
        yield Fault(where, what, "Leave consume.partitions out, or name all of them")
    credit = scenario.backpressure.credit if scenario.backpressure else None
    if credit and credit.limit < scenario.producers:
        what = f"{credit.limit}: {scenario.producers} producers, and idle ones could hold all of it"
        yield Fault(f"{where}.limit", what, f"Write at least {scenario.producers}, or fewer producers")
    if "compact" in str(scenario.topic.configs.get("cleanup.policy", "")):
        yield Fault(where, "a compacted topic has offsets without a message", "Leave cleanup.policy out")


def _writes_once(load: Load) -> bool:
    return load.is_idempotent or any(str(load.client[key]) == "0" for key in _RETRIES if key in load.client)


def _ends(scenario: Scenario) -> Iterator[Fault]:
    """What ends the measure phase must be there."""
    if scenario.phases.is_drained and (scenario.load or not scenario.consume):
        what = "only a run that consumes and sends nothing can end when drained"
        yield Fault("phases.measure.drained", what, "Write a duration, or `load: off` and a `consume`")
    if scenario.phases.is_counted and not scenario.load and scenario.received_messages is None:
        what = "no messages are sent that could be counted"
        yield Fault("phases.measure", what, "Write a duration, {drained: true}, or with consumers {messages: ...}")
    measure, load = scenario.phases.measure, scenario.load
    if isinstance(measure, Measure) and measure.bytes_per_partition and load and not load.mean_size_bytes:
        what = "the average message size is not known in advance"
        yield Fault("phases.measure.bytes_per_partition", what, "Write {messages: ...}, or a duration")


def _expected(expect: Mapping[str, Setting]) -> Iterator[Fault]:
    for path, wanted in expect.items():
        try:
            parse_bound(wanted)
        except BadValue as error:
            yield error.at(f"expect.{path}", shown(path, wanted))


def _owned(where: str, settings: ClientSettings) -> Iterator[Fault]:
    for key in settings.keys() & OWNED_SETTINGS.keys():
        yield Fault(f"{where}.{key}", "is set by the run", f"Leave it out: {OWNED_SETTINGS[key]}")


def _acks(settings: ClientSettings) -> Iterator[Fault]:
    """The client takes any number; brokers refuse every message that asks for another one."""
    for key in ACKS:
        if key in settings and str(settings[key]) not in {"0", "1", "-1", "all"}:
            yield Fault(f"load.client.{key}", f"{shown(key, settings[key])}: not a value of acks", "Write 0, 1 or all")


def _too_large(load: Load) -> Iterator[Fault]:
    limit = load.client.get("message.max.bytes", DEFAULT_MAX_MESSAGE_BYTES)
    largest = largest_bytes(load.payload, load.size)
    if isinstance(limit, int) and largest > limit:
        yield Fault(
            "load.size",
            f"{largest} bytes exceed the client's limit for a message ({limit})",
            "Write a smaller size, or raise `message.max.bytes` in load.client and the topic's `max.message.bytes`",
        )
