"""The rows that a run records: one schema per kind of event, said once.

Arrow and Spark schemas are derived from these (`record.arrow`, `pipeline.read.schemas`), and a test proves that they
agree. Units are in the names; a `_ns` column is CLOCK_MONOTONIC of the run's host. Unknown is null.
"""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.tables.query_events import QUERY_EVENTS
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

SENT = Schema(
    "sent",
    "One message that was taken up or due: acknowledged, failed, timed out, never sent, or of unknown fate, because "
    "its producer died before it could report.",
    (
        must("topic", _I32, "number of the topic in run.json"),
        must("producer", _I32, "number of the producer"),
        must("seq", _I64, "sequence within the producer, from 0"),
        may("partition", _I32, "partition that took it; null when it never got there"),
        may("offset", _I64, "offset it was acknowledged at; null with acks 0 and for failed messages"),
        may("due_ns", _I64, "when the schedule wanted it; null where the load has no schedule"),
        may("sent_ns", _I64, "read just before the produce call that was accepted; null when never sent, or not known"),
        may(
            "acked_ns",
            _I64,
            "when its delivery report was served; null with acks 0, when never sent, and when not known",
        ),
        may("size_bytes", _I32, "bytes of value; null when never sent, or not known"),
        may("error", _STR, "null when acknowledged; `unsent`, `fate_unknown`, or the client's name of the error"),
        may("transaction", _I32, "number of the transaction within the producer"),
        may(
            "admitted_ns", _I64, "when its producer saw that the policy let it go; null without a policy, or never sent"
        ),
        may("handed_ns", _I64, "return of the produce calls of its block; null when never sent, or not known"),
        may(
            "waited_ns",
            _I64,
            "how much of the time from due_ns to sent_ns its producer waited for room in the client's queue, for "
            "delivery reports, or for the end of a transaction; null without a schedule, and where it never waited so",
        ),
        may(
            "polled_ns",
            _I64,
            "the earliest time at which its delivery report can have been ready: begin of the previous call that "
            "serves reports or, if the call waited for it, when it woke up; null with acks 0, and when never sent",
        ),
    ),
)

RECEIVED = Schema(
    "received",
    "One message delivered to one consumer by one poll.",
    (
        must("topic", _I32, "number of the topic in run.json"),
        must("group", _I32, "number of the consumer group in run.json"),
        must("consumer", _I32, "number of the consumer"),
        must("poll", _I64, "number of the poll within the consumer, from 0"),
        may("producer", _I32, "from the stamp; null when the message is foreign"),
        may("seq", _I64, "from the stamp; null when the message is foreign"),
        must("partition", _I32, "partition it was read from"),
        must("offset", _I64, "offset it was read at"),
        may("append_ms", _I64, "wall clock of the broker's append; null unless the topic stamps LogAppendTime"),
        may("created_ms", _I64, "wall clock at which it was produced; null with append_ms, and in runs that produce"),
        may("due_ns", _I64, "from the stamp; null when foreign or without a schedule"),
        may("sent_ns", _I64, "from the stamp; null when the message is foreign"),
        must("received_ns", _I64, "return of the poll that delivered it"),
        may("started_ns", _I64, "begin of its processing; null when it never began, or the consumer does none"),
        may("processed_ns", _I64, "end of its processing; null when it never ended, or the consumer does none"),
        must("size_bytes", _I32, "bytes of value"),
        may("delivery_count", _I32, "how often the broker says it was delivered; null outside share groups"),
        may("intact", _BOOL, "whether the checksum agrees; null when it was not checked"),
        may(
            "empty_ns",
            _I64,
            "the earliest time at which it can have been ready in the client: when the client's queue was last seen "
            "empty or, if the poll waited for it, when it woke up; null for consumers that process or limit their rate",
        ),
    ),
)

POLLS = Schema(
    "polls",
    "One call of a consumer for messages.",
    (
        must("consumer", _I32, "number of the consumer"),
        must("poll", _I64, "number of the poll within the consumer, from 0"),
        must("started_ns", _I64, "when the call began"),
        must("returned_ns", _I64, "when it returned"),
        must("count", _I32, "messages it returned"),
        may("limit", _I32, "messages it asked for at most"),
    ),
)

