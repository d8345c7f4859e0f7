"""All figures of a report, in their order, and how they are saved."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import vl_convert

from streamgauge.report.figures import (
    backpressure,
    distribution,
    lag,
    over_time,
    pipeline,
    recovery,
    throughput,
)
from streamgauge.report.figures.compare import LabelledRun, burst_summary, burst_timeline
from streamgauge.report.figures.diagnostics import client, lives, machine, outages, partitions, redeliveries, trouble
from streamgauge.report.figures.drawing.figure import Figure, FigureSource, Row
from streamgauge.report.figures.drawing.theme import file_config, sized
from streamgauge.report.figures.drawing.timeline import source_of
from streamgauge.report.files import whole
from streamgauge.result import Result

FIGURES: Final[Sequence[Callable[[FigureSource], Figure]]] = (
    over_time.rates,
    over_time.latency,
    lag.lag,
    machine.cpu,
    machine.pauses,
    distribution.percentiles,
    distribution.heat_map,
    distribution.delivered_within,
    over_time.ack_latency,
    over_time.moving,
    throughput.latency_by_rate,
    throughput.latency_by_step,
    backpressure.admission,
    backpressure.credit,
    backpressure.backlog,
    recovery.recovery,
    outages.outages,
    lag.time_lag,
    lag.heat_map,
    lag.worst_partition,
    over_time.outstanding,
    throughput.megabytes,
    throughput.by_topic,
    redeliveries.deliveries,
    trouble.errors,
    trouble.problems,
    lives.lives,
    trouble.rebalances,
    trouble.replication,
    trouble.in_sync,
    trouble.followers,
    pipeline.waterfall,
    pipeline.batches,
    over_time.schedule_delay,
    throughput.by_worker,
    machine.cpu_by_process,
    machine.waiting,
    client.batches,
    client.queue,
    client.round_trip,
    client.requests,
    partitions.load,
    partitions.latency,
)
FEW_HAVE: Final = frozenset(
    {
        pipeline.waterfall,
        pipeline.batches,
        backpressure.admission,
        lag.lag,
        backpressure.credit,
        backpressure.backlog,
        recovery.recovery,
        outages.outages,
        lag.time_lag,
        lag.heat_map,
        lag.worst_partition,
        over_time.moving,
        throughput.by_topic,
        throughput.latency_by_step,
        redeliveries.deliveries,
        trouble.problems,
        lives.lives,
        trouble.rebalances,
        trouble.replication,
        trouble.in_sync,
        trouble.followers,
        client.batches,
        client.queue,
        client.round_trip,
        client.requests,
    }
)
"""Figures that are left out where a run has none of their matter; of all others it is said why they are missing."""
TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "latency": {},
    "problem_counts": {},
    "throughput": {},
    "percentiles": {},
    "heat": {},
    "resources": {},
    "gc": {},
    "client": {},
    "topics": {},
    "rebalances": {},
    "replication": {},
    "followers": {},
    "workers": {},
    "lag_heat": {},
    "lag": {"scope": "group"},
    "outstanding": {},
    "backpressure": {},
    "faults": {},
    "recovery": {},
    "fault_scores": {},
    "fault_partitions": {},
    "deliveries_by_number": {},
    "waterfall": {},
    "query_batches": {},
}
"""What figures look at beside the result: tables, and of each the rows that have these values."""

FILE_WIDTH: Final = 760
PNG_SCALE: Final = 2.0


def figures(result: Result, tables: Mapping[str, Sequence[Row]]) -> list[Figure]:
    """Every figure of a run; one that cannot be drawn says why. Bursts, where there are any, have their own."""
    source = source_of(result, tables)
    alone = [LabelledRun(result.run.name, result)]
    bursts = [
        replace(figure, section="lag")
        for figure in (burst_timeline(alone), burst_summary(alone))
        if figure.missing is None
    ]
    drawn = [(draw, draw(source)) for draw in FIGURES]
    # An imported run has what its file has: of all the rest there is nothing to say.
    few = set(FIGURES) if result.run.imported else FEW_HAVE
    return [*(figure for draw, figure in drawn if draw not in few or figure.missing is None), *bursts]


def save(drawn: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each figure as SVG, PNG and PDF; returns the files. Raises AnalysisError where they cannot be written."""
    written = []
    for figure in drawn:
        if figure.missing is not None:
            continue
        spec = {**sized(figure.whole_spec(), width=FILE_WIDTH, config=file_config()), "title": figure.title}
        svg = vl_convert.vegalite_to_svg(spec)
        for kind, content in (
            ("svg", svg.encode()),
            ("png", vl_convert.svg_to_png(svg, scale=PNG_SCALE)),
            ("pdf", vl_convert.svg_to_pdf(svg)),
        ):
            path = folder / f"{figure.name}.{kind}"
            with whole(path) as unfinished:
                unfinished.write_bytes(content)
            written.append(path)
    return written
