"""The gold tables of resources: processes, garbage collectors, clients, connections."""

from streamgauge.domain.latency.percentiles import percentile_words
from streamgauge.domain.tables.schema import Schema, Type, may, must

_I64, _F64, _STR = Type.INT64, Type.FLOAT64, Type.STRING

RESOURCES_BY_INTERVAL = Schema(
    "resources",
    "Resources that each process used between two samples, and over the measure phase.",
    (
        must("process", _STR, "process name, like `producer-0`, `broker-1`, `host`"),
        must(
            "role",
            _STR,
            "`producer`, `consumer`, `sampler`, `lag`, `controller`, `supervisor`, `broker` or `host`; of a query "
            "`query` (its supervisor), `driver`, `executor` and `python`",
        ),
        must("scope", _STR, "`interval` or `measure`"),
        may("second", _F64, "end of the interval, in seconds from the start of the measure phase"),
        may("duration_ns", _I64, "length of the interval"),
        may("cpu_cores", _F64, "CPU time / elapsed time: 1.0 is one fully used core"),
        may("steal_share", _F64, "host: steal time as a share of all cores' time"),
        may("idle_share", _F64, "host: idle time as a share of all cores' time"),
        may("rss_bytes", _I64, "resident memory at the end of the interval; with scope measure the maximum"),
        may("heap_bytes", _I64, "likewise without files and shared memory: heap and stacks"),
        may("threads", _I64, "most threads"),
        may("gc_collections", _I64, "workers: collections of Python's garbage collector in the interval"),
        may("gc_ms", _F64, "workers: time in them"),
        may("messages", _I64, "messages handed to the client, or received, in the interval"),
        may("blocked_share", _F64, "producers: share of the time spent waiting for room in the client's queue"),
        may("poll_gap_ms", _F64, "workers: longest time between two polls"),
        may("cpu_us_per_message", _F64, "CPU time per message"),
        may("wall_ahead_ns", _I64, "host: wall clock - monotonic clock at the end of the interval"),
        may(
            "throttled_share",
            _F64,
            "host: time that a CPU quota stopped threads of the workers' cgroups / elapsed time; summed over cores, so "
            "possibly above 1",
        ),
        may("throttled_periods", _I64, "host: periods of that quota in which it was used up"),
        may("throttled_periods_share", _F64, "host: length of these periods / elapsed time"),
        may(
            "run_delay_share",
            _F64,
            "processes: time that threads were ready to run and had no core / elapsed time; summed over threads, so "
            "possibly above 1; without the threads of the Kafka client",
        ),
        may("client_run_delay_share", _F64, "processes that use the Kafka client: likewise for that client's threads"),
        may("switches", _I64, "workers and processes of a query: involuntary context switches"),
        may("cpu_pressure_share", _F64, "host: share of the time in which at least one task waited for a core"),
        may("io_pressure_share", _F64, "host: likewise for I/O"),
        may("memory_pressure_share", _F64, "host: likewise for memory"),
    ),
)

GC = Schema(
    "gc",
    "Garbage collection pauses of the embedded brokers.",
    (
        must("process", _STR, "broker process"),
        must("at_ns", _I64, "end of the pause"),
        may("second", _F64, "the same, in seconds from the start of the measure phase"),
        must("kind", _STR, "the collector's name for the pause"),
        must("pause_ms", _F64, "length of the pause"),
        may("before_bytes", _I64, "heap used before"),
        may("after_bytes", _I64, "heap used after"),
    ),
)

