"""Figures that compare carriers of acknowledgements: what they cost and give, success, deliveries, and the drain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import percent, whole
from streamgauge.report.figures.compare.runs import LabelledRun, kind_of, percentile
from streamgauge.report.figures.distribution import percentile_axis
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, FEW_TICKS, INK, PALETTE
from streamgauge.result import Result

WIDTH: Final = 250
HEIGHT: Final = 220
BAR: Final = 20
MOST_NUMBERS: Final = 12
"""More deliveries of a message are not drawn."""
_COLORS: Final = {"offsets": "grey", "retry": "orange", "markers": "violet", "share": "blue"}


@dataclass(frozen=True, slots=True)
class CarrierRun:
    """The run that stands for a carrier in figures."""

    carrier: str
    """`offsets`, `retry`, `markers` or `share`, or the name of a variant where one of these is there twice."""
    setting: str
    """What else was varied, like `fail=0.5`; runs with the same are in one panel."""
    result: Result


def by_measure(name: str, title: str, about: str, rows: Sequence[Row]) -> Figure:
    """A panel for each measure, with a bar for each variant, and a line from the least to the most of its runs.

    Rows {measure, is_time, variant, series, median, least, most, shown}; `series` is the carrier. Panels have their own
    scales: from zero, or logarithmic with points in place of bars if they are of times. One in which all is zero is
    left out.
    """
    shown = {row["measure"] for row in rows if row["median"]}
    rows = [row for row in rows if row["measure"] in shown]
    if not rows:
        return Figure(name, title, about, missing="no carriers of acknowledgements are compared")
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    color = _color([row["series"] for row in rows], alt.Legend(orient="top", symbolType="square"))
    y = alt.Y("variant:N", sort=variants, title=None, scale=alt.Scale(domain=variants))
    base = alt.Chart(alt.NamedData(name))
    tips = [tip("variant"), tip("measure"), tip("shown", "median (range)")]

    def panel(measure: str) -> alt.LayerChart:
        here = base.transform_filter(alt.FieldEqualPredicate(field="measure", equal=measure))
        is_time = any(row["is_time"] for row in rows if row["measure"] == measure)
        scale = alt.Scale(type="log", nice=False, padding=14) if is_time else alt.Scale(zero=True)
        x = alt.X("median:Q", title=None, scale=scale, axis=alt.Axis(tickCount=FEW_TICKS))
        mark = here.mark_point(filled=True, size=70, opacity=1) if is_time else here.mark_bar()
        ranges = here.mark_rule(color=INK, opacity=0.8, tooltip=False).encode(
            alt.X("least:Q", scale=scale), alt.X2("most:Q"), y
        )
        size = {"width": WIDTH, "height": BAR * len(variants)}
        layers = [ranges, mark.encode(x, y, color, tooltip=tips)]
        return alt.LayerChart(layer=layers if is_time else layers[::-1]).properties(title=measure, **size)

    return Figure(name, title, about, _beside([panel(each) for each in _each("measure", rows)]), {name: rows})


def success(runs: Sequence[CarrierRun]) -> Figure:
    """Time from due to the end of the first successful processing by percentile, the tail stretched.

    From `latency.processing.KIND`, KIND `response` where all runs have it; a percentile that lies among messages that
    were never processed is not drawn.
    """
    name, title = "carriers-success", "Time until a message is processed"
    kind = kind_of([LabelledRun(run.carrier, run.result) for run in runs], "processing") if runs else "response"
    about = (
        f"Processing {kind} time by percentile: from due, or sent, to the end of the first processing that succeeds; "
        "messages of which none does are left out. Both scales are logarithmic, the one of percentiles in 100 % minus "
        "the percentile."
    )
    rows: list[Row] = []
    for run in runs:
        for each, rank in PERCENTILES.items():
            found = percentile(LabelledRun(run.carrier, run.result), "processing", kind, each)
            if found and found["top"] == found["value"]:
                at = {"panel": run.setting, "series": run.carrier, "percentile": each.replace("_", ".")}
                rows.append(at | {"one_in": rounded(100_00 / (100_00 - rank)), "ms": found["value"]})
    if not rows:
        return Figure(name, title, about, missing="no message was processed in a measured time")
    y = alt.Y("ms:Q", title="processing time, ms", scale=alt.Scale(type="log"))
    tips = [tip("series", "carrier"), tip("percentile"), tip("ms")]
    lines = alt.Chart(alt.NamedData(name)).mark_line(point=True)
    chart = _panels(lines.encode(percentile_axis(), y, _color_of(rows), tooltip=tips), rows)
    return Figure(name, title, about, chart.resolve_scale(x="shared", y="shared", color="shared"), {name: rows})


def deliveries(runs: Sequence[CarrierRun]) -> Figure:
    """Which share of the messages was delivered once more, beside what follows from the scenario.

    From `redelivery.by_number`: `deliveries` and `expected`, by `redelivery.messages`; runs that commit offsets deliver
    each message once, and are left out, and so are panels in which nothing was delivered twice.
    """
    name, title = "carriers-deliveries", "Deliveries of a message"
    about = "Share of the messages with a first delivery, a second one, and so on. Lines across bars are theory."
    known = [row for run in runs for row in _numbers(run)]
    again = {row["panel"] for row in known if row["number"] > 1}
    rows = [row for row in known if row["panel"] in again]
    if not rows:
        return Figure(name, title, about, missing="no message was delivered again")
    x = alt.X("number:O", title="delivery", axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("series:N", sort=_each("series", rows))
    y = alt.Y("share:Q", title="share of messages, %", axis=alt.Axis(format="%"))
    base = alt.Chart(alt.NamedData(name)).encode(x, offset)
    tips = [tip("series", "carrier"), tip("number", "delivery"), tip("shown", "deliveries"), tip("theory")]
    bars = base.mark_bar().encode(y, _color_of(rows, symbol="square"), tooltip=tips)
    theory = base.transform_filter("isValid(datum.expected)").mark_tick(color=INK, thickness=2, tooltip=False)
    chart = _panels(alt.LayerChart(layer=[bars, theory.encode(alt.Y("expected:Q"))]), rows)
    return Figure(name, title, about, chart.resolve_scale(y="shared", color="shared"), {name: rows})


def drains(runs: Sequence[CarrierRun]) -> Figure:
    """Messages that are still to be processed, by the seconds since the load ended.

    From `timeline[].outstanding`, without those that were never processed, and `throughput.measured_seconds`.
    """
    name, title = "carriers-drain", "The drain"
    about = "Messages that are processed later than so many seconds after the load has ended; what never is does not "
    about += "count. The scale is logarithmic, but linear near zero."
    rows = [row for run in runs for row in _draining(run)]
    if not any(row["left"] for row in rows):
        return Figure(name, title, about, missing="nothing was left when the load ended")
    top = 2 * max(row["left"] for row in rows)
    axis = alt.Axis(values=[0, *(10**power for power in range(9) if 10**power <= top)], format=",.0f")
    x = alt.X("since:Q", title="seconds since the load ended", axis=alt.Axis(grid=False, tickMinStep=1))
    y = alt.Y("left:Q", title="messages", scale=alt.Scale(type="symlog", domain=[0, top], nice=False), axis=axis)
    tips = [tip("series", "carrier"), tip("since", "seconds"), tip("left", "messages")]
    lines = alt.Chart(alt.NamedData(name)).mark_line(point=True)
    chart = _panels(lines.encode(x, y, _color_of(rows), tooltip=tips), rows)
    return Figure(name, title, about, chart.resolve_scale(y="shared", color="shared"), {name: rows})


def _numbers(run: CarrierRun) -> list[Row]:
    found = run.result.redelivery
    if found is None or not found.messages:
        return []
    return [
        {
            "panel": run.setting,
            "series": run.carrier,
            "number": each.number,
            "share": rounded(each.deliveries / found.messages),
            "expected": None if each.expected is None else rounded(each.expected / found.messages),
            "shown": f"{whole(each.deliveries)}, {percent(each.deliveries / found.messages)}",
            "theory": "" if each.expected is None else whole(round(each.expected)),
        }
        for each in found.by_number[:MOST_NUMBERS]
    ]


def _draining(run: CarrierRun) -> list[Row]:
    """What is outstanding is counted at the end of each second."""
    ended = run.result.throughput.measured_seconds
    known = [row for row in run.result.timeline if row.outstanding is not None]
    if ended is None or not known:
        return []
    never = known[-1].outstanding or 0
    rows: list[Row] = [
        {
            "panel": run.setting,
            "series": run.carrier,
            "since": round(row.second + 1 - ended, 1),
            "left": max(0, (row.outstanding or 0) - never),
        }
        for row in known
        if row.second + 1 >= round(ended, 1)
    ]
    over = next((place for place, row in enumerate(rows) if not row["left"]), len(rows))
    return rows[: over + 1]


def _panels(chart: Any, rows: Sequence[Row]) -> alt.TopLevelMixin:
    """A panel for each setting."""
    panels = _each("panel", rows)
    if len(panels) == 1:
        single: alt.TopLevelMixin = chart.properties(height=HEIGHT, title=panels[0])
        return single
    return _beside(
        [
            chart.transform_filter(alt.FieldEqualPredicate(field="panel", equal=panel)).properties(
                title=panel, width=WIDTH, height=HEIGHT
            )
            for panel in panels
        ]
    )


def _beside(panels: Sequence[Any]) -> alt.ConcatChart:
    return alt.concat(*panels, columns=2)


def _color_of(rows: Sequence[Row], symbol: str = "stroke") -> alt.Color:
    legend = LEGEND if symbol == "stroke" else alt.Legend(orient="top", symbolType=symbol)
    return _color([row["series"] for row in rows], legend)


def _color(carriers: Sequence[str], legend: alt.Legend) -> alt.Color:
    names = list(dict.fromkeys(carriers))
    known: Mapping[str, str] = {each: COLORS[_COLORS[each]] for each in names if each in _COLORS}
    colors = [known.get(each, PALETTE[place % len(PALETTE)]) for place, each in enumerate(names)]
    return series_color(names, colors, legend)


def _each(column: str, rows: Sequence[Row]) -> list[Any]:
    return list(dict.fromkeys(row[column] for row in rows))
