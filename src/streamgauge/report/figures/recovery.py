"""How a run came back after each cause: the lag around it, the floor that it has to come back to, and when it did."""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import significant, whole
from streamgauge.report.figures.drawing.figure import Figure, FigureSource, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.sampled import Line
from streamgauge.report.figures.drawing.theme import COLORS, INK, TEXT_SIZE, color_of
from streamgauge.report.figures.lag import lag_points

HEIGHT: Final = 220
PANELS_WIDTH: Final = 660
MOST_CAUSES: Final = 4
"""More would be too many to be read; the table of the report has them all."""
LEAD: Final = 0.25
"""So much is shown before a cause and after the recovery, as a share of the time between the two."""
LEAST_LEAD_S: Final = 2.0
_DATA, _ANNOTATIONS = "recovery", "recovery_marks"
_QUANTITIES: Final = {
    "outstanding": ("outstanding", "outstanding"),
    "committed_lag": ("lag", "committed lag"),
}
"""Of each quantity the table that it is in, and its words; the first that was judged is annotated."""


def recovery(source: FigureSource) -> Figure:
    """Outstanding messages and committed lag around each cause, with floor, tolerance, peak and time to drain."""
    name, title = "recovery", "Recovery"
    about = "Shaded: duration of the cause. Green: the floor with its tolerance. The time to drain is "
    about += "from the end of the cause until three samples are within the tolerance."
    causes = judged(source.rows("recovery"))
    if not causes:
        return Figure(name, title, about, missing="there was no fault to recover from", section="lag")
    chosen = causes[:MOST_CAUSES]
    labels = [_label(row) for row in chosen]
    rows = [point for row, label in zip(chosen, labels, strict=True) for point in _points(source, row, label)]
    annotations = [_annotation(source, row, label) for row, label in zip(chosen, labels, strict=True)]
    shown = [words for _, words in _QUANTITIES.values() if any(row["series"] == words for row in rows)]
    color = series_color(shown, [color_of(words) for words in shown])
    panels = [_panel(each, color) for each in annotations]
    chart: alt.TopLevelMixin = panels[0].properties(height=HEIGHT)
    if len(panels) > 1:
        size = {"width": PANELS_WIDTH, "height": HEIGHT}
        chart = alt.vconcat(*(each.properties(title=label, **size) for each, label in zip(panels, labels, strict=True)))
    cut = f" The first {MOST_CAUSES} of {len(causes)} causes are shown." if len(causes) > MOST_CAUSES else ""
    return Figure(name, title, about + cut, chart, {_DATA: rows, _ANNOTATIONS: annotations}, section="lag")


def judged(rows: Sequence[Row]) -> list[Row]:
    """One row for each cause, in the order of their ends: by the first quantity, and the group that was hit hardest."""
    chosen: dict[tuple[Any, ...], Row] = {}
    for row in sorted(rows, key=_hardest_first):
        chosen.setdefault((row["ended_second"], row["cause"], row["target"]), row)
    return [chosen[cause] for cause in sorted(chosen)]


def _hardest_first(row: Row) -> tuple[int, float]:
    return list(_QUANTITIES).index(row["quantity"]), -(row["peak"] or 0.0)


def _label(row: Row) -> str:
    detail = f" {row['detail']}" if row["detail"] else ""
    return f"{row['cause']} of {row['target']}{detail}, over at {row['ended_second']:.4g} s"


def _span(source: FigureSource, row: Row) -> tuple[float, float]:
    """What is shown of the run: from before the cause until after the recovery, or to the end where there is none."""
    seconds = [float(each["second"]) for table in ("outstanding", "lag") for each in source.rows(table)]
    first, last = min(seconds, default=0.0), max(seconds, default=0.0)
    begins = first if row["began_second"] is None else row["began_second"]
    drained = row["time_to_drain_s"]
    ends = last if drained is None else row["ended_second"] + drained
    lead = max(LEAST_LEAD_S, LEAD * (ends - begins))
    return max(first, begins - lead), min(last, ends + lead)


def _points(source: FigureSource, row: Row, label: str) -> list[Row]:
    """Rows {cause, s, series, value} of both quantities within what is shown."""
    begins, ends = _span(source, row)
    found: list[Row] = []
    for quantity, (table, words) in _QUANTITIES.items():
        points = [each for each in lag_points(source, table, quantity, row["group"]) if begins <= each[0] <= ends]
        line = Line(words, color_of(words), points)
        found += [{"cause": label, **point} for point in line.rows()] if line.highest is not None else []
    return found


