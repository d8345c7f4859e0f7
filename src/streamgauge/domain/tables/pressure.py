"""The gold tables of lag, backpressure and faults."""

from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

LAG_SAMPLES = Schema(
    "lag",
    "Sampled lag of each group, in total and by partition; whole run.",
    (
        must("second", _F64, "time of the request, in seconds from the start of the measure phase"),
        must("scope", _STR, "`group` (all partitions together) or `partition`"),
        may("group", _I32, "consumer group; null in a run that only produces"),
        may("topic", _I32, "topic; with scope partition"),
        may("partition", _I32, "partition; with scope partition"),
        may("end", _I64, "log end offset; with scope group the sum of all partitions"),
        may("committed", _I64, "committed offset; with scope group the sum of all partitions"),
        may("position", _I64, "next offset that the group will read; with scope group the sum of all partitions"),
        may("committed_lag", _I64, "`end` - `committed`; with scope group the sum, null if one partition is unknown"),
        may("position_lag", _I64, "`end` - `position`; with scope group likewise"),
        may("took_ms", _F64, "scope group: response time of the cluster; null if it did not answer"),
        may("worst_committed_lag", _I64, "scope group: largest committed lag of a partition"),
        may("error", _STR, "why a value is missing"),
    ),
)

LAG_HEAT = Schema(
    "lag_heat",
    "Sampled lag of each partition over time (heat map); whole run, at most 120 time columns.",
    (
        may("group", _I32, "consumer group; null in a run that only produces"),
        must("topic", _I32, "topic number in run.json"),
        must("partition", _I32, "partition number"),
        must("from_second", _I64, "start of the cell, in seconds from the start of the measure phase"),
        must("to_second", _I64, "end of the cell"),
        may("committed_lag", _I64, "largest committed lag of the samples in the cell; null if none is known"),
        may("position_lag", _I64, "largest position lag of the samples in the cell"),
    ),
)

REBALANCES = Schema(
    "rebalances",
    "Partitions that went from one consumer of a group to another, by second; whole run. Seconds without any are left "
    "out.",
    (
        must("second", _I64, "window, counted from the start of the measure phase"),
        must("group", _I32, "consumer group"),
        must("partitions", _I64, "partitions whose first delivery to another consumer than before was in this second"),
    ),
)

REPLICATION = Schema(
    "replication",
    "Partitions without all replicas in sync, or without a leader, at each look that saw a change; whole run.",
    (
        must("second", _F64, "time of the request, in seconds from the start of the measure phase"),
        must("under_replicated", _I64, "partitions with fewer in-sync replicas than replicas"),
        must("leaderless", _I64, "partitions without a leader"),
        must("leaders_moved", _I64, "partitions that another node leads than at the look before"),
        must("answered", _BOOL, "whether the cluster answered; if not, the counts are those of the look before"),
        may("took_ms", _F64, "response time of the cluster; null if it did not answer"),
        may("least_in_sync", _I32, "smallest number of in-sync replicas of a partition"),
        may("controller", _I32, "node id of the active controller, by the last look in `followers`; null if unknown"),
    ),
)

PARTITION_REPLICAS = Schema(
    "partition_replicas",
    "Replication of each partition; measure phase.",
    (
        must("topic", _I32, "topic number in run.json"),
        must("partition", _I32, "partition number"),
        must("replicas", _I32, "number of replicas"),
        may("least_in_sync", _I32, "smallest number of in-sync replicas; null without a measure phase"),
        must("under_replicated_seconds", _F64, "time with fewer in-sync replicas than replicas"),
        must("leaderless_seconds", _F64, "time without a leader"),
        must("leader_changes", _I64, "how often another node became its leader"),
    ),
)

