"""Gates: limits on how much worse runs may be than those of a baseline, and what the runs say about each."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.numbers import percent
from streamgauge.report.compare.answers import ComparedMetric, MetricAnswer, answer, figure_of, metric_at
from streamgauge.report.compare.differences import Difference, differences
from streamgauge.report.compare.variants import Alike
from streamgauge.result import Result
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

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        limit = f"limit {percent(self.limit.share)}"
        said = [*([f"{_words(self.gate.worse)} ({limit})"] if self.gate.worse else [limit]), *self.gate.because]
        if self.gate.worse and self.gate.runs_wanted:
            said.append(f"{self.gate.runs_wanted} runs of each would tell")
        return f"{self.metric.label}: {'; '.join(said)}"


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
            {"figure": each.limit.figure, "path": each.metric.path, "most_worse": each.limit.share}
            | asdict(each.gate)
            | {"sentence": each.sentence}
            for each in self.gated
        ]
        return {
            "exit_code": int(self.code),
            "limits": limits,
            "differences": [asdict(each) for each in self.differences],
        }


def gates(baseline: Sequence[Result], candidate: Sequence[Result], limits: Sequence[WorseLimit]) -> Gates:
    """What the runs of a candidate say about these limits, beside those of a baseline."""
    variants = [Alike("baseline", tuple(baseline)), Alike("candidate", tuple(candidate))]
    return Gates(tuple(_gated(variants, each) for each in limits), tuple(differences(variants)))


def _gated(variants: Sequence[Alike], limit: WorseLimit) -> Gated:
    metric = metric_at(limit.path([run for each in variants for run in each.runs]))
    found = answer(variants, metric, is_primary=True)
    known = [each.deviation for each in found.variants if each is not None and each.deviation is not None]
    more_is_better = metric.path.startswith("throughput.")
    judged = gate(found.comparisons[0], limit.share, max(known, default=None), more_is_better=more_is_better)
    return Gated(limit, metric, judged, found)
