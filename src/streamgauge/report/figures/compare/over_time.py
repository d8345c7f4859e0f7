"""Figures that compare runs over time: timelines beside each other, and what bursts leave behind."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

import altair as alt

from streamgauge.domain.text.numbers import whole
from streamgauge.report.figures.compare.bars import LEGEND, bars, sized
from streamgauge.report.figures.compare.runs import LabelledRun, bursts, checked, kind_of
from streamgauge.report.figures.drawing.figure import SECONDS, Figure, Row, series_color, tip
from streamgauge.report.figures.drawing.theme import COLORS, color_of
from streamgauge.report.figures.drawing.timeline import phases, timeline

HEIGHT: Final = 240
PANEL_HEIGHT: Final = 140
PANELS_WIDTH: Final = 660
"""Panels beside each other share this."""
MOST_RUNS: Final = 4
"""More would be too small to be read."""

_RATES: Final = {stage: color_of(stage) for stage in ("sent", "received")}
_P99: Final = "end-to-end p99"
_GAP: Final = 70
_NO_SECOND: Final = "there is no data"


@dataclass(frozen=True, slots=True)
class _SharedTime:
    """The time of all runs: the begin of the measure phase stands at one place, however long each warmed up."""

    ends: tuple[float, float]
    title: str

    def axis(self, field: str = "s") -> alt.X:
        """The time of each row in this field."""
        scale = alt.Scale(domain=list(self.ends), nice=False)
        return alt.X(f"{field}:Q", title=self.title, axis=alt.Axis(grid=False), scale=scale)


def baseline_timeline(results: Sequence[LabelledRun]) -> Figure:
    """Rates and tail of each second, a panel for each run; second 0 of the measure phase stands at one place in all.

    From `timeline[]`: `sent_per_second`, `received_per_second` and `end_to_end.KIND.p99_ms`; KIND is `response`, or
    `service` where a run has no response time. ValueError where there is no result.
    """
    name, title, data, shade = "baseline-timeline", "Rates and latency over time", "baseline", "baseline_phases"
    runs = checked(results)[:MOST_RUNS]
    kind = kind_of(runs, "end_to_end")
    about = "Messages sent and received a second; on the right, where the scale is logarithmic, p99 of the end-to-end "
    about += f"{kind} time.{_cut(results)}"
    rows = _seconds(runs, kind)
    rates, tails = _present(rows, _RATES), _present(rows, ["p99"])
    if not rates and not tails:
        return Figure(name, title, about, missing=_NO_SECOND)
    colors = {**{each: _RATES[each] for each in rates}, **({_P99: color_of("p99")} if tails else {})}
    color = series_color(list(colors), list(colors.values()))
    spans = [{"run": run.label, **span} for run in runs for span in phases(run.result)]
    y = alt.Y("p99:Q", title="p99, ms", scale=_tail_scale(rows), axis=alt.Axis(grid=False))
    time = _shared(rows, spans)
    panels = []
    for run in runs:
        layers = [_shade(shade, run, time)] if spans else []
        layers += [_rates(data, run, rates, color, _rate_scale(rows), time)] if rates else []
        layers += [_tail(data, run, y, time).transform_calculate(series=f"'{_P99}'").encode(color)] if tails else []
        panels.append(alt.layer(*layers).resolve_scale(y="independent").properties(height=HEIGHT))
    chart: alt.TopLevelMixin = panels[0]
    if len(panels) > 1:
        size = {"width": PANELS_WIDTH, "height": PANEL_HEIGHT}
        titles = [run.label for run in runs]
        chart = alt.vconcat(*(each.properties(title=label, **size) for each, label in zip(panels, titles, strict=True)))
    return Figure(name, title, about, chart, {data: rows, **({shade: spans} if spans else {})})


def lag_timeline(results: Sequence[LabelledRun]) -> Figure:
    """Messages outstanding and rates of each second, a panel for each run, over one time as in `baseline_timeline`.

    From `timeline[]`: `outstanding`, `sent_per_second` and `received_per_second`. ValueError where there is no result.
    """
    name, title, data = "lag-timeline", "Lag and rates over time", "lag"
    runs = checked(results)[:MOST_RUNS]
    about = (
        "Messages sent and not yet processed, each run with its own scale; on the right, messages sent and received a "
    )
    about += f"second.{_cut(results)}"
    rows = [{key: value for key, value in row.items() if key != "p99"} for row in _seconds(runs, "response")]
    rates = _present(rows, _RATES)
    if not rates or not _present(rows, ["outstanding"]):
        return Figure(name, title, about, missing="nothing is known to be outstanding")
    colors = {"outstanding": color_of("outstanding"), **{each: _RATES[each] for each in rates}}
    color = series_color(list(colors), list(colors.values()))
    time = _shared(rows)
    panels = []
    for run in runs:
        lag = _outstanding(data, run, time).transform_calculate(series="'outstanding'").encode(color)
        both = alt.layer(lag, _rates(data, run, rates, color, _rate_scale(rows), time)).resolve_scale(y="independent")
        panels.append(both.properties(title=run.label, width=PANELS_WIDTH, height=PANEL_HEIGHT))
    return Figure(name, title, about, alt.vconcat(*panels), {data: rows})


def burst_timeline(results: Sequence[LabelledRun]) -> Figure:
    """Rates, messages outstanding and tail of each second below each other, a column for each run; bursts are shaded.

    From `timeline[]`: `sent_per_second`, `received_per_second`, `outstanding` and `end_to_end.KIND.p99_ms`, KIND as in
    `baseline_timeline`; and from `run.profile.load.pace`. ValueError where there is no result.
    """
    name, title, data, shade = "burst-timeline", "Bursts over time", "bursts", "burst_spans"
    runs = checked(results)[:MOST_RUNS]
    kind = kind_of(runs, "end_to_end")
    about = "Bursts are shaded. From top to bottom: messages sent and received a second; messages sent and not yet "
    about += f"processed, each run with its own scale; p99 of the end-to-end {kind} time, on a logarithmic scale."
    about += _cut(results)
    spans = [
        {"run": run.label, "from": each.begins, "to": min(each.ends, run.measured_seconds)}
        for run in runs
        for each in bursts(run)
    ]
    if not spans:
        return Figure(name, title, about, missing="none of the runs has bursts")
    rows = _seconds(runs, kind)
    time = _shared(rows, spans, "second")
    lines = _burst_lines(data, runs, rows, time)
    if not lines:
        return Figure(name, title, about, missing=_NO_SECOND)
    size = {"width": (PANELS_WIDTH - _GAP * (len(runs) - 1)) // len(runs), "height": PANEL_HEIGHT}
    panels = [
        alt.layer(_shade(shade, run, time), panel).properties(title="" if place else run.label, **size)
        for place, line in enumerate(lines)
        for run, panel in zip(runs, line, strict=True)
    ]
    return Figure(name, title, about, alt.concat(*panels, columns=len(runs)), {data: rows, shade: spans})


def _burst_lines(
    data: str, runs: Sequence[LabelledRun], rows: Sequence[Row], time: _SharedTime
) -> list[list[alt.Chart]]:
    """What is drawn of each run, from top to bottom, as far as there is anything."""
    lines = []
    if rates := _present(rows, _RATES):
        color = series_color(rates, [_RATES[each] for each in rates])
        lines.append([_rates(data, run, rates, color, _rate_scale(rows), time) for run in runs])
    if _present(rows, ["outstanding"]):
        lines.append([_outstanding(data, run, time) for run in runs])
    if _present(rows, ["p99"]):
        y = alt.Y("p99:Q", title="p99, ms", scale=_tail_scale(rows))
        lines.append([_tail(data, run, y, time) for run in runs])
    return lines


def burst_summary(results: Sequence[LabelledRun]) -> Figure:
    """How many messages bursts leave outstanding, and whether they are caught up with before the next.

    From `timeline[].outstanding`, `throughput.measured_seconds` and `run.profile.load.pace`. The peak of a burst
    is looked for until a second after its end, the trough in the rest of its period; bursts that the end of the measure
    phase cuts short are left out. ValueError where there is no result.
    """
    name, title, data = "burst-summary", "Messages outstanding in and between bursts", "burst_summary"
    about = (
        "Sent and not yet processed: mean of the peaks of all bursts, highest peak of the measure phase, and mean of "
    )
    about += "the troughs between bursts. The scale is logarithmic, but linear near zero."
    rows = [
        {"run": run.label, "series": words, **sized(value, whole(value))}
        for run in checked(results)
        for words, value in _peaks(run).items()
    ]
    if not rows:
        return Figure(name, title, about, missing="there are no bursts")
    colors = {
        "mean of peaks": color_of("outstanding"),
        "highest peak": COLORS["red"],
        "mean of troughs": COLORS["grey"],
    }
    color = series_color(list(colors), list(colors.values()), LEGEND)
    top = 2 * max(1, *(row["value"] for row in rows))
    axis = alt.Axis(values=[0, *(power for power in _POWERS if power <= top)])
    scale = alt.Scale(type="symlog", domain=[0, top], nice=False)
    y = alt.Y("value:Q", title="messages outstanding", stack=None, scale=scale, axis=axis)
    return Figure(name, title, about, bars(data, "run", rows, color, y).properties(height=HEIGHT), {data: rows})


_POWERS: Final = [10**power for power in range(10)]


def _peaks(run: LabelledRun) -> dict[str, float]:
    """Peaks and troughs of one run, as far as it has them."""
    # What is outstanding is counted at the end of each second.
    counted = [(row.second + 1, row.outstanding) for row in run.result.timeline]

    def within(after: float, until: float) -> list[float]:
        return [value for at, value in counted if value is not None and after < at <= min(until, run.measured_seconds)]

    complete = [burst for burst in bursts(run) if burst.ends <= run.measured_seconds]
    peaks = [max(found) for burst in complete if (found := within(burst.begins, burst.ends + 1))]
    troughs = [min(found) for burst in complete if (found := within(burst.ends + 1, burst.next_begins))]
    return {
        **({"mean of peaks": mean(peaks), "highest peak": max(within(0, run.measured_seconds))} if peaks else {}),
        **({"mean of troughs": mean(troughs)} if troughs else {}),
    }


def _seconds(runs: Sequence[LabelledRun], kind: str) -> list[Row]:
    """One row for each point of each run."""
    return [
        {
            "run": run.label,
            **{name: row[name] for name in ("s", *_RATES, "outstanding")},
            "p99": row[f"end-to-end {kind} p99"],
        }
        for run in runs
        for row in timeline(run.result, ())
    ]


def _shared(rows: Sequence[Row], spans: Sequence[Row] = (), title: str = SECONDS) -> _SharedTime:
    """From the first second of any run to the last; `rows` are not empty."""
    known = [*(row["s"] for row in rows), *(span[edge] for span in spans for edge in ("from", "to"))]
    return _SharedTime((min(known), max(known)), title)


def _present(rows: Sequence[Row], columns: Iterable[str]) -> list[str]:
    """The columns that have a value anywhere."""
    return [name for name in columns if any(row[name] is not None for row in rows)]


def _rate_scale(rows: Sequence[Row]) -> alt.Scale:
    """The same for all runs, so that they can be compared."""
    return alt.Scale(domain=[0, max(row[name] or 0 for row in rows for name in _RATES)])


def _tail_scale(rows: Sequence[Row]) -> alt.Scale:
    """The same for all runs, in whole powers of ten: small changes should look small."""
    tails = [row["p99"] for row in rows if row["p99"] and row["p99"] > 0] or [1]
    powers = math.floor(math.log10(min(tails))), math.ceil(math.log10(max(tails)))
    return alt.Scale(type="log", domain=[10.0 ** powers[0], 10.0 ** max(powers[1], powers[0] + 1)])


def _cut(results: Sequence[LabelledRun]) -> str:
    return f" The first {MOST_RUNS} of {len(results)} runs are shown." if len(results) > MOST_RUNS else ""


def _of(data: str, run: LabelledRun) -> alt.Chart:
    """The rows of one run."""
    chart: alt.Chart = alt.Chart(alt.NamedData(data)).transform_filter(
        alt.FieldEqualPredicate(field="run", equal=run.label)
    )
    return chart


def _shade(data: str, run: LabelledRun, time: _SharedTime) -> alt.Chart:
    """Spans of time, behind everything else."""
    marks: alt.Chart = _of(data, run).mark_rect(opacity=0.15, color=COLORS["grey"], tooltip=False)
    return marks.encode(time.axis("from"), alt.X2("to:Q"))


def _rates(
    data: str, run: LabelledRun, rates: Sequence[str], color: alt.Color, scale: alt.Scale, time: _SharedTime
) -> alt.Chart:
    """Messages a second."""
    rows = _of(data, run).transform_fold(list(rates), as_=["series", "rate"])
    marks: alt.Chart = rows.transform_filter("isValid(datum.rate)").mark_line()
    y = alt.Y("rate:Q", title="messages/s", scale=scale)
    return marks.encode(time.axis(), y, color, tooltip=[tip("s", "second"), tip("series"), tip("rate", "messages/s")])


def _outstanding(data: str, run: LabelledRun, time: _SharedTime) -> alt.Chart:
    """Messages sent and not yet processed."""
    marks: alt.Chart = (
        _of(data, run).transform_filter("isValid(datum.outstanding)").mark_line(color=color_of("outstanding"))
    )
    y = alt.Y("outstanding:Q", title="outstanding, messages", scale=alt.Scale(zero=True))
    return marks.encode(time.axis(), y, tooltip=[tip("s", "second"), tip("outstanding")])


def _tail(data: str, run: LabelledRun, y: alt.Y, time: _SharedTime) -> alt.Chart:
    """The p99 of each second; what is zero has no place on its scale."""
    marks: alt.Chart = _of(data, run).transform_filter("datum.p99 > 0").mark_line(color=color_of("p99"))
    return marks.encode(time.axis(), y, tooltip=[tip("s", "second"), tip("p99", "p99, ms")])
