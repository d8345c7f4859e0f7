"""Tables of the page as texts, without the columns that are empty."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.domain.text.numbers import UNKNOWN, cores, listed, milliseconds, percent, significant, size, whole
from streamgauge.report.pages import details, pipeline, pressure, words
from streamgauge.report.pages.pressure import redeliveries, scorecards
from streamgauge.result import Result
from streamgauge.result.model.resources import ProcessUsage


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts; from column `numbers` on they are figures."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: int


def lacking(lines: Sequence[words.LatencyLine]) -> list[str]:
    """Which figures of which latencies are missing, and why."""
    whose: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if line.reason:
            whose.setdefault((line.lacking, line.reason), []).append(f"{line.path} {line.kind}".strip())
    return [f"{f'{figure} of ' if figure else ''}{listed(names)}: {why}" for (figure, why), names in whose.items()]


def held_back(result: Result) -> list[TextTable]:
    """Lags, recoveries, scorecards and faults, as far as there are any."""
    grids = [
        without_empty(pressure.LAG_HEADS, pressure.lags(result), 2),
        without_empty(pressure.RECOVERY_HEADS, pressure.recoveries(result), 3),
        without_empty(scorecards.HEADS, scorecards.rows(result), scorecards.NUMBERS),
        without_empty(scorecards.PROMISE_HEADS, scorecards.kept(result), len(scorecards.PROMISE_HEADS)),
        without_empty(pressure.FAULT_HEADS, pressure.faults(result), len(pressure.FAULT_HEADS)),
    ]
    return [grid for grid in grids if grid.rows]


def delivery_tables(result: Result) -> list[TextTable]:
    """Deliveries by their number, and how long they took; none where offsets are committed."""
    grids = [
        without_empty(redeliveries.HEADS, redeliveries.rows(result), 1),
        without_empty(redeliveries.TIME_HEADS, redeliveries.times(result), 1),
    ]
    return [grid for grid in grids if grid.rows]


def step_tables(result: Result) -> list[TextTable]:
    """The steps of the load; none of a load without."""
    rows = details.steps(result)
    return [TextTable(details.STEP_HEADS, rows, 1)] if rows else []


def pipeline_tables(result: Result) -> list[TextTable]:
    """Where the time of messages went through a pipeline, and what happened to its query."""
    grids = [
        without_empty(pipeline.STAGE_HEADS, pipeline.stages(result), 3),
        without_empty(pipeline.LIFE_HEADS, pipeline.life(result), len(pipeline.LIFE_HEADS)),
    ]
    return [grid for grid in grids if grid.rows]


def without_empty(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> TextTable:
    """A table without the columns that are empty."""
    kept = [column for column in range(len(heads)) if any(row[column] for row in rows)]
    cells = [[row[column] for column in kept] for row in rows]
    return TextTable([heads[column] for column in kept], cells, sum(column < numbers for column in kept))


def process(row: ProcessUsage) -> dict[str, str]:
    """What one process used."""
    per_message, memory = row.cpu_us_per_message, row.rss_bytes
    return {
        "process": row.process,
        "cores": cores(row.cpu_cores),
        "us_per_message": UNKNOWN if per_message is None else significant(per_message),
        "memory": size(memory),
        "heap": size(row.heap_bytes),
        "threads": whole(row.threads),
        "collections": whole(row.gc_collections),
        "messages": whole(row.messages),
        "blocked": percent(row.blocked_share),
        "gap": milliseconds(row.poll_gap_ms),
    }