WIRE = Schema(
    "wire",
    "Network traffic of clients, from their own statistics; one row per scope (run, measure) and worker.",
    (
        must("scope", _STR, "`run`, up to the last statistics, or `measure`, between two statistics within it"),
        must("role", _STR, "`producer`, `consumer`, `acknowledgements`, `tracker-consumer` or `tracker-producer`"),
        may("worker", _STR, "name of the worker, or of one of its clients; null for all of the role together"),
        may("duration_ns", _I64, "scope measure: time between the two statistics; of all together: the longest"),
        must("messages", _I64, "messages in requests, including retries; of a consumer: in responses"),
        must("message_bytes", _I64, "uncompressed bytes of their keys and values"),
        must("wire_bytes", _I64, "bytes of all requests of producers, or of all responses to consumers"),
        may("ratio", _F64, "`message_bytes` / `wire_bytes`, which include protocol, headers and other requests"),
        must("requests", _I64, "Produce requests of producers, Fetch requests of consumers"),
        must("retries", _I64, "requests that were retried, without Produce requests"),
        may("retried_messages", _I64, "producers only: messages put into another Produce request again, at least"),
        may("tx_bytes", _I64, "bytes of all requests, of every kind"),
        may("rx_bytes", _I64, "bytes of all responses"),
        may("tx_requests", _I64, "requests of every kind"),
        may("messages_per_request", _F64, "messages / requests"),
        may("batch_messages", _F64, "producers only: mean messages per batch, of the sampled seconds"),
        may("batch_bytes", _F64, "producers only: mean size of a batch as sent, of the sampled seconds"),
        may("queue_ms", _F64, "producers only: mean time in the client's queue, of the sampled seconds"),
        may("rtt_ms", _F64, "mean request round-trip time, of the sampled seconds"),
        may("rtt_p99_ms", _F64, "99th percentile of the round-trip time in the worst sampled second"),
        must("throttle_ms", _I64, "longest throttle time that a broker requested"),
    ),
)

CLIENT_BY_INTERVAL = Schema(
    "client",
    "Statistics of each client between two samples; whole run. Clients report counters, and means of one second.",
    (
        must("worker", _STR, "worker name, like `producer-0`, or that of one of its clients"),
        must("role", _STR, "as in the table `wire`"),
        must("second", _F64, "time of the second sample, in seconds from the start of the measure phase"),
        must("duration_ns", _I64, "time between the two samples"),
        must("messages", _I64, "messages in requests, including retries; of a consumer: in responses"),
        must("message_bytes", _I64, "uncompressed bytes of their keys and values"),
        must("wire_bytes", _I64, "bytes of all requests of producers, or of all responses to consumers"),
        must("requests", _I64, "Produce requests of producers, Fetch requests of consumers"),
        must("retries", _I64, "requests that were retried, without Produce requests"),
        may("retried_messages", _I64, "producers only: messages put into another Produce request again, at least"),
        may("batch_messages", _F64, "producers only: mean messages per batch, at the second sample"),
        may("batch_bytes", _F64, "producers only: mean size of a batch as sent, with its header"),
        may("queue_ms", _F64, "producers only: mean time in the client's queue"),
        may("queue_messages", _I64, "producers only: messages in the queue and in flight"),
        may("rtt_ms", _F64, "mean request round-trip time; of a consumer, it may include the wait for messages"),
        may("rtt_p99_ms", _F64, "99th percentile of that, of the slowest broker"),
        must("throttle_ms", _I64, "longest throttle time that a broker requested"),
    ),
)

CONNECTIONS_BY_KIND = Schema(
    "connections",
    "Operations on connections besides the load, by their start; one row per scope and kind.",
    (
        must("scope", _STR, "`run`, `measure` or `window`"),
        may("second", _I64, "window, counted from the start of the measure phase"),
        must("kind", _STR, "`open`, `metadata`, `hold-producer`, `hold-consumer` or `hold-metadata`"),
        must("duration_ns", _I64, "time covered by the row"),
        may("target_per_second", _F64, "target rate of operations", formerly="asked_per_second"),
        must("made", _I64, "operations that succeeded"),
        must("failed", _I64, "operations that failed"),
        must("exhausted", _I64, "failed operations for lack of files, ports or threads on this machine"),
        may("error", _STR, "most frequent error"),
        may("per_second", _F64, "successful operations per second"),
        may("held", _I64, "held connections whose last use succeeded; null for kinds that are not held"),
        *(may(f"{name}_ms", _F64, f"{percentile_words(name)} of the time to the response") for name in ("p50", "p99")),
        may("max_ms", _F64, "longest time to the response"),
        *(
            may(
                f"schedule_delay_{name}_ms",
                _F64,
                f"{percentile_words(name)} of the time from due to start",
                formerly=f"late_{name}_ms",
            )
            for name in ("p50", "p99")
        ),
        may("schedule_delay_max_ms", _F64, "longest time from due to start", formerly="late_max_ms"),
        may("under_way", _F64, "mean concurrent operations"),
        may("at_once", _I64, "limit of concurrent operations"),
    ),
)
