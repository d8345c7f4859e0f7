"""OpenMessaging Benchmark: the YAML of a workload, and of a driver of Kafka beside it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.errors import BadInput
from streamgauge.domain.text.quantities import format_rate
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.java import JavaClient, consumer_client, plain_setting, producer_settings
from streamgauge.foreign.specs.read.texts import read_properties
from streamgauge.foreign.specs.write.translation import Draft, Translation, name_of, without_none
from streamgauge.foreign.specs.write.workers import consumers_of, producers_of, topics_of
from streamgauge.scenario import SLOWEST

WORKLOAD: Final = "workload"
DRIVER: Final = "driver"
_FIRST_RATE: Final = 10_000
"""Where its rate search begins."""
_OBJECTIVE: Final = "p99 <= 1 s"
_KEYS: Final = 10_000
_GIB: Final = 1 << 30
_DRIVERS: Final = ("KafkaBenchmarkDriver", "RedpandaBenchmarkDriver")


def omb_spec(given: Sequence[tuple[str, Any]]) -> Translation:
    """The scenario of a workload and perhaps a driver, each with the name of its file; raises BadInput."""
    workloads = [each for each in given if not is_driver(each[1])]
    drivers = [each for each in given if is_driver(each[1])]
    if len(workloads) != 1 or len(drivers) > 1:
        what = f"{len(workloads)} workloads and {len(drivers)} drivers"
        raise BadInput.single(given[0][0], what, "Name one workload, and at most one driver beside it")
    source, workload = workloads[0]
    draft = Draft(source)
    cluster = Draft(drivers[0][0]) if drivers else draft
    driver = SpecFields(cluster, drivers[0][1] if drivers else {}, "", "a driver")
    made = _scenario(draft, SpecFields(draft, workload, "", "a workload"), _Driver(cluster, driver, bool(drivers)))
    if cluster is not draft:
        draft.faults += cluster.faults
        draft.notes += cluster.notes
        draft.bootstrap = cluster.bootstrap
    document, search = made
    return draft.finished(
        "omb", f"{WORKLOAD} {'and driver' if drivers else 'without a driver'}", document, search=search
    )


def is_driver(given: object) -> bool:
    """Whether a mapping is a driver, rather than a workload."""
    return isinstance(given, Mapping) and "driverClass" in given


class _Driver:
    """What a driver says: settings of topics and clients."""

    def __init__(self, draft: Draft, fields: SpecFields, is_given: bool) -> None:
        if is_given:
            fields.required("driverClass")
            name = fields.text("driverClass")
            if name and name.rpartition(".")[2] not in _DRIVERS:
                draft.refuse("driverClass", f"{one_line(name)}: a driver of another system", "Name a driver of Kafka")
        fields.text("name")
        self.replication = fields.whole("replicationFactor", 1, least=1, most=32)
        self.reset = fields.flag("reset", False)
        self.configs = {name: plain_setting(value) for name, value in _properties(draft, fields, "topicConfig").items()}
        common = _properties(draft, fields, "commonConfig")
        self.producer, self.partition = producer_settings(
            draft, "producerConfig", {**common, **_properties(draft, fields, "producerConfig")}
        )
        # What both clients have in common was looked at with the producer.
        own = _properties(draft, fields, "consumerConfig")
        mine = consumer_client(Draft(draft.source), "commonConfig", common)
        self.consumer: JavaClient = consumer_client(draft, "consumerConfig", own)
        self.consumer.settings = {**mine.settings, **self.consumer.settings}
        fields.close()
        if self.reset:
            draft.differs("reset", "only the topics of the scenario are deleted, with --allow-reset; there all are")


def _properties(draft: Draft, fields: SpecFields, name: str) -> dict[str, str]:
    text = fields.text(name)
    return draft.faults.of(read_properties, text, f"{draft.source}: {name}") or {}


def _scenario(draft: Draft, fields: SpecFields, driver: _Driver) -> tuple[dict[str, Any], tuple[str, ...]]:
    fields.required("topics", "partitionsPerTopic", "messageSize", "producersPerTopic", "testDurationMinutes")
    name = fields.text("name", "omb")
    topics = fields.whole("topics", 1, least=1, most=100)
    partitions = fields.whole("partitionsPerTopic", 1, least=1, most=10_000)
    size = fields.whole("messageSize", 1024, least=1, most=100 << 20)
    subscriptions = fields.whole("subscriptionsPerTopic", 1, least=0, most=64)
    producers = fields.whole("producersPerTopic", 1, least=0)
    consumers = fields.whole("consumerPerSubscription", 1, least=0)
    rate = fields.number("producerRate", 0, least=0)
    if 0 < rate < SLOWEST:
        draft.refuse("producerRate", f"below {SLOWEST} a second", "Write a higher rate, or 0 for a search")
        rate = SLOWEST
    load = {
        "rate": format_rate(rate or _FIRST_RATE),
        **producers_of(draft, "producersPerTopic", producers, topics),
        "size": size,
        "payload": _payload(draft, fields, size),
        "keys": _keys(draft, fields),
        "partition": driver.partition,
        "client": driver.producer,
    }
    reads = subscriptions > 0 and consumers > 0
    consume: dict[str, Any] = {
        **consumers_of(draft, "consumerPerSubscription", consumers, topics),
        "groups": subscriptions,
        "start": driver.consumer.start,
        "client": driver.consumer.settings or None,
    }
    phases = {
        "warmup": f"{fields.whole('warmupDurationMinutes', 1, least=0, most=10_000)}m",
        "measure": f"{fields.whole('testDurationMinutes', 1, least=1, most=10_000)}m",
    }
    if driver.consumer.commit == "never":
        draft.differs("enable.auto.commit", "false there: its consumers commit by themselves; here the client does")
    backlog = fields.number("consumerBacklogSizeGB", 0, least=0, most=1e6)
    ratio = fields.number("backlogDrainRatio", 1, least=0, most=1)
    if backlog and reads:
        _backlog(draft, backlog * _GIB, rate, size * subscriptions, consume, phases)
        if ratio < 1:
            draft.left_out("backlogDrainRatio", "the report tells when the backlog is gone, not when a share of it is")
    elif backlog:
        draft.refuse("consumerBacklogSizeGB", "nobody reads a backlog", "Write subscriptions and consumers")
    fields.close()
    search: tuple[str, ...] = ()
    if not rate and fields.has("producerRate"):
        search = ("--objective", _OBJECTIVE, "--start", f"{_FIRST_RATE}/s")
        draft.differs(
            "producerRate",
            f"0 is a rate search: a rate holds here while `{_OBJECTIVE}`, 99 % of it arrives and nothing piles up; "
            "there while less than a backlog of 1,000 messages grows",
        )
    else:
        fields.required("producerRate")
    _figures(draft)
    document = {
        "name": name_of("omb", name),
        "about": f"The workload {one_line(name)} of OpenMessaging Benchmark.",
        "topic": without_none(
            {
                **topics_of(None, topics),
                "partitions": partitions,
                "replication": driver.replication,
                "configs": driver.configs or None,
                "reset": driver.reset or None,
            }
        ),
        "load": without_none(load) if producers else "off",
        "consume": without_none(consume) if reads else "off",
        "phases": phases,
    }
    return document, search


def _backlog(
    draft: Draft, backlog: float, rate: float, bytes_per_message: int, consume: dict[str, Any], phases: dict[str, Any]
) -> None:
    """Consumers that stand still until the backlog is there, then read as fast as they can."""
    if not rate:
        draft.refuse("consumerBacklogSizeGB", "a backlog needs a rate", "Write producerRate")
        return
    seconds = math.ceil(backlog / (rate * bytes_per_message))
    test_s = int(phases["measure"].removesuffix("m")) * 60
    consume["processing"] = {"delay": f"{seconds}s", "changes": [{"at": f"{seconds}s", "delay": "0s"}]}
    phases["warmup"] = "0s"
    phases["measure"] = f"{max(test_s, 2 * seconds)}s"
    draft.differs(
        "consumerBacklogSizeGB",
        f"consumers process nothing for {seconds} s, in which so many bytes are sent at this rate, then drain; "
        "there is no warm-up, and the measure phase is at least twice as long",
    )


def _payload(draft: Draft, fields: SpecFields, size: int) -> Any:
    is_random = fields.flag("useRandomizedPayloads", False)
    ratio = fields.number("randomBytesRatio", 0, least=0, most=1)
    pool = fields.whole("randomizedPayloadPoolSize", 0, least=0)
    path = fields.text("payloadFile")
    if is_random:
        draft.differs("useRandomizedPayloads", f"every message is new here; there they repeat, of a pool of {pool}")
        padding = size - round(size * ratio)
        return {"random": {"padding": padding}} if padding else "random"
    if path:
        draft.differs("payloadFile", "the whole file is the value of each message there; here each of its lines is one")
        draft.differs("messageSize", "events of a file have their own size here")
        return {"file": {"path": path}}
    draft.differs("payloadFile", "is missing: values are random bytes")
    return "random"


def _keys(draft: Draft, fields: SpecFields) -> Any:
    kind = fields.word("keyDistributor", "NO_KEY", "NO_KEY", "KEY_ROUND_ROBIN", "RANDOM_NANO")
    if kind == "NO_KEY":
        return "none"
    order = "in turn" if kind == "KEY_ROUND_ROBIN" else "by the nanoseconds of the clock"
    draft.differs("keyDistributor", f"{_KEYS:,} keys at random here, decimal numbers; there 7 characters, {order}")
    return {"uniform": {"keys": _KEYS}}


def _figures(draft: Draft) -> None:
    draft.differs("publishLatency", "theirs is ours of acknowledgements, from the send (`latency.ack.service`)")
    draft.differs("publishDelayLatency", "ours is in response time, which counts from the due time of a message")
    draft.differs("endToEndLatency", "theirs is a difference of wall clocks in whole ms; ours is of one clock")
    draft.differs("MB/s", "theirs is MiB; ours is MB (10^6), and result.json has bytes")
