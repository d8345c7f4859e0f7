"""The table `delivery`: the account of all messages, from exact sums and from what the audit found."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import MESSAGE_CLASSES
from streamgauge.domain.tables import DELIVERY_COUNTS
from streamgauge.pipeline.knowledge import Knowledge
from streamgauge.pipeline.silver import ACKED, FAILED, NEVER_SENT
from streamgauge.pipeline.sums import Sums

Row = dict[str, Any]
PROBLEMS_PER_CLASS = 700
"""Of each class so many messages are shown: all classes together stay below ten thousand."""
FOUND = ("reordered", "corrupt", "foreign", "unrecorded", "unacked_received")
"""Counts that only the audit knows."""


def class_counts(classes: DataFrame) -> DataFrame:
    """Columns group, class, all, measured: how many findings there are."""
    return classes.groupBy("group", "class").agg(
        F.expr("count(*) as all"), F.expr("count(if(measured, true, null)) as measured")
    )


def problems(classes: DataFrame) -> DataFrame:
    """Rows of `problems`: the first findings of each class, in the order of their messages."""
    order = "topic, producer, seq, partition, `offset`"
    return (
        classes.where("class != 'delivered_once'")
        .selectExpr("*", f"row_number() over (partition by class order by {order}) as turn")
        .where(f"turn <= {PROBLEMS_PER_CLASS}")
        .orderBy("class", "turn")
        .selectExpr("class", "group", "topic", "producer", "seq", "partition", "`offset`", "due_ns", "error")
    )


def never_settled(messages: DataFrame) -> DataFrame:
    """Findings for messages that failed or were never sent, which are nobody's deliveries."""
    return messages.where("error is not null").selectExpr(
        f"if(fate = {NEVER_SENT}, 'unsent', 'failed') as class", "cast(null as int) as group", "topic", "producer",
        "seq", "partition", "`offset`", "due_ns", "sent_ns", "error", "(selected & 1) = 1 as measured",
    )  # fmt: skip


def delivery_rows(
    knows: Knowledge, messages: Sums, deliveries: Sums, found: Mapping[tuple[int, str], Mapping[str, int]]
) -> list[Row]:
    """Rows of `delivery`: for each scope and each group; `found` holds the counts of findings by group and class."""
    rows = []
    for scope in ("run", "measure"):
        sent = _scope(messages.windows, scope)
        got = _scope(deliveries.windows, scope)
        for group in knows.groups or (None,):
            of_class = {
                name: counts["all" if scope == "run" else "measured"]
                for (at, name), counts in found.items()
                if at == group
            }
            mine = got.where(got.column("group") == group) if group is not None else got
            rows.append({"scope": scope, "group": group} | _account(knows, sent, mine, of_class))
    return rows


def _scope(sums: Sums, scope: str) -> Sums:
    return sums if scope == "run" else sums.where(sums.column("at_selected") & 1 == 1)


def _account(knows: Knowledge, sent: Sums, got: Sums, found: Mapping[str, int]) -> Row:
    """The counts of one scope and group; what this run cannot know is null."""
    account: dict[str, int | None] = dict.fromkeys(DELIVERY_COUNTS)
    checked = got.total("checked") if knows.consumes else None
    if knows.loads:
        account |= _sender_side(sent)
        account["aborted"] = None if knows.transactional else 0
    if knows.consumes:
        account["received"] = got.total("received")
        account["corrupt"] = found.get("corrupt", 0) if checked else None
    if knows.consumes and knows.loads:
        in_doubt = {name: found.get(name, 0) for name in MESSAGE_CLASSES}
        account |= in_doubt | {name: found.get(name, 0) for name in FOUND if name != "corrupt"}
        # Messages that the audit had no reason to doubt were delivered once.
        account["delivered_once"] = (account["acked"] or 0) - sum(in_doubt.values()) + in_doubt["delivered_once"]
    elif knows.consumes:
        account["duplicate_consumer"] = found.get("duplicate_consumer", 0)
        account["foreign"] = 0
    return {**account, "checked": checked, "negative_latencies": got.total("negative")}


def _sender_side(sent: Sums) -> dict[str, int]:
    fates: Sequence[tuple[str, int]] = (("acked", ACKED), ("failed", FAILED), ("unsent", NEVER_SENT))
    fate = sent.column("fate")
    return {"sent": sent.total("sent")} | {name: sent.where(fate == each).total("messages") for name, each in fates}
