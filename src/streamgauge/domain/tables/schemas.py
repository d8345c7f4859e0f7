"""The gold tables: what the pipeline answers, one schema per table, said once.

`scope` says what a row covers: `run` (everything, warm-up and drain included), `measure` (the measure phase),
`window` (one second; `second` counts from the start of the measure phase, so warm-up is negative), `partition`
(one partition within the measure phase), `topic` or `group` (one of several, within the measure phase). Times are in
the unit of their name; unknown is null.
"""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.events import Schema, Type, may, must
from streamgauge.domain.latency.percentiles import PERCENTILES, percentile_words
from streamgauge.domain.tables.query import QUERY_TABLES

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING


_SCOPE = (
    must("scope", _STR, "`run`, `measure`, `window`, `partition`, `topic` or `group`"),
    may("second", _I64, "window, counted from the start of the measure phase"),
    may("topic", _I32, "topic; with scopes partition and topic"),
    may("partition", _I32, "partition; with scope partition"),
)

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "ack_response": "acked_ns - due_ns",
        "ack_service": "acked_ns - sent_ns",
        "end_to_end_response": "received_ns - due_ns",
        "end_to_end_service": "received_ns - sent_ns",
        "processing_response": "processed_ns - due_ns",
        "processing_service": "processed_ns - sent_ns",
        "lateness": "sent_ns - due_ns",
        "throttle": "admitted_ns - due_ns, 0 where it was let go before it was due",
        "own_lateness": "sent_ns - admitted_ns, or - due_ns where that is later",
        "poll": "returned_ns - started_ns of one poll",
        "batch": "ended_ns - began_ns of one batch",
        "flush_wait": "ended_ns - waited_ns of one batch",
        "since_record_time": "received_ns - recorded_ns",
        "stage_schedule": "sent_ns - due_ns, of messages of which every stage is known",
        "stage_produce": "appended to the source - sent_ns, of the same messages",
        "stage_wait": "begin of the batch - appended to the source, of the same messages",
        "stage_process": "appended to the sink - begin of the batch, or - appended to the source where there is none",
        "stage_deliver": "received_ns - appended to the sink, of the same messages",
        "stage_all": "received_ns - due_ns, or - sent_ns without a schedule, of the same messages",
    }
)
"""Every latency that is measured, and the difference that it is."""

DELIVERED_PERCENTILES = ("p50", "p95", "p99", "p99_9")
"""Percentiles that are also told of the delivered messages alone: how good a run looks when the others vanish."""

UNPLACED = frozenset({"lateness", "throttle", "own_lateness", "poll", "batch", "flush_wait"})
"""Metrics that are not of messages in partitions."""

THROUGHPUT = Schema(
    "throughput",
    "How many messages passed each stage; each count by the clock of its own event.",
    (
        *_SCOPE,
        may("group", _I32, "consumer group; with scope group, whose sending side is that of all messages"),
        may("duration_ns", _I64, "length of what the row covers"),
        must("due", _I64, "messages that the schedule wanted; 0 without a schedule"),
        must("sent", _I64, "messages handed to the client, as far as anybody knows; see `sent` of `delivery`"),
        must("acked", _I64, "messages acknowledged"),
        must("failed", _I64, "messages that failed or timed out, by when that became known"),
        must("unsent", _I64, "messages due and never sent, by due time"),
        must("received", _I64, "messages received, every delivery counted"),
        must("processed", _I64, "messages processed; equal to received where there is no processing"),
        must("sent_bytes", _I64, "bytes of value of the messages sent"),
        must("received_bytes", _I64, "bytes of value of the messages received"),
        may("outstanding", _I64, "scope window: sent, not aborted, minus processed at its end, since the start"),
    ),
)

_PROCESSING_FIGURES = (("mean", "mean"), ("p50", percentile_words("p50")), ("p99", percentile_words("p99")))

LATENCY_BUCKETS = Schema(
    "latency_buckets",
    "Histogram counts: by window (every second of the run) and by partition (measure phase only), never both.",
    (
        must("metric", _STR, "one of the metrics"),
        may("second", _I64, "window; null in the rows by partition"),
        may("topic", _I32, "topic; null in the rows by window"),
        may("partition", _I32, "partition; null in the rows by window"),
        must("measured", _BOOL, "whether the messages belong to the measure phase"),
        must("censored", _BOOL, "true for ages of messages that were never delivered"),
        must("bucket", _I64, "bucket index, see domain/latency/buckets.py"),
        must("count", _I64, "messages"),
    ),
)

