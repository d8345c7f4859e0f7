"""Figures over the time of the run: rates, what is outstanding, latency, schedule delay."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import altair as alt

from streamgauge.domain.latency.percentiles import SAMPLES_NEEDED
from streamgauge.domain.text.numbers import per_second
from streamgauge.report.figures.backpressure import pauses, replayed
from streamgauge.report.figures.drawing.causes import (
    CAUSES,
    cause_marks,
    collections,
    pauses_as_causes,
    rebalances_as_causes,
)
from streamgauge.report.figures.drawing.figure import (
    TIMELINE,
    Figure,
    FigureSource,
    Row,
    faded,
    legend_selects,
    over_phases,
    over_time,
    phases_of,
    rounded,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.theme import DASHED, FEW_TICKS, PANEL_HEIGHT, SOLID, color_of
from streamgauge.report.figures.drawing.thresholds import THRESHOLDS, threshold_marks, thresholds
from streamgauge.report.figures.drawing.timeline import (
    DELAY_SERIES,
    FIGURES,
    KINDS,
    PATHS,
    RATES,
    latency_series,
    seconds_per_point,
)
from streamgauge.scenario.profile.model import CONSTANT

FEW_SERIES: Final = 4
"""So many entries of a legend fit into one line of a phone; more get a line for each kind."""
FLAT: Final = 0.2
"""Rates that are nearly always within this share of a constant target are shown as their difference from it."""
NEARLY: Final = 0.95
LEAST_DIFFERENCE: Final = 5.0
"""The axis of differences ends at so many percent at least: small ones should look small."""
_DIFFERENCE: Final = "difference "
AT_ENDS: Final = "outstanding_seconds"
MOVING: Final = "moving"
"""Rows of percentiles in a moving window: `metric`, last `second`, `count`, and the percentiles."""
MOVING_FIGURES: Final = ("p50", "p99", "p99_9")


def rates(source: FigureSource) -> Figure:
    """Messages a second: target, sent, acknowledged, received; their difference from a target that they keep to."""
    name, title = "rates", "Rates over time"
    about = "Each event by its own time. If received stays below sent, consumers fall behind."
    series = _present(source, RATES)
    if not series:
        return Figure(name, title, about, missing=_nothing(source, "neither load nor consumers"), section="overview")
    target = source.result.throughput.target_per_second
    if target and is_flat(source, target):
        return _differences(source, Figure(name, title, about, section="overview"), target)
    limits = thresholds(source, {f"throughput.{stage}_per_second": stage for stage in RATES}, unit="/s")
    colors = [color_of(each) for each in series]
    chart = _lines(source, name, series, colors, "messages/s", dashed=["target"], limits=limits)
    data = {**over_time(source, series), **_named(name, limits)}
    return Figure(name, title, about + _points(source), chart, data, section="overview")


def is_flat(source: FigureSource, target: float) -> bool:
    """Whether the load is constant, and all rates keep to it: then lines at their height would hide each other."""
    pace = source.result.run.profile.pace
    if pace is None or pace.kind != CONSTANT:
        return False
    rows = [row for row in source.timeline if row["target"] is not None]
    values = [row[stage] for stage in RATES[1:] for row in rows if row[stage] is not None]
    near = sum(abs(value / target - 1) <= FLAT for value in values)
    return bool(values) and near >= NEARLY * len(values)


def _differences(source: FigureSource, figure: Figure, target: float) -> Figure:
    """Rates as percent above or below their target, while there is a load."""
    about = f"Difference from the target of {per_second(target)}, in percent. {figure.about}"
    stages = _present(source, RATES[1:])
    series = [f"{_DIFFERENCE}{stage}" for stage in stages]
    rows = [
        {"s": row["s"]} | {f"{_DIFFERENCE}{stage}": _difference(row, stage, target) for stage in stages}
        for row in source.timeline
    ]
    limits = [
        {**row, "limit": rounded(100 * (row["limit"] / target - 1))}
        for row in thresholds(source, {f"throughput.{stage}_per_second": stage for stage in RATES[1:]}, unit="/s")
    ]
    shown = [abs(row[each]) for row in rows for each in series if row[each] is not None]
    most = max(LEAST_DIFFERENCE, *shown, *(abs(row["limit"]) for row in limits))
    colors, scale = [color_of(stage) for stage in stages], alt.Scale(domain=[-most, most], nice=FEW_TICKS)
    unit = "difference from target, %"
    chart = _lines(source, figure.name, series, colors, unit, prefix=_DIFFERENCE, limits=limits, scale=scale)
    data = {TIMELINE: rows, **phases_of(source), **_named(figure.name, limits)}
    return replace(figure, about=about + _points(source), chart=chart, data=data)


def _difference(row: Row, stage: str, target: float) -> float | None:
    """In percent; None where there is no load to be compared with, or no rate."""
    value = row[stage] if row["target"] is not None else None
    return None if value is None else rounded(100 * (value / target - 1))


def _named(name: str, limits: Sequence[Row], causes: Sequence[Row] = ()) -> dict[str, Sequence[Row]]:
    """The data of what a figure draws across its lines, as far as there are any, by names that no other figure has."""
    data = {f"{name}{CAUSES}": causes, f"{name}{THRESHOLDS}": limits}
    return {each: rows for each, rows in data.items() if rows}


def outstanding(source: FigureSource) -> Figure:
    """Messages sent and not yet processed."""
    name, title = "outstanding", "Outstanding messages over time"
    about = "Sent and not yet processed, at the end of each second: rises while consumers are too slow, and falls "
    about += "as they catch up."
    series = _present(source, ["outstanding"])
    if not series:
        missing = _nothing(source, "only runs that produce and consume have them")
        return Figure(name, title, about, missing=missing, section="lag")
    lines = _lines(source, name, series, [color_of("outstanding")], "messages", data=AT_ENDS)
    repeated = "Lag over time shows the same line, in more detail." if source.rows("outstanding") else None
    step = seconds_per_point(len(source.result.timeline))
    ends = [{"s": row["s"] + step, "outstanding": row["outstanding"]} for row in source.timeline]
    data = {AT_ENDS: ends, **phases_of(source)}
    return Figure(name, title, about + _points(source), lines, data, section="lag", nothing_new=repeated)


def latency(source: FigureSource) -> Figure:
    """Median, p99 and maximum of each second, response and service."""
    figure = _latency(source, "end_to_end", "latency", "End-to-end latency over time")
    return replace(figure, section="overview")


def ack_latency(source: FigureSource) -> Figure:
    """The same for acknowledgements."""
    figure = _latency(source, "ack", "ack-latency", "Acknowledgement latency over time")
    return replace(figure, section="latency")


def _latency(source: FigureSource, path: str, name: str, title: str) -> Figure:
    about = "Response time (solid) starts when a message was due, service time (dashed) when it was "
    about += "sent. If they differ, messages waited before they were sent. The scale is logarithmic."
    words = PATHS[path]
    series = _present(source, latency_series(words))
    if not series:
        return Figure(name, title, about, missing=_nothing(source, "there is no such latency in this run"))
    moved = rebalances_as_causes(source) if path == "end_to_end" else []
    causes = [*collections(source), *moved, *pauses_as_causes(pauses(source, replayed(source)))]
    about += " Signs on the time axis: what may have caused a peak." if causes else ""
    service = [each for each in series if KINDS[1] in each]
    colors = [color_of(each.rsplit(" ", 1)[1]) for each in series]
    limits = [row for kind in KINDS for row in _latency_thresholds(source, path, kind)]
    lines = _lines(
        source, name, series, colors, "latency, ms", prefix=f"{words} ", dashed=service, log=True, causes=causes,
        limits=limits,
    )  # fmt: skip
    data = {**over_time(source, series), **_named(name, limits, causes)}
    return Figure(name, title, about + _points(source), lines, data)


def _latency_thresholds(source: FigureSource, path: str, kind: str) -> list[Row]:
    """Of a latency, what is expected of the figures that are drawn; zero has no place on a logarithmic scale."""
    paths = {f"latency.{path}.{kind}.{figure}_ms": figure for figure in FIGURES}
    return [row for row in thresholds(source, paths, kind, " ms") if row["limit"] > 0]


def moving(source: FigureSource) -> Figure:
    """Percentiles of the last seconds, as limits over a window look at them."""
    name, title = "moving-window", "Latency in a moving window"
    about = "Percentiles of the messages of the last 10 s, at the end of each second of the measure phase; only full "
    about += "windows. A limit over a window, like that of a search, holds if the line stays below it."
    rows = {row["second"]: row for row in source.rows(MOVING)}
    names = [each for each in MOVING_FIGURES if any(in_window(row, each) is not None for row in rows.values())]
    if not names or len(rows) < 2:
        missing = _nothing(source, f"the run has {'only one' if rows else 'no'} window of 10 s with messages")
        return Figure(name, title, about, missing=missing, section="latency")
    path, _, kind = next(iter(rows.values()))["metric"].rpartition("_")
    shown = {each: f"moving {each}" for each in names}
    step = seconds_per_point(len(source.result.timeline))
    timeline = [
        {"s": row["s"]} | {series: worst_window(rows, each, int(row["s"]), step) for each, series in shown.items()}
        for row in source.timeline
    ]
    colors = [color_of(_in_legend(each)) for each in names]
    lines = _lines(source, name, list(shown.values()), colors, "latency, ms", prefix="moving ", log=True)
    about = f"{PATHS[path].capitalize()} {kind} time. {about}"
    return Figure(
        name, title, about + _points(source), lines, {TIMELINE: timeline, **phases_of(source)}, section="latency"
    )


def in_window(row: Row, name: str) -> float | None:
    """A percentile in ms; None where it is infinite, or has too few messages."""
    return rounded(row[name]) if row["count"] >= SAMPLES_NEEDED.get(name, 1) else None


def worst_window(rows: Mapping[int, Row], name: str, second: int, step: int) -> float | None:
    """The largest of the windows that end within the seconds of a point."""
    values = [in_window(rows[each], name) for each in range(second, second + step) if each in rows]
    return max((each for each in values if each is not None), default=None)


def schedule_delay(source: FigureSource) -> Figure:
    """How late messages were sent, by second."""
    name, title = "schedule_delay", "Schedule delay"
    about = "Delay between due time and handing a message to the client. It is the generator's own error, unless "
    about += "the client's queue was full."
    series = _present(source, DELAY_SERIES)
    if not series:
        return Figure(name, title, about, missing=_nothing(source, "the load has no schedule"))
    colors = [color_of(each.removeprefix("delay ")) for each in series]
    lines = _lines(source, name, series, colors, "delay, ms", prefix="delay ", log=True)
    return Figure(name, title, about + _points(source), lines, over_time(source, series))


def _lines(
    source: FigureSource,
    name: str,
    series: Sequence[str],
    colors: Sequence[str],
    unit: str,
    *,
    prefix: str = "",
    dashed: Sequence[str] = (),
    log: bool = False,
    causes: Sequence[Row] = (),
    limits: Sequence[Row] = (),
    scale: alt.Scale | None = None,
    data: str = TIMELINE,
) -> alt.LayerChart:
    """One line for each series of the timeline, over the shade of what is not measured, in the figure of that name.

    All series begin with `prefix`, which the legend leaves out. They are columns of `data`.
    """
    chosen = legend_selects()
    scale = scale or (alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True, nice=FEW_TICKS))
    shown = [_in_legend(each.removeprefix(prefix)) for each in series]
    dash = alt.Scale(domain=shown, range=[list(DASHED if each in dashed else SOLID) for each in series])
    legend = alt.Legend(orient="top", columns=len(series) if len(series) <= FEW_SERIES else len(series) // len(KINDS))
    # Where all lines are whole, nothing has to be looked up for every point.
    dashes = [alt.StrokeDash("series:N", scale=dash, sort=None, title=None, legend=legend)] if dashed else []
    shortened = {"series": f"replace(slice(datum.series, {len(prefix)}), '_', '.')"}
    positive = {"value": "datum.value > 0 ? datum.value : null"} if log else {}
    lines = (
        alt.Chart(alt.NamedData(data))
        .transform_fold(list(series), as_=["series", "value"])
        # What is not known leaves a gap, and so does what is zero: it has no place on a logarithmic scale.
        .transform_calculate(**shortened, **positive)
        .mark_line(interpolate="linear", strokeCap="round")
        .encode(
            seconds_axis(),
            alt.Y("value:Q", title=unit, scale=scale),
            series_color(shown, colors, legend),
            *dashes,
            opacity=faded(chosen),
            tooltip=[tip("s", "second"), tip("series"), tip("value", unit)],
        )
        .add_params(chosen)
    )
    across = [*cause_marks(f"{name}{CAUSES}", causes), *threshold_marks(f"{name}{THRESHOLDS}", limits)]
    chart = over_phases(source, *across, lines)
    sized: alt.LayerChart = chart.properties(height=PANEL_HEIGHT)
    return sized


def _in_legend(series: str) -> str:
    """`p99.9` for `p99_9`: to the charting library a column with a dot in its name is part of another."""
    return series.replace("_", ".")


def _present(source: FigureSource, names: Sequence[str]) -> list[str]:
    """The series that have a value anywhere."""
    rows = source.timeline
    return [name for name in names if any(row[name] is not None for row in rows)]


def _nothing(source: FigureSource, why: str) -> str:
    return why if source.result.timeline else "there is no data"


def _points(source: FigureSource) -> str:
    """What a point is where it is not one second."""
    seconds = seconds_per_point(len(source.result.timeline))
    return "" if seconds == 1 else f" Each point stands for {seconds} s: mean of rates, maximum of the rest."
