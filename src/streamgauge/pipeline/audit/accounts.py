"""The table `delivery`: the account of all messages, from exact sums and from what the audit found."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import MESSAGE_CLASSES
from streamgauge.delivery.log import BY_LOG, CONFLICTS, EARLY, LEDGER_CLASSES, TRUNCATED
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.tables.delivery import DELIVERY_COUNTS
from streamgauge.pipeline.audit.audit import UNREPORTED, UNREPORTED_RECEIVED
from streamgauge.pipeline.audit.source import LOSS
from streamgauge.pipeline.columns import (
    CLASS,
    DUE_NS,
    GROUP,
    IS_MEASURED,
    MESSAGE,
    OFFSET,
    PARTITION,
    SENT_NS,
    STAMP,
    TOPIC,
)
from streamgauge.pipeline.metrics.aggregates.sums import Sums
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import (
    ABORTED,
    ACKED,
    FAILED,
    NEVER_SENT,
    UNDECIDED,
    UNSETTLED,
    is_measured,
    place_of,
)
from streamgauge.pipeline.read.traits import RunTraits
from streamgauge.scenario.model.jobs import AGGREGATE

PROBLEMS_PER_CLASS = 600
"""Of each class so many messages are shown: all classes together stay below ten thousand."""
FOUND = ("reordered", "corrupt", "foreign", "unrecorded", "unacked_received", "aborted_received")
"""Counts that only the audit knows."""
_SHOWN_AS = {UNREPORTED: "unknown", UNREPORTED_RECEIVED: "unacked_received"}
"""Counts that messages of unknown fate are in, too."""
_WHEN = " ".join(f"when '{name}' then '{count}'" for name, count in _SHOWN_AS.items())
_SHOWN = f"case class {_WHEN} else class end"
"""SQL for the class by which a finding is shown."""


def class_counts(classes: DataFrame) -> DataFrame:
    """Columns group, class, all, measured: how many findings there are."""
    return classes.groupBy(GROUP, CLASS).agg(
        F.expr("count(*) as all"), F.expr("count(if(measured, true, null)) as measured")
    )


def by_second(classes: DataFrame, measure: MeasureSpan) -> list[Row]:
    """Rows of `problem_counts`: all findings, by class, place and the second that their messages were due in."""
    second = f"cast(floor((coalesce({DUE_NS}, {SENT_NS}) - {measure.from_ns}L) / {NS_PER_SECOND}D) as int)"
    key = (F.expr(_SHOWN).alias(CLASS), GROUP, TOPIC, PARTITION, F.expr(second).alias("second"))
    counts = classes.groupBy(*key).agg(F.expr("count(*) as count")).toArrow()
    rows: list[Row] = counts.sort_by([(name, "ascending") for name in counts.column_names]).to_pylist()
    return rows


def problems(classes: DataFrame) -> DataFrame:
    """Rows of `problems`: the first findings of each class, in the order of their messages."""
    order = ", ".join((*STAMP, PARTITION, OFFSET))
    return (
        classes.withColumn(CLASS, F.expr(_SHOWN))
        .selectExpr("*", f"row_number() over (partition by {CLASS} order by {order}) as place")
        .where(f"place <= {PROBLEMS_PER_CLASS}")
        .orderBy(CLASS, "place")
        .select(CLASS, *MESSAGE, PARTITION, OFFSET, DUE_NS, "error")
    )


def never_settled(messages: DataFrame) -> DataFrame:
    """Findings for messages that failed, were never sent or are of unknown fate, which are nobody's deliveries."""
    name = f"case report when {NEVER_SENT} then 'unsent' when {UNSETTLED} then 'fate_unknown' else 'failed' end"
    return messages.where("error is not null").selectExpr(
        f"{name} as {CLASS}", f"cast(null as int) as {GROUP}", *STAMP, PARTITION, OFFSET, DUE_NS, SENT_NS, "error",
        f"{IS_MEASURED} as measured",
    )  # fmt: skip