LATENCY = Schema(
    "latency",
    "One latency: count, moments and percentiles; scopes measure, window and partition.",
    (
        must("metric", _STR, "one of the metrics"),
        *_SCOPE,
        must("selected_by", _STR, "`due`, `sent`, `received`: the time by which messages belong to the scope"),
        must("count", _I64, "messages measured"),
        must("censored", _I64, "messages that never came, counted in the percentiles"),
        may("min_ms", _F64, "shortest of the messages delivered"),
        may("mean_ms", _F64, "mean of the messages delivered"),
        may("stddev_ms", _F64, "standard deviation of the messages delivered"),
        may("variance_ms2", _F64, "variance of the messages delivered, in ms squared"),
        may("mad_ms", _F64, "median of the absolute deviations from the median, messages delivered"),
        may("max_ms", _F64, "longest of the messages delivered"),
        *(
            may(f"{name}_ms", _F64, f"{percentile_words(name)}, messages that never came at their age")
            for name in PERCENTILES
        ),
        *(
            may(f"{name}_hi_ms", _F64, f"{percentile_words(name)}, messages that never came as infinite")
            for name in PERCENTILES
        ),
        *(must(f"{name}_censored", _BOOL, f"whether {percentile_words(name)} is an interval") for name in PERCENTILES),
        *(
            may(
                f"delivered_{name}_ms",
                _F64,
                f"{percentile_words(name)} of the messages delivered alone, where some never came",
            )
            for name in DELIVERED_PERCENTILES
        ),
        may("reason", _STR, "why there is nothing to measure"),
        may("negative", _I64, "metric since_record_time: how many are below zero"),
        may(
            "clock", _STR, "metric since_record_time: `append` (the broker's clock), `create` (its producer's), `both`"
        ),
    ),
)

CDF = Schema(
    "cdf",
    "Share of messages delivered within an edge; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("le_ms", _F64, "upper edge"),
        must("share", _F64, "share of all messages of the measure phase, censored ones included"),
    ),
)

PERCENTILE_CURVE = Schema(
    "percentiles",
    "The percentile curve: ten points while the share beyond halves, up to the last message; measure phase.",
    (
        must("metric", _STR, "one of the metrics"),
        must("percent", _F64, "percentile, 0 to 100"),
        must("value_ms", _F64, "its value, messages that never came counted at their age"),
        may("hi_ms", _F64, "its value, messages that never came counted as infinite; null for infinite"),
        must("censored", _BOOL, "whether the two differ"),
    ),
)

HEAT = Schema(
    "heat",
    "Delivered messages by the time of the run and the time they took; whole run, in at most 120 columns of time.",
    (
        must("metric", _STR, "one of the metrics"),
        must("from_second", _I64, "begin of the cell, in seconds from the start of the measure phase"),
        must("to_second", _I64, "end of the cell"),
        must("above_ms", _F64, "messages that took longer than this"),
        must("le_ms", _F64, "and at most this"),
        must("count", _I64, "messages"),
    ),
)

_COUNTED: Mapping[str, str] = MappingProxyType(
    {
        "sent": "messages handed to the client, as far as anybody knows: reported by their producer, or received; not "
        "those of unknown fate that were not received",
        "acked": "messages acknowledged",
        "failed": "messages refused or timed out",
        "unsent": "messages due before the load ended and never handed to the client",
        "received": "deliveries to the group, every one counted",
        "delivered_once": "acknowledged messages received exactly once",
        "undelivered": "acknowledged messages not received, beyond where the group had read when the drain ended",
        "lost": "acknowledged messages gone: the group read past their offsets, or the log ends before them",
        "expired": "acknowledged messages not received, deleted by retention before",
        "unknown": "messages whose fate cannot be decided: acknowledged ones, and those of unknown fate that were not "
        "received",
        "duplicate_consumer": "messages received more than once from the same offset",
        "duplicate_producer": "messages received from several offsets: written more than once",
        "reordered": "messages received after a later one of the same producer and partition",
        "corrupt": "deliveries whose checksum or stamp is damaged",
        "foreign": "deliveries of messages that are not of this run",
        "unrecorded": "messages of this run received, and not recorded as sent",
        "unacked_received": "messages that failed, or whose fate is unknown, and that were received all the same",
        "aborted": "messages acknowledged in transactions that were aborted",
        "aborted_received": "messages of aborted transactions that were received all the same",
        "resent": "messages that failed and were sent again, by when they failed",
        "unread": "messages acknowledged in partitions that consumers are told not to read; in no other class",
        "fate_unknown": "messages that a producer took up and could not report before it died; neither acknowledged "
        "nor failed. One without a due time belongs to the measure phase only if it was received",
        "fate_unknown_received": "messages of unknown fate that were received, and so were sent; in "
        "`unacked_received`, too",
        "unaccounted": "sequences that a producer took up and that have no row of `sent`, rows too many of one "
        "sequence, and rows of messages that nobody took up; scope run only",
    }
)
DELIVERY_COUNTS = tuple(_COUNTED)
"""Names and order of the counts of `delivery`."""

