"""Markers of what may have caused a latency: pauses of collectors, rebalances, and pauses of producers by a policy.

Figures of replication mark changes of leaders and of the controller.
"""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.domain.text.numbers import milliseconds, plural
from streamgauge.report.figures.drawing.figure import FigureSource, Row, tip
from streamgauge.report.figures.drawing.theme import INK
from streamgauge.verdict.checks.lag import controller_changes

CAUSES: Final = "_causes"
"""How the data of the marks of a figure end, after its name: each figure has marks of its own."""
GC, REBALANCED, PAUSED = "GC pause", "rebalance", "producers paused"
LED, CONTROLLED = "leader change", "controller change"
_SHAPES: Final = {
    GC: "triangle-up", REBALANCED: "diamond", PAUSED: "square", LED: "triangle-right", CONTROLLED: "cross",
}  # fmt: skip
GC_FROM_MS: Final = 10.0
"""Shorter pauses are no cause that one could see; the figure of the pauses has them all."""
MOST_CAUSES: Final = 200
"""Of more pauses of collectors than these, the longest are marked."""


def collections(source: FigureSource) -> list[Row]:
    """Rows {from, to, cause, what} of the pauses of the brokers' collectors, in the order of time."""
    known = [row for row in source.rows("gc") if row["second"] is not None and row["pause_ms"] >= GC_FROM_MS]
    longest = sorted(known, key=lambda row: -float(row["pause_ms"]))[:MOST_CAUSES]
    return [_collection(row) for row in sorted(longest, key=lambda row: float(row["second"]))]


def _collection(row: Row) -> Row:
    # What is recorded is the end of a pause.
    ended = row["second"]
    what = f"{GC} of {row['process']}, {milliseconds(row['pause_ms'])}"
    return {"from": round(ended - row["pause_ms"] / 1e3, 2), "to": round(ended, 2), "cause": GC, "what": what}


def rebalances_as_causes(source: FigureSource) -> list[Row]:
    """Seconds in which partitions were first read by another consumer, as rows {from, to, cause, what}."""
    groups = {group.id: group.name for group in source.result.run.groups}
    return [_rebalance(row, groups.get(row["group"], str(row["group"]))) for row in source.rows("rebalances")]


def _rebalance(row: Row, group: str) -> Row:
    moved = "1 partition" if row["partitions"] == 1 else f"{row['partitions']} partitions"
    what = f"{REBALANCED}: {moved} of {group} moved to another consumer"
    return {"from": row["second"], "to": row["second"] + 1, "cause": REBALANCED, "what": what}


def pauses_as_causes(spans: Sequence[Row]) -> list[Row]:
    """Spans {from, to} in which a policy let no message go, as rows {from, to, cause, what}."""
    return [{**span, "cause": PAUSED, "what": f"{PAUSED} by the policy"} for span in spans]


def changes_as_causes(source: FigureSource) -> list[Row]:
    """Looks that saw other leaders, or another active controller, as rows {from, to, cause, what}, by time."""
    moved = [row for row in source.rows("replication") if row["leaders_moved"]]
    led = [_change(row, LED, f"of {row['leaders_moved']} {plural(row['leaders_moved'], 'partition')}") for row in moved]
    controlled = [
        _change(after, CONTROLLED, f"from node {before['controller']} to {after['controller']}")
        for before, after in controller_changes(source.rows("followers"))
    ]
    return sorted((*led, *controlled), key=lambda row: float(row["from"]))


def _change(row: Row, cause: str, what: str) -> Row:
    second = round(row["second"], 2)
    return {"from": second, "to": second, "cause": cause, "what": f"{cause} {what}"}


def cause_marks(data: str, causes: Sequence[Row]) -> list[alt.Chart]:
    """A sign on the time axis where each cause begins, and a bar for as long as it lasts."""
    if not causes:
        return []
    known = [cause for cause in _SHAPES if any(row["cause"] == cause for row in causes)]
    tips = [tip("what"), tip("from", "from second"), tip("to", "to second")]
    x = alt.X("from:Q", scale=alt.Scale(nice=False))
    base = alt.Chart(alt.NamedData(data)).encode(x, y=alt.value("height"), tooltip=tips)
    bar = base.mark_rule(strokeWidth=4, color=INK, opacity=0.5).encode(alt.X2("to:Q"))
    scale = alt.Scale(domain=known, range=[_SHAPES[cause] for cause in known])
    shape = alt.Shape("cause:N", scale=scale, title=None, legend=alt.Legend(orient="top", symbolType=""))
    sign = base.mark_point(filled=True, size=45, color=INK, opacity=0.8, yOffset=-7).encode(shape)
    return [bar, sign]
