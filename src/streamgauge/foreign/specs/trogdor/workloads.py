"""Trogdor's workloads: what each sends, reads or connects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.java import JavaEra, admin_settings, consumer_client, java_client, producer_settings
from streamgauge.foreign.specs.trogdor.payloads import SEQUENTIAL_KEY, Payloads, keys_of, values_of
from streamgauge.foreign.specs.trogdor.rates import flush_of, per_period, rate_of, throttled, transactions_of
from streamgauge.foreign.specs.trogdor.shares import share_consumers
from streamgauge.foreign.specs.trogdor.topics import TrogdorTopics, idle_topics, read_topics, topics_of
from streamgauge.foreign.specs.write.translation import Draft, duration, without_none
from streamgauge.foreign.specs.write.workers import clients

_ONE_MACHINE: Final = "workers are processes of this machine; there is no coordinator, and there are no agents"


@dataclass(slots=True)
class TrogdorPart:
    """What one workload adds to a scenario."""

    spec: str
    topics: TrogdorTopics | None = None
    load: dict[str, Any] | None = None
    consume: dict[str, Any] | None = None
    connections: dict[str, Any] | None = None
    messages: int | None = None
    """How many messages end it; None where time does."""
    length_ms: int = 0
    start_ms: int = 0
    expect: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrogdorOptions:
    """How Trogdor's specifications are read."""

    floor: bool = False
    """Whether rates are rounded to whole messages a window, as Trogdor does."""


def workload_of(draft: Draft, spec: str, fields: SpecFields, options: TrogdorOptions) -> TrogdorPart:
    """The part that a workload says."""
    part = TrogdorPart(spec, start_ms=fields.whole("startMs", 0, least=0))
    part.length_ms = min(fields.whole("durationMs", 0, least=0), 7 * 24 * 3600 * 1000)
    if not part.length_ms:
        draft.refuse(fields.place("durationMs"), "0 ends it at once", "Write how many milliseconds it lasts")
    if part.start_ms:
        draft.left_out(fields.place("startMs"), "a run begins when it is started; use phases.start_at for a time")
    fields.ignored(_ONE_MACHINE, "producerNode", "consumerNode", "clientNode", "commandNode")
    if fields.has("bootstrapServers"):
        draft.cluster(fields.place("bootstrapServers"), fields.text("bootstrapServers"))
    WORKLOADS[spec](draft, fields, part, options)
    client = admin_settings(draft, fields.place("adminClientConf"), fields.mapping("adminClientConf"))
    if part.topics and client:
        part.topics.document["client"] = client
    fields.close()
    return part


def _producer_client(draft: Draft, fields: SpecFields, era: JavaEra, **fixed: Any) -> dict[str, Any]:
    given = {**fixed, **fields.mapping("commonClientConf"), **fields.mapping("producerConf")}
    return producer_settings(draft, fields.place("producerConf"), given, era)[0]


def _configurable_producer(draft: Draft, fields: SpecFields, part: TrogdorPart, options: TrogdorOptions) -> None:
    fields.required("throughputGenerator", "keyGenerator", "valueGenerator", "activeTopic")
    part.topics = topics_of(draft, fields.place("activeTopic"), fields.mapping("activeTopic"))
    throughput = fields.part("throughputGenerator", "a throughput generator")
    values = values_of(fields.part("valueGenerator", "a payload generator"), Payloads("zeros", 512))
    partition = fields.whole("activePartition", 0, least=-1)
    is_old = any(name.startswith("messagesPerSecond") for name in fields.mapping("throughputGenerator"))
    part.load = without_none(
        {
            "rate": rate_of(throughput, draft, floor=options.floor),
            "producers": 1,
            **values.document(),
            "keys": keys_of(fields.part("keyGenerator", "a payload generator"), "none"),
            "partition": "client" if partition < 0 else partition,
            "flush": flush_of(fields.part("flushGenerator", "a flush generator")),
            # The form with messages a second is of clients that wait for the leader only.
            "client": _producer_client(draft, fields, "2" if is_old else "4"),
        }
    )
    _sent_figures(draft)


