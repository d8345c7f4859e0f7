"""Bars of several runs side by side, with the uncertainty of what was never delivered."""

import math
from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import Row, rounded, tip
from streamgauge.report.figures.drawing.theme import TEXT_SIZE

HEIGHT: Final = 280
LEGEND: Final = alt.Legend(orient="top", symbolType="square")
HEADROOM: Final = 1.3
"""What the text above the highest bar needs on a logarithmic scale."""
_CENSORED: Final = " `>`: some messages never arrived; their latency is in the pale part, or above."


def sized(value: float, shown: str) -> Row:
    """What is drawn of a figure that is certain: `value`, where the uncertainty ends (`top`), and the text above."""
    return {"value": rounded(value), "top": rounded(value), "shown": shown}


def bars(data: str, place: str, rows: Sequence[Row], color: alt.Color, y: alt.Y) -> alt.LayerChart:
    """Bars side by side in each place, one for each series; pale up to where the uncertainty ends."""
    series = list(dict.fromkeys(row["series"] for row in rows))
    base = alt.Chart(alt.NamedData(data)).encode(
        alt.X(f"{place}:N", sort=None, axis=alt.Axis(labelAngle=0)), alt.XOffset("series:N", sort=series), color
    )
    solid = base.mark_bar().encode(y, tooltip=[tip(place), tip("series"), tip("shown", "value")])
    uncertain = base.transform_filter("datum.top > datum.value").mark_bar(fillOpacity=0.25, tooltip=False)
    pale = [uncertain.encode(alt.Y("value:Q"), alt.Y2("top:Q"))] if censored(rows) else []
    text = base.mark_text(dy=-6, fontSize=TEXT_SIZE, tooltip=False).encode(alt.Y("top:Q"), alt.Text("shown:N"))
    return alt.LayerChart(layer=[solid, *pale, text])


def log_scale(rows: Sequence[Row]) -> alt.Scale:
    """A logarithmic scale that begins below the least value: a bar that begins at its own value has no length."""
    if not rows:
        return alt.Scale(type="log")
    least, most = min(row["value"] for row in rows), max(row["top"] for row in rows)
    return alt.Scale(type="log", domain=[10.0 ** (math.ceil(math.log10(least)) - 1), HEADROOM * most], nice=False)


def censored(rows: Sequence[Row]) -> str:
    """What has to be said where messages never came."""
    return _CENSORED if any(row["top"] > row["value"] for row in rows) else ""
