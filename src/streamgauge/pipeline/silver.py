"""Messages and deliveries: the rows of `sent` and `received` with what every later step asks of them.

A *tick* is a second of the run and whether it is measured, in one integer: twice the second (from the start of the
measure phase, shifted to be positive), plus one inside the measure phase. A *place* is a topic and partition in one
integer.
"""

from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from streamgauge.delivery.audit import Measure
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.events import UNSENT
from streamgauge.domain.histogram import Int64s

SHIFT_SECONDS = 1 << 20
TOPIC_BITS = 20
ACKED, FAILED, NEVER_SENT = 0, 1, 2
_FAR = SHIFT_SECONDS * NS_PER_SECOND
PLACE = f"cast(topic as bigint) << {TOPIC_BITS} | partition"


def tick(time: str, measure: Measure) -> str:
    """SQL for the tick of the bigint expression `time`; null where it is null.

    Times that no run could have had (a garbled stamp) are taken for the first or the last second of all.
    """
    nearby = f"least(greatest({time}, {measure.from_ns - _FAR}L), {measure.from_ns + _FAR - 1}L)"
    second = f"({nearby} - {measure.from_ns - _FAR}L) div {NS_PER_SECOND}L"
    measured = f"if({time} >= {measure.from_ns}L and {time} < {measure.to_ns}L, 1L, 0L)"
    return f"if({time} is null, null, ({second}) * 2 + {measured})"


def ticks(times_ns: Int64s, measure: Measure) -> Int64s:
    """The tick of each time: what `tick` says, in numpy."""
    since = np.clip(times_ns - measure.from_ns, -_FAR, _FAR - 1) + _FAR
    measured = (times_ns >= measure.from_ns) & (times_ns < measure.to_ns)
    return since // NS_PER_SECOND * 2 + measured


def messages(sent: DataFrame, measure: Measure) -> DataFrame:
    """One row per message: its fate, and the ticks of being selected (due, or else sent), sent and settled.

    `acked_ns` is null unless the message was acknowledged; `settled` is when its fate became known.
    """
    return sent.selectExpr(
        "topic", "producer", "seq", "partition", "`offset`", "due_ns", "sent_ns", "size_bytes", "error",
        "if(error is null, acked_ns, null) as acked_ns",
        f"case when error is null then {ACKED} when error = '{UNSENT}' then {NEVER_SENT} else {FAILED} end as fate",
        f"{PLACE} as place",
        f"{tick('coalesce(due_ns, sent_ns)', measure)} as selected",
        f"{tick('sent_ns', measure)} as sent_tick",
        f"{tick('coalesce(acked_ns, sent_ns)', measure)} as settled_tick",
    )  # fmt: skip


def deliveries(received: DataFrame, measure: Measure, *, processing: bool) -> DataFrame:
    """One row per delivery: whether its stamp is sound, and the ticks of being selected, received and processed.

    Without processing in the run, what was received counts as processed.
    """
    processed = "processed_ns" if processing else "received_ns"
    return received.selectExpr(
        "topic", "group", "consumer", "poll", "producer", "seq", "partition", "`offset`", "due_ns", "sent_ns",
        "received_ns", "processed_ns", "size_bytes", "intact",
        "producer is not null and seq is not null and coalesce(intact, true) as sound",
        f"{PLACE} as place",
        f"{tick('coalesce(due_ns, sent_ns, received_ns)', measure)} as selected",
        f"{tick('received_ns', measure)} as received_tick",
        f"{tick(processed, measure)} as processed_tick",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """What the run and its measure phase cover, on the monotonic clock."""

    from_ns: int
    to_ns: int
    measure: Measure

    def second(self, time_ns: int) -> float:
        """Seconds from the start of the measure phase."""
        return (time_ns - self.measure.from_ns) / NS_PER_SECOND

    def window_ns(self, second: int) -> int:
        """How much of the window `second` lies within the run; the whole second where none of it does."""
        begin = self.measure.from_ns + second * NS_PER_SECOND
        inside = min(begin + NS_PER_SECOND, self.to_ns) - max(begin, self.from_ns)
        return inside if inside > 0 else NS_PER_SECOND
