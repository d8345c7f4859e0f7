"""The lives of a few messages, below each other: the slowest, and the first of those that are gone."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import milliseconds
from streamgauge.report.figures.drawing.annotations import annotated
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, FigureSource, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, DOTTED, INK

LIVES: Final = "lives"
"""Rows of messages with their events, as `ledger.chosen.drawn_lives` makes them."""
LANE_HEIGHT: Final = 56
"""A name, why the message is here, and when it began stand below each other."""
LABEL_OFFSET: Final = -14
"""The first line of a name would stand beside the lane, and not the second."""
LINEAR_MS: Final = 0.1
"""Below this the scale is linear: it has a zero."""
AFTER_GONE_MS: Final = 5_000.0
"""So much of the time after its begin is shown of what is gone: what took it away came later."""
FOREVER_S: Final = 1e9
"""What nobody ended lasts so long."""
_LINES, _FAULTS = "life_lines", "life_faults"
_BETWEEN: Final = "; "
_SERIES: Final = {
    "sent": ("sent", "blue", "circle"),
    "resend": ("sent again", "lilac", "triangle-up"),
    "acknowledged": ("acknowledged", "orange", "diamond"),
    "failed": ("failed", "red", "cross"),
    "appended": ("appended", "grey", "square"),
    "received": ("delivered", "green", "triangle-right"),
    "committed": ("committed", "violet", "triangle-down"),
}
"""What is marked of a life: words, colour, and sign."""
_INSTEAD: Final = {"covered": "committed", "accepted": "committed"}
"""What tells a commit where its time is not recorded: the look that saw it, or the acknowledgement of one message."""
_TICKS: Final = [0, *(10.0**power for power in range(-1, 8))]


def lives(source: FigureSource) -> Figure:
    """A lane for each message, from when it was due: what happened to it, and the faults that were on."""
    name, title = "lives", "Lives of messages"
    found = [life for life in source.rows(LIVES) if life["events"]]
    if not found:
        return Figure(name, title, "", missing="the rows of messages are not there", section="delivery")
    dots = [dot for life in found for dot in _dots(life)]
    end = _end(found, dots)
    data: dict[str, Sequence[Row]] = {
        _FAULTS: [span for life in found for span in _faults(source, life, dots, end)],
        _LINES: [line for life in found for line in _line(life, dots, end)],
        LIVES: [{**dot, "ms": rounded(dot["ms"])} for dot in dots],
    }
    y = alt.Y(
        "message:N", title=None, sort=None,
        scale=alt.Scale(type="band", padding=0.15, domain=[_label(life) for life in found]),
        axis=alt.Axis(
            labelExpr=f"split(datum.label, '{_BETWEEN}')", labelOffset=LABEL_OFFSET, ticks=False, domain=False,
            grid=False,
        ),
    )  # fmt: skip
    drawn = {_FAULTS: _shades, _LINES: _rules, LIVES: _points}
    data = {each: rows for each, rows in data.items() if rows}
    layers = [layer for each in data for layer in drawn[each](y, end, data[each])]
    chart = alt.LayerChart(layer=layers).properties(height=LANE_HEIGHT * len(found))
    return Figure(name, title, _about(found, data), chart, data, section="delivery")


def _about(found: Sequence[Row], data: Iterable[str]) -> str:
    slow, gone = sum(not life["gone"] for life in found), sum(life["gone"] for life in found)
    parts = ["the slowest message of each of the slowest seconds"] if slow else []
    parts += ["the first messages that are gone"] if gone else []
    about = f"{' and '.join(parts)}, each from when it was due, or sent without a schedule."
    about = f"{about[0].upper()}{about[1:]} The scale is logarithmic, but linear near zero."
    about += " Dotted: not delivered to every group, or gone from the log." if gone else ""
    about += " Shaded: what was done to the run." if _FAULTS in data else ""
    return f"{about} `streamgauge trace RUN MESSAGE` tells all of one."


def _label(life: Row) -> str:
    second = "" if life["second"] is None else f"second {life['second']:.3f}"
    return _BETWEEN.join(filter(None, (life["message"], life["why"], second)))


def _dots(life: Row) -> Iterator[dict[str, Any]]:
    """Each event that has a sign; a time before the due time, as a coarser clock may tell it, is that time."""
    known = {event["event"] for event in life["events"]}
    for event in life["events"]:
        which = event["event"]
        if (instead := _INSTEAD.get(which)) and instead not in known:
            which = instead
        if which in _SERIES:
            yield {"message": _label(life), "series": _SERIES[which][0], "ms": max(0.0, event["ms"])}


def _last(life: Row, dots: Sequence[Row]) -> float:
    return max((dot["ms"] for dot in dots if dot["message"] == _label(life)), default=0.0)


def _end(found: Sequence[Row], dots: Sequence[Row]) -> float:
    """Where the axis ends."""
    last = max((dot["ms"] for dot in dots), default=0.0)
    return max(last, AFTER_GONE_MS if any(life["gone"] for life in found) else LINEAR_MS) * 1.1


def _line(life: Row, dots: Sequence[Row], end: float) -> Iterator[Row]:
    last = _last(life, dots)
    yield {"message": _label(life), "from_ms": 0.0, "to_ms": rounded(last), "gone": False}
    if life["gone"]:
        yield {"message": _label(life), "from_ms": rounded(last), "to_ms": rounded(end), "gone": True}


def _faults(source: FigureSource, life: Row, dots: Sequence[Row], end: float) -> Iterator[Row]:
    """The faults that were on in a life, from when it began."""
    if life["second"] is None:
        return
    last = end if life["gone"] else _last(life, dots)
    for span in annotated(source.rows("faults"), -FOREVER_S, FOREVER_S):
        begins, ends = ((second - life["second"]) * 1e3 for second in (span.begins, span.ends))
        if begins <= last and (ends > 0 or begins >= 0):
            since = f"from {milliseconds(begins)}" if begins > 0 else "from before it was due"
            until = f"until {milliseconds(ends)}" if span.ends < FOREVER_S else "until the end of the run"
            yield {
                "message": _label(life), "from_ms": rounded(max(0.0, begins)), "to_ms": rounded(min(end, ends)),
                "fault": f"{span.what}, {since} {until}" if ends > begins else f"{span.what}, {since}",
            }  # fmt: skip


def _x(name: str, end: float) -> alt.X:
    return alt.X(
        f"{name}:Q",
        title="time since it was due, ms",
        scale=alt.Scale(type="symlog", constant=LINEAR_MS, domain=[0, end], nice=False, clamp=True),
        axis=alt.Axis(values=[tick for tick in _TICKS if tick <= end], labelExpr="format(datum.value, ',~r')"),
    )


def _shades(y: alt.Y, end: float, _rows: Sequence[Row]) -> list[alt.Chart]:
    """A shade for as long as a fault was on; of a kill that is over at once, its edge."""
    lane = alt.Chart(alt.NamedData(_FAULTS)).encode(_x("from_ms", end), alt.X2("to_ms:Q"), y, tooltip=[tip("fault")])
    orange = COLORS["orange"]
    return [lane.mark_rect(fill=orange, fillOpacity=0.18, stroke=orange, strokeOpacity=0.7, strokeWidth=1)]


def _rules(y: alt.Y, end: float, rows: Sequence[Row]) -> list[alt.Chart]:
    lane = alt.Chart(alt.NamedData(_LINES)).encode(_x("from_ms", end), alt.X2("to_ms:Q"), y)
    return [
        lane.transform_filter(f"datum.gone == {str(gone).lower()}").mark_rule(
            color=INK, opacity=0.6, strokeWidth=2, strokeDash=list(DOTTED) if gone else [1, 0], tooltip=False
        )
        for gone in (False, True)
        if any(row["gone"] == gone for row in rows)
    ]


def _points(y: alt.Y, end: float, rows: Sequence[Row]) -> list[alt.Chart]:
    here = {row["series"] for row in rows}
    shown = [each for each in _SERIES.values() if each[0] in here]
    names = [words for words, _, _ in shown]
    color = series_color(names, [COLORS[color] for _, color, _ in shown])
    signs = alt.Scale(domain=names, range=[sign for _, _, sign in shown])
    points = alt.Chart(alt.NamedData(LIVES)).mark_point(filled=True, size=90, opacity=1)
    tips = [tip("message"), tip("series"), tip("ms", "after, ms")]
    shape = alt.Shape("series:N", scale=signs, sort=None, title=None, legend=LEGEND)
    return [points.encode(_x("ms", end), y, color, shape, tooltip=tips)]