def _produce_bench(draft: Draft, fields: SpecFields, part: TrogdorPart, options: TrogdorOptions) -> None:
    part.topics = topics_of(draft, fields.place("activeTopics"), fields.mapping("activeTopics"))
    idle = idle_topics(draft, fields.place("inactiveTopics"), fields.mapping("inactiveTopics"))
    if part.topics and idle:
        part.topics.document["idle"] = idle
    per_second = fields.whole("targetMessagesPerSec", 0)
    part.messages = fields.whole("maxMessages", 0)
    if part.messages <= 0:
        draft.refuse(fields.place("maxMessages"), "0 sends nothing", "Write how many messages are sent")
    values = values_of(fields.part("valueGenerator", "a payload generator"), Payloads("zeros", 512, in_headers=True))
    transactions = transactions_of(fields.part("transactionGenerator", "a transaction generator"))
    period = per_period(max(0, per_second))
    flush = None if fields.flag("skipFlush", False) or transactions else period
    if flush:
        draft.differs(
            fields.place("skipFlush"), f"a flush after each {period} messages, where Trogdor's throttle would wait"
        )
    if per_second <= 0:
        draft.differs(fields.place("targetMessagesPerSec"), "0 is one message in 100 ms, as there")
        per_second = 10
    part.load = without_none(
        {
            "rate": throttled(draft, fields.place("targetMessagesPerSec"), per_second, floor=options.floor),
            "producers": 1,
            **values.document(),
            "keys": keys_of(fields.part("keyGenerator", "a payload generator"), SEQUENTIAL_KEY),
            "partition": "client" if fields.flag("useConfiguredPartitioner", False) else "round-robin",
            "flush": flush,
            "transactions": transactions,
            "client": _producer_client(draft, fields, "4"),
        }
    )
    _sent_figures(draft)


def _consume_bench(draft: Draft, fields: SpecFields, part: TrogdorPart, _options: TrogdorOptions) -> None:
    part.topics = read_topics(draft, fields.place("activeTopics"), fields.texts("activeTopics"))
    threads = fields.whole("threadsPerWorker", 1, least=1)
    group = fields.text("consumerGroup")
    partitions = part.topics.partitions if part.topics else None
    if group and partitions and threads > 1:
        draft.refuse(fields.place("threadsPerWorker"), "several threads of one group with stated partitions", "Write 1")
    if threads > 1 and not group:
        draft.differs(fields.place("threadsPerWorker"), "each thread is a group that reads everything, as there")
    per_second = fields.whole("targetMessagesPerSec", 0)
    # Each thread reads so many.
    part.messages = max(0, fields.whole("maxMessages", 0)) * threads or None
    processor = fields.part("recordProcessor", "a record processor")
    if processor:
        _record_processor(draft, processor)
    has_time = processor is not None
    given = {**fields.mapping("commonClientConf"), **fields.mapping("consumerConf")}
    client = consumer_client(draft, fields.place("consumerConf"), {"max.poll.interval.ms": 100_000, **given})
    workers = clients(draft, fields.place("threadsPerWorker"), "consumers", threads) if group else {"consumers": 1}
    part.consume = without_none(
        {
            **workers,
            "group": group or None,
            "groups": threads if threads > 1 and not group else None,
            "start": client.start or "earliest",
            "sent_time": "value" if has_time else None,
            "commit": client.commit,
            "partitions": list(partitions) if partitions else None,
            "rate": f"{per_second * (threads if group else 1)}/s" if per_second > 0 else None,
            "client": client.settings,
        }
    )
    draft.differs("averageLatencyMs", "theirs is the time since the last poll, idle time in it; ours from the send")


def _share_consume_bench(draft: Draft, fields: SpecFields, part: TrogdorPart, _options: TrogdorOptions) -> None:
    part.topics = read_topics(draft, fields.place("activeTopics"), fields.texts("activeTopics"))
    if part.topics and part.topics.partitions:
        what = "a share group reads all partitions of its topics"
        draft.refuse(fields.place("activeTopics"), what, "Write the names of topics alone, like foo[1-3]")
    threads = fields.whole("threadsPerWorker", 1, least=1)
    # Each consumer reads so many, at this rate.
    part.messages = max(0, fields.whole("maxMessages", 0)) * threads or None
    per_second = max(0, fields.whole("targetMessagesPerSec", 0)) * threads
    processor = fields.part("recordProcessor", "a record processor")
    if processor:
        _record_processor(draft, processor)
    part.consume = without_none(
        {
            **clients(draft, fields.place("threadsPerWorker"), "consumers", threads),
            **share_consumers(draft, fields, {"max.poll.interval.ms": 100_000}, start="latest"),
            "sent_time": "value" if processor else None,
            "rate": f"{per_second}/s" if per_second else None,
        }
    )
    draft.differs("averageLatencyMs", "theirs is the time since the last poll, idle time in it; ours from the send")


def _share_round_trip(draft: Draft, fields: SpecFields, part: TrogdorPart, options: TrogdorOptions) -> None:
    consumers = share_consumers(draft, fields, {}, start="earliest")
    _round_trip(draft, fields, part, options)
    part.consume = {"consumers": 1, **consumers}


def _record_processor(draft: Draft, fields: SpecFields) -> None:
    fields.required("type")
    fields.word("type", "timestamp", "timestamp", "timestampRandom")
    least, most = fields.whole("histogramMinMs", 0, least=0), fields.whole("histogramMaxMs", 10_000, least=0)
    step = fields.whole("histogramStepMs", 1)
    if step <= 0:
        draft.refuse(fields.place("histogramStepMs"), "bins of 0 ms", "Write at least 1")
    fields.close()
    draft.differs(
        fields.where,
        f"without clipping here; there in bins of {step} ms from {least} to {most}, as `streamgauge trogdor` tells it",
    )


