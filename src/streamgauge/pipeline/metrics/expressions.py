"""The SQL of what Spark measures: every latency that is a difference of columns, ages, and by which time each counts.

`domain.tables.latency` says in words what is no plain difference.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.tables.latency import DIFFERENCES
from streamgauge.pipeline.columns import SELECTED, SENT_TICK
from streamgauge.pipeline.metrics.aggregates.histogram import NOTHING_ADDED, Value

ACK: Final = ("ack_response", "ack_service")
END_TO_END: Final = ("end_to_end_response", "end_to_end_service")
PROCESSING: Final = ("processing_response", "processing_service")
SCHEDULE_DELAY: Final = "schedule_delay"
THROTTLE: Final = ("throttle", "own_schedule_delay")
"""What a policy made messages wait, and what they waited then."""
OF_SENDING: Final = (SCHEDULE_DELAY, *THROTTLE)
SINCE_RECORD_TIME: Final = "since_record_time"

SQL: Final[Mapping[str, str]] = {
    **{name: f"{end} - {start}" for name, (end, start) in DIFFERENCES.items()},
    "throttle": "let_go_ns - due_ns",
    "own_schedule_delay": "sent_ns - let_go_ns",
    "since_record_time": "received_ns - recorded_ns",
}
AGES: Final[Mapping[str, str]] = {
    name: f"ended_ns - {DIFFERENCES[name][1]}" for name in (*ACK, *END_TO_END, *PROCESSING)
}
"""The age that a message which never came had at the end of the drain."""
ACK_TAKEN: Final = "if(polled_ns is null, null, acked_ns - greatest(polled_ns, sent_ns))"
"""How long a delivery report may have been ready in the client before it was taken."""
_PARTS: Final[Mapping[str, str]] = {
    SCHEDULE_DELAY: "cast(producer as bigint)",
    **dict.fromkeys(THROTTLE, "cast(null as bigint)"),
}


def values(metrics: Iterable[str], *, throttled: bool, takes_all: bool = True) -> dict[str, Value]:
    """The values of some metrics; most are counted by partition, schedule delays by producer, of a policy by neither.

    Where a policy held messages back (`throttled`), some are counted by when messages were sent. Where consumers leave
    messages in the client on purpose (not `takes_all`), the wait there is no doing of the instrument.
    """
    return {
        name: Value(
            SQL[name],
            _PARTS.get(name, "place"),
            tick_of(name, throttled=throttled),
            width_of(name, takes_all=takes_all),
        )
        for name in metrics
    }


def taken(*, takes_all: bool) -> str:
    """SQL for how long a message may have been ready in the client before it was taken, in ns."""
    return "if(empty_ns is null, null, received_ns - greatest(empty_ns, sent_ns))" if takes_all else "0L"


def width_of(metric: str, *, takes_all: bool) -> str:
    """SQL for how much of a metric the instrument may have added, in ns; null where that is not known.

    `delayed_ns`, `handing_ns` and `least_ns` are those of `pipeline.metrics.doubt`. A schedule delay is the
    instrument's own.
    """
    if metric in OF_SENDING:
        return NOTHING_ADDED
    end = ACK_TAKEN if metric in ACK else taken(takes_all=takes_all)
    if metric == SINCE_RECORD_TIME:
        # A record says its time in whole milliseconds.
        return f"{end} + {NS_PER_MS}L"
    # Sent when it was due, a message would have ended up to `delayed_ns` earlier: that is its service time as well.
    added = f"{'delayed_ns' if metric.endswith('response') else 'coalesce(delayed_ns, handing_ns)'} + {end}"
    # `least` passes over what is null.
    return f"if({added} is null, null, least({added}, greatest({SQL[metric]} - least_ns, 0L)))"


def stage_width(*, is_last: bool, takes_all: bool) -> str:
    """SQL for how much earlier a stage of a pipeline may have begun or ended without the instrument, in ns.

    Sent when it was due, a message would have passed every later edge up to `delayed_ns` earlier. In the last stage it
    may have waited in the client, too.
    """
    end = f" + {taken(takes_all=takes_all)}" if is_last else ""
    return f"coalesce(delayed_ns, handing_ns){end}"


def tick_of(metric: str, *, throttled: bool) -> str:
    """The column whose tick says in which window a message counts for a metric.

    What a policy holds back may be sent long after it was due, or never: by due time, only what was let go early would
    be seen.
    """
    return SENT_TICK if throttled and (metric.endswith("service") or metric in THROTTLE) else SELECTED