def delivery_rows(
    traits: RunTraits,
    messages: Sums,
    deliveries: Sums,
    found: Mapping[tuple[int, str], Mapping[str, int]],
    resent: Mapping[str, int],
    dropped: Mapping[str, int] = MappingProxyType({}),
    unaccounted: int | None = None,
    *,
    log_read: bool = False,
) -> list[Row]:
    """Rows of `delivery`: for each scope and each group.

    `found` holds the counts of findings by group and class, `resent` those of messages sent again by scope, `dropped`
    those of messages that are not to come out of a pipeline; `unaccounted` is None where it cannot be told. `log_read`
    says whether the log was read again.
    """
    rows = []
    for scope in ("run", "measure"):
        sent = _scope(messages.windows, scope)
        got = _scope(deliveries.windows, scope)
        for group in traits.groups or (None,):
            of_class = {
                name: counts["all" if scope == "run" else "measured"]
                for (at, name), counts in found.items()
                if at == group
            }
            mine = got.where(got.column("group") == group) if group is not None else got
            unread = _unread(traits, messages, scope)
            account = _account(traits, sent, mine, of_class, unread, dropped.get(scope, 0))
            account["resent"] = resent.get(scope, 0) if traits.loads else None
            account["unaccounted"] = unaccounted if scope == "run" else None
            account |= _ledger(traits, of_class, log_read=log_read)
            rows.append({"scope": scope, "group": group} | account)
    return rows


def _unread(traits: RunTraits, messages: Sums, scope: str) -> int:
    """How many messages were acknowledged, and not aborted, in partitions that consumers are told not to read."""
    if traits.reads is None:
        return 0
    places = _scope(messages.places, scope)
    partitions = place_of(places.column("place"))[PARTITION]
    unread = ~np.isin(partitions, sorted(traits.reads)) & np.isin(places.column("report"), (ACKED, UNDECIDED))
    return places.where(unread).total("messages")


def _scope(sums: Sums, scope: str) -> Sums:
    """The sums of a scope; what has no time, because it was neither due nor sent, belongs to no phase."""
    return sums if scope == "run" else sums.where(is_measured(sums.column("at_selected")))


def _account(traits: RunTraits, sent: Sums, got: Sums, found: Mapping[str, int], unread: int, dropped: int) -> Row:
    """The counts of one scope and group; what this run cannot know is null."""
    account: dict[str, int | None] = dict.fromkeys(DELIVERY_COUNTS)
    checked = got.total("checked") if traits.consumes else None
    if traits.loads:
        account |= _sender_side(sent)
    if traits.consumes:
        account["received"] = got.total("received")
        account["corrupt"] = found.get("corrupt", 0) if checked else None
    if traits.consumes and traits.loads:
        in_doubt = {name: found.get(name, 0) for name in MESSAGE_CLASSES}
        account |= in_doubt | {name: found.get(name, 0) for name in FOUND if name != "corrupt"}
        account["fate_unknown_received"] = found.get(UNREPORTED_RECEIVED, 0)
        for name, count in _SHOWN_AS.items():
            account[count] = (account[count] or 0) + found.get(name, 0)
        # Messages that the audit had no reason to doubt were delivered once.
        account["unread"] = unread
        wanted = (account["acked"] or 0) - (account["aborted"] or 0) - unread - dropped
        account["delivered_once"] = wanted - sum(in_doubt.values())
        if traits.piped is not None and traits.piped.does == AGGREGATE:
            account |= dict.fromkeys(LOSS)
    elif traits.consumes:
        account["duplicate_consumer"] = found.get("duplicate_consumer", 0)
        account["foreign"] = 0
    return {**account, "checked": checked, "negative_latencies": got.total("negative")}


def _ledger(traits: RunTraits, found: Mapping[str, int], *, log_read: bool) -> Row:
    """The counts beside the classes; what cannot be told of this run is null.

    Behind a pipeline groups read another log than the one that was read again.
    """
    reads_it = traits.loads and traits.consumes and traits.pipeline is None
    is_told = {
        **dict.fromkeys(LEDGER_CLASSES, reads_it),
        **dict.fromkeys(BY_LOG, reads_it and log_read),
        EARLY: reads_it and (traits.tells_endings or not traits.transactional),
        TRUNCATED: traits.loads and log_read,
        CONFLICTS: traits.loads and traits.pipeline is None and log_read,
    }
    return {name: found.get(name, 0) if is_told[name] else None for name in LEDGER_CLASSES}


def wanted(messages: Sums, scope: str) -> int:
    """How many messages were acknowledged and not aborted."""
    counts = _sender_side(_scope(messages.windows, scope))
    return counts["acked"] - counts["aborted"]


def _sender_side(sent: Sums) -> dict[str, int]:
    reports: Mapping[str, Sequence[int]] = {
        "acked": (ACKED, ABORTED, UNDECIDED),
        "failed": (FAILED,),
        "unsent": (NEVER_SENT,),
        "aborted": (ABORTED,),
        "fate_unknown": (UNSETTLED,),
    }
    report = sent.column("report")
    return {"sent": sent.total("sent")} | {
        name: sent.where(np.isin(report, each)).total("messages") for name, each in reports.items()
    }
