"""What only a run through a pipeline has: what its source says of each message, and the table `pipeline_delivery`."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.audit import AT_SOURCE, BY_PIPELINE, DUPLICATED, MESSAGE_CLASSES, UNEXPECTED
from streamgauge.delivery.rows import PipelineUnderTest
from streamgauge.pipeline.columns import CLASS, FINDING, IS_MEASURED, IS_STAMPED, STAMP, TOPIC
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import ABORTED

Found = Mapping[tuple[int, str], Mapping[str, int]]
"""How many findings there are, by group and class, as `all` and `measured`."""

UNTOLD: Final = "untold"
"""Class of messages that did not come, of which nobody says whether they should have: unknown, and not censored."""
_SPLIT: Final = (AT_SOURCE, BY_PIPELINE)
LOSS: Final = (
    *MESSAGE_CLASSES, "reordered", "corrupt", "unacked_received", "aborted_received", "fate_unknown_received", "unread",
)  # fmt: skip
"""Counts of `delivery` that nobody can tell where an output stands for several messages."""


def at_sink(found: DataFrame, pipeline: PipelineUnderTest) -> DataFrame:
    """Findings of deliveries, whose place is one in the sink."""
    return found.withColumn(TOPIC, F.lit(pipeline.sink)).select(*FINDING)


def standing(appended: DataFrame) -> DataFrame:
    """Columns topic, producer, seq, stands and expected: at how many offsets of the source each stamp stands."""
    return (
        appended.where(IS_STAMPED)
        .groupBy(*STAMP)
        .agg(
            F.expr("count(*) as stands"),
            # Of several copies, one is enough; where one of the others is not known, neither is the message.
            F.expr("if(max(expected), true, if(count(expected) = count(*), false, null)) as expected"),
        )
    )


def with_expected(messages: DataFrame, stood: DataFrame | None) -> DataFrame:
    """The messages with `expected`: whether they are to come out; null where nobody says."""
    if stood is None:
        return messages.withColumn("expected", F.expr("cast(null as boolean)"))
    return messages.join(stood.drop("stands"), [*STAMP], "left")


def dropped(messages: DataFrame) -> Mapping[str, int]:
    """How many acknowledged messages are not to come out, by scope."""
    (row,) = (
        messages.where(f"error is null and report != {ABORTED} and expected = false")
        .agg(F.expr("count(*) as run"), F.expr(f"count(if({IS_MEASURED}, true, null)) as measure"))
        .collect()
    )
    return {"run": row["run"], "measure": row["measure"]}


def split(classes: DataFrame, stood: DataFrame) -> DataFrame:
    """Findings: messages at several places of the sink once more, by whether they stood twice in the source."""
    return (
        classes.where(f"class = '{DUPLICATED}'")
        .join(stood, [*STAMP])
        .withColumn(CLASS, F.expr(f"if(stands > 1, '{AT_SOURCE}', '{BY_PIPELINE}')"))
        .select(*FINDING)
    )


def problems(classes: DataFrame) -> DataFrame:
    """The findings as `problems` shows them: every message once, by the class that it is counted in."""
    return classes.where(~F.col(CLASS).isin(*_SPLIT)).withColumn(
        CLASS, F.expr(f"if(class = '{UNTOLD}', 'unknown', class)")
    )


def told(found: Found) -> dict[tuple[int, str], dict[str, int]]:
    """The counts with what nobody told among the unknown."""
    folded: dict[tuple[int, str], dict[str, int]] = {}
    for (group, name), counts in found.items():
        key = (group, "unknown" if name == UNTOLD else name)
        known = folded.setdefault(key, {"all": 0, "measured": 0})
        folded[key] = {each: known[each] + counts[each] for each in known}
    return folded


def rows(
    pipeline: PipelineUnderTest | None,
    groups: Iterable[int],
    found: Found,
    acked: Mapping[str, int],
    dropped: Any,
    *,
    stood: bool,
) -> list[Row]:
    """Rows of `pipeline_delivery`: for each scope and group; none without a pipeline.

    `acked` are the messages that were acknowledged and not aborted, by scope; `stood` says whether the source was read.
    """
    if pipeline is None:
        return []
    out = []
    for scope, name in (("run", "all"), ("measure", "measured")):
        for group in groups:
            mine = {each: counts[name] for (at, each), counts in found.items() if at == group}
            is_told = not pipeline.joins
            out.append(
                {
                    "scope": scope,
                    "group": group,
                    "expected": None if not is_told or dropped is None else acked[scope] - dropped[scope],
                    "dropped": None if dropped is None else dropped[scope],
                    "unexpected": None if dropped is None else mine.get(UNEXPECTED, 0),
                    **{each: mine.get(each, 0) if stood and is_told else None for each in _SPLIT},
                }
            )
    return out
