"""Bounds of messages in runs that recorded none: the longest gap between polls of the second stands for each of them.

Since a worker samples the longest gap of each second of the clock, a report or a message that was taken in a second may
have been ready for as long before. Where no gap is known, there is no bound.
"""

from typing import Final

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.pipeline.columns import ACKED_NS, EMPTY_NS, HANDED_NS, RECEIVED_NS, SENT_NS
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.rows import numbers

_ROLES: Final = {"sent": "producer", "received": "consumer"}
_TOLD_BY: Final = {"sent": HANDED_NS, "received": EMPTY_NS}


def with_gaps(rows: DataFrame, kind: str, bronze: Bronze) -> DataFrame:
    """The rows of `sent` or `received`; where they lack the columns that bound a message, by gaps of their seconds."""
    if kind not in _ROLES or not bronze.rows(kind) or not bronze.extent(kind, _TOLD_BY[kind]).unknown:
        return rows
    gaps = _gaps(bronze, _ROLES[kind])
    if not gaps:
        return rows
    first = min(gaps)
    # The lookup is a literal, and no join: frames are read by several steps.
    known = F.lit([gaps.get(second, -1) for second in range(first, max(gaps) + 1)])
    rows = rows.withColumn("gaps", known)

    def gap(time: str, other: int) -> str:
        """The longest gap of the second of a time, and of another one beside it; null where one is not known."""
        seconds = [f"{time} div {NS_PER_SECOND}L - {first}L + {1 + beside}" for beside in (0, other)]
        found = [f"nullif(try_element_at(gaps, cast(if({each} > 0, {each}, null) as int)), -1L)" for each in seconds]
        return f"greatest({found[0]}, coalesce({found[1]}, 0L))"

    if kind == "received":
        filled = {EMPTY_NS: f"received_ns - ({gap(RECEIVED_NS, -1)})"}
    else:
        filled = {
            HANDED_NS: f"sent_ns + ({gap(SENT_NS, 1)})",
            "polled_ns": f"acked_ns - ({gap(ACKED_NS, -1)})",
        }
    return rows.withColumns({name: F.expr(each) for name, each in filled.items()}).drop("gaps")


def knows_gaps(bronze: Bronze) -> bool:
    """Whether workers sampled the gaps between their polls."""
    return not bronze.extent("resources", "poll_gap_ns").unknown


def _gaps(bronze: Bronze, role: str) -> dict[int, int]:
    """The longest gap of the workers of a role in each second of the clock, in ns."""
    table = bronze.columns("resources", ("at_ns", "role", "poll_gap_ns"))
    table = table.filter(pc.and_(pc.equal(table["role"], role), pc.is_valid(table["poll_gap_ns"])))
    longest: dict[int, int] = {}
    for at_ns, gap_ns in zip(numbers(table, "at_ns").tolist(), numbers(table, "poll_gap_ns").tolist(), strict=True):
        # A sample tells the second before its own.
        second = at_ns // NS_PER_SECOND - 1
        longest[second] = max(longest.get(second, 0), gap_ns)
    return longest
