"""Lines whose points have times of their own, as samples have, over the time of the run; and the limits of a policy."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import altair as alt

from streamgauge.domain.text.numbers import whole
from streamgauge.report.figures.drawing.causes import CAUSES, cause_marks
from streamgauge.report.figures.drawing.figure import (
    LEGEND,
    SMALLEST_TEXT,
    FigureSource,
    Row,
    faded,
    legend_selects,
    over_phases,
    phases_of,
    rounded,
    seconds_axis,
    series_color,
    spans,
    tip,
)
from streamgauge.report.figures.drawing.theme import COLORS, INK

HEIGHT: Final = 240
MOST_POINTS: Final = 600
"""Points of one line; of a longer run each stands for several values, by the largest of them."""
DECADES: Final = 30.0
"""Where lines and limits differ by more than this, the lesser would lie on the ground of a linear scale."""
DASHES: Final = ([1, 0], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [8, 3, 2, 3, 2, 3])
LIMITS: Final = "limits"
_POWERS: Final = [10**power for power in range(16)]


@dataclass(frozen=True, slots=True)
class Line:
    """One series: `points` are (second, value or None); a value that is not known leaves a gap."""

    name: str
    color: str
    points: Sequence[tuple[float, float | None]]
    dash: int = 0
    """Which of the dashes it is drawn with."""

    @property
    def highest(self) -> float | None:
        """The largest value; None where there is none."""
        return max((value for _, value in self.points if value is not None), default=None)

    def rows(self) -> list[Row]:
        """Rows {s, series, value}, few enough to be drawn."""
        step = max(1, -(-len(self.points) // MOST_POINTS))
        chosen = (_worst(self.points[at : at + step]) for at in range(0, len(self.points), step))
        return [{"s": round(s, 2), "series": self.name, "value": _shown(value)} for s, value in chosen]


def _worst(points: Sequence[tuple[float, float | None]]) -> tuple[float, float | None]:
    """The point that is highest; one that is not known only where none is."""
    return max(points, key=lambda point: -1.0 if point[1] is None else point[1])


def _shown(value: float | None) -> float | None:
    """A count to the message, as limits are; anything else rounded."""
    return value if value is None or value % 1 == 0 else rounded(value)


def present(lines: Iterable[Line], span: tuple[float, float] | None = None) -> list[Line]:
    """The lines that have a value anywhere in the time that is shown, and what they have of it.

    What lies outside would make the axis longer than what is seen; at the ends there are values between two points.
    """
    shown = lines if span is None else (replace(line, points=within(line.points, *span)) for line in lines)
    return [line for line in shown if line.highest is not None]


def within(points: Sequence[tuple[float, float | None]], first: float, last: float) -> list[tuple[float, float | None]]:
    """The points from one second to another, by their order, with one at each end where a line crosses it."""
    inside: list[tuple[float, float | None]] = []
    for before, after in pairwise([(-math.inf, None), *points, (math.inf, None)]):
        if first <= before[0] <= last:
            inside.append(before)
        inside += [(edge, _between(before, after, edge)) for edge in (first, last) if before[0] < edge < after[0]]
    return [point for point in inside if point[1] is not None or first < point[0] < last]


def _between(before: tuple[float, float | None], after: tuple[float, float | None], at: float) -> float | None:
    """The value of a line between two points; None where one of them is not known."""
    if before[1] is None or after[1] is None:
        return None
    share = (at - before[0]) / (after[0] - before[0])
    return before[1] + share * (after[1] - before[1])


def thinned(lines: Sequence[Line]) -> str:
    """What has to be said where a point stands for several values."""
    step = -(-max((len(line.points) for line in lines), default=0) // MOST_POINTS)
    return f" Each point is the maximum of {step} values." if step > 1 else ""


def limits_of(source: FigureSource) -> list[Row]:
    """Rows {limit, what}: the limit of the policy, and of hysteresis the lag below which producers go on."""
    policy = next(iter(source.rows("backpressure")), None)
    if policy is None:
        return []
    if policy["policy"] == "credit":
        return [limit("limit", policy["limit"])]
    return [limit("max_lag", policy["limit"])] + (
        [limit("resume_lag", policy["resume"])] if policy["resume"] is not None else []
    )


def limit(name: str, value: int) -> Row:
    """A row of a limit, named with its value."""
    return {"limit": value, "what": f"{name} {whole(value)}"}


def sampled(
    source: FigureSource,
    data: str,
    lines: Sequence[Line],
    y: alt.Y,
    *,
    limits: Sequence[Row] = (),
    behind: Sequence[Row] = (),
    causes: Sequence[Row] = (),
    of_intervals: bool = False,
) -> tuple[alt.LayerChart, dict[str, Sequence[Row]]]:
    """The lines over the phases and annotations of the run, with limits across; and the data under the names they have.

    `y` is of the field `value`. `behind` are spans {from, to} that are shaded besides, `causes` have signs on the time
    axis. With `of_intervals` a value holds for the time since the one before.
    """
    chosen = legend_selects()
    names = [line.name for line in lines]
    dashed = any(line.dash for line in lines)
    dash = alt.Scale(domain=names, range=[DASHES[line.dash % len(DASHES)] for line in lines])
    # Both channels share one legend, as long as they describe it alike.
    dashes = [alt.StrokeDash("series:N", scale=dash, sort=None, title=None, legend=LEGEND)] if dashed else []
    marks = (
        alt.Chart(alt.NamedData(data))
        .mark_line(interpolate="step-before" if of_intervals else "linear", strokeCap="round")
        .encode(
            seconds_axis(),
            y,
            series_color(names, [line.color for line in lines]),
            *dashes,
            opacity=faded(chosen),
            tooltip=[tip("s", "second"), tip("series"), tip("value")],
        )
        .add_params(chosen)
    )
    tips = [tip("from", "paused from second"), tip("to", "to second")]
    shade, name = [spans(f"{data}_paused", "violet", tips)] if behind else [], f"{data}_{LIMITS}"
    signs = cause_marks(f"{data}{CAUSES}", causes)
    chart = over_phases(source, *shade, *limit_marks(name, limits), *signs, marks).properties(height=HEIGHT)
    rows: Mapping[str, Sequence[Row]] = {data: [row for line in lines for row in line.rows()], name: limits}
    shades = {f"{data}_paused": behind, f"{data}{CAUSES}": causes}
    return chart, {each: found for each, found in {**rows, **shades}.items() if found} | phases_of(source)


def limit_marks(data: str, limits: Sequence[Row]) -> list[alt.Chart]:
    """A line across for each limit, with its name at the right."""
    if not limits:
        return []
    across = alt.Chart(alt.NamedData(data)).encode(alt.Y("limit:Q"))
    line = across.mark_rule(color=COLORS["red"], strokeDash=[6, 3]).encode(tooltip=[tip("what"), tip("limit")])
    text = across.mark_text(align="right", dx=-4, dy=-7, fontSize=SMALLEST_TEXT, color=INK, tooltip=False)
    return [line, text.encode(alt.Text("what:N"), x=alt.value("width"))]


def count_axis(lines: Sequence[Line], limits: Sequence[Row], title: str) -> tuple[alt.Y, str]:
    """An axis of counts from zero, and what has to be said of it: logarithmic where they differ by decades."""
    tops = [top for line in lines if (top := line.highest)] + [float(row["limit"]) for row in limits]
    if not tops or max(tops) < DECADES * min(tops):
        return alt.Y("value:Q", title=title, scale=alt.Scale(zero=True)), ""
    return alt.Y("value:Q", title=title, scale=symlog(max(tops)), axis=powers(max(tops))), LOGARITHMIC


LOGARITHMIC: Final = " The scale is logarithmic, but linear near zero."


def symlog(top: float) -> alt.Scale:
    """A logarithmic scale that has a zero."""
    return alt.Scale(type="symlog", domain=[0, 2 * max(1.0, top)], nice=False)


def powers(top: float) -> alt.Axis:
    """Powers of ten on such a scale."""
    return alt.Axis(values=[0, *(power for power in _POWERS if power <= 2 * top)])
