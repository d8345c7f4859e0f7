"""Schemas of the recorded events, one for each kind.

Arrow and Spark schemas are derived from them (`arrow`, `pipeline.read.schemas`); a test proves that they agree.
Names carry units; a `_ns` column is CLOCK_MONOTONIC of the run's host. Unknown values are null.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from streamgauge.domain.tables.cluster_events import FOLLOWERS, REPLICAS
from streamgauge.domain.tables.cluster_events import LAG as LAG
from streamgauge.domain.tables.delivery_events import ATTEMPTS
from streamgauge.domain.tables.query_events import QUERY_EVENTS
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

SENT = Schema(
    "sent",
    "One message that a producer claimed for sending, or that was due: acknowledged, failed, timed out, "
    "never sent, or of unknown fate because its producer died before it reported.",
    (
        must("topic", _I32, "topic number in run.json"),
        must("producer", _I32, "producer number"),
        must("seq", _I64, "sequence number within the producer, from 0"),
        may("partition", _I32, "partition it was written to; null if it was not written"),
        may("offset", _I64, "acknowledged offset; null with acks 0 and for failed messages"),
        may("due_ns", _I64, "scheduled send time; null without a schedule"),
        may("sent_ns", _I64, "time just before the accepted produce call; null if never sent or unknown"),
        may("acked_ns", _I64, "time its delivery report was served; null with acks 0, if never sent, or unknown"),
        may("size_bytes", _I32, "value size; null if never sent or unknown"),
        may("error", _STR, "null if acknowledged; otherwise `unsent`, `fate_unknown`, or the client's error name"),
        may("transaction", _I32, "transaction number within the producer"),
        may("admitted_ns", _I64, "time its producer saw the policy admit it; null without a policy or if never sent"),
        may("handed_ns", _I64, "return of the produce calls of its block; null if never sent or unknown"),
        may(
            "waited_ns",
            _I64,
            "time between due_ns and sent_ns in which its producer waited for room in the client's queue, for delivery "
            "reports, or for the end of a transaction; null without a schedule, and if it never waited",
        ),
        may(
            "polled_ns",
            _I64,
            "earliest time at which its delivery report can have been ready: start of the previous call that serves "
            "reports or, if the call waited for it, when it woke up; null with acks 0, or if never sent",
        ),
    ),
)

RECEIVED = Schema(
    "received",
    "One message delivered to one consumer by one poll.",
    (
        must("topic", _I32, "topic number in run.json"),
        must("group", _I32, "consumer group number in run.json"),
        must("consumer", _I32, "consumer number"),
        must("poll", _I64, "poll number within the consumer, from 0"),
        may("producer", _I32, "producer number from the stamp; null for a foreign message"),
        may("seq", _I64, "sequence number from the stamp; null for a foreign message"),
        must("partition", _I32, "partition it was read from"),
        must("offset", _I64, "offset it was read at"),
        may("append_ms", _I64, "wall-clock time of the broker's append; null unless the topic uses LogAppendTime"),
        may("created_ms", _I64, "wall-clock creation time; null with append_ms, and in runs that produce"),
        may("due_ns", _I64, "scheduled send time from the stamp; null for a foreign message or without a schedule"),
        may("sent_ns", _I64, "send time from the stamp; null for a foreign message"),
        must("received_ns", _I64, "time the client returned the poll that delivered it, before it is decoded"),
        may("started_ns", _I64, "start of processing; null if it never started, or the consumer does not process"),
        may("processed_ns", _I64, "end of processing; null if it never ended, or the consumer does not process"),
        must("size_bytes", _I32, "value size"),
        may("delivery_count", _I32, "delivery number of the message, from 1; null where nothing redelivers"),
        may("deadline_ms", _I64, "broker's time when due again unless acknowledged; of a retry topic: when it was due"),
        may("intact", _BOOL, "whether the checksum matches; null if it was not verified"),
        may(
            "empty_ns",
            _I64,
            "earliest time at which it can have been ready in the client: when the client's queue was last seen empty "
            "or, if the poll waited for it, when it woke up; null for consumers that process or limit their rate",
        ),
    ),
)

POLLS = Schema(
    "polls",
    "One poll call of a consumer.",
    (
        must("consumer", _I32, "consumer number"),
        must("poll", _I64, "poll number within the consumer, from 0"),
        must("started_ns", _I64, "start of the call"),
        must("returned_ns", _I64, "return of the call"),
        must("count", _I32, "messages returned"),
        may("limit", _I32, "maximum messages requested"),
    ),
)

RESOURCES = Schema(
    "resources",
    "One sample of one process, or of the host.",
    (
        must("at_ns", _I64, "sample time"),
        must("process", _STR, "process name, like `producer-0`, `broker-1`, `host`"),
        must(
            "role",
            _STR,
            "`producer`, `consumer`, `tracker`, `query`, `driver`, `executor`, `python`, `sampler`, `lag`, "
            "`controller`, `supervisor`, `broker`, `proxy` (of links) or `host`",
        ),
        may("cpu_ns", _I64, "cumulative CPU time, user and system; of the host: all cores, without idle and steal"),
        may("rss_bytes", _I64, "resident memory; of the host: memory in use"),
        may("heap_bytes", _I64, "processes only: resident memory that is neither a file nor shared: heap and stacks"),
        may("threads", _I64, "processes only: threads"),
        may("gc_collections", _I64, "workers only: cumulative collections of Python's garbage collector"),
        may("gc_ns", _I64, "workers only: cumulative time in them"),
        may("steal_ns", _I64, "host only: cumulative steal time of all cores"),
        may("idle_ns", _I64, "host only: cumulative idle and I/O wait time of all cores"),
        may("messages", _I64, "workers only: cumulative messages handed to the client, or received"),
        may("blocked_ns", _I64, "producers only: cumulative time spent waiting for room in the client's queue"),
        may("poll_gap_ns", _I64, "workers only: longest time between two polls in the preceding second"),
        may("wall_ns", _I64, "host only: wall clock at `at_ns`"),
        may(
            "throttled_ns",
            _I64,
            "host only: cumulative time that a CPU quota stopped threads of the workers' cgroups, summed over "
            "cores; null where the system does not report it",
        ),
        may("throttled_periods", _I64, "host only: cumulative periods in which that quota was used up"),
        may("throttled_periods_ns", _I64, "host only: cumulative length of these periods"),
        may(
            "run_delay_ns",
            _I64,
            "processes only: cumulative time that threads were ready to run and had no core, summed over threads, "
            "without those of the Kafka client; null where the system does not count it",
        ),
        may("client_run_delay_ns", _I64, "processes that use the Kafka client: likewise for that client's threads"),
        may("switches", _I64, "workers and processes of a query: cumulative involuntary context switches"),
        may("cpu_pressure_ns", _I64, "host only: cumulative time in which at least one task waited for a core"),
        may("io_pressure_ns", _I64, "host only: likewise for I/O"),
        may("memory_pressure_ns", _I64, "host only: likewise for memory"),
    ),
)

TRANSACTIONS = Schema(
    "transactions",
    "One transaction of one producer.",
    (
        must("producer", _I32, "producer number"),
        must("transaction", _I32, "transaction number within the producer, as in `sent`"),
        must("began_ns", _I64, "start of the transaction"),
        may("ending_ns", _I64, "start of the call that ended it; null if it never ended"),
        may("ended_ns", _I64, "return of that call; null if it never ended"),
        must("outcome", _STR, "`committed`, `aborted`, or `unknown` if the broker did not report it"),
        must("messages", _I64, "messages handed to the client in it"),
    ),
)

BATCHES = Schema(
    "batches",
    "One batch after which a producer waited for delivery reports: of a closed loop, or between two flushes.",
    (
        must("producer", _I32, "producer number"),
        must("batch", _I64, "batch number within the producer, from 0"),
        must("first_seq", _I64, "sequence number of its first message"),
        must("messages", _I64, "messages in the batch"),
        must("began_ns", _I64, "time its first message was handed to the client"),
        must("waited_ns", _I64, "time the producer started to wait for the delivery reports"),
        must("ended_ns", _I64, "time of the last delivery report"),
    ),
)

RESENDS = Schema(
    "resends",
    "One failed send that was retried; a row of `sent` has the outcome of the last attempt.",
    (
        must("at_ns", _I64, "time the failure was reported"),
        must("topic", _I32, "topic number in run.json"),
        must("producer", _I32, "producer number"),
        must("seq", _I64, "sequence number within the producer"),
        must("attempt", _I32, "number of the failed attempt, from 1"),
        must("error", _STR, "the client's error name"),
    ),
    formerly="attempts",
)

CLIENT = Schema(
    "client",
    "One sample of a client's own statistics (librdkafka): cumulative counters, and means of one second.",
    (
        must("at_ns", _I64, "time of the statistics"),
        must("worker", _STR, "worker name, like `producer-0`"),
        must("role", _STR, "as in the table `wire`"),
        must("messages", _I64, "messages put into requests, including retries; of a consumer: messages from responses"),
        must("message_bytes", _I64, "uncompressed bytes of their keys and values"),
        must("wire_bytes", _I64, "bytes of all requests sent, of every kind; of a consumer: bytes of all responses"),
        must("requests", _I64, "Produce requests sent; of a consumer: Fetch or ShareFetch requests"),
        must("retries", _I64, "requests that were retried, without Produce requests"),
        may("retried_messages", _I64, "producers only: messages put into another Produce request again, at least"),
        may("tx_bytes", _I64, "bytes of all requests, of every kind"),
        may("rx_bytes", _I64, "bytes of all responses"),
        may("tx_requests", _I64, "requests of every kind"),
        may("rtt_us", _I64, "mean request round-trip time; of a consumer, it may include the wait for messages"),
        may("rtt_p99_us", _I64, "99th percentile of that, of the slowest broker"),
        must("throttle_ms", _I64, "longest throttle time that a broker requested"),
        may("queue_us", _I64, "producers only: mean time of a message in the client's queue before its request"),
        may("queue_messages", _I64, "producers only: messages in the queue and in flight"),
        may("queue_bytes", _I64, "producers only: bytes of these messages"),
        may("batch_messages", _I64, "producers only: mean messages per batch"),
        may("batch_bytes", _I64, "producers only: mean size of a batch as sent, with its header"),
    ),
)

CONNECTIONS = Schema(
    "connections",
    "One operation on connections besides the load: one opened, a client created, or a held one used.",
    (
        must("at_ns", _I64, "start of the operation"),
        must("worker", _STR, "worker name, like `connector-0`"),
        must("kind", _STR, "`open`, `metadata`, `hold-producer`, `hold-consumer` or `hold-metadata`"),
        must("number", _I64, "operation number within its kind, from 0; of a held connection: the connection's number"),
        may("due_ns", _I64, "scheduled start; null for the first use of a held connection, before the load"),
        must("took_ns", _I64, "time until the response or failure"),
        may("error", _STR, "null on success; otherwise the client's or the system's error name"),
    ),
)

COMMITS = Schema(
    "commits",
    "One commit of a consumer.",
    (
        must("consumer", _I32, "consumer number"),
        must("at_ns", _I64, "start of the commit; with auto commit, time of the response"),
        may("took_ns", _I64, "time until the response; null with auto commit"),
        must("asynchronous", _BOOL, "whether the consumer continued before the response"),
        may("error", _STR, "null if the offsets are committed; otherwise the client's error name"),
    ),
)

DECISIONS = Schema(
    "decisions",
    "One decision of the backpressure policy: its input, and what it granted, paused or resumed.",
    (
        must("at_ns", _I64, "time of the decision"),
        must("policy", _STR, "`hysteresis` or `credit`"),
        may("producer", _I32, "producer concerned; null for all"),
        may("processed", _I64, "messages processed by the slowest group, as counted by the controller"),
        may("granted", _I64, "messages that may be sent since the start of the run; null for no limit"),
        may("outstanding", _I64, "messages claimed by producers - processed - returned, as counted by the controller"),
        may("lag", _I64, "committed lag used for the decision, the largest of all groups; null for other policies"),
        must("reason", _STR, "`grant`, `pause` or `resume`"),
    ),
)

FAULTS = Schema(
    "faults",
    "One scheduled disturbance: an injected fault, a change of the processing delay, or an edge of a burst.",
    (
        must("at_ns", _I64, "time it took place"),
        must("kind", _STR, "kind of the fault as the scenario has it; or `delay` or `burst`"),
        must("target", _STR, "target, like `consumer-0` or `clients-broker-1`; or all `consumers` or `producers`"),
        must("action", _STR, "`begin` or `end`"),
        may("detail", _STR, "value from then on, like `4ms` or `15,000/s`; or the role by which the target was found"),
        may("error", _STR, "why it could not be injected, or not in order"),
        may("asked_ns", _I64, "time that the scenario asks for; null where it waits for something else"),
    ),
)

EVENTS: Mapping[str, Schema] = MappingProxyType(
    {
        schema.name: schema
        for schema in (
            SENT, RECEIVED, ATTEMPTS, POLLS, LAG, REPLICAS, FOLLOWERS, RESOURCES, TRANSACTIONS, BATCHES, RESENDS,
            CLIENT, CONNECTIONS, COMMITS, DECISIONS, FAULTS, *QUERY_EVENTS,
        )
    }
)  # fmt: skip


def is_of_kind(kind: str, folder: str, entries: Iterable[str]) -> bool:
    """Whether a folder of events, with these entries, has rows of a kind that is or once was called so.

    What producers send again was called `attempts` in format 1; today only consumers and trackers write those.
    """
    if folder != ATTEMPTS.name:
        return True
    return any(entry.startswith("worker=producer") for entry in entries) == (kind == RESENDS.name)


COMMITTED, ABORTED, UNDECIDED = "committed", "aborted", "unknown"
"""Outcomes of a transaction."""
UNSENT = "unsent"
"""Error of a message that was due before the load ended and never handed to the client."""
FATE_UNKNOWN = "fate_unknown"
"""Error of a message that was claimed for sending, and whose producer died before it reported the outcome. It may have
been sent, and it may be in the log."""