DELIVERY = Schema(
    "delivery",
    "What became of the messages, exactly; one row per scope (run, measure) and group.",
    (
        must("scope", _STR, "`run` or `measure`"),
        may("group", _I32, "consumer group; null when nobody consumes"),
        *(may(name, _I64, about) for name, about in _COUNTED.items()),
        may("checked", _I64, "received rows whose checksum was verified"),
        must("negative_latencies", _I64, "received rows whose end-to-end service time is below zero"),
    ),
)

PROBLEMS = Schema(
    "problems",
    "Up to 10,000 messages that are not simply delivered once, so that a count can be looked into.",
    (
        must("class", _STR, "class of delivery, like `lost`"),
        may("group", _I32, "number of the consumer group, where it is a matter of one"),
        may("topic", _I32, "number of the topic"),
        may("producer", _I32, "number of the producer, where the stamp tells it"),
        may("seq", _I64, "sequence within the producer"),
        may("partition", _I32, "partition that it was written to or read from"),
        may("offset", _I64, "offset in there"),
        may("due_ns", _I64, "when it was due"),
        may("error", _STR, "error of the send"),
    ),
)

POLLS_BY_CONSUMER = Schema(
    "polls",
    "How each consumer polled; measure phase.",
    (
        must("consumer", _I32, "number of the consumer"),
        must("polls", _I64, "polls that returned in the measure phase"),
        must("empty", _I64, "polls that returned nothing"),
        must("messages", _I64, "messages they returned"),
        may("mean_messages", _F64, "messages per poll that returned any"),
        may("in_poll_share", _F64, "share of the time spent inside poll"),
        may("longest_gap_ms", _F64, "longest time between the return of a poll and the start of the next"),
    ),
)

RESOURCES_BY_INTERVAL = Schema(
    "resources",
    "What each process used between two looks, and over the measure phase.",
    (
        must("process", _STR, "name, like `producer-0`, `broker-1`, `host`"),
        must(
            "role",
            _STR,
            "`producer`, `consumer`, `sampler`, `lag`, `controller`, `supervisor`, `broker` or `host`; of a query "
            "`query`, who looks after it, `driver`, `executor` and `python`",
        ),
        must("scope", _STR, "`interval` or `measure`"),
        may("second", _F64, "end of the interval, in seconds from the start of the measure phase"),
        may("duration_ns", _I64, "length of the interval"),
        may("cpu_cores", _F64, "CPU time per time: 1.0 is one core fully used"),
        may("steal_share", _F64, "host: share of all cores' time that the hypervisor took"),
        may("idle_share", _F64, "host: share of all cores' time that was idle"),
        may("rss_bytes", _I64, "resident memory at the end of the interval; with scope measure the largest"),
        may("messages", _I64, "messages handed over or received in the interval"),
        may("blocked_share", _F64, "producers: share of the time spent waiting for room in the client's queue"),
        may("poll_gap_ms", _F64, "workers: longest time between two polls"),
        may("cpu_us_per_message", _F64, "CPU time per message"),
        may("wall_ahead_ns", _I64, "host: how far the wall clock was ahead of the monotonic clock at the end"),
        may(
            "throttled_share",
            _F64,
            "host: time that a CPU quota stopped threads of the workers' cgroups, by time; added up over cores, and so "
            "maybe above 1",
        ),
        may("throttled_periods", _I64, "host: periods of that quota in which it was used up"),
        may("throttled_periods_share", _F64, "host: length of these periods, by time"),
    ),
)

