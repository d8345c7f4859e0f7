"""Figures over the time of the run: rates, what is outstanding, latency, schedule delay."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.backpressure import pauses, replayed
from streamgauge.report.figures.drawing.causes import CAUSES, cause_marks, collections, pauses_as_causes
from streamgauge.report.figures.drawing.figure import (
    TIMELINE,
    Figure,
    FigureSource,
    Row,
    faded,
    legend_selects,
    over_phases,
    over_time,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.theme import COLORS
from streamgauge.report.figures.drawing.timeline import (
    DELAY_SERIES,
    KINDS,
    PATHS,
    RATES,
    latency_series,
    seconds_per_point,
)

HEIGHT: Final = 240
FEW_SERIES: Final = 4
"""So many entries of a legend fit into one line of a phone; more get a line for each kind."""
_DASH: Final = [4, 3]
_BY_FIGURE: Final = [COLORS["green"], COLORS["blue"], COLORS["red"]]


def rates(source: FigureSource) -> Figure:
    """Messages a second: target, sent, acknowledged, received."""
    name, title = "rates", "Rates over time"
    about = "Each event by its own time. If received stays below sent, consumers fall behind."
    series = _present(source, RATES)
    if not series:
        return Figure(name, title, about, missing=_nothing(source, "neither load nor consumers"))
    colors = {"target": "grey", "sent": "blue", "acked": "orange", "received": "green"}
    lines = _lines(source, series, [COLORS[colors[each]] for each in series], "messages/s", dashed=["target"])
    return Figure(name, title, about + _points(source), lines, over_time(source, series))


def outstanding(source: FigureSource) -> Figure:
    """Messages sent and not yet processed, and errors."""
    name, title = "outstanding", "Outstanding messages over time"
    about = "Sent and not yet processed, at the end of each second: rises while consumers are too slow, and falls "
    about += "as they catch up. Errors are messages that failed or were never sent."
    series = _present(source, ["outstanding"])
    if not series:
        return Figure(name, title, about, missing=_nothing(source, "only runs that produce and consume have them"))
    series += [each for each in _present(source, ["errors"]) if any(row[each] for row in source.timeline)]
    lines = _lines(source, series, [COLORS["violet"], COLORS["red"]], "messages")
    return Figure(name, title, about + _points(source), lines, over_time(source, series))


def latency(source: FigureSource) -> Figure:
    """Median, p99 and maximum of each second, response and service."""
    return _latency(source, "end_to_end", "latency", "End-to-end latency over time")


def ack_latency(source: FigureSource) -> Figure:
    """The same for acknowledgements."""
    return _latency(source, "ack", "ack-latency", "Acknowledgement latency over time")


def _latency(source: FigureSource, path: str, name: str, title: str) -> Figure:
    about = "Response time (solid) starts when a message was due, service time (dashed) when it was "
    about += "sent. If they differ, messages waited before they were sent. The scale is logarithmic."
    words = PATHS[path]
    series = _present(source, latency_series(words))
    if not series:
        return Figure(name, title, about, missing=_nothing(source, "there is no such latency in this run"))
    causes = [*collections(source), *pauses_as_causes(pauses(source, replayed(source)))]
    about += " Signs on the time axis: what may have caused a peak." if causes else ""
    service = [each for each in series if KINDS[1] in each]
    colors = [_BY_FIGURE[("p50", "p99", "max").index(each.rsplit(" ", 1)[1])] for each in series]
    lines = _lines(source, series, colors, "ms", prefix=f"{words} ", dashed=service, log=True, causes=causes)
    data = {**over_time(source, series), **({CAUSES: causes} if causes else {})}
    return Figure(name, title, about + _points(source), lines, data)


def schedule_delay(source: FigureSource) -> Figure:
    """How late messages were sent, by second."""
    name, title = "schedule_delay", "Schedule delay"
    about = "Delay between due time and handing a message to the client. It is the generator's own error, unless "
    about += "the client's queue was full."
    series = _present(source, DELAY_SERIES)
    if not series:
        return Figure(name, title, about, missing=_nothing(source, "the load has no schedule"))
    lines = _lines(source, series, _BY_FIGURE, "ms", prefix="delay ", log=True)
    return Figure(name, title, about + _points(source), lines, over_time(source, series))


def _lines(
    source: FigureSource,
    series: Sequence[str],
    colors: Sequence[str],
    unit: str,
    *,
    prefix: str = "",
    dashed: Sequence[str] = (),
    log: bool = False,
    causes: Sequence[Row] = (),
) -> alt.TopLevelMixin:
    """One line for each series of the timeline, over the shade of what is not measured.

    All series begin with `prefix`, which the legend leaves out.
    """
    chosen = legend_selects()
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True)
    shown = [each.removeprefix(prefix) for each in series]
    dash = alt.Scale(domain=shown, range=[_DASH if each in dashed else [1, 0] for each in series])
    legend = alt.Legend(orient="top", columns=len(series) if len(series) <= FEW_SERIES else len(series) // len(KINDS))
    # Where all lines are whole, nothing has to be looked up for every point.
    dashes = [alt.StrokeDash("series:N", scale=dash, sort=None, title=None, legend=legend)] if dashed else []
    shortened = {"series": f"slice(datum.series, {len(prefix)})"}
    positive = {"value": "datum.value > 0 ? datum.value : null"} if log else {}
    lines = (
        alt.Chart(alt.NamedData(TIMELINE))
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
    return over_phases(source, *cause_marks(causes), lines).properties(height=HEIGHT)


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
