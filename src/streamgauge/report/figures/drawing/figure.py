"""What a figure is: a chart that names its data, what it shows in words, and why it is missing where it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import altair as alt

from streamgauge.report.figures.drawing.theme import COLORS
from streamgauge.result import Result

Row = Mapping[str, Any]
Section = Literal["overview", "latency", "lag", "delivery", "pipeline", "diagnostics"]
"""The part of the report in which a figure stands."""

TIMELINE: Final = "timeline"
PHASES: Final = "phases"
MARKS: Final = "marks"
MOST_NAMED: Final = 6
"""So many marks have room for their names; of more the tooltips tell, and the table."""

LEGEND: Final = alt.Legend(orient="top", columns=3)
"""Three short entries to a line fit a phone."""


@dataclass(frozen=True, slots=True)
class FigureSource:
    """One run as figures see it: the result, rows of gold tables (none of a missing one), and data that many share.

    `marks` are spans of time in which something was done to the run, as `marks.marks_of` makes them.
    """

    result: Result
    tables: Mapping[str, Sequence[Row]]
    timeline: Sequence[Row]
    phases: Sequence[Row]
    marks: Sequence[Row] = ()

    def rows(self, table: str, **wanted: Any) -> list[Row]:
        """The rows of a table that have these values."""
        rows = self.tables.get(table, ())
        return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `chart` refers to its data by name, and `data` holds them; figures may share rows and their columns.

    Exactly one of `chart` and `missing` is there.
    """

    name: str
    title: str
    about: str
    chart: alt.TopLevelMixin | None = None
    data: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    missing: str | None = None
    section: Section = "diagnostics"
    nothing_new: str | None = None
    """Why the figure is folded: what it shows in a sentence, where it is a flat zero or repeats another figure."""

    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, without data."""
        if self.chart is None:
            return {}
        spec: dict[str, Any] = self.chart.to_dict(validate=False)
        return spec

    def whole_spec(self) -> dict[str, Any]:
        """The Vega-Lite specification with its data in it."""
        return {**self.spec(), "datasets": {name: list(rows) for name, rows in self.data.items()}}


def over_time(source: FigureSource, series: Sequence[str]) -> dict[str, Sequence[Row]]:
    """The data of a figure over time: of what figures share, the columns that this one shows."""
    columns = ("s", *series)
    return {TIMELINE: [{name: row[name] for name in columns} for row in source.timeline], **phases_of(source)}


def phases_of(source: FigureSource) -> dict[str, Sequence[Row]]:
    """The data of what `over_phases` draws."""
    shown = {PHASES: source.phases, MARKS: source.marks}
    return {name: rows for name, rows in shown.items() if rows}


def rounded(value: float | None) -> float | None:
    """A number as a figure needs it: four significant digits."""
    return None if value is None else float(f"{value:.4g}")


def seconds_axis() -> alt.X:
    """The time of the run, measure phase from 0 on."""
    return alt.X(
        "s:Q",
        title="seconds since the start of the measure phase",
        axis=alt.Axis(grid=False),
        scale=alt.Scale(nice=False),
    )


def over_phases(source: FigureSource, *marks: alt.Chart) -> alt.LayerChart:
    """The marks over a shade of what is not measured, warm-up and drain, and over what was done to the run."""
    shade = [spans(PHASES, "grey")] if source.phases else []
    return alt.LayerChart(layer=[*shade, *_done(source.marks), *marks])


def _done(marks: Sequence[Row]) -> list[alt.Chart]:
    """Spans with a line where each begins, and their names while there is room for them."""
    if not marks:
        return []
    tips = [tip("what"), tip("from", "from second"), tip("to", "to second")]
    begin = alt.Chart(alt.NamedData(MARKS)).encode(alt.X("from:Q", scale=alt.Scale(nice=False)))
    line = begin.mark_rule(color=COLORS["orange"], strokeDash=[2, 2]).encode(tooltip=tips)
    name = begin.mark_text(align="left", baseline="top", dx=3, fontSize=10, color=COLORS["orange"], tooltip=False)
    names = [name.encode(alt.Text("what:N"), y=alt.value(1))] if len(marks) <= MOST_NAMED else []
    return [spans(MARKS, "orange", tips), line, *names]


def spans(data: str, color: str, tooltip: Sequence[alt.Tooltip] = ()) -> alt.Chart:
    """A shade from `from` to `to` in each row of the data."""
    rows = alt.Chart(alt.NamedData(data)).encode(alt.X("from:Q", scale=alt.Scale(nice=False)), alt.X2("to:Q"))
    shade: alt.Chart = rows.mark_rect(opacity=0.15, color=COLORS[color], tooltip=False)
    return shade.encode(tooltip=list(tooltip)) if tooltip else shade


def legend_selects() -> alt.Parameter:
    """A click into the legend singles a series out."""
    return alt.selection_point(name="series_chosen", fields=["series"], bind="legend")


def faded(chosen: alt.Parameter) -> Any:
    """Opacity of a series while others are chosen."""
    return alt.when(chosen).then(alt.value(1.0)).otherwise(alt.value(0.12))


def tip(name: str, title: str | None = None) -> alt.Tooltip:
    """A value as the data have it, which are rounded: to format it anew in every point takes a browser long."""
    return alt.Tooltip(f"{name}:N", title=title or name)


def series_color(series: Sequence[str], colors: Sequence[str], legend: alt.Legend | None = LEGEND) -> alt.Color:
    """One colour for each series, in this order."""
    scale = alt.Scale(domain=list(series), range=list(colors))
    return alt.Color("series:N", scale=scale, sort=None, title=None, legend=legend)
