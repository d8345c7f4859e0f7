"""Messages and deliveries: the rows of `sent` and `received` with what every later step asks of them.

A *tick* is a second of the run and whether it is measured, in one integer: twice the second (from the start of the
measure phase, shifted to be positive), plus one inside the measure phase. A *place* is a topic and partition in one
integer.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain import events
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.columns import DUE_NS, EMPTY_NS, HANDED_NS, IS_STAMPED, PROCESSED_NS, RECEIVED_NS, SENT_NS
from streamgauge.pipeline.read.rows import Row, Rows
from streamgauge.scenario.profile.model import PipelineProfile

SHIFT_SECONDS = 1 << 20
TOPIC_BITS = 20
ACKED, FAILED, NEVER_SENT, ABORTED, UNDECIDED, UNSETTLED = range(6)
"""Delivery reports of messages; those of transactions that were aborted or are undecided were acknowledged too. Those
that are unsettled have none: a producer that died had claimed them, and whether they were sent is known of those only
that were received."""
_FAR = SHIFT_SECONDS * NS_PER_SECOND
PLACE = f"cast(topic as bigint) << {TOPIC_BITS} | partition"


def tick(time: str, measure: MeasureSpan) -> str:
    """SQL for the tick of the bigint expression `time`; null where it is null.

    Times that no run could have had (a garbled stamp) are taken for the first or the last second of all.
    """
    nearby = f"least(greatest({time}, {measure.from_ns - _FAR}L), {measure.from_ns + _FAR - 1}L)"
    second = f"({nearby} - {measure.from_ns - _FAR}L) div {NS_PER_SECOND}L"
    measured = f"if({time} >= {measure.from_ns}L and {time} < {measure.to_ns}L, 1L, 0L)"
    return f"if({time} is null, null, ({second}) * 2 + {measured})"


def ticks(times_ns: Int64s, measure: MeasureSpan) -> Int64s:
    """The tick of each time: what `tick` says, in numpy."""
    since = np.clip(times_ns - measure.from_ns, -_FAR, _FAR - 1) + _FAR
    measured = (times_ns >= measure.from_ns) & (times_ns < measure.to_ns)
    return since // NS_PER_SECOND * 2 + measured


def is_measured(ticks: Int64s) -> NDArray[np.bool_]:
    """Which ticks are of the measure phase; a negative one stands for none."""
    measured: NDArray[np.bool_] = (ticks >= 0) & (ticks & 1 == 1)
    return measured


def place_of(place: Any) -> dict[str, Any]:
    """Topic and partition of a place, or of many."""
    return {"topic": place >> TOPIC_BITS, "partition": place & (1 << TOPIC_BITS) - 1}


def messages(sent: DataFrame, measure: MeasureSpan, outcomes: DataFrame | None = None) -> DataFrame:
    """One row per message: its delivery report, and the ticks of being selected (due, or else sent), sent and settled.

    `acked_ns` is null unless the message was acknowledged; `settled` is when it was reported; `let_go_ns` is when
    it was due and let go by the policy, and null without one, or where it was never sent. `outcomes` are the
    transactions with how they ended, each once; None where no message is in one.
    """
    acked = str(ACKED)
    if outcomes is not None:
        sent = sent.join(F.broadcast(outcomes), ["producer", "transaction"], "left")
        acked = f"""case when transaction is null or outcome = '{events.COMMITTED}' then {ACKED}
            when outcome = '{events.ABORTED}' then {ABORTED} else {UNDECIDED} end"""
    return sent.selectExpr(
        "topic", "producer", "seq", "partition", "offset", DUE_NS, SENT_NS, "size_bytes", "error",
        HANDED_NS, "polled_ns", "transaction",
        "if(error is null, acked_ns, null) as acked_ns",
        "if(admitted_ns is null, null, greatest(admitted_ns, due_ns)) as let_go_ns",
        f"""case when error is null then {acked} when error = '{UNSENT}' then {NEVER_SENT}
            when error = '{FATE_UNKNOWN}' then {UNSETTLED} else {FAILED} end as report""",
        f"{PLACE} as place",
        f"{tick('coalesce(due_ns, sent_ns)', measure)} as selected",
        f"{tick(SENT_NS, measure)} as sent_tick",
        f"{tick('coalesce(acked_ns, sent_ns)', measure)} as settled_tick",
    )  # fmt: skip


def deliveries(
    received: DataFrame,
    measure: MeasureSpan,
    *,
    processing: bool,
    drops: bool = False,
    ahead_ns: int | None = None,
    piped: PipelineProfile | None = None,
) -> DataFrame:
    """One row per delivery: whether its stamp is sound, and the ticks of being selected, sent, received and done with.

    Without processing in the run, what was received counts as processed, and is done with. Where consumers are to drop
    some of it (`drops`), what was not begun is done with, too: what was still buffered at the end looks the same.
    `ahead_ns` is how far the wall clock was ahead of the monotonic one, and given where nothing was sent: deliveries
    are then selected by when they were received, and `recorded_ns` is what the record says of its own time.
    Of what was `piped`, `append_ms` is in the rows, too; where the content is another, its checksum says nothing.
    """
    done = PROCESSED_NS if processing else RECEIVED_NS
    done = f"coalesce({done}, if(started_ns is null, received_ns, null))" if drops else done
    processed = "processed_ns is not null" if processing else "true"
    selected, recorded = "coalesce(due_ns, sent_ns, received_ns)", "cast(null as bigint)"
    if ahead_ns is not None:
        selected, recorded = RECEIVED_NS, f"coalesce(append_ms, created_ms) * {NS_PER_MS} - {ahead_ns}L"
    if piped is not None and not piped.keeps_content:
        received = received.withColumn("intact", F.expr("cast(null as boolean)"))
    return received.selectExpr(
        *(["append_ms"] if piped is not None else []),
        "topic", "group", "consumer", "poll", "producer", "seq", "partition", "offset", DUE_NS, SENT_NS,
        RECEIVED_NS, "started_ns", PROCESSED_NS, "size_bytes", "intact", EMPTY_NS, f"{recorded} as recorded_ns",
        f"{processed} as processed",
        f"{IS_STAMPED} and coalesce(intact, true) as sound",
        f"{PLACE} as place",
        f"{done} as done_ns",
        f"{tick(selected, measure)} as selected",
        f"{tick(SENT_NS, measure)} as sent_tick",
        f"{tick(RECEIVED_NS, measure)} as received_tick",
        f"{tick(done, measure)} as done_tick",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Span:
    """What the run and its measure phase cover, on the monotonic clock."""

    from_ns: int
    to_ns: int
    measure: MeasureSpan

    @property
    def run_ns(self) -> int:
        """How long the run was."""
        return self.to_ns - self.from_ns

    @property
    def measure_ns(self) -> int:
        """How long the measure phase was."""
        return self.measure.to_ns - self.measure.from_ns

    def second(self, time_ns: int) -> float:
        """Seconds from the start of the measure phase."""
        return (time_ns - self.measure.from_ns) / NS_PER_SECOND

    def looks(self, rows: Iterable[Row]) -> list[Row]:
        """What was looked at within the measure phase, its ends included."""
        return [row for row in rows if self.measure.from_ns <= row["at_ns"] <= self.measure.to_ns]

    def stretches(self, looks: Rows) -> Iterator[tuple[str, Rows]]:
        """By scope: each two looks that follow each other, and those of the measure phase if there are two."""
        yield from (("interval", pair) for pair in pairwise(looks))
        if len(measured := self.looks(looks)) > 1:
            yield "measure", measured

    def window_ns(self, second: int) -> int:
        """How much of the window `second` lies within the run; the whole second where none of it does."""
        begin = self.measure.from_ns + second * NS_PER_SECOND
        inside = min(begin + NS_PER_SECOND, self.to_ns) - max(begin, self.from_ns)
        return inside if inside > 0 else NS_PER_SECOND
