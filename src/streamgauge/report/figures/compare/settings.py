"""Figures that compare settings: latency by codec, payload, acks and size, and how well contents compress."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from streamgauge.domain.text.numbers import significant
from streamgauge.report.figures.compare.bars import (
    HEADROOM,
    HEIGHT,
    LEGEND,
    bars,
    censored,
    log_scale,
    sized,
)
from streamgauge.report.figures.compare.runs import LabelledRun, checked, kind_of, percentile
from streamgauge.report.figures.drawing.figure import Figure, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.theme import PALETTE, TEXT_SIZE, color_of

_NO_LATENCY: Final = "none of the runs has such a latency"
_TAILS: Final = {"ack": "ack p99", "end_to_end": "end-to-end p99"}
_RANKS: Final = {"p50": "p50", "p95": "p95", "p99": "p99", "p99_9": "p99.9"}


def codecs(results: Sequence[LabelledRun]) -> Figure:
    """Tails and rate of each run, which differ in their codec.

    From `latency.ack.KIND.p99_ms`, `latency.end_to_end.KIND.p99_ms` and `throughput.sent_per_second`; KIND is
    `response`, or `service` where a run has no response time. ValueError where there is no result.
    """
    return _tails(results, "codecs", "Latency and rate by codec", "codec")


def payloads(results: Sequence[LabelledRun]) -> Figure:
    """The same, from the same, of runs that differ in what their messages contain."""
    return _tails(results, "payloads", "Latency and rate by payload", "payload")


def _tails(results: Sequence[LabelledRun], name: str, title: str, setting: str) -> Figure:
    kind = kind_of(checked(results), *_TAILS)
    about = f"Bars: p99 of acknowledgement and end to end, {kind} time. Points: messages sent a second, on the right."
    rows = [
        {setting: run.label, "series": words, **found}
        for run in results
        for path, words in _TAILS.items()
        if (found := percentile(run, path, kind, "p99"))
    ]
    if not rows:
        return Figure(name, title, about, missing=_NO_LATENCY)
    sent = [
        {setting: run.label, "series": "sent", "rate": rounded(sent_per_second)}
        for run in results
        if (sent_per_second := run.result.throughput.sent_per_second) is not None
    ]
    present = {row["series"] for row in (*rows, *sent)}
    colors = {**{words: color_of(words.removesuffix(" p99")) for words in _TAILS.values()}, "sent": color_of("sent")}
    shown = [each for each in colors if each in present]
    color = series_color(shown, [colors[each] for each in shown], LEGEND)
    chart = bars(name, setting, rows, color, alt.Y("value:Q", title="latency, ms", stack=None))
    if not sent:
        return Figure(name, title, about + censored(rows), chart.properties(height=HEIGHT), {name: rows})
    rate = alt.Y("rate:Q", title="sent, messages/s", scale=alt.Scale(zero=True), axis=alt.Axis(grid=False))
    points = (
        alt.Chart(alt.NamedData(f"{name}_sent"))
        .mark_point(filled=True, size=90, shape="diamond", opacity=1)
        .encode(alt.X(f"{setting}:N", sort=None), rate, color, tooltip=[tip(setting), tip("rate", "sent/s")])
    )
    both = alt.layer(chart, points).resolve_scale(y="independent").properties(height=HEIGHT)
    return Figure(name, title, about + censored(rows), both, {name: rows, f"{name}_sent": sent})


def acks(results: Sequence[LabelledRun]) -> Figure:
    """End-to-end latency of each run, which differ in the acknowledgements that they wait for.

    From p50_ms, p95_ms, p99_ms and p99_9_ms of `latency.end_to_end.KIND`, KIND as in `codecs`. ValueError where there
    is no result.
    """
    name, title = "acks", "Latency by acknowledgements"
    kind = kind_of(checked(results), "end_to_end")
    about = f"Percentiles of the end-to-end {kind} time, on a logarithmic scale."
    rows = [
        {"acks": run.label, "series": words, **found}
        for run in results
        for rank, words in _RANKS.items()
        if (found := percentile(run, "end_to_end", kind, rank))
    ]
    if not rows:
        return Figure(name, title, about, missing=_NO_LATENCY)
    color = series_color(list(_RANKS.values()), [color_of(each) for each in _RANKS.values()], LEGEND)
    chart = bars(name, "acks", rows, color, alt.Y("value:Q", title="latency, ms", stack=None, scale=log_scale(rows)))
    return Figure(name, title, about + censored(rows), chart.properties(height=HEIGHT), {name: rows})


def sizes(results: Sequence[LabelledRun]) -> Figure:
    """Throughput and tail against the size of messages.

    From `run.profile.load.size`, `throughput.sent_mb_per_second` and `latency.end_to_end.KIND.p99_ms`, KIND as in
    `codecs`; runs whose sizes are drawn are left out. ValueError where there is no result.
    """
    name, title = "sizes", "Throughput and latency by size"
    kind = kind_of(checked(results), "end_to_end")
    about = f"MB of value sent a second, and p99 of the end-to-end {kind} time, on the right. Scales are logarithmic."
    plain = [(size, run) for run in results if run.load and isinstance(size := run.load.size, int) and size]
    rates = [
        {"run": run.label, "bytes": size, "series": "MB/s", "rate": rounded(sent_mb)}
        for size, run in plain
        if (sent_mb := run.result.throughput.sent_mb_per_second)
    ]
    tails = [
        {"run": run.label, "bytes": size, "series": _TAILS["end_to_end"], **found}
        for size, run in plain
        if (found := percentile(run, "end_to_end", kind, "p99"))
    ]
    if not rates and not tails:
        return Figure(name, title, about, missing="none of the runs has messages of one size")
    color = series_color(["MB/s", _TAILS["end_to_end"]], [color_of("sent"), color_of("end-to-end")], LEGEND)
    x = alt.X(
        "bytes:Q",
        title="size of a message",
        scale=alt.Scale(type="log", nice=False, padding=30),
        axis=alt.Axis(values=sorted({size for size, _ in plain}), labelExpr=_SIZE, grid=False),
    )
    dots = alt.OverlayMarkDef(filled=True, size=50)
    mb = alt.Y("rate:Q", title="throughput, MB/s", scale=alt.Scale(type="log"))
    rate = alt.Chart(alt.NamedData(f"{name}_rate")).mark_line(point=dots)
    p99 = alt.Chart(alt.NamedData(f"{name}_p99")).encode(x, color)
    ms = alt.Y("value:Q", title="latency, ms", scale=log_scale(tails), axis=alt.Axis(grid=False))
    uncertain = p99.transform_filter("datum.top > datum.value").mark_rule(strokeWidth=6, opacity=0.25, tooltip=False)
    tail = alt.layer(
        *([uncertain.encode(ms, alt.Y2("top:Q"))] if censored(tails) else []),
        p99.mark_line(point=dots).encode(ms, tooltip=[tip("run"), tip("shown", "ms")]),
        p99.mark_text(dy=-10, fontSize=TEXT_SIZE, tooltip=False).encode(alt.Y("top:Q"), alt.Text("shown:N")),
    )
    chart = alt.layer(rate.encode(x, mb, color, tooltip=[tip("run"), tip("rate", "MB/s")]), tail)
    return Figure(
        name,
        title,
        about + censored(tails),
        chart.resolve_scale(y="independent").properties(height=HEIGHT),
        {f"{name}_rate": rates, f"{name}_p99": tails},
    )


_SIZE: Final = "datum.value < 1024 ? format(datum.value, '~r') + ' B' : format(datum.value / 1024, '~r') + ' KiB'"


def compression(offline: Sequence[Row]) -> Figure:
    """How many compression ratio codecs make batches of each kind of content.

    From rows {payload, codec, ratio}, as `ratios` makes them; null ratios are left out. ValueError where there is none.
    """
    if not offline:
        raise ValueError("there is no ratio to compare; give at least one")
    name, title = "compression", "Compression by payload"
    about = "Uncompressed by compressed bytes of batches, without a broker, on a logarithmic scale."
    rows = [
        {"payload": row["payload"], "series": row["codec"], **sized(row["ratio"], significant(row["ratio"]))}
        for row in offline
        if row["ratio"] is not None
    ]
    if not rows:
        return Figure(name, title, about, missing="no ratio is known")
    found = list(dict.fromkeys(row["series"] for row in rows))
    color = series_color(found, [PALETTE[at % len(PALETTE)] for at in range(len(found))], LEGEND)
    values = [row["value"] for row in rows]
    scale = alt.Scale(type="log", domain=[min(1, *values), HEADROOM * max(values)], nice=False)
    chart = bars(name, "payload", rows, color, alt.Y("value:Q", title="compression ratio", stack=None, scale=scale))
    return Figure(name, title, about, chart.properties(height=HEIGHT), {name: rows})


def ratios(report: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows {payload, codec, ratio} from what `streamgauge compression --all --json` prints; `none` is left out.

    LookupError, TypeError or ValueError for anything else.
    """
    rows: list[Row] = [
        {"payload": str(sample["payload"]), "codec": str(codec["codec"]), "ratio": float(codec["batch_ratio"])}
        for sample in report
        for codec in sample["codecs"]
        if codec["codec"] != "none"
    ]
    if not all(0 < row["ratio"] < math.inf for row in rows):
        raise ValueError("not a ratio")
    return rows
