"""Figures of a search: each objective over what is searched, the way there, and what arrived of the target rate."""

from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt

from streamgauge.domain.text.numbers import percent
from streamgauge.experiments.search.objective import parse_objective
from streamgauge.experiments.search.record import SearchRecord, SearchStep
from streamgauge.experiments.search.words import RATE, said, shown_figure, shown_value
from streamgauge.report.assemble.steps import ARRIVING
from streamgauge.report.figures.drawing.figure import SMALLEST_TEXT, Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, DOTTED, INK
from streamgauge.report.search.runs import PHASES, ended

_HEIGHT: Final = 300
_COLORS: Final[Mapping[str, str]] = {
    "held": "green",
    "held, doubtful": "lilac",
    "did not hold": "red",
    "did not hold, doubtful": "orange",
}
_BETWEEN: Final = "search_between"
_SHADED: Final = " The answer lies in the shaded part, or at its edge."


def search_figures(record: SearchRecord) -> list[Figure]:
    """A figure for each objective, the values in the order in which they were tried, and the share that arrived."""
    objectives = [objective_figure(record, place) for place in range(len(record.objectives))]
    return [*objectives, way_figure(record), arrival_figure(record)]


def objective_figure(record: SearchRecord, place: int) -> Figure:
    """The figure of an objective in each run over the value that was tried, with its bound.

    From `figures` of the runs in search.json; of objectives over windows that is the worst window.
    """
    objective = parse_objective(record.objectives[place])
    name, title = f"search-objective-{place + 1}", f"{objective.text} by {record.path}"
    data = name.replace("-", "_")
    infinite = sum(objective.text in step.figures and step.figures[objective.text] is None for step in ended(record))
    about = "A point for each run; the dotted line is the bound." + (_SHADED if _between(record) else "")
    about += f" {infinite} whose figure is infinite have none." if infinite else ""
    rows = [
        {**_about(number, step, record), "figure": rounded(value), "shown": shown_figure(value)}
        for number, step in enumerate(ended(record), 1)
        if step.value and step.held is not None and (value := step.figures.get(objective.text))
    ]
    if not rows:
        return Figure(name, title, about, missing="no run has this figure")
    limit = [{"limit": objective.bound.value, "bound": objective.text}]
    across = alt.Chart(alt.NamedData(f"{data}_bound")).encode(alt.Y("limit:Q"))
    line = across.mark_rule(strokeDash=list(DOTTED), strokeWidth=2, color=COLORS["grey"]).encode(tooltip=[tip("bound")])
    text = across.mark_text(align="left", dx=4, dy=-7, fontSize=SMALLEST_TEXT, color=INK, tooltip=False)
    unit = "ms" if objective.path.endswith("_ms") else "/s" if objective.path.endswith("_per_second") else ""
    y = alt.Y("figure:Q", title=", ".join(filter(None, (_short(objective.path), unit))), scale=_log())
    points = _points(data, rows).encode(_x(record), y, tooltip=_tips(record, "shown", _short(objective.path)))
    named = text.encode(alt.Text("bound:N"), x=alt.value(0))
    chart = alt.LayerChart(layer=[*_shade(record), line, named, points]).properties(height=_HEIGHT)
    return Figure(name, title, about, chart, {data: rows, f"{data}_bound": limit, **_between_data(record)})


def way_figure(record: SearchRecord) -> Figure:
    """The values in the order in which they were tried."""
    name, title = "search-way", "The way there"
    about = "Doubled until a value does not hold, or halved until one does, then bisected; the last come from overload."
    rows = [
        _about(number, step, record)
        for number, step in enumerate(ended(record), 1)
        if step.value and step.held is not None
    ]
    if not rows:
        return Figure(name, title, about, missing="no run has a value")
    x = alt.X(
        "number:Q", title="run", axis=alt.Axis(grid=False, tickMinStep=1), scale=alt.Scale(nice=False, padding=12)
    )
    y = alt.Y("value:Q", title=record.path, scale=_log())
    path = alt.Chart(alt.NamedData("search_way")).mark_line(color=COLORS["grey"], opacity=0.5, tooltip=False)
    points = _points("search_way", rows).encode(x, y, tooltip=_tips(record))
    chart = alt.LayerChart(layer=[path.encode(x, y), points]).properties(height=_HEIGHT)
    return Figure(name, title, about, chart, {"search_way": rows})


