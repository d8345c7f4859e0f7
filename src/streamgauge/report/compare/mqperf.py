"""The result table of mqperf, from runs of any scenario with a load: a row for each variant."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Final

import numpy as np
import pyarrow as pa

from streamgauge.domain.latency.percentiles import PERCENTILES
from streamgauge.domain.text.numbers import significant
from streamgauge.foreign.results.formats.mqperf import EDGES_MS
from streamgauge.report.compare.answers import Together, answer, metric_at
from streamgauge.report.compare.variants import Alike
from streamgauge.result.model.latency import LatencyFigures

_FIGURES: Final[Mapping[str, tuple[str, int]]] = {
    "send msgs/s": ("throughput.acked_per_second", 0),
    "receive msgs/s": ("throughput.received_per_second", 0),
    "processing p95, ms": ("latency.end_to_end.service.p95_ms", 3),
    "send p95, ms": ("latency.ack.service.p95_ms", 3),
}
"""Its columns, the path of each in result.json, and the decimals that are shown.

mqperf counts a message as sent when it is acknowledged, and stamps it just before the send: that is service time.
"""
_RANK: Final = 0.95
GRID: Final = ["threads", "sender nodes", "receiver nodes", "batch"]
"""The columns that tell variants of its grid apart."""


def mqperf_table(found: Together) -> pa.Table:
    """A row for each variant: mqperf's columns in its order, then what its buckets of 50 ms and more would make of the
    two percentiles, the batch, the runs that count, and the variant.

    Figures are medians over the runs. What is not known, or does not apply, is null.
    """
    columns: dict[str, list[Any]] = {
        name: [_nodes(each)[name] for each in found.variants] for name in ("threads", "sender nodes", "receiver nodes")
    }
    runs = [0] * len(found.variants)
    for name, (path, decimals) in _FIGURES.items():
        answered = answer(found.variants, metric_at(path), is_primary=False).variants
        columns[name] = [None if each is None else round(each.median, decimals or None) for each in answered]
        runs = [max(count, each.count if each else 0) for count, each in zip(runs, answered, strict=True)]
    for name, path in (("processing p95 in buckets, ms", "end_to_end"), ("send p95 in buckets, ms", "ack")):
        columns[name] = [_in_buckets(each, path) for each in found.variants]
    columns["batch"] = [_batch(each) for each in found.variants]
    columns["runs"] = runs
    columns["variant"] = [each.name for each in found.variants]
    return pa.table(columns)


def _in_buckets(variant: Alike, path: str) -> float | None:
    """The median over the runs of what a histogram of such buckets reads."""
    figures = [getattr(run.latency, path).service for run in variant.runs if run.run.ending == "finished"]
    read = [value for each in figures if each and (value := read_in_buckets(_shares(each), _RANK)) is not None]
    return round(median(read), 1) if read else None


def _shares(figures: LatencyFigures) -> list[tuple[float, float]]:
    """Points {ms, share of the messages up to it}: of the CDF and of the percentiles."""
    points = [(point.le_ms, point.share) for point in figures.cdf]
    points += [(ms, rank / 100_00) for name, rank in PERCENTILES.items() if (ms := figures.ms(name)) is not None]
    return points


def read_in_buckets(points: Sequence[tuple[float, float]], rank: float) -> float | None:
    """What Prometheus's histogram_quantile makes of a distribution in mqperf's buckets, in ms; None without points.

    `points` are {ms, share of the messages up to it}, between which the distribution is taken for even. Messages that
    never came are in no histogram.
    """
    ordered = sorted({(0.0, 0.0), *points})
    ms, shares = (np.array(each) for each in zip(*ordered, strict=True))
    counted = np.interp(EDGES_MS, ms, np.maximum.accumulate(shares))
    if not points or not counted[-1]:
        return None
    wanted = rank * counted[-1]
    for (low, high), (below, upto) in zip(pairwise(EDGES_MS), pairwise(counted), strict=True):
        if upto >= wanted:
            return float(low + (high - low) * (wanted - below) / (upto - below))
    return float(EDGES_MS[-1])


def _nodes(variant: Alike) -> dict[str, str | int | None]:
    """Processes as nodes, and clients of each as its threads: `25/5` where senders and receivers have not as many."""
    profile = variant.runs[0].run.profile if variant.runs else None
    load, consume = (profile.load, profile.consume) if profile else (None, None)
    senders, sending = _side(load.producers, load.processes) if load else (None, None)
    receivers, receiving = _side(consume.consumers * consume.groups, consume.processes) if consume else (None, None)
    threads = list(dict.fromkeys(each for each in (sending, receiving) if each is not None))
    return {"threads": "/".join(threads) or None, "sender nodes": senders, "receiver nodes": receivers}


def _side(clients: int, processes: int | None) -> tuple[int, str]:
    """The processes of a side and the clients in each; a process for each where a run does not say."""
    known = processes or clients
    each = clients / known
    return known, str(int(each)) if each.is_integer() else significant(each)


def _batch(variant: Alike) -> int | None:
    """Messages that a sender waits for at a time, on average; null where it does not wait."""
    load = variant.runs[0].run.profile.load if variant.runs else None
    return None if load is None or load.batch is None else round(load.batch)
