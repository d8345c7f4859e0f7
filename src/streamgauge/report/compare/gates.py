"""Gates: limits on how much worse runs may be than those of a baseline, and what the runs say about each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.domain.text.numbers import listed, percent
from streamgauge.report.compare.answers import ComparedMetric, MetricAnswer, answer, figure_of, metric_at
from streamgauge.report.compare.differences import Difference, differences
from streamgauge.report.compare.variants import Alike
from streamgauge.report.pages.page import plain
from streamgauge.result import Result
from streamgauge.statistics import limits as levels
from streamgauge.statistics.comparison import RunOrder
from streamgauge.statistics.gate import Gate, gate
from streamgauge.verdict.exits import Exit

_RESPONSES: Final = ("latency.end_to_end.response", "latency.ack.response")
"""What a percentile alone means: the first that the runs have."""
_PERCENTILE: Final = re.compile(r"p\d+([._]\d+)?|max|mean")
_RATES: Final = ("sent", "acked", "received")


@dataclass(frozen=True, slots=True)
class WorseLimit:
    """How much worse a figure may be."""

    figure: str
    """As it was written: `p99`, `received`, or a path of result.json."""
    share: float
    """Of what it was: 0.1 for 10 %."""

    def path(self, runs: Sequence[Result]) -> str:
        """Its path in result.json: that of a short name depends on what the runs have."""
        if self.figure in _RATES:
            return f"throughput.{self.figure}_per_second"
        if not _PERCENTILE.fullmatch(self.figure):
            return self.figure
        paths = [f"{each}.{self.figure.replace('.', '_')}_ms" for each in _RESPONSES]
        return next((path for path in paths if any(figure_of(run, path) is not None for run in runs)), paths[0])


def parse_limit(text: str) -> WorseLimit:
    """A limit like `p99=10%` or `throughput.acked_per_second=0.05`; raises BadValue that says what is wrong."""
    figure, equals, share = text.partition("=")
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", share)
    if not equals or not figure.strip() or not found:
        raise BadValue("a limit names a figure, and how much worse it may be", "Use, for example: p99=10%")
    return WorseLimit(figure.strip(), float(found[1]) / (100 if found[2] else 1))


@dataclass(frozen=True, slots=True)
class Gated:
    """What the runs say about one limit."""

    limit: WorseLimit
    metric: ComparedMetric
    gate: Gate
    answer: MetricAnswer
    variant: str | None = None
    """Of several."""

    @property
    def name(self) -> str:
        """The figure as it was written, with its variant."""
        return self._with_variant(self.limit.figure)

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        limit = f"limit {percent(self.limit.share)}"
        said = [*([f"{_words(self.gate.worse)} ({limit})"] if self.gate.worse else [limit]), *self.gate.because]
        if self.gate.worse and self.gate.runs_wanted:
            unit = "runs of each" if self.answer.comparisons[0].pairs is None else "rounds"
            said.append(f"{self.gate.runs_wanted} {unit} would tell")
        return f"{self._with_variant(self.metric.label)}: {'; '.join(said)}"

    def _with_variant(self, text: str) -> str:
        return text if self.variant is None else f"{self.variant}: {text}"


def _words(worse: tuple[float, float]) -> str:
    low, high = worse
    if low >= 0:
        return f"{percent(low)} to {percent(high)} worse than the baseline"
    if high <= 0:
        return f"{percent(-high)} to {percent(-low)} better than the baseline"
    return f"between {percent(-low)} better and {percent(high)} worse than the baseline"


@dataclass(frozen=True, slots=True)
class Gates:
    """All limits, and what sets the runs apart besides."""

    gated: tuple[Gated, ...]
    differences: tuple[Difference, ...]

    @property
    def code(self) -> Exit:
        """EXPECTATION_FAILED if one is shown to be worse, else NOT_VALID if one cannot be told."""
        outcomes = {each.gate.outcome for each in self.gated}
        if "worse" in outcomes:
            return Exit.EXPECTATION_FAILED
        return Exit.NOT_VALID if "unknown" in outcomes else Exit.DONE

    def document(self) -> dict[str, Any]:
        """The same as JSON has it."""
        limits = [
            {"variant": each.variant, "figure": each.limit.figure, "path": each.metric.path}
            | {"most_worse": each.limit.share, "paired_rounds": each.answer.comparisons[0].pairs}
            | asdict(each.gate)
            | {"sentence": each.sentence}
            for each in self.gated
        ]
        return {
            "exit_code": int(self.code),
            "limits": limits,
            "differences": [asdict(each) for each in self.differences],
        }


def gates(baseline: Sequence[Alike], candidate: Sequence[Alike], limits: Sequence[WorseLimit]) -> Gates:
    """What a candidate says about these limits beside a baseline: a variant of each, or each variant with its own.

    Several variants are one family, so the intervals of all of them together are right in 95 of 100 checks. Raises
    BadInput where the variants of both are not the same, or a limit could not close a gate.
    """
    pairs = _matched(baseline, candidate)
    runs = [run for pair in pairs for each in pair for run in each.runs]
    metrics = [metric_at(each.path(runs)) for each in limits]
    if faults := [fault for pair in zip(limits, metrics, strict=True) for fault in _faults(*pair)]:
        raise BadInput(faults)
    level = levels.LEVEL / len(pairs)
    found = [_gated(pair, *each, level) for pair in pairs for each in zip(limits, metrics, strict=True)]
    if len(pairs) > 1:
        found = [replace(each, variant=pairs[place // len(limits)][1].name) for place, each in enumerate(found)]
    sided = [[replace(one, name="baseline"), replace(now, name="candidate")] for one, now in pairs]
    return Gates(tuple(found), tuple(dict.fromkeys(each for pair in sided for each in differences(pair))))


def _faults(limit: WorseLimit, metric: ComparedMetric) -> Iterator[Fault]:
    if metric.more_is_better is None:
        what = f"{plain(limit.figure)}: it is not known whether more or less of it is better"
        yield Fault("--max-worse", what, "Use a latency, a rate, a lag, or a count of messages that arrived or did not")
    elif metric.more_is_better and limit.share >= 1:
        what = f"{plain(limit.figure)}: no more than all of it can be lost, so the gate would never close"
        yield Fault("--max-worse", what, "Use less than 100%")


def _matched(baseline: Sequence[Alike], candidate: Sequence[Alike]) -> list[tuple[Alike, Alike]]:
    if len(baseline) == len(candidate) == 1:
        return [(baseline[0], candidate[0])]
    before, now = {each.name: each for each in baseline}, {each.name: each for each in candidate}
    if before.keys() != now.keys():
        sides = {"the baseline": before.keys() - now.keys(), "what is checked": now.keys() - before.keys()}
        said = [f"{listed(sorted(names))} only in {side}" for side, names in sides.items() if names]
        raise BadInput.single(
            "--baseline", f"has other variants: {'; '.join(said)}", "Compare experiments with the same variants"
        )
    return [(before[name], each) for name, each in now.items()]


def _gated(variants: tuple[Alike, Alike], limit: WorseLimit, metric: ComparedMetric, level: float) -> Gated:
    order: RunOrder = "interleaved" if take_turns(*variants) else "unknown"
    found = answer(variants, metric, is_primary=True, order=order, level=level)
    judged = gate(found.comparisons[0], limit.share, level=level, more_is_better=metric.more_is_better is True)
    return Gated(limit, metric, judged, found)


def take_turns(one: Alike, other: Alike) -> bool:
    """Whether both ran each of their rounds before either began the next, so that the rounds are pairs.

    Of two experiments that ran one after the other, the rounds of the same number have nothing in common.
    """
    if one.rounds is None or other.rounds is None:
        return False
    begun = [
        (run.run.created, number)
        for each in (one, other)
        for run, number in zip(each.runs, each.rounds or (), strict=True)
    ]
    rounds = [number for _, number in sorted(begun)]
    return rounds == sorted(rounds)
