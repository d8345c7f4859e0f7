"""What a figure is: a chart that names its data, what it shows in words, and why it is missing where it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import altair as alt

from streamgauge.report.figures.theme import COLORS

Row = Mapping[str, Any]
Result = Mapping[str, Any]

TIMELINE: Final = "timeline"
PHASES: Final = "phases"

LEGEND: Final = alt.Legend(orient="top", columns=3)
"""Three short entries to a line fit a phone."""


@dataclass(frozen=True, slots=True)
class Source:
    """One run as figures see it: the result, rows of gold tables (none of a missing one), and data that many share."""

    result: Result
    tables: Mapping[str, Sequence[Row]]
    timeline: Sequence[Row]
    phases: Sequence[Row]

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

    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, without data."""
        if self.chart is None:
            return {}
        spec: dict[str, Any] = self.chart.to_dict(validate=False)
        return spec

    def whole_spec(self) -> dict[str, Any]:
        """The Vega-Lite specification with its data in it."""
        return {**self.spec(), "datasets": {name: list(rows) for name, rows in self.data.items()}}


def over_time(source: Source, series: Sequence[str]) -> dict[str, Sequence[Row]]:
    """The data of a figure over time: of what figures share, the columns that this one shows."""
    columns = ("s", *series)
    return {TIMELINE: [{name: row[name] for name in columns} for row in source.timeline], **phases_of(source)}


def phases_of(source: Source) -> dict[str, Sequence[Row]]:
    """The data of the shade."""
    return {PHASES: source.phases} if source.phases else {}


def rounded(value: float | None) -> float | None:
    """A number as a figure needs it: four significant digits."""
    return None if value is None else float(f"{value:.4g}")


def seconds_axis() -> alt.X:
    """The time of the run, measure phase from 0 on."""
    return alt.X(
        "s:Q", title="seconds since the measure phase began", axis=alt.Axis(grid=False), scale=alt.Scale(nice=False)
    )


def over_phases(source: Source, marks: alt.Chart) -> alt.LayerChart:
    """The marks over a shade of what is not measured: warm-up and drain."""
    if not source.phases:
        return alt.LayerChart(layer=[marks])
    shade = (
        alt.Chart(alt.NamedData(PHASES))
        .mark_rect(opacity=0.15, color=COLORS["grey"], tooltip=False)
        .encode(alt.X("from:Q", scale=alt.Scale(nice=False)), alt.X2("to:Q"))
    )
    return alt.LayerChart(layer=[shade, marks])


def legend_selects() -> alt.Parameter:
    """A click into the legend singles a series out."""
    return alt.selection_point(name="series_chosen", fields=["series"], bind="legend")


def faded(chosen: alt.Parameter) -> Any:
    """Opacity of a series while others are chosen."""
    return alt.when(chosen).then(alt.value(1.0)).otherwise(alt.value(0.12))


def tip(name: str, title: str | None = None) -> alt.Tooltip:
    """A value as the data have it, which are rounded: to format it anew in every point takes a browser long."""
    return alt.Tooltip(f"{name}:N", title=title or name)


def series_color(series: Sequence[str], colors: Sequence[str], legend: alt.Legend = LEGEND) -> alt.Color:
    """One colour for each series, in this order."""
    scale = alt.Scale(domain=list(series), range=list(colors))
    return alt.Color("series:N", scale=scale, sort=None, title=None, legend=legend)