def _annotation(source: FigureSource, row: Row, label: str) -> Row:
    """All that is drawn besides: the cause, the floor with its tolerance, the peak, and the drain."""
    begins, _ = _span(source, row)
    floor, tolerance, drained = row["floor"], row["tolerance"], row["time_to_drain_s"]
    known = floor is not None and tolerance is not None
    began = begins if row["began_second"] is None else row["began_second"]
    return {
        "cause": label,
        "began": round(began, 2),
        "ended": round(row["ended_second"], 2),
        "floor": rounded(floor),
        "low": rounded(max(0.0, floor - tolerance)) if known else None,
        "high": rounded(floor + tolerance) if known else None,
        "peak": rounded(row["peak"]),
        "peak_second": None if row["peak_second"] is None else round(row["peak_second"], 2),
        "at_peak": None if row["peak"] is None else f"peak {whole(row['peak'])}",
        "drained": None if drained is None else round(row["ended_second"] + drained, 2),
        "drain": "not drained by the end" if drained is None else f"drained in {significant(drained)} s",
    }


def _panel(annotation: Row, color: alt.Color) -> alt.LayerChart:
    """One cause; what is not known of it is left out."""
    label = annotation["cause"]
    x = alt.X("s:Q", title="seconds since the start of the measure phase", axis=alt.Axis(grid=False), scale=_SCALE)
    y = alt.Y("value:Q", title="lag, messages", scale=alt.Scale(zero=True))
    tips = [tip("s", "second"), tip("series"), tip("value")]
    lines = _of(_DATA, label).mark_line().encode(x, y, color, tooltip=tips)
    return alt.LayerChart(layer=[*_behind(annotation), lines, *_peak(annotation), *_drain(annotation)])


_SCALE: Final = alt.Scale(nice=False, zero=False)


def _behind(annotation: Row) -> list[alt.Chart]:
    """The cause, and the floor with what counts as recovered."""
    of = _of(_ANNOTATIONS, annotation["cause"])
    cause = of.mark_rect(opacity=0.15, color=COLORS["orange"], tooltip=False)
    over = of.mark_rule(color=COLORS["orange"], strokeDash=[2, 2]).encode(
        alt.X("ended:Q", scale=_SCALE), tooltip=[tip("cause"), tip("ended", "over at second")]
    )
    behind = [cause.encode(alt.X("began:Q", scale=_SCALE), alt.X2("ended:Q")), over]
    if annotation["floor"] is None:
        return behind
    floor = of.mark_rule(color=COLORS["green"], strokeDash=[6, 3]).encode(alt.Y("floor:Q"), tooltip=[tip("floor")])
    if annotation["high"] is None:
        return [*behind, floor]
    band = of.mark_rect(opacity=0.2, color=COLORS["green"], tooltip=False)
    return [*behind, band.encode(alt.Y("low:Q"), alt.Y2("high:Q")), floor]


def _peak(annotation: Row) -> list[alt.Chart]:
    if annotation["peak"] is None or annotation["peak_second"] is None:
        return []
    place = _of(_ANNOTATIONS, annotation["cause"]).encode(alt.X("peak_second:Q", scale=_SCALE), alt.Y("peak:Q"))
    point = place.mark_point(filled=True, size=50, color=COLORS["red"], opacity=1).encode(
        tooltip=[tip("peak_second", "second"), tip("peak")]
    )
    text = place.mark_text(align="left", dx=6, dy=-6, fontSize=TEXT_SIZE, color=INK, tooltip=False)
    return [point, text.encode(alt.Text("at_peak:N"))]


def _drain(annotation: Row) -> list[alt.Chart]:
    """From the end of the cause to where it is back, with how long that took; or that it is not."""
    of = _of(_ANNOTATIONS, annotation["cause"])
    text = of.mark_text(align="left", dx=4, dy=-7, fontSize=TEXT_SIZE, color=INK, tooltip=False)
    if annotation["drained"] is None or annotation["high"] is None:
        return [text.encode(alt.X("ended:Q", scale=_SCALE), alt.Text("drain:N"), y=alt.value(HEIGHT))]
    line = of.mark_rule(color=COLORS["green"], strokeWidth=3).encode(
        alt.X("ended:Q", scale=_SCALE), alt.X2("drained:Q"), alt.Y("high:Q"), tooltip=[tip("drain")]
    )
    return [line, text.encode(alt.X("ended:Q", scale=_SCALE), alt.Y("high:Q"), alt.Text("drain:N"))]


def _of(data: str, label: str) -> alt.Chart:
    """The rows of one cause."""
    chart: alt.Chart = alt.Chart(alt.NamedData(data)).transform_filter(
        alt.FieldEqualPredicate(field="cause", equal=label)
    )
    return chart
