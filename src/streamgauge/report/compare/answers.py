"""The figures of variants side by side, and what the statistics say of their differences."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from streamgauge.report.compare.carriers import MeasuredCarrier, carriers
from streamgauge.report.compare.differences import Difference, differences, warnings
from streamgauge.report.compare.variants import Alike, GivenRun, variants_of
from streamgauge.result import Result
from streamgauge.result.better import more_is_better
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.reading import number_at
from streamgauge.statistics import limits
from streamgauge.statistics.comparison import Comparison, RunFigure, RunOrder, Variant, compared
from streamgauge.statistics.summary import OfRuns, summary
from streamgauge.statistics.words import sentence
from streamgauge.verdict.trust.parts import is_nothing_believed


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """A figure that runs are compared by."""

    path: str
    """In result.json."""
    label: str
    unit: str = ""

    @property
    def is_duration(self) -> bool:
        """Whether less of it is faster."""
        return self.unit == "ms"

    @property
    def more_is_better(self) -> bool | None:
        """Whether more of it is better, or less; None where that cannot be said."""
        return more_is_better(self.path)


METRICS: Final = (
    *(
        ComparedMetric(f"latency.{path}.response.{figure}_ms", f"{words} response {shown}", "ms")
        for path, words in (("end_to_end", "end-to-end"), ("ack", "ack"))
        for figure, shown in (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99_9", "p99.9"), ("max", "max"))
    ),
    *(
        ComparedMetric(f"throughput.{stage}_per_second", f"{stage} rate", "/s")
        for stage in ("sent", "acked", "received")
    ),
    ComparedMetric("lag.outstanding.max", "outstanding max"),
    *(ComparedMetric(f"delivery.{name}", name) for name in ("lost", "undelivered", "failed")),
    *(
        ComparedMetric(f"resources.cpu_us_per_message.{role}", f"CPU of {role}, us a message")
        for role in ("producers", "consumers", "brokers")
    ),
    ComparedMetric("resources.garbage_collection.total_ms", "GC pauses of brokers, ms in all"),
    ComparedMetric("resources.garbage_collection.longest_ms", "longest GC pause of brokers, ms"),
)
"""Those that a comparison shows."""
SERVICE: Final = tuple(
    ComparedMetric(f"latency.{path}.service.{figure}_ms", f"{words} service {shown}", "ms")
    for path, words in (("end_to_end", "end-to-end"), ("ack", "ack"))
    for figure, shown in (("p50", "p50"), ("p95", "p95"), ("p99", "p99"), ("p99_9", "p99.9"), ("max", "max"))
)
"""Those that a comparison with imported runs shows, too: most tools count from the send."""
PRIMARY: Final = (
    "latency.end_to_end.response.p99_ms",
    "latency.ack.response.p99_ms",
    "throughput.received_per_second",
)
"""What decides unless another is named: the first that all variants have."""
_PRIMARY_OF_IMPORTED: Final = (
    *PRIMARY[:2],
    "latency.end_to_end.service.p99_ms",
    "latency.ack.service.p99_ms",
    PRIMARY[2],
    "throughput.acked_per_second",
)
"""What decides where another tool measured a run: most have no response time."""


@dataclass(frozen=True, slots=True)
class MetricAnswer:
    """One figure of all variants."""

    metric: ComparedMetric
    is_primary: bool
    """Whether it was declared before: of the others, chance alone makes some differ."""
    variants: tuple[OfRuns | None, ...]
    """None where no run has it, or none is believed."""
    left_out: tuple[int, ...]
    """Runs of each variant in which it is not believed, or which did not finish; of the figure that decides also those
    that do not have it."""
    comparisons: tuple[Comparison, ...]
    """Of each other variant with the first."""

    @property
    def sentences(self) -> list[str]:
        """What the comparisons say."""
        return [sentence(each, self.metric.label, is_duration=self.metric.is_duration) for each in self.comparisons]


@dataclass(frozen=True, slots=True)
class Together:
    """All that runs say together."""

    variants: tuple[Alike, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    answers: tuple[MetricAnswer, ...]
    order: RunOrder
    level: float
    """Of the verdicts and intervals."""
    varied: tuple[str, ...] = ()
    """Settings that were varied on purpose: the names of variants tell them."""
    carriers: tuple[MeasuredCarrier, ...] = ()
    """What carries acknowledgements in each variant, where several do."""

    @property
    def primary(self) -> MetricAnswer | None:
        """The figure that decides; None where the variants have none in common."""
        return next((each for each in self.answers if each.is_primary), None)

    def document(self) -> dict[str, Any]:
        """The same as JSON has it."""
        answers = [{**asdict(each), "sentences": each.sentences} for each in self.answers]
        return {
            "variants": [{"name": one.name, "runs": [run.run.id for run in one.runs]} for one in self.variants],
            "differences": [asdict(each) for each in self.differences],
            "warnings": list(self.warnings),
            "metrics": [each.pop("metric") | each for each in answers],
            "carriers": [each.document() for each in self.carriers],
        }


def together(runs: Sequence[GivenRun], primary: str | None = None) -> Together:
    """What these runs say together; `primary` is the path of the figure that decides.

    The runs came in an order that nobody wrote down, so they are not paired.
    """
    return together_of(variants_of(runs), primary)


def together_of(
    variants: Sequence[Alike],
    primary: str | None = None,
    order: RunOrder = "unknown",
    *,
    level: float = limits.LEVEL,
    varied: Collection[str] = (),
) -> Together:
    """What the runs of these variants say together; the first is what the others are compared with.

    `varied` are the settings that were varied on purpose, and need no warning.
    """
    metrics = _metrics(variants, primary)
    decides = primary or next(
        (
            path
            for path in primaries(run for one in variants for run in one.runs)
            if any(each.path == path for each in metrics)
        ),
        None,
    )
    found = differences(variants)
    return Together(
        variants=tuple(variants),
        differences=tuple(found),
        warnings=tuple(warnings(variants, found, varied)),
        answers=tuple(
            answer(variants, each, is_primary=each.path == decides, order=order, level=level) for each in metrics
        ),
        order=order,
        level=level,
        varied=tuple(varied),
        carriers=tuple(carriers(variants)),
    )


def metric_at(path: str) -> ComparedMetric:
    """The figure at a path of result.json; one that is not shown usually is called by its path."""
    known = next((each for each in METRICS if each.path == path), None)
    return known or ComparedMetric(path, path, "ms" if path.endswith("_ms") else "")


def _metrics(variants: Sequence[Alike], primary: str | None) -> list[ComparedMetric]:
    """Those that a run of each variant has, and the one that decides in any case, first."""
    chosen = [metric_at(primary)] if primary else []
    shared = [
        each
        for each in metrics_of(run for one in variants for run in one.runs)
        if all(any(figure_of(run, each.path) is not None for run in one.runs) for one in variants)
    ]
    return list(dict.fromkeys([*chosen, *shared]))


def metrics_of(runs: Iterable[Result]) -> Sequence[ComparedMetric]:
    """The figures that these runs are shown with."""
    return (*METRICS, *SERVICE) if any(run.run.imported for run in runs) else METRICS


def primaries(runs: Iterable[Result]) -> Sequence[str]:
    """The paths of the figures of which the first that these runs have decides."""
    return _PRIMARY_OF_IMPORTED if any(run.run.imported for run in runs) else PRIMARY


def figure_of(result: Result, path: str) -> FigureTrust | float | None:
    """The figure at a path, with its trust; the number alone where nothing is known of its trust.

    That is so where an older version analysed the run, and of figures that the verdict does not judge, like those of
    `resources`: they do not depend on when messages are sent and stamped. Where it believes none of the figures that it
    is about, it believes none of these either.
    """
    if path in result.trust:
        return result.trust[path]
    value = number_at(result, path)
    if value is None or not _is_wholly_distrusted(result):
        return value
    because = ["the verdict believes none of the figures of this run"]
    return FigureTrust(value=value, low=None, high=None, trust="not_believed", because=because)


def _is_wholly_distrusted(result: Result) -> bool:
    return is_nothing_believed({path: each.trust for path, each in result.trust.items()}, result.verdict.used)


def answer(
    variants: Sequence[Alike],
    metric: ComparedMetric,
    *,
    is_primary: bool,
    order: RunOrder = "unknown",
    level: float = limits.LEVEL,
) -> MetricAnswer:
    """One figure of these variants; the first is what the others are compared with."""
    found = [figures_in(each, metric.path, is_primary=is_primary) for each in variants]
    return MetricAnswer(
        metric=metric,
        is_primary=is_primary,
        variants=tuple(
            summary([run.value for run in each.runs.values()], level=level) if each.runs else None for each in found
        ),
        left_out=tuple(each.left_out for each in found),
        comparisons=tuple(compared([(found[0], each) for each in found[1:]], order, level)),
    )


def figures_in(alike: Alike, path: str, *, is_primary: bool) -> Variant:
    """The figures of a variant that can be compared: of runs that finished, and believed or bounded.

    A run that died early has no figure, and is missing all the same: those that are left were selected.
    """
    figures: dict[int, RunFigure] = {}
    left_out = alike.without_result
    for place, run in zip(alike.rounds or range(len(alike.runs)), alike.runs, strict=True):
        found = figure_of(run, path)
        if found is None:
            left_out += is_primary or run.run.ending != "finished"
        elif not is_usable(run, found):
            left_out += 1
        elif isinstance(found, FigureTrust):
            figures[place] = RunFigure(found.value, found.low, found.high)
        else:
            figures[place] = RunFigure(found)
    return Variant(alike.name, figures, left_out)


def values_at(runs: Sequence[Result], path: str) -> list[tuple[Result, float, bool]]:
    """Each run that has the figure at a path, its value, and whether it can be compared with others."""
    found = ((run, figure_of(run, path)) for run in runs)
    return [
        (run, each.value if isinstance(each, FigureTrust) else each, is_usable(run, each))
        for run, each in found
        if each is not None
    ]


def is_usable(run: Result, found: FigureTrust | float) -> bool:
    """Whether a figure of a run can be compared: the run finished, and the figure is believed or bounded."""
    return run.run.ending == "finished" and not (isinstance(found, FigureTrust) and found.trust == "not_believed")
