"""Figures that compare how runs came back: lag around the end of a cause, and messages by how long they took."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.domain.text.numbers import significant, whole
from streamgauge.report.figures.compare.runs import LabelledRun, checked, kind_of
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, PALETTE, TEXT_SIZE
from streamgauge.report.figures.drawing.timeline import timeline
from streamgauge.report.figures.recovery import judged

HEIGHT: Final = 280
MOST_RUNS: Final = len(PALETTE)


def recoveries(results: Sequence[LabelledRun]) -> Figure:
    """Messages outstanding around the end of the first cause of each run, one line a run, and when it was drained.

    From `recovery[]`: `ended_second`, `time_to_drain_s`, `floor` and `tolerance`; and from `timeline[].outstanding`.
    ValueError where there is no result.
    """
    name, title = "recoveries", "Recoveries compared"
    about = "Messages sent and not processed, at the end of each second, by the time since the first fault of each run "
    about += "ended. Diamonds: the peak. Points: recovered, for three samples."
    runs = [(run, cause) for run in checked(results) if (cause := _first_cause(run))][:MOST_RUNS]
    rows = [row for run, cause in runs for row in _since(run, cause)]
    if not rows:
        return Figure(name, title, about, missing="none of the runs had a fault")
    drained = [row for run, cause in runs for row in _drained(run, cause)]
    missed = [run.label for run, cause in runs if cause["time_to_drain_s"] is None]
    about += f" Not drained by the end: {', '.join(missed)}." if missed else ""
    color = series_color([run.label for run, _ in runs], PALETTE[: len(runs)])
    x = alt.X(
        "since:Q", title="seconds since the cause was over", axis=alt.Axis(grid=False), scale=alt.Scale(nice=False)
    )
    y = alt.Y("outstanding:Q", title="outstanding, messages", scale=alt.Scale(zero=True))
    tips = [tip("since", "seconds since"), tip("series", "run"), tip("outstanding")]
    lines = alt.Chart(alt.NamedData(name)).mark_line().encode(x, y, color, tooltip=tips)
    over = (
        alt.Chart(alt.NamedData(f"{name}_over"))
        .mark_rule(color=COLORS["grey"], strokeDash=[2, 2])
        .encode(alt.X("since:Q"))
    )
    data: dict[str, Sequence[Row]] = {name: rows, f"{name}_over": [{"since": 0, "what": "cause over"}]}
    data[f"{name}_peak"] = [_peak([row for row in rows if row["series"] == run.label]) for run, _ in runs]
    top = alt.Chart(alt.NamedData(f"{name}_peak")).encode(x, y, color)
    peak = top.mark_point(filled=True, size=90, shape="diamond", opacity=1).encode(tooltip=tips)
    named = top.mark_text(dy=-10, fontSize=TEXT_SIZE, tooltip=False).encode(alt.Text("shown:N"))
    if not drained:
        return Figure(name, title, about, alt.layer(over, lines, peak, named).properties(height=HEIGHT), data)
    back = alt.Chart(alt.NamedData(f"{name}_drained")).encode(x, y, color)
    point = back.mark_point(filled=True, size=70, opacity=1).encode(
        tooltip=[tip("series", "run"), tip("shown", "drained in")]
    )
    text = back.mark_text(align="left", dx=6, dy=-8, fontSize=TEXT_SIZE, tooltip=False).encode(alt.Text("shown:N"))
    chart = alt.layer(over, lines, peak, named, point, text).properties(height=HEIGHT)
    return Figure(name, title, about, chart, {**data, f"{name}_drained": drained})


def _first_cause(run: LabelledRun) -> Row | None:
    return next(iter(judged([dict(row) for row in run.result.recovery or ()])), None)


def _since(run: LabelledRun, cause: Row) -> list[Row]:
    """Rows {since, series, outstanding}; what is outstanding is counted at the end of each second."""
    return [
        {
            "since": round(row["s"] + 1 - cause["ended_second"], 2),
            "series": run.label,
            "outstanding": row["outstanding"],
        }
        for row in timeline(run.result, ())
        if row["outstanding"] is not None
    ]


def _peak(rows: Sequence[Row]) -> Row:
    """The first row with the most outstanding, which is of one run."""
    most = max(rows, key=lambda row: float(row["outstanding"]))
    return {**most, "shown": f"peak {whole(most['outstanding'])}"}


def _drained(run: LabelledRun, cause: Row) -> list[Row]:
    took, floor, tolerance = (cause[name] for name in ("time_to_drain_s", "floor", "tolerance"))
    if took is None or floor is None or tolerance is None:
        return []
    level = rounded(floor + tolerance)
    return [{"since": round(took, 2), "series": run.label, "outstanding": level, "shown": f"{significant(took)} s"}]


def cdfs(results: Sequence[LabelledRun]) -> Figure:
    """Cumulative distribution of latency, one line a run.

    From `latency.end_to_end.KIND.cdf`, KIND as in `codecs`; messages that never came are in the whole, so that a line
    ends below 100 % where there are any. ValueError where there is no result.
    """
    name, title = "cdfs", "Cumulative distribution of latency"
    runs = checked(results)[:MOST_RUNS]
    kind = kind_of(runs, "end_to_end")
    about = (
        f"End-to-end {kind} time, on a logarithmic scale. Messages that never arrived count, too: a curve that ends "
    )
    about += "below 100 % shows their share."
    rows = [
        {"ms": point.le_ms, "series": run.label, "share": rounded(point.share)}
        for run in runs
        for figures in (run.result.latency.end_to_end.kinds[kind],)
        for point in (figures.cdf if figures else ())
        if point.le_ms > 0
    ]
    if not rows:
        return Figure(name, title, about, missing="none of the runs has such a latency")
    color = series_color([run.label for run in runs], PALETTE[: len(runs)], LEGEND)
    x = alt.X("ms:Q", title="latency, ms", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(grid=False))
    y = alt.Y("share:Q", title="share of messages, %", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    tips = [tip("series", "run"), tip("ms"), tip("share")]
    chart = alt.Chart(alt.NamedData(name)).mark_line(point=True).encode(x, y, color, tooltip=tips)
    return Figure(name, title, about, chart.properties(height=HEIGHT), {name: rows})
