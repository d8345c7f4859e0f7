"""The gold tables of what a run used: processes, garbage collectors, clients, connections."""

from streamgauge.domain.latency.percentiles import percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I64, _F64, _STR = Type.INT64, Type.FLOAT64, Type.STRING

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
        may(
            "run_delay_share",
            _F64,
            "processes: time that threads were ready to run and had no core, by time; added up over threads, and so "
            "maybe above 1; without the threads of the Kafka client",
        ),
        may("client_run_delay_share", _F64, "workers: the same of the threads of the Kafka client"),
        may("switches", _I64, "workers: involuntary context switches"),
        may("cpu_pressure_share", _F64, "host: share of the time in which at least one task waited for a core"),
        may("io_pressure_share", _F64, "host: the same of waiting for I/O"),
        may("memory_pressure_share", _F64, "host: the same of waiting for memory"),
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
        may("target_per_second", _F64, "target rate of operations", formerly="asked_per_second"),
        must("made", _I64, "operations that were answered"),
        must("failed", _I64, "operations that failed"),
        must("exhausted", _I64, "of those, for want of files, ports or threads on this machine"),
        may("error", _STR, "the most frequent error"),
        may("per_second", _F64, "operations answered a second"),
        may("held", _I64, "held connections whose last use was answered; null for those that are not held"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of the time to the answer") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest time to an answer"),
        *(
            may(
                f"schedule_delay_{name}_ms",
                _F64,
                f"{percentile_words(name)} of the time from due to begin",
                formerly=f"late_{name}_ms",
            )
            for name in ("p50", "p99")
        ),
        may("schedule_delay_max_ms", _F64, "longest time from due to begin", formerly="late_max_ms"),
        may("under_way", _F64, "operations under way at the same time, on average"),
        may("at_once", _I64, "operations that may be under way at the same time"),
    ),
)
