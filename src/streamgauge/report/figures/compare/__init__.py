"""Figures that compare runs: pure functions from results, each with a label, to charts."""

from collections.abc import Sequence
from dataclasses import replace

from streamgauge.report.figures.compare.engines import engines
from streamgauge.report.figures.compare.over_time import baseline_timeline, burst_summary, burst_timeline, lag_timeline
from streamgauge.report.figures.compare.pauses import pauses
from streamgauge.report.figures.compare.policies import (
    credit_utilisation,
    overshoot,
    policy_summary,
    policy_timeline,
)
from streamgauge.report.figures.compare.recoveries import cdfs, recoveries
from streamgauge.report.figures.compare.runs import LabelledRun, bursts, by_policy, checked, differing
from streamgauge.report.figures.compare.settings import acks, codecs, compression, payloads, ratios, sizes
from streamgauge.report.figures.drawing.figure import Figure, Row
from streamgauge.result.comparing import archives_differ

__all__ = [
    "LabelledRun",
    "acks",
    "baseline_timeline",
    "burst_summary",
    "burst_timeline",
    "cdfs",
    "codecs",
    "compare",
    "compression",
    "credit_utilisation",
    "engines",
    "lag_timeline",
    "overshoot",
    "pauses",
    "payloads",
    "policy_summary",
    "policy_timeline",
    "ratios",
    "recoveries",
    "sizes",
]


def compare(results: Sequence[LabelledRun], offline: Sequence[Row] = ()) -> dict[str, Figure]:
    """Every figure that these runs have the matter for, by its name; each of them has a chart.

    Runs whose scenarios differ in one setting only are compared by it: codec, payload, acks, size. Where several such
    sets are among them, that with the most different values is shown; so are runs that differ in their backpressure.
    Runs with bursts have figures of their own; all others have the timelines. Runs that had to recover have theirs,
    with the latency of all, and pipelines with several engines theirs. `offline` are rows as `compression` takes them.
    Where the brokers were not started alike, each figure says so. ValueError where there is no result, or two have the
    same label.
    """
    runs = checked(results)
    bursty = [run for run in runs if bursts(run)]
    steady = [run for run in runs if run not in bursty]
    drawn = [
        *(draw(found) for draw in (baseline_timeline, lag_timeline) for found in (steady,) if found),
        *(draw(found) for name, draw in _SETTINGS.items() if (found := differing(runs, name))),
        *(draw(found) for draw in (policy_timeline, policy_summary) if (found := by_policy(runs))),
        *(draw(runs) for draw in (recoveries, cdfs) if any(run.result.recovery for run in runs)),
        engines(runs),
        pauses(runs),
        *(draw(found) for draw in (burst_timeline, burst_summary) for found in (bursty,) if found),
        *(compression(found) for found in (offline,) if found),
    ]
    warning = archives_differ({run.label: run.result.run.broker.class_archive for run in runs})
    said = [replace(figure, about=f"{figure.about} {warning}") if warning else figure for figure in drawn]
    return {figure.name: figure for figure in said if figure.missing is None}


_SETTINGS = {"codec": codecs, "payload": payloads, "acks": acks, "size": sizes}
