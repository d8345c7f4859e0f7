"""The pages: an index of all runs with their categories, and the trends."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streamgauge.domain.text.numbers import UNKNOWN, significant
from streamgauge.report.compare.answers import metric_at, values_at
from streamgauge.report.pages.html import page_of, scripted
from streamgauge.report.pages.html.charts import as_placed
from streamgauge.report.pages.html.tables import TextTable, without_empty
from streamgauge.report.site.categories import CATEGORIES
from streamgauge.report.site.data import MOVING_SCRIPT, data_script, file_of, links_of
from streamgauge.report.site.found import FoundMany, FoundRun, RunGroup, groups_of
from streamgauge.report.site.moving import moving_script
from streamgauge.report.site.trends import Trend, change_sentence, counted_of, trend_figure, trend_of
from streamgauge.statistics import limits

_MATRIX: Final = (
    "throughput.received_per_second", "latency.end_to_end.response.p50_ms", "latency.end_to_end.response.p99_ms",
    "latency.ack.response.p99_ms", "lag.outstanding.max", "delivery.lost", "delivery.undelivered",
)  # fmt: skip
"""Figures of the matrix, by their paths in result.json."""


@dataclass(frozen=True, slots=True)
class Site:
    """All texts of a page of runs, by the names of their files, and what they say in short."""

    texts: dict[str, str]
    runs: tuple[FoundRun, ...]
    changes: tuple[str, ...]
    """A sentence for each change of level."""


def site_of(
    folder: Path, runs: Sequence[FoundRun], metric: str | None = None, experiments: Sequence[FoundMany] = ()
) -> Site:
    """The pages of these runs and experiments; `metric` is the path of the figure whose trends are shown."""
    groups = groups_of(runs)
    trends = [trend for group in groups if (trend := trend_of(group, metric))]
    newest_first = sorted(runs, key=lambda run: (run.row.created or "", run.path), reverse=True)
    changed = {_name(place): trend for place, trend in enumerate(trends, 1) if trend.changes}
    changes = [(name, change_sentence(trend, each)) for name, trend in changed.items() for each in trend.changes]
    texts = {
        **{file_of(run, MOVING_SCRIPT): moving_script(run.path, run.moving) for run in newest_first if run.moving},
        "data.js": data_script(folder, newest_first, groups, experiments),
        "trends.html": _trends_page(folder, trends),
        "index.html": scripted(
            "site.j2",
            ("elements", "lines", "site"),
            files=True,
            name=folder.name or str(folder),
            counted=_counted(runs, groups),
            changes=changes,
            experiments=[(many, len(many.runs), links_of(many)) for many in experiments],
            matrix=list(_matrix(groups)),
        ),
    }
    return Site(texts, tuple(newest_first), tuple(sentence for _, sentence in changes))


def _name(place: int) -> str:
    return f"trend-{place}"


def _counted(runs: Sequence[FoundRun], groups: Sequence[RunGroup]) -> str:
    unread = sum(bool(run.row.faults) for run in runs)
    missing = sum(run.result is None and not run.row.faults for run in runs)
    scenarios = len({group.scenario for group in groups})
    said = f"{counted_of(len(runs), 'run')}, {counted_of(scenarios, 'scenario')}"
    said += f", {missing} not analysed" if missing else ""
    return said + (f", {unread} not readable" if unread else "")


def _matrix(groups: Sequence[RunGroup]) -> Iterator[tuple[str, TextTable]]:
    """A table for each category that has runs: a line for each group, a column for each figure."""
    metrics = [metric_at(path) for path in _MATRIX]
    heads = [
        "scenario",
        "setting",
        "machine",
        "runs",
        *(f"{each.label}{', ms' * (each.unit == 'ms')}" for each in metrics),
    ]
    # One machine needs no column.
    machines = len({group.machine for group in groups})
    for category in CATEGORIES:
        rows = [
            [
                group.scenario, group.setting, group.machine * (machines > 1), str(len(group.runs)),
                *(_cell(group, path) for path in _MATRIX),
            ]
            for group in groups
            if group.category == category
        ]  # fmt: skip
        if rows:
            yield category, without_empty(heads, rows, 3)


def _cell(group: RunGroup, path: str) -> str:
    """Median and range of the runs whose figure can be compared, and how many are left out."""
    found = values_at(group.results, path)
    values = [value for _, value, is_usable in found if is_usable]
    out = f"{len(found) - len(values)} left out" if len(values) < len(found) else ""
    if not values:
        return out or UNKNOWN
    spread = f" ({significant(min(values))} to {significant(max(values))})" if len(values) > 1 else ""
    return f"{significant(statistics.median(values))}{spread}{', ' if out else ''}{out}"


def _trends_page(folder: Path, trends: Sequence[Trend]) -> str:
    figures = [trend_figure(trend, _name(place)) for place, trend in enumerate(trends, 1)]
    # What changed comes first; all others are drawn when somebody unfolds them.
    figures.sort(key=lambda figure: figure.nothing_new is not None)
    changed = sum(bool(trend.changes) for trend in trends)
    return page_of(
        "trends.j2",
        figures,
        name=folder.name or str(folder),
        counted=f"{changed} of {len(trends)} series changed",
        fewest=limits.FEWEST_IN_ORDER,
        figures=as_placed(figures),
    )