GC = Schema(
    "gc",
    "Pauses of the embedded brokers' garbage collectors.",
    (
        must("process", _STR, "broker process"),
        must("at_ns", _I64, "end of the pause"),
        may("second", _F64, "in seconds from the start of the measure phase"),
        must("kind", _STR, "what the collector calls it"),
        must("pause_ms", _F64, "length"),
        may("before_bytes", _I64, "heap used before"),
        may("after_bytes", _I64, "heap used after"),
    ),
)

LATENESS = Schema(
    "lateness",
    "How late each producer sent what its schedule wanted; measure phase.",
    (
        may("producer", _I32, "producer; null for all together"),
        must("count", _I64, "messages sent on a schedule"),
        *(may(f"{name}_ms", _F64, percentile_words(name)) for name in ("p50", "p99", "p99_9")),
        may("max_ms", _F64, "longest"),
    ),
)

TRANSACTIONS_BY_OUTCOME = Schema(
    "transactions",
    "How transactions ended, by when they did; one row per scope (run, measure) and outcome where there are any.",
    (
        must("scope", _STR, "`run` or `measure`"),
        must("outcome", _STR, "`committed`, `aborted` or `unknown`"),
        must("count", _I64, "transactions"),
        may("per_second", _F64, "transactions a second"),
        must("messages", _I64, "messages in them"),
        may("mean_messages", _F64, "messages in one of them"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of how long they took") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest"),
    ),
)

ATTEMPTS_BY_ERROR = Schema(
    "attempts",
    "Sends that failed and were made again, by when they failed; one row per scope (run, measure) and error.",
    (
        must("scope", _STR, "`run` or `measure`"),
        may("error", _STR, "the client's name of the error; null for all together"),
        must("count", _I64, "sends that failed"),
        must("messages", _I64, "messages that they were of"),
    ),
)

PROCESSING = Schema(
    "processing",
    "How consumers processed, by when they were done; measure phase. None where consumers do no processing.",
    (
        may("consumer", _I32, "number of the consumer; null for all together"),
        may("phase", _I32, "which of the delays that follow each other, from 0; null for all together"),
        must("processed", _I64, "messages processed"),
        must("unprocessed", _I64, "messages received and never processed: dropped, or in hand at the end of the run"),
        *(may(f"{name}_ms", _F64, f"{about} of processed_ns - started_ns") for name, about in _PROCESSING_FIGURES),
        may("max_ms", _F64, "longest"),
        may("asked_ms", _F64, "mean that the scenario asks for; null for a function"),
        may("asked_stddev_ms", _F64, "standard deviation that the scenario asks for"),
        may("busy_share", _F64, "time spent processing, by the time that there was in all slots"),
    ),
)

WIRE = Schema(
    "wire",
    "What clients sent and received on the wire, by their own statistics; one row per scope (run, measure) and worker.",
    (
        must("scope", _STR, "`run`, up to the last look at the client, or `measure`, between two looks within it"),
        must("role", _STR, "`producer` or `consumer`"),
        may("worker", _STR, "name of the worker; null for all of the role together"),
        may("duration_ns", _I64, "scope measure: time between the two looks; of all together: the longest"),
        must("messages", _I64, "messages in requests, those of retries again; of a consumer: in responses"),
        must("message_bytes", _I64, "bytes of their keys and values, not compressed"),
        must("wire_bytes", _I64, "bytes of all requests of producers, of all responses to consumers"),
        may("ratio", _F64, "message_bytes by wire_bytes; protocol, headers and all that is no message count as wire"),
        must("requests", _I64, "Produce requests of producers, Fetch requests of consumers"),
        must("retries", _I64, "requests that were sent again"),
        may("messages_per_request", _F64, "messages by requests"),
        may("batch_messages", _F64, "producers only: mean number of messages in a batch, of the seconds looked at"),
        may("batch_bytes", _F64, "producers only: mean bytes of a batch as it was sent, of the seconds looked at"),
        may("queue_ms", _F64, "producers only: mean time in the client's queue, of the seconds looked at"),
        may("rtt_ms", _F64, "mean time from request to response, of the seconds looked at"),
        may("rtt_p99_ms", _F64, "99th percentile of these times in the worst second looked at"),
        must("throttle_ms", _I64, "longest time that a broker told a client to wait"),
    ),
)