LAG = Schema(
    "lag",
    "Where a partition stands for a group: log ends, commits, positions.",
    (
        must("at_ns", _I64, "when it was asked"),
        may("answered_ns", _I64, "when the cluster had answered; null where nothing was asked, or it gave no answer"),
        must("moment", _STR, "`start` (before the load), `sample`, or `final` (end of the drain)"),
        must("topic", _I32, "number of the topic in run.json"),
        may("group", _I32, "number of the group; null in a run that only produces"),
        may("consumer", _I32, "consumer whose position this is; null in the rows of log ends and commits"),
        must("partition", _I32, "number of the partition"),
        may("start", _I64, "log start offset"),
        may("committed", _I64, "committed offset of the group"),
        may("position", _I64, "next offset this consumer would have read"),
        may("end", _I64, "log end offset"),
        may("error", _STR, "why a value is missing"),
    ),
)

RESOURCES = Schema(
    "resources",
    "One look at one process, or at the host.",
    (
        must("at_ns", _I64, "when it was read"),
        must("process", _STR, "name, like `producer-0`, `broker-1`, `host`"),
        must(
            "role",
            _STR,
            "`producer`, `consumer`, `query`, `driver`, `executor`, `python`, `sampler`, `lag`, `controller`, "
            "`supervisor`, `broker` or `host`",
        ),
        may("cpu_ns", _I64, "CPU time used so far, user and system; of the host: all cores, idle and steal apart"),
        may("rss_bytes", _I64, "resident memory; of the host: memory in use"),
        may("steal_ns", _I64, "host only: time the hypervisor gave to others so far, all cores"),
        may("idle_ns", _I64, "host only: time idle or waiting for I/O so far, all cores"),
        may("messages", _I64, "workers only: messages handed to the client, or received, so far"),
        may("blocked_ns", _I64, "producers only: time spent waiting for room in the client's queue so far"),
        may("poll_gap_ns", _I64, "workers only: longest time between two polls in the second before"),
        may("wall_ns", _I64, "host only: what the wall clock showed at `at_ns`"),
        may(
            "throttled_ns",
            _I64,
            "host only: time that a CPU quota has stopped threads of the workers' cgroups so far, added up over cores; "
            "null where the system does not tell",
        ),
        may("throttled_periods", _I64, "host only: periods of that quota so far in which it was used up"),
        may("throttled_periods_ns", _I64, "host only: length of these periods"),
        may(
            "run_delay_ns",
            _I64,
            "processes only: time that its threads were ready to run and had no core so far, added up; the threads of "
            "the Kafka client apart; null where the system does not count it",
        ),
        may("client_run_delay_ns", _I64, "workers only: the same of the threads of the Kafka client"),
        may("switches", _I64, "workers only: involuntary context switches of all threads so far"),
        may("cpu_pressure_ns", _I64, "host only: time that at least one task waited for a core so far"),
        may("io_pressure_ns", _I64, "host only: the same of waiting for I/O"),
        may("memory_pressure_ns", _I64, "host only: the same of waiting for memory"),
    ),
)

TRANSACTIONS = Schema(
    "transactions",
    "One transaction of one producer.",
    (
        must("producer", _I32, "number of the producer"),
        must("transaction", _I32, "number of the transaction within the producer, as in `sent`"),
        must("began_ns", _I64, "when it was begun"),
        may("ended_ns", _I64, "when the call that ended it returned; null when it was never ended"),
        must("outcome", _STR, "`committed`, `aborted`, or `unknown` where the broker did not say"),
        must("messages", _I64, "messages handed to the client within it"),
    ),
)

BATCHES = Schema(
    "batches",
    "One batch after which a producer waited: of a closed loop, or what lies between two flushes.",
    (
        must("producer", _I32, "number of the producer"),
        must("batch", _I64, "number of the batch within the producer, from 0"),
        must("first_seq", _I64, "sequence of its first message"),
        must("messages", _I64, "messages in it"),
        must("began_ns", _I64, "when its first message was handed to the client"),
        must("waited_ns", _I64, "when the producer began to wait for the reports"),
        must("ended_ns", _I64, "when the last report had come"),
    ),
)

RESENDS = Schema(
    "resends",
    "One send that failed and was made again; what became of the last attempt is a row of `sent`.",
    (
        must("at_ns", _I64, "when the failure became known"),
        must("topic", _I32, "number of the topic in run.json"),
        must("producer", _I32, "number of the producer"),
        must("seq", _I64, "sequence within the producer"),
        must("attempt", _I32, "which attempt failed, from 1"),
        must("error", _STR, "the client's name of the error"),
    ),
    formerly="attempts",
)