def _round_trip(draft: Draft, fields: SpecFields, part: TrogdorPart, options: TrogdorOptions) -> None:
    part.topics = topics_of(draft, fields.place("activeTopics"), fields.mapping("activeTopics"))
    per_second = fields.whole("targetMessagesPerSec", 0)
    if per_second <= 0:
        draft.refuse(fields.place("targetMessagesPerSec"), "0: it needs a rate", "Write one above 0")
    part.messages = fields.whole("maxMessages", 0)
    if part.messages <= 0:
        draft.refuse(fields.place("maxMessages"), "0 sends nothing", "Write how many messages are sent")
    default = Payloads({"trogdor": {"type": "uniformRandom", "size": 32, "seed": 123, "padding": 10}}, None)
    values = values_of(fields.part("valueGenerator", "a payload generator"), default)
    fixed = {"batch.size": 16384, "buffer.memory": 65536, "request.timeout.ms": 105_000, "acks": "all"}
    given = {**fields.mapping("commonClientConf"), **fields.mapping("consumerConf")}
    client = consumer_client(draft, fields.place("consumerConf"), given)
    part.load = {
        "rate": throttled(draft, fields.place("targetMessagesPerSec"), max(1, per_second), floor=options.floor),
        "producers": 1,
        **values.document(),
        "keys": SEQUENTIAL_KEY,
        "partition": "round-robin",
        "resend": 100,
        "client": _producer_client(draft, fields, "4", **fixed),
    }
    part.consume = without_none(
        {"consumers": 1, "start": client.start, "commit": client.commit, "client": client.settings or None}
    )
    part.expect = {"delivery.lost": 0, "delivery.undelivered": 0, "delivery.failed": 0}
    draft.differs(
        fields.place("maxMessages"), "failed messages are sent again up to 100 times here, and without limit there"
    )
    draft.differs("totalUniqueSent, totalReceived", "ours are `delivery` of result.json: sent, delivered once, lost")


def _sustained(draft: Draft, fields: SpecFields, part: TrogdorPart, _options: TrogdorOptions) -> None:
    fields.required("topicName")
    part.topics = read_topics(draft, fields.place("topicName"), fields.texts("topicName"))
    counts = {
        role: fields.whole(f"{role.removesuffix('s')}ConnectionCount", 0, least=0)
        for role in ("producers", "consumers", "metadata")
    }
    fields.ignored("one process serves all connections", "numThreads")
    fields.ignored("held producers ask for leaders and send nothing", "keyGenerator", "valueGenerator")
    refresh = max(1, fields.whole("refreshRateMs", 1))
    java_client(
        draft,
        fields.place("producerConf"),
        {**fields.mapping("commonClientConf"), **fields.mapping("producerConf"), **fields.mapping("consumerConf")},
    )
    part.connections = {"hold": {**{role: n for role, n in counts.items() if n}, "refresh": duration(refresh)}}
    if counts["consumers"]:
        draft.differs(
            fields.place("consumerConnectionCount"),
            "each polls one partition at its end, where Trogdor chooses one at random each time",
        )


def _stress(draft: Draft, fields: SpecFields, part: TrogdorPart, _options: TrogdorOptions) -> None:
    per_second = fields.number("targetConnectionsPerSec", 0, least=0)
    if per_second <= 0:
        draft.refuse(fields.place("targetConnectionsPerSec"), "0: it needs a rate", "Write one above 0")
    nodes = max(1, len(fields.texts("clientNode")))
    fields.ignored("one process opens all connections", "numThreads")
    action = fields.word("action", "CONNECT", "CONNECT", "FETCH_METADATA")
    java_client(draft, fields.place("commonClientConf"), fields.mapping("commonClientConf"))
    if nodes > 1:
        draft.differs(
            fields.place("targetConnectionsPerSec"), f"{nodes} nodes with so many each are one process with all of them"
        )
    kind = "open" if action == "CONNECT" else "metadata"
    part.connections = {kind: f"{per_second * nodes:g}/s"}


def _sent_figures(draft: Draft) -> None:
    draft.differs(
        "averageLatencyMs, p50LatencyMs, p95LatencyMs, p99LatencyMs",
        "theirs are of acknowledgements from the send, in whole ms up to 10,000: ours `latency.ack.service`",
    )


WORKLOADS: Final[Mapping[str, Callable[[Draft, SpecFields, TrogdorPart, TrogdorOptions], None]]] = {
    "ConfigurableProducerSpec": _configurable_producer,
    "ProduceBenchSpec": _produce_bench,
    "ConsumeBenchSpec": _consume_bench,
    "RoundTripWorkloadSpec": _round_trip,
    "ShareConsumeBenchSpec": _share_consume_bench,
    "ShareRoundTripWorkloadSpec": _share_round_trip,
    "SustainedConnectionSpec": _sustained,
    "ConnectionStressSpec": _stress,
}