OUTSTANDING = Schema(
    "outstanding",
    "Messages sent and not processed, computed from the recorded rows, at the interval of the lag samples.",
    (
        must("second", _F64, "end of the interval, in seconds from the start of the measure phase"),
        may("group", _I32, "consumer group; null in a run that only produces"),
        may("due", _I64, "messages due since the start of the run; null without a schedule"),
        may("admitted", _I64, "messages admitted by the policy, as producers reported; without a policy those due"),
        must(
            "sent",
            _I64,
            "messages handed to the client since then, without failed and aborted ones; of unknown fate only those "
            "received",
        ),
        must("processed", _I64, "messages processed for the first time by the group since then"),
        must("outstanding", _I64, "`sent` - `processed` at the end of the interval"),
        may("outstanding_max", _I64, "exact maximum within the interval; null without a policy"),
        may("credits_used_max", _I64, "the same, processed up to the first gap only", formerly="uncredited_max"),
        may(
            "backlog",
            _I64,
            "messages due and not sent at the end of the interval, without those of unknown fate; null without a "
            "schedule",
        ),
        may("time_lag_ms", _F64, "time since the oldest unprocessed message was sent; null if there is none"),
    ),
)

BACKPRESSURE = Schema(
    "backpressure",
    "Summary of the backpressure policy; one row, none without a policy.",
    (
        must("policy", _STR, "`hysteresis` or `credit`"),
        must("limit", _I64, "credit: maximum of outstanding messages; hysteresis: lag above which producers pause"),
        may("resume", _I64, "hysteresis: lag below which they resume"),
        must("poll_ms", _F64, "interval of decisions"),
        must("decisions", _I64, "decisions recorded"),
        may("outstanding_max", _I64, "exact maximum of messages sent and not processed; whole run"),
        may("credits_used_max", _I64, "the same up to the first gap: what credit limits", formerly="uncredited_max"),
        may("max_second", _F64, "end of the interval of this maximum, in seconds from the start of the measure phase"),
        may(
            "within_limit",
            _BOOL,
            "credit: whether credits_used_max is within the limit; null if messages of unknown fate, or what a dead "
            "consumer had processed, may decide it",
        ),
        may("pauses", _I64, "hysteresis: how often producers paused"),
        may("paused_s", _F64, "hysteresis: total time paused, in the measure phase"),
        may("returned", _I64, "credit: credits returned for sends that certainly failed"),
        may(
            "ambiguous",
            _I64,
            "credit: messages that failed or have no delivery report, and may have been written: their credits are not "
            "returned",
        ),
        may("controller_died_second", _F64, "time the controller died; no decisions were made after that"),
    ),
)

FAULTS = Schema(
    "faults",
    "Faults and other changes of the scenario, as carried out.",
    (
        must("second", _F64, "time, in seconds from the start of the measure phase"),
        must("kind", _STR, "kind of the fault as the scenario has it; or `delay` or `burst`"),
        must("target", _STR, "target of the fault"),
        must("action", _STR, "`begin` or `end`"),
        may("detail", _STR, "value from then on, like `4ms`; or the role by which the target was found"),
        may("error", _STR, "why it could not be injected, or not in order"),
        may("asked_second", _F64, "time that the scenario asks for; null where it waits for something else"),
    ),
)

