"""Figures that compare policies: what each lets pile up and what it costs, and how far practice is from theory."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import percent, whole
from streamgauge.report.figures.compare.bars import HEIGHT, LEGEND, bars, censored, log_scale, sized
from streamgauge.report.figures.compare.runs import LabelledRun, checked, kind_of, percentile
from streamgauge.report.figures.drawing.figure import Figure, Row, rounded, seconds_axis, series_color, tip
from streamgauge.report.figures.drawing.sampled import limit, limit_marks, powers, symlog
from streamgauge.report.figures.drawing.theme import COLORS, PALETTE, TEXT_SIZE, color_of
from streamgauge.report.figures.drawing.timeline import timeline

PANELS_WIDTH: Final = 660
PANEL_HEIGHT: Final = 180
BARS_WIDTH: Final = 290
MOST_RUNS: Final = len(PALETTE)
_PANELS: Final = {
    "outstanding": "messages outstanding",
    "committed_lag": "committed lag",
    "sent": "sent, messages/s",
}
"""From top to bottom, and what their axes say."""
_LOGARITHMIC: Final = frozenset({"outstanding", "committed_lag"})
_CONCEPTS: Final = frozenset({"outstanding", "committed lag", "p99", "sent"})


def policy_timeline(results: Sequence[LabelledRun]) -> Figure:
    """Messages outstanding, committed lag and rate of each second, one line a run, with the limits of the policies.

    From `timeline[]`: `outstanding`, `committed_lag` and `sent_per_second`; and from `backpressure`: `policy`, `limit`
    and `resume`. ValueError where there is no result.
    """
    name, title, data = "policy-timeline", "Policies over time", "policies"
    runs = checked(results)[:MOST_RUNS]
    about = (
        "From top to bottom: messages sent and not processed, which a credit limits; committed lag, which hysteresis "
    )
    about += "looks at; messages sent a second. Scales of lags are logarithmic, but linear near zero."
    about += f" The first {MOST_RUNS} of {len(results)} runs are shown." if len(results) > MOST_RUNS else ""
    rows = [row for run in runs for row in _seconds(run)]
    shown = [panel for panel in _PANELS if any(row[panel] is not None for row in rows)]
    if not shown:
        return Figure(name, title, about, missing="there is no data")
    limits = [row for run in runs for row in _limits(run)]
    color = series_color([run.label for run in runs], PALETTE[: len(runs)])
    panels = [_panel(data, panel, rows, [row for row in limits if row["panel"] == panel], color) for panel in shown]
    named = {f"{data}_limits_{panel}": [row for row in limits if row["panel"] == panel] for panel in shown}
    return Figure(
        name, title, about, alt.vconcat(*panels), {data: rows, **{key: of for key, of in named.items() if of}}
    )


def _seconds(run: LabelledRun) -> list[Row]:
    """Rows {s, series, outstanding, committed_lag, sent} of each point; `series` is the label."""
    return [
        {"s": row["s"], "series": run.label, **{name: row[name] for name in _PANELS}}
        for row in timeline(run.result, ())
    ]


def _limits(run: LabelledRun) -> list[Row]:
    """The limits of a policy, in the panel of what it limits."""
    policy = run.result.backpressure
    if not policy:
        return []
    if policy.policy == "credit":
        return [
            {
                "panel": "outstanding",
                "series": run.label,
                "resumes": False,
                **limit(f"{run.label}: limit", policy.limit),
            }
        ]
    found = {"max_lag": policy.limit, "resume_lag": policy.resume}
    return [
        {
            "panel": "committed_lag",
            "series": run.label,
            "resumes": name == "resume_lag",
            **limit(f"{run.label}: {name}", value),
        }
        for name, value in found.items()
        if value is not None
    ]


def _panel(data: str, panel: str, rows: Sequence[Row], limits: Sequence[Row], color: alt.Color) -> alt.LayerChart:
    top = max([row[panel] or 0 for row in rows] + [row["limit"] for row in limits])
    is_log = panel in _LOGARITHMIC
    y = alt.Y(
        f"{panel}:Q",
        title=_PANELS[panel],
        scale=symlog(top) if is_log else alt.Scale(zero=True),
        axis=powers(top) if is_log else alt.Axis(),
    )
    tips = [tip("s", "second"), tip("series", "run"), tip(panel, _PANELS[panel])]
    lines = alt.Chart(alt.NamedData(data)).mark_line().encode(seconds_axis(), y, color, tooltip=tips)
    layers = [lines]
    if limits:
        layers += _across(f"{data}_limits_{panel}", color)
    return alt.LayerChart(layer=layers).properties(width=PANELS_WIDTH, height=PANEL_HEIGHT)


def _across(data: str, color: alt.Color) -> list[alt.Chart]:
    """Limits across, with their names at the right; those below which producers go on at the left."""
    across = alt.Chart(alt.NamedData(data)).encode(alt.Y("limit:Q"), color)
    text = alt.Text("what:N")
    right = across.mark_text(align="right", dy=-6, fontSize=TEXT_SIZE, tooltip=False).encode(text, x=alt.value("width"))
    left = across.mark_text(align="left", dx=3, dy=-6, fontSize=TEXT_SIZE, tooltip=False).encode(text, x=alt.value(0))
    return [
        across.mark_rule(strokeDash=[6, 3]).encode(tooltip=[tip("what"), tip("limit")]),
        right.transform_filter("!datum.resumes"),
        left.transform_filter("datum.resumes"),
    ]


def policy_summary(results: Sequence[LabelledRun]) -> Figure:
    """Peak, tail, utilisation, delivered share and rate of each run, in a panel each.

    From `lag.outstanding.max`, `lag.committed.max`, `latency.end_to_end.KIND.p99_ms`, KIND as in `codecs`,
    `throughput.processed_per_second`, `throughput.sent_per_second`, and `delivery`: `sent`, `delivered_once`,
    `duplicate_consumer` and `duplicate_producer`. Utilisation is the rate of processing by that of the run without a
    policy; without such a run there is no such panel. ValueError where there is no result.
    """
    name, title = "policy-summary", "Policies compared"
    kind = kind_of(checked(results), "end_to_end")
    about = (
        f"Peaks of outstanding messages and of committed lag; p99 of the end-to-end {kind} time; messages processed "
    )
    about += "a second, as a share of what was processed without a policy; share of the messages sent that were "
    about += "delivered at least once; messages sent a second."
    rows: dict[str, Sequence[Row]] = {
        "peak": [row for run in results for row in _peaks(run)],
        "p99": [
            {"run": run.label, "series": "p99", **found}
            for run in results
            if (found := percentile(run, "end_to_end", kind, "p99"))
        ],
        "utilisation": _utilisations(results),
        "delivered": [row for run in results for row in _delivered(run)],
        "sent": [
            {"run": run.label, "series": "sent", **sized(rate, whole(rate))}
            for run in results
            if (rate := run.result.throughput.sent_per_second)
        ],
    }
    panels = [_bars(name, panel, of) for panel, of in rows.items() if of]
    if not panels:
        return Figure(name, title, about, missing="none of the runs has any of these")
    said = about + censored(rows["p99"])
    chart = alt.concat(*panels, columns=2).resolve_scale(color="independent", x="independent", xOffset="independent")
    return Figure(name, title, said, chart, {_named(name, panel): of for panel, of in rows.items() if of})


_AXES: Final = {
    "peak": "messages",
    "p99": "end-to-end p99, ms",
    "utilisation": "utilisation",
    "delivered": "delivered of those sent",
    "sent": "sent, messages/s",
}


def _bars(name: str, panel: str, rows: Sequence[Row]) -> alt.LayerChart:
    series = list(dict.fromkeys(row["series"] for row in rows))
    shares = panel in {"utilisation", "delivered"}
    scale = alt.Scale(domain=[0, max(1.1, *(1.1 * row["value"] for row in rows))]) if shares else log_scale(rows)
    axis = alt.Axis(format="%") if shares else alt.Axis(tickCount=4)
    color = series_color(
        series,
        [color_of(each if each in _CONCEPTS else "processed") for each in series],
        LEGEND if len(series) > 1 else None,
    )
    chart = bars(
        _named(name, panel),
        "run",
        rows,
        color,
        alt.Y("value:Q", title=_AXES[panel], stack=None, scale=scale, axis=axis),
    )
    sizes: alt.LayerChart = chart.properties(width=BARS_WIDTH, height=PANEL_HEIGHT)
    return sizes


def _named(name: str, panel: str) -> str:
    return f"{name.replace('-', '_')}_{panel}"


def _peaks(run: LabelledRun) -> list[Row]:
    """The largest of two lags; what is zero has no place on a logarithmic scale."""
    lag = run.result.lag
    found = {"outstanding": lag.outstanding, "committed lag": lag.committed} if lag else {}
    return [
        {"run": run.label, "series": words, **sized(each.max, whole(each.max))}
        for words, each in found.items()
        if each and each.max
    ]


def _utilisations(results: Sequence[LabelledRun]) -> list[Row]:
    """Rates of processing as shares of that of the first run without a policy."""
    processed = {run.label: run.result.throughput.processed_per_second for run in results}
    free = next((run.label for run in results if run.result.backpressure is None), None)
    capacity = None if free is None else processed[free]
    return [
        {"run": label, "series": "utilisation", **sized(rate / capacity, percent(rate / capacity))}
        for label, rate in processed.items()
        if capacity and rate is not None
    ]


def _delivered(run: LabelledRun) -> list[Row]:
    found = run.result.delivery
    once, sent = found.delivered_once, found.sent
    if once is None or not sent:
        return []
    delivered = once + (found.duplicate_consumer or 0) + (found.duplicate_producer or 0)
    return [{"run": run.label, "series": "delivered", **sized(delivered / sent, percent(delivered / sent))}]


def overshoot(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """How far hysteresis overshoots, by how often lag is sampled, beside what theory gives.

    From rows {sampling_s, peak, theory, max_lag}, one for each run: seconds between two samples, and three lags in
    messages, `theory` being the peak that is to be expected. ValueError where there is none.
    """
    if not rows:
        raise ValueError("there is no peak to compare; give at least one")
    name, title = "overshoot", "Overshoot of hysteresis"
    about = "Peak of the committed lag by the sampling interval. Theory: max_lag + (rate - capacity) x (sampling + "
    about += "decision + commit), the messages that arrive until producers stop."
    measured = [{"sampling_s": row["sampling_s"], "series": "measured", "peak": rounded(row["peak"])} for row in rows]
    theory = [
        {"sampling_s": row["sampling_s"], "series": "theory", "peak": rounded(row["theory"])}
        for row in sorted(rows, key=lambda row: float(row["sampling_s"]))
    ]
    limits: Sequence[Row] = [limit("max_lag", value) for value in dict.fromkeys(row["max_lag"] for row in rows)]
    color = series_color(["measured", "theory"], [COLORS["blue"], COLORS["grey"]], LEGEND)
    x = alt.X("sampling_s:Q", title="seconds between two samples", scale=alt.Scale(zero=True))
    y = alt.Y("peak:Q", title="peak of the lag, messages", scale=alt.Scale(zero=True))
    chart = _measured_beside(name, x, y, color, "sampling_s", "peak")
    data: dict[str, Sequence[Row]] = {f"{name}_measured": measured, f"{name}_theory": theory, f"{name}_limits": limits}
    return Figure(
        name, title, about, alt.layer(*limit_marks(f"{name}_limits", limits), *chart).properties(height=HEIGHT), data
    )


def credit_utilisation(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Utilisation by the limit of credit, for each way to choose partitions, beside the line of a model.

    From rows {limit, partitioning, utilisation, model}: messages, a name, and two shares of 1; `utilisation` or `model`
    may be None. ValueError where there is none.
    """
    if not rows:
        raise ValueError("there is no utilisation to compare; give at least one")
    name, title = "credit-utilisation", "Utilisation by the limit of credit"
    about = (
        "Messages processed as a share of the capacity, measured (points) and by the model (lines). If partitions are "
    )
    about += "not chosen evenly, a small limit leaves some of them idle. The scale of limits is logarithmic."
    data = name.replace("-", "_")
    ordered = sorted(rows, key=lambda row: (str(row["partitioning"]), row["limit"]))
    found = {
        kind: [
            {"limit": row["limit"], "series": row["partitioning"], "utilisation": rounded(row[column])}
            for row in ordered
            if row[column] is not None
        ]
        for kind, column in (("measured", "utilisation"), ("theory", "model"))
    }
    series = list(dict.fromkeys(row["partitioning"] for row in ordered))
    color = series_color(series, PALETTE[: len(series)], LEGEND)
    x = alt.X(
        "limit:Q",
        title="limit, messages",
        scale=alt.Scale(type="log", nice=False, padding=20),
        axis=alt.Axis(values=sorted({row["limit"] for row in rows}), grid=False),
    )
    y = alt.Y("utilisation:Q", title="utilisation, %", scale=alt.Scale(domain=[0, 1.05]), axis=alt.Axis(format="%"))
    chart = alt.layer(*_measured_beside(data, x, y, color, "limit", "utilisation")).properties(height=HEIGHT)
    return Figure(name, title, about, chart, {f"{data}_{kind}": of for kind, of in found.items()})


def _measured_beside(data: str, x: alt.X, y: alt.Y, color: alt.Color, at: str, value: str) -> list[alt.Chart]:
    """Lines of theory, and points of what was measured."""
    theory, measured = (alt.Chart(alt.NamedData(f"{data}_{kind}")) for kind in ("theory", "measured"))
    tips = [tip("series"), tip(at), tip(value)]
    return [
        theory.mark_line(strokeDash=[6, 3]).encode(x, y, color, tooltip=tips),
        measured.mark_point(filled=True, size=70, opacity=1).encode(x, y, color, tooltip=tips),
    ]
