"""Figures of the machine: CPU and waits for a core by process, pauses of the brokers' garbage collectors."""

from collections.abc import Callable, Sequence
from dataclasses import replace
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
    about = (
        "Cores used by each worker, each embedded broker, and the whole machine. Near its number of cores, the machine "
        "was the bottleneck. A gap is time that was not sampled."
    )
    missing = "no resources were recorded"
    return _over_time(source, Figure("cpu", "CPU", about, missing=missing), "cores", lambda row: row["cpu_cores"])


def waiting(source: FigureSource) -> Figure:
    """How long each process waited for a core, and how much of the time anything did."""
    about = (
        "Time that threads of each process were ready to run and had no core, as a share of the elapsed time; summed "
        "over threads, so possibly above 1. For the machine: the share of the time in which at least one task waited. "
        "What waits here is late there: compare with latency peaks."
    )
    missing = "it was not recorded how long processes waited"
    return _over_time(source, Figure("waiting", "Waiting for a core", about, missing=missing), "share of time", _waited)


def _waited(row: Row) -> float | None:
    shares = [row.get(name) for name in ("run_delay_share", "client_run_delay_share", "cpu_pressure_share")]
    known = [share for share in shares if share is not None]
    return sum(known) if known else None


def _over_time(source: FigureSource, figure: Figure, unit: str, value_of: Callable[[Row], float | None]) -> Figure:
    """A line for each process and for the machine; `value_of` a row of `resources` is in `unit`.

    Given is the figure as it is where there is nothing to draw.
    """
    rows = [
        row for process in _processes(source) for row in _means(source.rows("resources", process=process), value_of)
    ]
    if not rows:
        return figure
    series = list(dict.fromkeys(row["series"] for row in rows))
    chosen = legend_selects()
    lines = (
        alt.Chart(alt.NamedData(figure.name))
        .mark_line()
        .encode(
            seconds_axis(),
            alt.Y("value:Q", title=unit),
            series_color(series, [PALETTE[at % len(PALETTE)] for at in range(len(series))]),
            opacity=faded(chosen),
            tooltip=[tip("s", "second"), tip("series"), tip("value", unit)],
        )
        .add_params(chosen)
    )
    chart = over_phases(source, lines).properties(height=HEIGHT)
    return replace(figure, missing=None, chart=chart, data={figure.name: rows, **phases_of(source)})


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


def _means(rows: Sequence[Row], value_of: Callable[[Row], float | None]) -> list[Row]:
    looks = [row for row in rows if row["scope"] == "interval" and value_of(row) is not None]
    step = max(1, -(-len(looks) // MOST_POINTS))
    return [_mean(looks[at : at + step], value_of) for at in range(0, len(looks), step)]


def _mean(looks: Sequence[Row], value_of: Callable[[Row], float | None]) -> Row:
    weights = [row["duration_ns"] or 1 for row in looks]
    value = sum((value_of(row) or 0.0) * weight for row, weight in zip(looks, weights, strict=True)) / sum(weights)
    name = "machine" if looks[0]["role"] == "host" else looks[0]["process"]
    return {"s": rounded(looks[-1]["second"]), "series": name, "value": rounded(value)}
