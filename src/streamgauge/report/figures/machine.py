"""Figures of what the run used: processors by process, pauses of the brokers' garbage collectors."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.report.figures.drawing.figure import (
    Figure,
    FigureSource,
    Row,
    faded,
    legend_selects,
    over_phases,
    phases_of,
    rounded,
    seconds_axis,
    series_color,
    tip,
)
from streamgauge.report.figures.drawing.theme import PALETTE

HEIGHT: Final = 220
MOST_POINTS: Final = 600
"""Points of one process; a longer run shows the mean over several looks."""


def cpu(source: FigureSource) -> Figure:
    """Cores used by each process and by the machine."""
    name, title = "cpu", "CPU"
    about = (
        "Cores used by each worker, each embedded broker, and the whole machine. Near its number of cores, the machine "
    )
    about += "was the bottleneck. A gap is time that was not sampled."
    rows = [row for process in _processes(source) for row in _used(source.rows("resources", process=process))]
    if not rows:
        return Figure(name, title, about, missing="no resources were recorded")
    series = list(dict.fromkeys(row["series"] for row in rows))
    chosen = legend_selects()
    lines = (
        alt.Chart(alt.NamedData("cpu"))
        .mark_line()
        .encode(
            seconds_axis(),
            alt.Y("cores:Q", title="cores"),
            series_color(series, [PALETTE[at % len(PALETTE)] for at in range(len(series))]),
            opacity=faded(chosen),
            tooltip=[tip("s", "second"), tip("series"), tip("cores")],
        )
        .add_params(chosen)
    )
    chart = over_phases(source, lines).properties(height=HEIGHT)
    return Figure(name, title, about, chart, {"cpu": rows, **phases_of(source)})


def pauses(source: FigureSource) -> Figure:
    """Each pause of a collector."""
    name, title = "gc", "Garbage collection pauses of the brokers"
    about = "A broker does not respond during a GC pause: compare with latency peaks."
    found = [row for row in source.rows("gc") if row["second"] is not None]
    if not found:
        embedded = source.result.run.broker.embedded
        missing = "there was no pause" if embedded else "GC pauses are known for embedded brokers only"
        return Figure(name, title, about, missing=missing)
    rows = [
        {"s": rounded(row["second"]), "ms": rounded(row["pause_ms"]), "kind": row["kind"], "series": row["process"]}
        for row in found
    ]
    series = list(dict.fromkeys(row["series"] for row in rows))
    sticks = (
        alt.Chart(alt.NamedData("gc"))
        .mark_bar(width=3)
        .encode(
            seconds_axis(),
            alt.Y("ms:Q", title="ms"),
            series_color(series, PALETTE, alt.Legend(orient="top", symbolType="square")),
            tooltip=[tip("s", "second"), tip("series"), tip("kind"), tip("ms")],
        )
    )
    chart = over_phases(source, sticks).properties(height=HEIGHT)
    return Figure(name, title, about, chart, {"gc": rows, **phases_of(source)})


def _processes(source: FigureSource) -> list[str]:
    """Processes in the order of the result, the whole machine first."""
    resources = source.result.resources
    return ["host"] * bool(resources.host) + [row.process for row in resources.processes]


def _used(rows: Sequence[Row]) -> list[Row]:
    looks = [row for row in rows if row["scope"] == "interval" and row["cpu_cores"] is not None]
    step = max(1, -(-len(looks) // MOST_POINTS))
    return [_mean(looks[at : at + step]) for at in range(0, len(looks), step)]


def _mean(looks: Sequence[Row]) -> Row:
    weights = [row["duration_ns"] or 1 for row in looks]
    cores = sum(row["cpu_cores"] * weight for row, weight in zip(looks, weights, strict=True)) / sum(weights)
    name = "machine" if looks[0]["role"] == "host" else looks[0]["process"]
    return {"s": rounded(looks[-1]["second"]), "series": name, "cores": rounded(cores)}
