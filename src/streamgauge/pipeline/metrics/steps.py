"""The table `steps`: what a load of several rates made of each, from its full seconds."""

from collections.abc import Iterable, Mapping, Sequence

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.tables.throughput import STEPS
from streamgauge.pipeline.read.rows import Row, Rows
from streamgauge.scenario.profile.steps import LoadStep

COUNTED = ("due", "sent", "acked", "failed", "unsent", "received")
KINDS = ("response", "service")
_FIGURES = tuple(column.name for column in STEPS.columns if column.name.startswith(KINDS))


def step_rows(
    steps: Sequence[LoadStep], throughput: Rows, latency: Iterable[Row], path: str, arrived: Sequence[Mapping[int, int]]
) -> list[Row]:
    """Rows of `steps`, from those of `throughput` and `latency`; `path` is that of the latencies, like `end_to_end`.

    `arrived` is how many messages each group received by second; none where that is not to be all of them.
    """
    seconds = {row["second"]: row for row in throughput if row["scope"] == "window"}
    latencies = {(row["metric"], row["second"]): row for row in latency if row["scope"] == "step"}
    return [
        {
            "step": step.number,
            "from_second": step.begin,
            "to_second": step.end,
            "from_per_second": step.from_per_second,
            "to_per_second": step.to_per_second,
            "duration_ns": (step.end - step.begin) * NS_PER_SECOND,
            **{name: sum(_count(seconds, second, name) for second in range(step.begin, step.end)) for name in COUNTED},
            "arrived": min((_within(step, counts) for counts in arrived), default=None),
            **_figures({kind: latencies.get((f"{path}_{kind}", step.begin), {}) for kind in KINDS}),
        }
        for step in steps
    ]


def _within(step: LoadStep, counts: Mapping[int, int]) -> int:
    return sum(counts.get(second, 0) for second in range(step.begin, step.end))


def _count(seconds: Mapping[int, Row], second: int, name: str) -> int:
    return int(seconds[second][name]) if second in seconds else 0


def _figures(of_kinds: Mapping[str, Row]) -> Row:
    return {name: of_kinds[kind].get(figure) for name in _FIGURES for kind, _, figure in [name.partition("_")]}
