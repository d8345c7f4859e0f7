"""How often messages were delivered, where they are acknowledged one by one: counted, and as was to be expected."""

from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import significant, whole
from streamgauge.report.figures.drawing.figure import Figure, FigureSource, Row, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, FEW_TICKS, INK

MOST_NUMBERS: Final = 30
"""More deliveries of a message are not drawn: a bar would be too thin."""
BAR: Final = 26
_DATA, _EXPECTED = "deliveries", "expected_deliveries"
_SERIES: Final = {
    "accepted": ("acknowledged", COLORS["green"]),
    "released": ("failed", COLORS["orange"]),
    "rejected": ("failed for good", COLORS["violet"]),
    "timed_out": ("acknowledged too late", COLORS["blue"]),
    "unanswered": ("not answered", COLORS["red"]),
}


def deliveries(source: FigureSource) -> Figure:
    """Deliveries by their number, and what became of them."""
    name, title = "deliveries", "Deliveries by number"
    about = "First deliveries of messages, second ones, and so on, by what became of them."
    found = source.rows("deliveries_by_number")
    if not found:
        return Figure(name, title, about, missing="messages are not acknowledged one by one", section="delivery")
    group = min(row["group"] for row in found)
    rows = [row for row in found if row["group"] == group]
    shown = rows[:MOST_NUMBERS]
    about += f" The first {MOST_NUMBERS} of {len(rows)} are shown." if len(rows) > len(shown) else ""
    data: dict[str, list[Row]] = {_DATA: [bar for row in shown for bar in _bars(row)]}
    names, colors = zip(*_SERIES.values(), strict=True)
    number = alt.Y("number:O", title="delivery", sort=None)
    bars = (
        alt.Chart(alt.NamedData(_DATA))
        .mark_bar()
        .encode(
            alt.X("count:Q", title="deliveries", axis=alt.Axis(tickCount=FEW_TICKS, format=",.0f")),
            number,
            series_color(names, colors, alt.Legend(orient="top", symbolType="square")),
            alt.Order("place:Q"),
            tooltip=[tip("number", "delivery"), tip("series"), tip("deliveries")],
        )
    )
    layers: list[Any] = [bars]
    if expected := [row for row in shown if row["expected"] is not None]:
        about += " The line across each is what follows from the scenario."
        data[_EXPECTED] = [
            {"number": row["number"], "count": row["expected"], "expected": significant(row["expected"])}
            for row in expected
        ]
        ticks = alt.Chart(alt.NamedData(_EXPECTED)).mark_tick(color=INK, thickness=2, size=BAR - 4)
        layers.append(ticks.encode(alt.X("count:Q"), number, tooltip=[tip("number", "delivery"), tip("expected")]))
    chart = alt.LayerChart(layer=layers).properties(height=BAR * (len(shown) + 1))
    return Figure(name, title, about, chart, data, section="delivery")


def _bars(row: Row) -> list[dict[str, Any]]:
    return [
        {"number": row["number"], "series": words, "count": row[name], "place": place, "deliveries": whole(row[name])}
        for place, (name, (words, _)) in enumerate(_SERIES.items())
        if row[name]
    ]