CONNECTIONS_BY_KIND = Schema(
    "connections",
    "What became of connections beside the load, by when each operation began; one row per scope and kind.",
    (
        must("scope", _STR, "`run`, `measure` or `window`"),
        may("second", _I64, "window, counted from the start of the measure phase"),
        must("kind", _STR, "`open`, `metadata`, `hold-producer`, `hold-consumer` or `hold-metadata`"),
        must("duration_ns", _I64, "length of what the row covers"),
        may("asked_per_second", _F64, "operations a second that the scenario asks for"),
        must("made", _I64, "operations that were answered"),
        must("failed", _I64, "operations that failed"),
        must("exhausted", _I64, "of those, for want of files, ports or threads on this machine"),
        may("error", _STR, "the most frequent error"),
        may("per_second", _F64, "operations answered a second"),
        may("held", _I64, "held connections whose last use was answered; null for those that are not held"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of the time to the answer") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest time to an answer"),
        *(
            may(f"late_{name}_ms", _F64, f"{percentile_words(name)} of the time from due to begin")
            for name in ("p50", "p99")
        ),
        may("late_max_ms", _F64, "longest time from due to begin"),
        may("under_way", _F64, "operations under way at the same time, on average"),
        may("at_once", _I64, "operations that may be under way at the same time"),
    ),
)

LAG_SAMPLES = Schema(
    "lag",
    "Lag as it was sampled: of each group in all partitions together, and in each of them; the whole run.",
    (
        must("second", _F64, "when it was asked, in seconds from the start of the measure phase"),
        must("scope", _STR, "`group` (all partitions together) or `partition`"),
        may("group", _I32, "consumer group; null in a run that only produces"),
        may("topic", _I32, "topic; with scope partition"),
        may("partition", _I32, "partition; with scope partition"),
        may("end", _I64, "log end offset; with scope group the sum of all"),
        may("committed", _I64, "committed offset; with scope group the sum of all"),
        may("position", _I64, "next offset that the group reads; with scope group the sum of all"),
        may("committed_lag", _I64, "end - committed; with scope group the sum, null where one partition is not known"),
        may("position_lag", _I64, "end - position; the same"),
        may("worst_committed_lag", _I64, "scope group: committed lag of the partition that is furthest behind"),
        may("error", _STR, "why a value is missing"),
    ),
)

OUTSTANDING = Schema(
    "outstanding",
    "Messages sent and not processed, replayed from the rows, in intervals as long as those of the lag samples.",
    (
        must("second", _F64, "end of the interval, in seconds from the start of the measure phase"),
        may("group", _I32, "consumer group; null in a run that only produces"),
        may("due", _I64, "messages due since the begin of the run; null without a schedule"),
        may(
            "admitted",
            _I64,
            "messages that the policy let go since then, as far as producers reported; without a policy those due",
        ),
        must(
            "sent",
            _I64,
            "messages handed to the client since then, failed and aborted ones apart; of unknown fate those received",
        ),
        must("processed", _I64, "messages processed first by the group since then"),
        must("outstanding", _I64, "sent - processed, at the end of the interval"),
        may("outstanding_max", _I64, "the largest within the interval, exact to the message; null without a policy"),
        may("uncredited_max", _I64, "the same with processed counted only up to the first gap in each partition"),
        may(
            "backlog",
            _I64,
            "messages due and not sent, those of unknown fate apart, at the end of the interval; null without schedule",
        ),
        may(
            "time_lag_ms", _F64, "age, since it was sent, of the oldest message not processed; null where there is none"
        ),
    ),
)

BACKPRESSURE = Schema(
    "backpressure",
    "What the policy that holds producers back did; one row, none without a policy.",
    (
        must("policy", _STR, "`hysteresis` or `credit`"),
        must("limit", _I64, "credit: messages outstanding at most; hysteresis: lag above which producers pause"),
        may("resume", _I64, "hysteresis: lag below which they go on"),
        must("poll_ms", _F64, "between two decisions"),
        must("decisions", _I64, "decisions that were recorded"),
        may("outstanding_max", _I64, "most messages sent and not processed, exact to the message; whole run"),
        may("uncredited_max", _I64, "the same with processed counted only up to the first gap: what credit bounds"),
        may(
            "max_second", _F64, "end of the interval of uncredited_max, in seconds from the start of the measure phase"
        ),
        may(
            "within_limit",
            _BOOL,
            "credit: whether uncredited_max is at most the limit; null where messages of unknown fate, or what a "
            "consumer that died had processed, may decide it",
        ),
        may("pauses", _I64, "hysteresis: how often producers paused"),
        may("paused_s", _F64, "hysteresis: how long, in the measure phase"),
        may("returned", _I64, "credit: credits of sends that failed for certain, given back"),
        may(
            "ambiguous",
            _I64,
            "credit: messages that failed or have no report, and may have been written: their credits do not come back",
        ),
        may("controller_died_second", _F64, "when the controller died; from then on nothing was decided"),
    ),
)