RECOVERY = Schema(
    "recovery",
    "Recovery of the run after each cause ended; one row for each cause and quantity.",
    (
        must("cause", _STR, "kind of the cause, as in `faults`"),
        must("target", _STR, "target of the cause"),
        may("detail", _STR, "its detail, as in `faults`"),
        must("quantity", _STR, "`outstanding` (computed from the recorded rows) or `committed_lag` (sampled)"),
        may("group", _I32, "consumer group"),
        may("began_second", _F64, "start of the cause; null if it held from the start of the run"),
        must("ended_second", _F64, "end of the cause: time 0 of the recovery"),
        must("interval_ms", _F64, "time between two values"),
        may("floor", _F64, "median before the cause, or of its end if it still fell; else of the settled tail"),
        may("tolerance", _F64, "distance from the floor that counts as recovered: max(3 MAD, rate x interval)"),
        may("detected_s", _F64, "from the start of the cause until the value first exceeded floor + tolerance"),
        may("peak", _F64, "largest value from the start of the cause"),
        may("peak_second", _F64, "time of the peak"),
        may("at_end", _F64, "value at the end of the cause"),
        may("time_to_drain_s", _F64, "from its end until within the tolerance for three samples; null: not yet"),
        may("drain_rate_per_second", _F64, "(value at the end of the cause - floor) / time to drain"),
        may("peak_slope_per_second", _F64, "fastest decrease between two values after the cause"),
        *(
            may(f"p99_{name}_ms", _F64, f"end-to-end p99 {name} the cause: response (service without a schedule)")
            for name in ("before", "during", "after")
        ),
        may("latency_debt_ms_s", _F64, "integral over time of what each second's p50 exceeds that before the cause by"),
        *(
            may(f"p99_{name}_low_ms", _F64, f"low end of p99_{name}_ms; null where a bound is not known")
            for name in ("before", "during", "after")
        ),
        may("latency_debt_low_ms_s", _F64, "low end of latency_debt_ms_s; null where a bound is not known"),
        may("latency_debt_high_ms_s", _F64, "high end of latency_debt_ms_s; null where a bound is not known"),
    ),
)

FOLLOWERS_BY_NODE = Schema(
    "followers",
    "How far each broker was behind the longest logs, and who controlled the cluster, at each look; whole run.",
    (
        must("second", _F64, "time of the request, in seconds from the start of the measure phase"),
        may("node", _I32, "node id of the broker; null for a look that failed"),
        may("behind", _I64, "messages that it lacked, all partitions together; null if it did not answer"),
        may("worst", _I64, "messages that it lacked of the partition that it lacked most of"),
        may("topic", _I32, "topic of this partition"), may("partition", _I32, "number of this partition"),
        may("controller", _I32, "node id of the active controller"), may("took_ms", _F64, "response time of the look"),
    ),
)  # fmt: skip

FAULT_SCORES = Schema(
    "fault_scores",
    "Each fault that was over: when, and how the cluster and the messages took it.",
    (
        must("fault", _I32, "number of the fault, from 0"), must("kind", _STR, "its kind, as in `faults`"),
        must("target", _STR, "its target"), may("detail", _STR, "its detail"), may("error", _STR, "error of its end"),
        must("began_second", _F64, "its begin, in seconds from the start of the measure phase"),
        must("ended_second", _F64, "its end"),
        must("until_second", _F64, "end of its span: 60 s after its end, or the start of the next fault"),
        may("noticed_s", _F64, "from its begin until the cluster told another leader, none, or fewer replicas in sync"),
        may("leaders_s", _F64, "from its begin until every partition had its last leader of the span"),
        may("in_sync_s", _F64, "from its end until all replicas were in sync, and stayed so within the span"),
        may("failed", _I64, "messages that failed in the span; their partitions are not known"),
    ),
)  # fmt: skip

FAULT_PARTITIONS = Schema(
    "fault_partitions",
    "What each fault did to each partition, in the span of the fault. Times count to the start of the next fault.",
    (
        must("fault", _I32, "number of the fault, from 0"), must("topic", _I32, "topic number in run.json"),
        must("partition", _I32, "partition number"), may("next_leader_s", _F64, "time until its next leader was seen"),
        may("unwritable_s", _F64, "longest time in which messages waited and none was acknowledged"),
        may("unwritable_second", _F64, "begin of this time; null if no message waited"),
        may("held", _I64, "messages that waited at its end"),
        may("unreadable_s", _F64, "longest time in which acknowledged messages waited and none was delivered"),
        may("unreadable_second", _F64, "begin of this time; null if there was nothing to read"),
        may("worst_ms", _F64, "largest response time of messages due in the span, or on their way at its begin"),
        may("worst_producer", _I32, "producer of this message"), may("worst_seq", _I64, "its sequence number"),
    ),
)  # fmt: skip
