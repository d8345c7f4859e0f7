"""Figures of throughput: MB a second, the rate of each worker and of each topic, and latency by rate."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.report.figures.drawing.figure import LEGEND, Figure, FigureSource, Row, rounded, series_color, tip
from streamgauge.report.figures.drawing.names import apart
from streamgauge.report.figures.drawing.sampled import MOST_POINTS, Line, present, sampled
from streamgauge.report.figures.drawing.theme import FEW_TICKS, PALETTE, PANEL_HEIGHT, color_of
from streamgauge.report.figures.drawing.thresholds import thresholds
from streamgauge.report.figures.drawing.timeline import KINDS, PATHS

_MB: Final = 1_000_000
_OF_SIZES: Final = {"sent": "sent_bytes", "received": "received_bytes"}
_ROLES: Final = {"producer": "producers", "consumer": "consumers"}
MOST_LINES: Final = 12
"""More lines than these cannot be told apart."""
MOST_DOTS: Final = 900
"""More seconds than these are not drawn one by one: a browser takes long for thousands of dots."""
_ONE_RATE: Final = 0.02
"""Rates of seconds that differ by no more than this share are one rate."""


def megabytes(source: FigureSource) -> Figure:
    """MB of values a second, sent and received."""
    name, title = "megabytes", "MB/s over time"
    about = "Bytes of values sent and received, without keys, headers and protocol. 1 MB is 10^6 bytes."
    seconds = _whole_seconds(source.rows("throughput", scope="window"))
    lines = present(
        Line(words, color_of(words), means([(row["second"], _mb(row, column)) for row in seconds]))
        for words, column in _OF_SIZES.items()
        if any(row[column] for row in seconds)
    )
    if not lines:
        return Figure(name, title, about, missing="nothing was sent or received", section="delivery")
    limits = thresholds(source, {f"throughput.{stage}_mb_per_second": stage for stage in _OF_SIZES}, unit=" MB/s")
    y = alt.Y("value:Q", title="throughput, MB/s", scale=alt.Scale(zero=True, nice=FEW_TICKS))
    chart, data = sampled(
        source, name, lines, y, limits=[{key: row[key] for key in ("limit", "what")} for row in limits]
    )
    return Figure(name, title, about, chart.properties(height=PANEL_HEIGHT), data, section="delivery")


def _mb(row: Row, column: str) -> float:
    return float(row[column] * NS_PER_SECOND / row["duration_ns"] / _MB)


def by_worker(source: FigureSource) -> Figure:
    """Messages a second of each producer and each consumer."""
    name, title = "workers", "Throughput by worker"
    about = (
        "Messages sent by each producer, and received by each consumer, a second. Workers of one role should do the "
    )
    about += "same."
    rows = _whole_seconds(source.rows("workers"))
    workers = sorted({(row["role"], row["number"]) for row in rows}, key=lambda each: (each[0] != "producer", each[1]))
    if not workers:
        missing = "there were too many workers, or the run was analysed by an older version"
        return Figure(name, title, about, missing=missing)
    seconds = sorted({row["second"] for row in rows})
    lines = [
        Line(f"{role}-{number}", color_of(_ROLES[role]), means(_of_worker(rows, seconds, role, number)), number)
        for role, number in workers[:MOST_LINES]
    ]
    cut = f" The first {MOST_LINES} of {len(workers)} are shown." if len(workers) > MOST_LINES else ""
    y = alt.Y("value:Q", title="throughput, messages/s", scale=alt.Scale(zero=True, nice=FEW_TICKS))
    chart, data = sampled(source, name, lines, y)
    alone = len({role for role, _ in workers}) == len(workers)
    nothing = "Each role has one worker: Rates over time shows the same." if alone else None
    return Figure(name, title, about + cut, chart.properties(height=PANEL_HEIGHT), data, nothing_new=nothing)


def _of_worker(rows: Sequence[Row], seconds: Sequence[int], role: str, number: int) -> list[tuple[float, float | None]]:
    """Its rate in each second in which any worker did something; nothing is zero."""
    rates = {row["second"]: row["messages"] for row in rows if (row["role"], row["number"]) == (role, number)}
    return [(float(second), float(rates.get(second, 0))) for second in seconds]


def by_topic(source: FigureSource) -> Figure:
    """Messages a second of each topic, sent and received."""
    name, title = "topics", "Throughput by topic"
    about = "Messages sent to each topic (solid) and received from it (dashed), a second."
    rows = _whole_seconds(source.rows("topics"))
    names = apart({topic.id: topic.name for topic in source.result.run.topics})
    topics = list(dict.fromkeys(row["topic"] for row in rows))
    lines = [
        Line(f"{names.get(topic, topic)} {words}", PALETTE[at % len(PALETTE)], means(_rates(rows, topic, words)), dash)
        for at, topic in enumerate(topics[: MOST_LINES // 2])
        for dash, words in enumerate(_OF_SIZES)
        if any(row[words] for row in rows if row["topic"] == topic)
    ]
    if len(topics) < 2 or not lines:
        return Figure(name, title, about, missing="the run has one topic", section="delivery")
    cut = f" The first {MOST_LINES // 2} of {len(topics)} are shown." if len(topics) > MOST_LINES // 2 else ""
    y = alt.Y("value:Q", title="throughput, messages/s", scale=alt.Scale(zero=True, nice=FEW_TICKS))
    chart, data = sampled(source, name, lines, y)
    return Figure(name, title, about + cut, chart.properties(height=PANEL_HEIGHT), data, section="delivery")


def _rates(rows: Sequence[Row], topic: int, column: str) -> list[tuple[float, float | None]]:
    return [
        (float(row["second"]), row[column] * NS_PER_SECOND / row["duration_ns"])
        for row in rows
        if row["topic"] == topic
    ]


def latency_by_rate(source: FigureSource) -> Figure:
    """One dot for each second of the measure phase: how many messages, and their latency."""
    name, title = "latency-by-rate", "Latency by rate"
    about = "One dot for each second of the measure phase: messages received, and the latency of those due then. A "
    about += "rise to the right shows where the system comes to its limit."
    path, kind = _shown(source)
    if path is None:
        return Figure(name, title, about, missing="there is no latency by second", section="latency")
    words = f"{PATHS[path]} {kind}"
    stage = "received" if path == "end_to_end" else "acked"
    measured = source.result.throughput.measured_seconds or 0.0
    seconds = [
        row for row in source.timeline if row["s"] is not None and 0 <= row["s"] < measured and row[stage] is not None
    ]
    step = max(1, -(-len(seconds) // MOST_DOTS))
    about += f" One second in {step} is shown." if step > 1 else ""
    rows = [
        {"second": row["s"], "rate": row[stage], "series": figure, "value": row[f"{words} {figure}"]}
        for row in seconds[::step]
        for figure in ("p50", "p99")
        if row[f"{words} {figure}"]
    ]
    if not rows:
        return Figure(name, title, about, missing="there is no latency by second", section="latency")
    rates = [row["rate"] for row in rows]
    dots = (
        alt.Chart(alt.NamedData("latency_by_rate"))
        .mark_point(filled=True, size=28, opacity=0.8)
        .encode(
            alt.X("rate:Q", title=f"{stage}, messages/s", axis=alt.Axis(tickCount=8), scale=alt.Scale(zero=False)),
            alt.Y("value:Q", title=f"{words} time, ms", scale=alt.Scale(type="log", nice=False)),
            alt.Color("series:N", title=None, sort=None, legend=alt.Legend(orient="top", symbolType="circle"),
                      scale=alt.Scale(domain=["p50", "p99"], range=[color_of("p50"), color_of("p99")])),
            tooltip=[tip("second"), tip("rate", f"{stage}, messages/s"), tip("series"), tip("value", "ms")],
        )
        .properties(height=PANEL_HEIGHT)
    )  # fmt: skip
    one = max(rates) - min(rates) <= _ONE_RATE * max(rates)
    nothing = "All seconds had the same rate, within 2 %." if one else None
    return Figure(name, title, about, dots, {"latency_by_rate": rows}, section="latency", nothing_new=nothing)


def latency_by_step(source: FigureSource) -> Figure:
    """The latency of each step of the load over its rate."""
    name, title = "latency-by-step", "Latency by step"
    about = "Response time of each step of the load, by its target rate. Pale: the step did not hold."
    steps = source.result.steps or ()
    rows: list[Row] = [
        {"step": step.step, "rate": rounded(step.target_per_second), "series": figure.replace("_", "."), "value": value}
        | {"state": "held" if step.held else "did not hold"}
        for step in steps
        for figure in ("p50", "p99", "p99_9")
        if step.response and (value := step.response.ms(figure))
    ]
    if not rows:
        return Figure(name, title, about, missing="the load has no steps with response times", section="latency")
    series = [each for each in ("p50", "p99", "p99.9") if any(row["series"] == each for row in rows)]
    base = alt.Chart(alt.NamedData("latency_by_step")).encode(
        alt.X("rate:Q", title="target rate, messages/s", axis=alt.Axis(tickCount=8), scale=alt.Scale(zero=False)),
        alt.Y("value:Q", title="response time, ms", scale=alt.Scale(type="log", nice=False)),
        series_color(series, [color_of(each) for each in series], LEGEND),
    )
    held = alt.when(alt.FieldEqualPredicate(field="state", equal="held"))
    opacity = held.then(alt.value(1)).otherwise(alt.value(0.35))
    tips = [tip("step"), tip("rate", "target, messages/s"), tip("series"), tip("value", "ms"), tip("state")]
    points = base.mark_point(filled=True, size=50).encode(opacity=opacity, tooltip=tips)
    lines = base.mark_line(strokeWidth=1.5, tooltip=False).encode(order="rate:Q")
    chart = alt.LayerChart(layer=[lines, points]).properties(height=PANEL_HEIGHT)
    return Figure(name, title, about, chart, {"latency_by_step": rows}, section="latency")


def _shown(source: FigureSource) -> tuple[str | None, str]:
    """The first latency that has values by second."""
    for path, words in PATHS.items():
        for kind in KINDS:
            if any(row[f"{words} {kind} p50"] is not None for row in source.timeline):
                return path, kind
    return None, ""


def _whole_seconds(rows: Sequence[Row]) -> list[Row]:
    """Seconds of which all was in the run: what came in the last 33 ms says nothing of a second."""
    return sorted((row for row in rows if row["duration_ns"] == NS_PER_SECOND), key=lambda row: int(row["second"]))


def means(points: Sequence[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """At most as many points as are drawn: of neighbours the mean, and a gap where none is known."""
    step = max(1, -(-len(points) // MOST_POINTS))
    return [_mean(points[at : at + step]) for at in range(0, len(points), step)]


def _mean(points: Sequence[tuple[float, float | None]]) -> tuple[float, float | None]:
    known = [value for _, value in points if value is not None]
    return points[0][0], rounded(sum(known) / len(known)) if known else None
