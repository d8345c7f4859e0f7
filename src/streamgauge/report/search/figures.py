"""Figures of a search: each objective over what is searched, the way there, and what arrived of the target rate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import percent, plural
from streamgauge.experiments.search.record import RATE, SearchRecord, SearchStep
from streamgauge.experiments.search.words import said, shown_figure, shown_value
from streamgauge.report.compare.answers import metric_at
from streamgauge.report.figures.drawing.figure import Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS
from streamgauge.report.figures.drawing.thresholds import threshold_marks
from streamgauge.report.search.runs import PHASES
from streamgauge.verdict.evidence import ARRIVING

_HEIGHT: Final = 300
_COLORS: Final[Mapping[str, str]] = {
    "held": "green",
    "held, doubtful": "lilac",
    "did not hold": "red",
    "did not hold, doubtful": "orange",
    "cannot be told": "grey",
}
_LOG: Final = alt.Scale(type="log", nice=False, padding=16)
_LINEAR: Final = alt.Scale(nice=False, padding=16)


def search_figures(record: SearchRecord) -> list[Figure]:
    """A figure for each objective, the values in the order in which they were tried, and the share that arrived."""
    objectives = [objective_figure(record, place) for place in range(len(record.objectives))]
    return [*objectives, way_figure(record), arrival_figure(record)]


def objective_figure(record: SearchRecord, place: int) -> Figure:
    """The figure of an objective in each run over the value that was tried, with its bound.

    From `figures` of the runs in search.json; of objectives over windows that is the worst window.
    """
    objective = record.objective(place)
    metric = metric_at(objective.path)
    infinite = sum(each.figures.get(objective.text, 0) is None for each in record.done)
    about = "A point for each run; the dotted line is the bound."
    about += f" {infinite} {plural(infinite, 'run')} whose figure is infinite: no point." if infinite else ""
    rows = [
        {**row, "figure": rounded(value), "shown": shown_figure(value)}
        for step, row in _tried(record)
        if (value := step.figures.get(objective.text)) is not None
    ]
    empty = Figure(f"search-objective-{place + 1}", f"{objective.text} by {record.path}", about)
    if not rows:
        return replace(empty, missing="no run has this figure")
    # Counts, as of lost messages, may be 0, which has no logarithm.
    scale = _LOG if min(objective.bound.value, *(row["figure"] for row in rows)) > 0 else _LINEAR
    y = alt.Y("figure:Q", title=f"{metric.label}, {metric.unit}" if metric.unit else metric.label, scale=scale)
    limit = {"limit": objective.bound.value, "what": objective.text}
    return _over_values(empty, record, rows, y, tip("shown", metric.label), limit)


def way_figure(record: SearchRecord) -> Figure:
    """The values in the order in which they were tried."""
    name, title = "search-way", "The way there"
    about = "Doubled until a value does not hold, or halved until one does, then bisected; the last come from overload."
    rows = [row for _, row in _tried(record)]
    if not rows:
        return Figure(name, title, about, missing="no run has a value")
    scale = alt.Scale(nice=False, padding=12)
    x = alt.X("number:Q", title="run", axis=alt.Axis(grid=False, tickMinStep=1), scale=scale)
    y = alt.Y("value:Q", title=record.path, scale=_LOG)
    path = alt.Chart(alt.NamedData("search_way")).mark_line(color=COLORS["grey"], opacity=0.5, tooltip=False)
    points = _points("search_way", rows).encode(x, y, tooltip=_tips(record))
    chart = alt.LayerChart(layer=[path.encode(x, y), points]).properties(height=_HEIGHT)
    return Figure(name, title, about, chart, {"search_way": rows})


def arrival_figure(record: SearchRecord) -> Figure:
    """The share of the target rate that arrived in each run, over the value that was tried.

    The lesser of `acked_per_second` and `received_per_second`, by `target_per_second`, of search.json.
    """
    about = f"A point for each run. Below the dotted line, {percent(ARRIVING)}, none holds, whatever objectives say."
    rows = [
        {**row, "share": rounded(100 * step.least_per_second / step.target_per_second)}
        for step, row in _tried(record)
        if step.target_per_second and step.least_per_second
    ]
    empty = Figure("search-arrived", "What arrived of the target rate", about)
    if not rows:
        return replace(empty, missing="no run has a target rate")
    y = alt.Y("share:Q", title="arrived, %", scale=alt.Scale(zero=False, padding=12))
    limit = {"limit": 100 * ARRIVING, "what": percent(ARRIVING)}
    return _over_values(empty, record, rows, y, tip("share", "arrived, %"), limit)


def _over_values(
    empty: Figure, record: SearchRecord, rows: Sequence[Row], y: alt.Y, shown: alt.Tooltip, limit: Row
) -> Figure:
    """The figure with a point for each row over its value, a line at the limit, and what the answer lies between."""
    data = empty.name.replace("-", "_")
    limits: list[Row] = [{**limit, "concept": "target"}]
    points = _points(data, rows).encode(_x(record, "value"), y, tooltip=[*_tips(record), shown])
    layers = [*threshold_marks(f"{data}_bound", limits), points]
    found, about = {data: rows, f"{data}_bound": limits}, empty.about
    if between := _between(record):
        shade = alt.Chart(alt.NamedData("search_between")).mark_rect(opacity=0.2, color=COLORS["grey"], tooltip=False)
        layers = [shade.encode(_x(record, "from"), alt.X2("to:Q")), *layers]
        found = {**found, "search_between": between}
        about += " The answer lies in the shaded part, or at its edge."
    return replace(empty, about=about, chart=alt.LayerChart(layer=layers).properties(height=_HEIGHT), data=found)


def _tried(record: SearchRecord) -> list[tuple[SearchStep, dict[str, Any]]]:
    """The runs that tried a value, each with what every figure shows of it; `number` is its place among all."""
    return [
        (step, {
            "number": number, "value": rounded(step.value), "tried": shown_value(step.value, record.path),
            "series": said(step), "phase": PHASES[step.phase], "run": step.folder or "",
        })
        for number, step in enumerate(record.done, 1)
        if step.value and step.held is not None
    ]  # fmt: skip


def _points(data: str, rows: Sequence[Row]) -> alt.Chart:
    here = {row["series"] for row in rows}
    shown = [each for each in _COLORS if each in here]
    chart: alt.Chart = alt.Chart(alt.NamedData(data)).mark_point(filled=True, size=80, opacity=0.9)
    return chart.encode(series_color(shown, [COLORS[_COLORS[each]] for each in shown], alt.Legend(orient="top")))


def _tips(record: SearchRecord) -> list[alt.Tooltip]:
    named = (("tried", record.path), ("series", "result"), ("phase", None), ("number", "run"), ("run", "folder"))
    return [tip(name, title) for name, title in named]


def _x(record: SearchRecord, field: str) -> alt.X:
    title = f"{record.path}, messages/s" if record.path == RATE else record.path
    return alt.X(f"{field}:Q", title=title, scale=_LOG, axis=alt.Axis(grid=False))


def _between(record: SearchRecord) -> list[Row]:
    """What the answer lies between, where both ends are known."""
    ends = [each for each in record.between if each]
    return [{"from": rounded(min(ends)), "to": rounded(max(ends))}] if len(ends) == 2 else []
