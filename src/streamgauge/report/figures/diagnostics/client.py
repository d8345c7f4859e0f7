"""Figures of what clients say of themselves: batches, time in their queue, round trips, and requests."""

from collections.abc import Sequence
from typing import Final

import altair as alt

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.report.figures.drawing.figure import Figure, FigureSource, Row
from streamgauge.report.figures.drawing.grid import TimeGrid, ValueOf, summed
from streamgauge.report.figures.drawing.sampled import MOST_POINTS, Line, present, sampled
from streamgauge.report.figures.drawing.theme import FEW_TICKS, PANEL_HEIGHT, color_of

CLIENT: Final = "client"
_ROLES: Final = {"producer": "producers", "consumer": "consumers"}
_NOTHING: Final = "the clients reported no statistics, or the run was analysed by an older version"


def batches(source: FigureSource) -> Figure:
    """Mean size of the batches that producers sent."""
    about = "Mean size of a batch as sent, with its header. Larger batches cost less CPU and compress better; messages "
    about += "wait longer for them."
    figure = Figure("client-batch", "Batch size", about, missing=_NOTHING)
    return _drawn(source, figure, "batch size, bytes", lambda row: row["batch_bytes"], together=False)


def queue(source: FigureSource) -> Figure:
    """How long messages waited in the queue of their client."""
    about = "Mean time of a message in the producer's queue before its request: about `linger.ms` while nothing else "
    about += "holds it back."
    figure = Figure("client-queue", "Time in the client's queue", about, missing=_NOTHING)
    return _drawn(source, figure, "time in queue, ms", lambda row: row["queue_ms"], together=False)


def round_trip(source: FigureSource) -> Figure:
    """Mean round trip of requests."""
    about = "Mean time from a request to its response. Fetch requests of consumers include the wait for messages."
    figure = Figure("client-rtt", "Request round trip", about, missing=_NOTHING)
    return _drawn(source, figure, "round trip, ms", lambda row: row["rtt_ms"], together=False)


def requests(source: FigureSource) -> Figure:
    """Requests a second."""
    about = "Produce requests of all producers, and Fetch requests of all consumers, a second."
    figure = Figure("client-requests", "Request rate", about, missing=_NOTHING)
    return _drawn(source, figure, "requests/s", lambda row: _per_second(row, "requests"), together=True)


def retries(source: FigureSource, column: str) -> list[tuple[float, float | None]]:
    """What clients sent again, a second: `retries` are requests, `retried_messages` messages of Produce requests."""
    looks = source.rows(CLIENT)
    grid = TimeGrid.over(looks, MOST_POINTS)
    if grid is None:
        return []
    return list(zip(grid.middles, summed(_of_workers(looks, grid, lambda row: _per_second(row, column))), strict=True))


def _per_second(row: Row, column: str) -> float | None:
    count = row.get(column)
    return None if count is None else float(count * NS_PER_SECOND / row["duration_ns"])


def _drawn(source: FigureSource, figure: Figure, title: str, value: ValueOf, *, together: bool) -> Figure:
    """The figure with a line for each role: the sum of its workers if `together`, else their mean.

    Given is the figure as it is where there is nothing to draw.
    """
    looks = source.rows(CLIENT)
    grid = TimeGrid.over(looks, MOST_POINTS)
    if grid is None:
        return figure
    lines = []
    for role, words in _ROLES.items():
        parts = _of_workers([row for row in looks if row["role"] == role], grid, value)
        if parts:
            values = summed(parts) if together else _mean(parts)
            lines.append(Line(words, color_of(words), list(zip(grid.middles, values, strict=True))))
    lines = present(lines, source.span)
    if not lines:
        return figure
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=True, nice=FEW_TICKS))
    chart, data = sampled(source, figure.name.replace("-", "_"), lines, y)
    return Figure(figure.name, figure.title, figure.about, chart.properties(height=PANEL_HEIGHT), data)


def _of_workers(looks: Sequence[Row], grid: TimeGrid, value: ValueOf) -> list[list[float | None]]:
    """Of each client: a consumer may have a producer beside it, of another role."""
    clients = dict.fromkeys((row["role"], row["worker"]) for row in looks)
    return [grid.means([row for row in looks if (row["role"], row["worker"]) == each], value) for each in clients]


def _mean(parts: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The mean of each span over the workers of which it is known."""
    counts = [sum(value is not None for value in values) for values in zip(*parts, strict=True)]
    return [total / count if total is not None else None for total, count in zip(summed(parts), counts, strict=True)]
