"""The figure of a simulation: lag over time, with its limits and what theory says of its peak."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import altair as alt
import vl_convert

from streamgauge.control.simulate import Simulated, SimulatedMoment
from streamgauge.control.simulation import LagModel
from streamgauge.control.theory import Law
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.report.figures.catalogue import FILE_WIDTH, PNG_SCALE
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, color_of, file_config, sized
from streamgauge.report.files import whole

_ROWS: Final = "simulated"
_LIMITS: Final = "limits"
_PAUSES: Final = "pauses"
_COLORS: Final = {
    "committed lag": color_of("committed lag"),
    "outstanding": color_of("outstanding"),
    "worst partition": COLORS["orange"],
}


def simulated(found: Simulated, model: LagModel, theory: Sequence[Law]) -> Figure:
    """Committed lag, what is outstanding, and the lag of the worst partition; pauses are shaded."""
    about = "Committed lag of all partitions and of the worst one, and messages sent and not processed. "
    about += "Dashed: limits of the policy, and the theoretical peak. Shaded: producers are paused."
    data = {
        _ROWS: [point for row in found.rows for point in _points(row)],
        _LIMITS: _limits(model, theory),
        _PAUSES: _pauses(found.rows),
    }
    x = alt.X("s:Q", title="second", axis=alt.Axis(grid=False), scale=alt.Scale(nice=False))
    y = alt.Y("messages:Q", title="lag, messages", scale=alt.Scale(zero=True))
    color = series_color(list(_COLORS), list(_COLORS.values()), LEGEND)
    lines = alt.Chart(alt.NamedData(_ROWS)).mark_line().encode(x, y, color, tooltip=[tip("s"), tip("messages")])
    layers = [_shade(), lines, *_rules()]
    shown = [layer for layer, name in zip(layers, (_PAUSES, _ROWS, _LIMITS, _LIMITS), strict=True) if data[name]]
    chart = alt.layer(*shown).properties(height=300)
    return Figure("simulated-lag", "Lag, simulated", about, chart, {name: rows for name, rows in data.items() if rows})


def _points(row: SimulatedMoment) -> list[dict[str, Any]]:
    values = (row.lag, row.outstanding, row.worst_lag)
    return [
        {"s": row.at_ns / NS_PER_SECOND, "series": series, "messages": value}
        for series, value in zip(_COLORS, values, strict=True)
    ]


def _limits(model: LagModel, theory: Sequence[Law]) -> list[dict[str, Any]]:
    """Lines across, with their names."""
    found: dict[str, float] = {}
    if model.policy and model.policy.hysteresis:
        found |= {"max lag": model.policy.hysteresis.max_lag, "resume lag": model.policy.hysteresis.resume}
    if model.policy and model.policy.credit:
        found |= {"limit": model.policy.credit.limit}
    tops = {law.figure: law.value for law in theory}
    if "first_peak_lag" in tops:
        found |= {"first peak of the lag in theory": tops["first_peak_lag"]}
    elif "peak_lag" in tops:
        found |= {"peak of the lag in theory": tops["peak_lag"]}
    elif not found and "peak_outstanding" in tops:
        found |= {"peak outstanding in theory": tops["peak_outstanding"]}
    return [{"name": name, "messages": round(value)} for name, value in found.items()]


def _pauses(rows: Sequence[SimulatedMoment]) -> list[dict[str, float]]:
    """From when to when producers are paused."""
    spans: list[dict[str, float]] = []
    paused = False
    for row in rows:
        second = row.at_ns / NS_PER_SECOND
        if row.paused and not paused:
            spans.append({"from": second, "to": second})
        if row.paused or paused:
            spans[-1]["to"] = second
        paused = bool(row.paused)
    return spans


def _shade() -> alt.Chart:
    marks: alt.Chart = alt.Chart(alt.NamedData(_PAUSES)).mark_rect(opacity=0.15, color=COLORS["grey"])
    return marks.encode(alt.X("from:Q", scale=alt.Scale(nice=False)), alt.X2("to:Q"))


def _rules() -> tuple[alt.Chart, alt.Chart]:
    limits = alt.Chart(alt.NamedData(_LIMITS)).encode(alt.Y("messages:Q"))
    names = limits.mark_text(align="right", dy=-5, color=color_of("limit")).encode(
        alt.Text("name:N"), x=alt.value(FILE_WIDTH)
    )
    return limits.mark_rule(color=color_of("limit"), strokeDash=[5, 4]), names


def save_simulated(path: Path, found: Simulated, model: LagModel, theory: Sequence[Law]) -> None:
    """Draw a simulation into a file: SVG, PNG or PDF, as its name ends. Raises AnalysisError where that fails."""
    figure = simulated(found, model, theory)
    spec: Mapping[str, Any] = sized(figure.whole_spec(), width=FILE_WIDTH, config=file_config())
    svg = vl_convert.vegalite_to_svg({**spec, "title": figure.title})
    with whole(path) as unfinished:
        unfinished.write_bytes(_encoded(svg, path.suffix))


def _encoded(svg: str, suffix: str) -> bytes:
    if suffix == ".svg":
        return svg.encode()
    return vl_convert.svg_to_png(svg, scale=PNG_SCALE) if suffix == ".png" else vl_convert.svg_to_pdf(svg)