CLIENT = Schema(
    "client",
    "One look at what a client says of itself (librdkafka's statistics); counters since it began, means of one second.",
    (
        must("at_ns", _I64, "when the client counted"),
        must("worker", _STR, "name of the worker, like `producer-0`"),
        must("role", _STR, "`producer` or `consumer`"),
        must("messages", _I64, "messages put into requests, those of retries again; of a consumer: out of responses"),
        must("message_bytes", _I64, "bytes of their keys and values, not compressed"),
        must("wire_bytes", _I64, "bytes of all requests sent, of every kind; of a consumer: of all responses"),
        must("requests", _I64, "Produce requests sent; of a consumer: Fetch requests"),
        must("retries", _I64, "requests that were sent again"),
        may("rtt_us", _I64, "mean time from a request to its response; a consumer's may wait for messages meanwhile"),
        may("rtt_p99_us", _I64, "99th percentile of these times, of the broker where it is longest"),
        must("throttle_ms", _I64, "longest time that a broker told the client to wait"),
        may("queue_us", _I64, "producers only: mean time of a message in the client's queue before its request"),
        may("queue_messages", _I64, "producers only: messages in the queue and in flight"),
        may("queue_bytes", _I64, "producers only: bytes of these messages"),
        may("batch_messages", _I64, "producers only: mean number of messages in a batch"),
        may("batch_bytes", _I64, "producers only: mean size of a batch as it was sent, with its header"),
    ),
)

CONNECTIONS = Schema(
    "connections",
    "One operation on connections beside the load: one that was opened, a client that was made, or one that is held.",
    (
        must("at_ns", _I64, "when it began"),
        must("worker", _STR, "name of the worker, like `connector-0`"),
        must("kind", _STR, "`open`, `metadata`, `hold-producer`, `hold-consumer` or `hold-metadata`"),
        must("number", _I64, "number of the operation within its kind, from 0; of a held connection: its own number"),
        may("due_ns", _I64, "when the schedule wanted it; null for the first use of a held one, before the load"),
        must("took_ns", _I64, "time until it was answered, or failed"),
        may("error", _STR, "null when it was answered; the client's or the system's name of the error"),
    ),
)

COMMITS = Schema(
    "commits",
    "One commit of a consumer.",
    (
        must("consumer", _I32, "number of the consumer"),
        must("at_ns", _I64, "when it was begun; where the client commits by itself, when that was answered"),
        may("took_ns", _I64, "how long until the answer; null where the client commits by itself"),
        must("asynchronous", _BOOL, "whether the consumer went on before the answer"),
        may("error", _STR, "null when the offsets are committed, or the client's name of the error"),
    ),
)

DECISIONS = Schema(
    "decisions",
    "One decision of the policy that holds producers back: what it saw, and what it granted or forbade.",
    (
        must("at_ns", _I64, "when it was decided"),
        must("policy", _STR, "`hysteresis` or `credit`"),
        may("producer", _I32, "producer that it is for; null for all"),
        may("processed", _I64, "messages processed by the slowest group, as the controller counted"),
        may("granted", _I64, "messages that may be sent since the begin of the run; null for as many as they like"),
        may(
            "outstanding",
            _I64,
            "messages that producers claimed, minus processed and returned, as the controller counted",
        ),
        may("lag", _I64, "committed lag that it was decided by, the largest of all groups; null for other policies"),
        must("reason", _STR, "`grant`, `pause` or `resume`"),
    ),
)

FAULTS = Schema(
    "faults",
    "Something that the scenario does to the run: a fault that was injected, another delay, the edge of a burst.",
    (
        must("at_ns", _I64, "when it took place"),
        must("kind", _STR, "`pause`, `kill`, `delay` or `burst`"),
        must(
            "target", _STR, "process that it was done to, like `consumer-0`; `consumers` or `producers`; or `broker-1`"
        ),
        must("action", _STR, "`begin` or `end`"),
        may("detail", _STR, "what it is from then on, like `4ms` or `15,000/s`"),
        may("error", _STR, "why it could not be done"),
    ),
)

EVENTS: Mapping[str, Schema] = MappingProxyType(
    {
        schema.name: schema
        for schema in (
            SENT, RECEIVED, POLLS, LAG, RESOURCES, TRANSACTIONS, BATCHES, RESENDS, CLIENT, CONNECTIONS, COMMITS,
            DECISIONS, FAULTS, *QUERY_EVENTS,
        )
    }
)  # fmt: skip

COMMITTED, ABORTED, UNDECIDED = "committed", "aborted", "unknown"
"""Outcomes of a transaction."""
UNSENT = "unsent"
"""Error of a message that was due before the load ended and never handed to the client."""
FATE_UNKNOWN = "fate_unknown"
"""Error of a message that was claimed for sending, and whose producer was gone before it could report what became of
it. It may have been sent, and it may be in the log."""