FAULTS = Schema(
    "faults",
    "What the scenario did to the run, as it was carried out.",
    (
        must("second", _F64, "when, in seconds from the start of the measure phase"),
        must("kind", _STR, "`pause`, `kill`, `delay` or `burst`"),
        must("target", _STR, "what it was done to"),
        must("action", _STR, "`begin` or `end`"),
        may("detail", _STR, "what it is from then on"),
        may("error", _STR, "why it could not be done"),
    ),
)

RECOVERY = Schema(
    "recovery",
    "How the run came back after a cause was over; one row for each cause and each quantity that it is judged by.",
    (
        must("cause", _STR, "`delay`, `pause`, `kill`, `burst`"),
        must("target", _STR, "what it was done to"),
        may("detail", _STR, "what it was"),
        must("quantity", _STR, "`outstanding` (replayed from the rows) or `committed_lag` (as sampled)"),
        may("group", _I32, "consumer group"),
        may("began_second", _F64, "when the cause began; null where it held from the begin of the run on"),
        must("ended_second", _F64, "when it was over: time 0 of the recovery"),
        must("interval_ms", _F64, "between two values"),
        may("floor", _F64, "median before the cause, or of the settled tail where there is no before"),
        may("tolerance", _F64, "distance from the floor that counts as recovered: max(3 MAD, rate x interval)"),
        may("detected_s", _F64, "from the begin of the cause until the value first left the floor by the tolerance"),
        may("peak", _F64, "largest value from the begin of the cause on"),
        may("peak_second", _F64, "when that was"),
        may("at_end", _F64, "value when the cause was over"),
        may(
            "time_to_drain_s",
            _F64,
            "from the end of the cause until the value is back for three samples; null: not yet",
        ),
        may("drain_rate_per_second", _F64, "(value at the end of the cause - floor) / time to drain"),
        may("peak_slope_per_second", _F64, "fastest fall between two values after the cause"),
        *(
            may(f"p99_{name}_ms", _F64, f"end to end, response time (service without a schedule), {name} the cause")
            for name in ("before", "during", "after")
        ),
        may("latency_debt_ms_s", _F64, "integral over time of what the p50 of a second exceeds that before the cause"),
    ),
)

SET_ASIDE = Schema(
    "set_aside",
    "Rows and files that could not be used.",
    (
        must("kind", _STR, "kind of event"),
        must("source", _STR, "file, relative to the run folder, or worker"),
        must("reason", _STR, "why"),
        may("rows", _I64, "how many rows; null when that cannot be known"),
    ),
)

VERDICT = Schema(
    "verdict",
    "The checks, each with evidence and advice.",
    (
        must("name", _STR, "name of the check"),
        must("about", _STR, "`instrument` or `system`"),
        must("status", _STR, "`pass`, `warn`, `fail` or `unknown`"),
        must("evidence", _STR, "what was seen"),
        must("advice", _STR, "what to do about it; empty when it passed"),
    ),
)

TABLES: Mapping[str, Schema] = MappingProxyType(
    {
        schema.name: schema
        for schema in (
            THROUGHPUT, LATENCY_BUCKETS, LATENCY, CDF, PERCENTILE_CURVE, HEAT, DELIVERY, PROBLEMS, POLLS_BY_CONSUMER,
            RESOURCES_BY_INTERVAL, GC, LATENESS, TRANSACTIONS_BY_OUTCOME, ATTEMPTS_BY_ERROR, PROCESSING,
            CONNECTIONS_BY_KIND, WIRE, LAG_SAMPLES, OUTSTANDING, BACKPRESSURE, FAULTS, RECOVERY, *QUERY_TABLES,
            SET_ASIDE, VERDICT,
        )
    }
)  # fmt: skip