def arrival_figure(record: SearchRecord) -> Figure:
    """The share of the target rate that arrived in each run, over the value that was tried.

    The lesser of `acked_per_second` and `received_per_second`, by `target_per_second`, of search.json.
    """
    name, title = "search-arrived", "What arrived of the target rate"
    about = (
        f"A point for each run. Below the dotted line, {percent(ARRIVING)}, none holds, whatever its objectives say."
    )
    rows = [
        {**_about(number, step, record), "share": rounded(100 * step.least_per_second / step.target_per_second)}
        for number, step in enumerate(ended(record), 1)
        if step.value and step.held is not None and step.target_per_second and step.least_per_second
    ]
    if not rows:
        return Figure(name, title, about, missing="no run has a target rate")
    limit = alt.Chart(alt.NamedData("search_arriving")).encode(alt.Y("limit:Q"))
    line = limit.mark_rule(strokeDash=list(DOTTED), strokeWidth=2, color=COLORS["grey"], tooltip=False)
    y = alt.Y("share:Q", title="arrived, %", scale=alt.Scale(zero=False, padding=12))
    points = _points("search_arrived", rows).encode(_x(record), y, tooltip=_tips(record, "share", "arrived, %"))
    chart = alt.LayerChart(layer=[*_shade(record), line, points]).properties(height=_HEIGHT)
    data: dict[str, Sequence[Row]] = {
        "search_arrived": rows,
        "search_arriving": [{"limit": 100 * ARRIVING}],
        **_between_data(record),
    }
    return Figure(name, title, about, chart, data)


def _about(number: int, step: SearchStep, record: SearchRecord) -> dict[str, object]:
    assert step.value is not None
    return {
        "number": number,
        "value": rounded(step.value),
        "tried": shown_value(step.value, record.path),
        "series": said(step),
        "phase": PHASES[step.phase],
        "run": step.folder or "",
    }


def _points(data: str, rows: Sequence[Row]) -> alt.Chart:
    here = {row["series"] for row in rows}
    shown = [each for each in _COLORS if each in here]
    chart: alt.Chart = alt.Chart(alt.NamedData(data)).mark_point(filled=True, size=80, opacity=0.9)
    return chart.encode(series_color(shown, [COLORS[_COLORS[each]] for each in shown], alt.Legend(orient="top")))


def _tips(record: SearchRecord, *figure: str) -> list[alt.Tooltip]:
    return [
        tip("tried", record.path), *([tip(*figure)] if figure else []), tip("series", "result"), tip("phase"),
        tip("number", "run"), tip("run", "folder"),
    ]  # fmt: skip


def _log() -> alt.Scale:
    return alt.Scale(type="log", nice=False, padding=16)


def _x(record: SearchRecord, field: str = "value") -> alt.X:
    about = "messages/s" if record.path == RATE else ""
    title = ", ".join(filter(None, (record.path, about)))
    return alt.X(f"{field}:Q", title=title, scale=_log(), axis=alt.Axis(grid=False))


def _between(record: SearchRecord) -> list[Row]:
    """What the answer lies between, where both ends are known."""
    found = record.answer
    ends = [each for each in (found.surely_held, found.surely_broke) if each]
    return [{"from": rounded(min(ends)), "to": rounded(max(ends))}] if len(ends) == 2 else []


def _between_data(record: SearchRecord) -> dict[str, Sequence[Row]]:
    return {_BETWEEN: rows} if (rows := _between(record)) else {}


def _shade(record: SearchRecord) -> list[alt.Chart]:
    if not _between(record):
        return []
    shade = alt.Chart(alt.NamedData(_BETWEEN)).mark_rect(opacity=0.2, color=COLORS["grey"], tooltip=False)
    return [shade.encode(_x(record, "from"), alt.X2("to:Q"))]


def _short(path: str) -> str:
    """The path of a figure as an axis has room for it: `p99`, or its last part."""
    return path.rpartition(".")[2].removesuffix("_ms").removesuffix("_per_second").replace("_", ".", 1)
