"""The tables `redelivery` and `deliveries_by_number`: what `delivery.attempts` says, as frames."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.attempts import (
    ACCEPTED,
    ANSWERS,
    DEAD_LETTER,
    DELIVERY_COUNTS,
    MESSAGE_COUNTS,
    REDELIVERED,
    RELEASED,
    TIMED_OUT,
    UNANSWERED,
    Carried,
    expected_by_number,
    expected_dead,
)
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.percentiles import PERCENTILES, Buckets, percentile_ns
from streamgauge.pipeline.columns import GROUP, IS_STAMPED, MESSAGE, PLACE, PRODUCER, RECEIVED_NS, SEQ
from streamgauge.pipeline.metrics.aggregates.buckets import bucket, exponent
from streamgauge.pipeline.read.rows import Row, numbers
from streamgauge.scenario.profile.model import AcknowledgeProfile

TOLD: Final = ("p50", "p90", "p99")
"""Percentiles of each time."""
_TIMES: Final = ("delay", "answer", "success")


class Repeated(NamedTuple):
    """What is known of deliveries."""

    counts: Sequence[Row]
    """One for each group."""
    by_number: Sequence[Row]
    times: pa.Table
    """Columns group, time, bucket, count and largest: how long redeliveries, answers and successes took."""


def delivered(
    received: DataFrame,
    attempts: DataFrame,
    ahead_ns: int,
    topics: int,
    carrier: AcknowledgeProfile,
    dead: Collection[int] = (),
) -> DataFrame:
    """One row per delivery, with its outcome, and what is known of its message.

    `ahead_ns` is how far the wall clock was ahead of the monotonic one. There are so many `topics` without the retry
    topics. What a consumer of a share group had that is among the `dead` came again when it died, and not when its lock
    was over: its deadline is not known.
    """
    carried = carried_by(carrier)
    sound = received.where(f"{IS_STAMPED} and coalesce(intact, true)")
    if carried.in_place and dead:
        known = f"if(consumer in ({', '.join(map(str, sorted(dead)))}), null, deadline_ms)"
        sound = sound.withColumn("deadline_ms", F.expr(known))
    firsts = sound.groupBy(*MESSAGE, *PLACE[1:], F.col("delivery_count").alias("number")).agg(
        F.expr(f"min(struct({RECEIVED_NS}, processed_ns, deadline_ms, due_ns)) as first"),
        F.expr("count(*) - 1 as reread"),
    )
    told = (*ANSWERS, REDELIVERED, DEAD_LETTER)
    said = attempts.groupBy(GROUP, *PLACE, F.col("attempt").alias("number")).agg(
        *(F.expr(f"min(if(outcome = '{name}', at_ns, null)) as {name}_ns") for name in told)
    )
    rows = firsts.join(said, [GROUP, *PLACE, "number"], "left").selectExpr(
        GROUP, _sent_to(topics), "partition", PRODUCER, SEQ, "reread", "number",
        f"first.{RECEIVED_NS} as {RECEIVED_NS}", "first.due_ns as due_ns", *(f"{name}_ns" for name in told),
        f"if({ACCEPTED}_ns is null, null, coalesce(first.processed_ns, first.{RECEIVED_NS})) as done_ns",
        # What was sent again before it was read here had been read before, by a consumer that died.
        f"if({REDELIVERED}_ns < first.{RECEIVED_NS}, null, {_deadline(carrier, ahead_ns)}) as deadline_ns",
        f"if(number > 1, {_due(carrier, ahead_ns)}, null) as due_again_ns",
    )  # fmt: skip
    of_message = f"partition by {', '.join(MESSAGE)}"
    ordered = f"{of_message} order by number range between 1 preceding and 1 preceding"
    of_order = f"partition by {GROUP}, topic, {PRODUCER}, partition order by {SEQ}"
    later = f"{of_order} range between 1 following and unbounded following"
    return rows.selectExpr(
        "*",
        f"min(done_ns) over ({of_message}) as success_ns",
        f"min(done_ns) over ({later}) as later_ns",
        f"min({ACCEPTED}_ns) over ({of_message}) as answer_ns",
        f"bool_or({DEAD_LETTER}_ns is not null) over ({of_message}) as is_dead",
        "false as is_spent"
        if carried.limit is None
        else f"max(number) over ({of_message}) > {carried.limit} as is_spent",
        f"row_number() over ({of_message} order by number, {RECEIVED_NS}) = 1 as is_first",
        f"{RECEIVED_NS} - coalesce(due_again_ns, min(deadline_ns) over ({ordered})) as delay_ns",
    )


def _sent_to(topics: int) -> str:
    """SQL for the topic that a message was sent to: retry topics stand behind these, level by level."""
    return f"topic % {topics} as topic"


def _due(carrier: AcknowledgeProfile, ahead_ns: int) -> str:
    """SQL for when a redelivery was due, as a message of a retry topic says itself; null where nothing says it."""
    return _recorded(ahead_ns) if carrier.delays_ms else "cast(null as bigint)"


def _recorded(ahead_ns: int) -> str:
    """SQL for the recorded deadline, by the monotonic clock."""
    return f"first.deadline_ms * {NS_PER_MS}L - {ahead_ns}L"


def _deadline(carrier: AcknowledgeProfile, ahead_ns: int) -> str:
    """SQL for when a delivery was due again; null where that is not known."""
    if carrier.delays_ms:
        delays = ", ".join(f"{round(delay * NS_PER_MS)}L" for delay in carrier.delays_ms)
        return f"{RELEASED}_ns + element_at(array({delays}), least(number, {len(carrier.delays_ms)}))"
    deadline = _recorded(ahead_ns)
    if not carrier.in_place:
        return deadline
    # It is over when it is released, and not known where its end is not, or where the lock was over before.
    over = f"if({RELEASED}_ns < {deadline}, {RELEASED}_ns, {deadline})"
    return f"if({TIMED_OUT}_ns < {deadline}, null, {over})"


def folded(received: DataFrame, topics: int, *, processing: bool, in_place: bool = False) -> DataFrame:
    """The first delivery of each message, with the begin and the end of its first successful processing.

    With it, a message counts as received when it was delivered first, and as processed when that succeeded. `topics` as
    in `delivered`. `in_place`: it keeps its offset when it is delivered again. Then the first delivery is the lowest
    number that was recorded: those of a consumer that died may not be.
    """
    if in_place:
        lowest = f"min(delivery_count) over (partition by {GROUP}, {', '.join(PLACE)})"
        numbered = received.selectExpr("*", f"{lowest} as lowest")
        firsts = numbered.where("delivery_count <=> lowest").drop("lowest")
        is_later = "delivery_count > lowest"
    else:
        numbered, is_later = received, "delivery_count > 1"
        firsts = received.where("coalesce(delivery_count, 1) = 1")
    if not processing:
        return firsts
    later = (
        numbered.where(f"{is_later} and processed_ns is not null and {IS_STAMPED}")
        .selectExpr(GROUP, _sent_to(topics), PRODUCER, SEQ, "processed_ns", "started_ns")
        .groupBy(*MESSAGE)
        .agg(F.expr("min(struct(processed_ns, started_ns)) as later"))
    )
    columns = [name for name in received.columns if name not in {"started_ns", "processed_ns"}]
    return firsts.join(later, [*MESSAGE], "left").selectExpr(
        *(f"`{name}`" for name in columns),
        "if(processed_ns is null and later is not null, later.started_ns, started_ns) as started_ns",
        "coalesce(processed_ns, later.processed_ns) as processed_ns",
    )


def repeated(rows: DataFrame) -> Repeated:
    """Counts of messages and deliveries; `rows` as `delivered` gives them."""
    counted = {
        "messages": "is_first",
        "succeeded": "is_first and success_ns is not null",
        "dead": "is_first and is_dead",
        "dead_after_success": "is_first and is_dead and success_ns is not null",
        "archived": "is_first and not is_dead and success_ns is null and is_spent",
        "overtaken": "is_first and success_ns > later_ns",
        "open": "is_first and not is_dead and success_ns is null and not is_spent",
        "deliveries": "true",
        **_OUTCOMES,
        "duplicates": f"{RECEIVED_NS} > success_ns",
        "early": "delay_ns < 0",
    }
    sums = [F.expr(f"count_if({sql}) as {name}") for name, sql in counted.items()]
    counts = rows.groupBy(GROUP).agg(*sums, F.expr("sum(reread) as reread")).toArrow().to_pylist()
    of_number = {"deliveries": "true", **_OUTCOMES, DEAD_LETTER: f"{DEAD_LETTER}_ns is not null"}
    sums = [F.expr(f"count_if({sql}) as {name}") for name, sql in of_number.items()]
    by_number = (
        rows.groupBy(GROUP, "number").agg(*sums).toArrow().sort_by([(GROUP, "ascending"), ("number", "ascending")])
    )
    whole = "if(is_first, {} - due_ns, null)"
    stacked = f"'delay', delay_ns, 'answer', {whole.format('answer_ns')}, 'success', {whole.format('success_ns')}"
    times = (
        rows.selectExpr(GROUP, f"stack(3, {stacked}) as (time, value)")
        .where("value is not null")
        .selectExpr("*", f"{exponent('value')} as exponent")
        .selectExpr(GROUP, "time", f"{bucket('value', 'exponent')} as bucket", "value")
        .groupBy(GROUP, "time", "bucket")
        .agg(F.expr("count(*) as count"), F.expr("max(value) as largest"))
    )
    return Repeated(counts, by_number.to_pylist(), times.toArrow())


_OUTCOMES: Mapping[str, str] = {
    name: " and ".join([*(f"{other}_ns is null" for other in ANSWERS[:place]), f"{name}_ns is not null"])
    for place, name in enumerate(ANSWERS)
} | {UNANSWERED: " and ".join(f"{name}_ns is null" for name in ANSWERS)}
"""SQL for whether a delivery had each outcome."""


def carried_by(carrier: AcknowledgeProfile) -> Carried:
    """What a carrier does with deliveries that fail."""
    return Carried(carrier.in_place, carrier.limit if carrier.in_place else None)


def tables_of(rows: DataFrame, carrier: AcknowledgeProfile, groups: Iterable[int]) -> dict[str, list[Row]]:
    """The tables, from rows as `delivered` gives them."""
    found = repeated(rows)
    return {"redelivery": redelivery_rows(found, carrier, groups), "deliveries_by_number": number_rows(found, carrier)}


def redelivery_rows(found: Repeated, carrier: AcknowledgeProfile, groups: Iterable[int]) -> list[Row]:
    """Rows of `redelivery`, one for each group: of those that received nothing, too."""
    counts = {row[GROUP]: row for row in found.counts}
    nothing = dict.fromkeys((*MESSAGE_COUNTS, *DELIVERY_COUNTS), 0)
    return [
        {
            **nothing,
            **counts.get(group, {}),
            GROUP: group,
            "expected_dead_share": _expected_dead(carrier),
            **_times(found.times, group),
        }
        for group in groups
    ]


def _expected_dead(carrier: AcknowledgeProfile) -> float | None:
    if not carrier.is_expected:
        return None
    return expected_dead(carrier.fail, carrier.poison, carrier.limit) if carrier.dead_letters else 0.0


def number_rows(found: Repeated, carrier: AcknowledgeProfile) -> list[Row]:
    """Rows of `deliveries_by_number`, with what is to be expected beside what was."""
    messages = {row[GROUP]: row["messages"] for row in found.counts}
    most = max((row["number"] for row in found.by_number), default=0)
    shares = expected_by_number(carrier.fail, carrier.poison, carrier.limit, most) if carrier.is_expected else []
    return [
        {**row, "expected": shares[row["number"] - 1] * messages[row[GROUP]] if row["number"] <= len(shares) else None}
        for row in found.by_number
    ]


def _times(times: pa.Table, group: int) -> dict[str, Any]:
    """Percentiles and maximum of each time of a group, in ms."""
    groups, names = numbers(times, GROUP), np.array(times.column("time").to_pylist(), object)
    out: dict[str, Any] = {}
    for name in _TIMES:
        chosen = (groups == group) & (names == name)
        buckets = Buckets.merged(numbers(times, "bucket")[chosen], numbers(times, "count")[chosen])
        largest = int(numbers(times, "largest")[chosen].max()) if buckets.total else None
        for each in TOLD:
            value_ns = percentile_ns(buckets, PERCENTILES[each], buckets.total, largest) if buckets.total else None
            out[f"{name}_{each}_ms"] = None if value_ns is None else value_ns / NS_PER_MS
        out[f"{name}_max_ms"] = None if largest is None else largest / NS_PER_MS
    return out
