"""The gold tables of backlogs, of what holds producers back, and of what was done to a run."""

from streamgauge.domain.tables.schema import Schema, Type, may, must

_I32, _I64, _F64, _BOOL, _STR = Type.INT32, Type.INT64, Type.FLOAT64, Type.BOOL, Type.STRING

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
        may("took_ms", _F64, "scope group: how long the cluster took to answer; null where it did not"),
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
        may(
            "credits_used_max",
            _I64,
            "the same with processed counted only up to the first gap in each partition",
            formerly="uncredited_max",
        ),
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
        may(
            "credits_used_max",
            _I64,
            "the same with processed counted only up to the first gap: what credit bounds",
            formerly="uncredited_max",
        ),
        may("max_second", _F64, "end of its interval, in seconds from the start of the measure phase"),
        may(
            "within_limit",
            _BOOL,
            "credit: whether credits_used_max is at most the limit; null where messages of unknown fate, or what a "
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
