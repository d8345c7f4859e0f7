"""What a figure is: a chart that names its data, what it shows in words, and why it is missing where it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import altair as alt

from streamgauge.report.figures.drawing.theme import COLORS, INK
from streamgauge.result import Result

Row = Mapping[str, Any]
FigureSection = Literal["overview", "latency", "lag", "delivery", "pipeline", "diagnostics"]
"""The part of the report in which a figure stands."""

TIMELINE: Final = "timeline"
PHASES: Final = "phases"
ANNOTATIONS: Final = "annotations"
MOST_NAMED: Final = 6
"""So many annotations have room for their names; of more the tooltips tell, and the table."""
SMALLEST_TEXT: Final = 12
SECONDS: Final = "seconds since the start of the measure phase"
TIME_FROM, TIME_TO = "time_from", "time_to"
"""Parameters of every chart over time: its first and its last second. The page sets them to zoom."""

LEGEND: Final = alt.Legend(orient="top", columns=3)
"""Three short entries to a line fit a phone."""


@dataclass(frozen=True, slots=True)
class FigureSource:
    """One run as figures see it: the result, rows of gold tables (none of a missing one), and data that many share.

    `annotations` are spans of time in which something was done to the run, as `annotations_of` makes them; `span` is
    the first and the last second of the run, where that is known.
    """

    result: Result
    tables: Mapping[str, Sequence[Row]]
    timeline: Sequence[Row]
    phases: Sequence[Row]
    annotations: Sequence[Row] = ()
    span: tuple[float, float] | None = None

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
    section: FigureSection = "diagnostics"
    nothing_new: str | None = None
    """Why the figure is folded: what it shows in a sentence, where it is a flat zero or repeats another figure."""

    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, without data."""
        if self.chart is None:
            return {}
        return _framed(self.chart.to_dict(validate=False))

    def whole_spec(self) -> dict[str, Any]:
        """The Vega-Lite specification with its data in it."""
        return {**self.spec(), "datasets": {name: list(rows) for name, rows in self.data.items()}}


def over_time(source: FigureSource, series: Sequence[str]) -> dict[str, Sequence[Row]]:
    """The data of a figure over time: of what figures share, the columns that this one shows."""
    columns = ("s", *series)
    return {TIMELINE: [{name: row[name] for name in columns} for row in source.timeline], **phases_of(source)}


def phases_of(source: FigureSource) -> dict[str, Sequence[Row]]:
    """The data of what `over_phases` draws."""
    shown = {PHASES: source.phases, ANNOTATIONS: source.annotations}
    return {name: rows for name, rows in shown.items() if rows}


def rounded(value: float | None) -> float | None:
    """A number as a figure needs it: four significant digits."""
    return None if value is None else float(f"{value:.4g}")


def seconds_axis() -> alt.X:
    """The time of the run, measure phase from 0 on."""
    return alt.X("s:Q", title=SECONDS, axis=alt.Axis(grid=False), scale=alt.Scale(nice=False))


def over_phases(source: FigureSource, *marks: alt.Chart) -> alt.LayerChart:
    """The marks over the time of the run, the same in every figure, and behind them what was not measured.

    Warm-up and drain are shaded and named, and so is what was done to the run. Nothing is drawn outside of the time.
    """
    chart = alt.LayerChart(layer=[*_phases(source.phases), *_done(source.annotations), *marks])
    if source.span is not None:
        ends = zip((TIME_FROM, TIME_TO), source.span, strict=True)
        known: Any = [] if chart.params is alt.Undefined else chart.params
        chart.params = [*known, *(alt.VariableParameter(name=name, value=second) for name, second in ends)]
    return chart


def _framed(spec: dict[str, Any]) -> dict[str, Any]:
    """The chart with its time from the first second to the last, where it has these, and nothing drawn beyond them."""
    if not any(param["name"] == TIME_FROM for param in spec.get("params", ())):
        return spec
    ends = {"domainMin": {"expr": TIME_FROM}, "domainMax": {"expr": TIME_TO}}
    return {**spec, "layer": [_clipped(layer, ends) for layer in spec["layer"]]}


def _clipped(layer: dict[str, Any], ends: Mapping[str, Any]) -> dict[str, Any]:
    mark = layer["mark"] if isinstance(layer["mark"], dict) else {"type": layer["mark"]}
    # Names of phases stand above the plot.
    clip = mark.get("baseline") != "bottom"
    encoding = dict(layer["encoding"])
    x = encoding.get("x", {})
    if "field" in x:
        axis = {"axis": {**x["axis"], "tickMinStep": 1}} if x.get("axis") else {}
        encoding["x"] = {**x, **axis, "scale": {**x.get("scale", {}), **ends, "padding": 0}}
    return {**layer, "mark": {**mark, "clip": clip}, "encoding": encoding}


def _phases(phases: Sequence[Row]) -> list[alt.Chart]:
    """Shades of warm-up and drain, and above each its name, as far as it is within what is shown."""
    if not phases:
        return []
    named = [phase["phase"] for phase in phases if phase["to"] - phase["from"] >= NAMED_FROM_S]
    return [spans(PHASES, "grey"), *(_phase_name(phase, *_PHASE_NAMES[phase]) for phase in named)]


def _phase_name(phase: str, words: str, align: Any, edge: str) -> alt.Chart:
    label = f"datum.to > {TIME_FROM} && datum.from < {TIME_TO} ? '{words}' : ''"
    row = alt.Chart(alt.NamedData(PHASES)).transform_filter(alt.FieldEqualPredicate(field="phase", equal=phase))
    text: alt.Chart = row.transform_calculate(edge=edge, label=label).mark_text(
        align=align, **{**_NAME, "baseline": "bottom", "dy": -2}
    )
    return text.encode(alt.X("edge:Q", scale=alt.Scale(nice=False)), text=alt.Text("label:N"), y=alt.value(0))


NAMED_FROM_S: Final = 1.0
"""A phase that is shorter has no room for its name, however long the run is."""
_PHASE_NAMES: Final = {
    "warmup": ("warm-up", "left", f"max(datum.from, {TIME_FROM})"),
    "drain": ("drain", "right", f"min(datum.to, {TIME_TO})"),
}
_NAME: Final[Mapping[str, Any]] = {
    "baseline": "top", "fontSize": SMALLEST_TEXT, "color": INK, "opacity": 0.75, "tooltip": False,
}  # fmt: skip


def _done(annotations: Sequence[Row]) -> list[alt.Chart]:
    """Spans with a line where each begins, and their names while there is room for them."""
    if not annotations:
        return []
    tips = [tip("what"), tip("from", "from second"), tip("to", "to second")]
    begin = alt.Chart(alt.NamedData(ANNOTATIONS)).encode(alt.X("from:Q", scale=alt.Scale(nice=False)))
    line = begin.mark_rule(color=COLORS["orange"], strokeDash=[2, 2]).encode(tooltip=tips)
    levels = sorted({row["level"] for row in annotations}) if len(annotations) <= MOST_NAMED else []
    return [spans(ANNOTATIONS, "orange", tips), line, *(_span_names(begin, level) for level in levels)]


def _span_names(begin: alt.Chart, level: int) -> alt.Chart:
    """The names in one of the lines from the top."""
    here = begin.transform_filter(alt.FieldEqualPredicate(field="level", equal=level))
    text: alt.Chart = here.mark_text(align="left", dx=3, **_NAME)
    return text.encode(alt.Text("what:N"), y=alt.value(1 + level * (SMALLEST_TEXT + 1)))


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
