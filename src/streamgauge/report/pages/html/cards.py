"""Key figures: what a busy person reads of a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.text.numbers import UNKNOWN, milliseconds, per_second, significant
from streamgauge.report.pages import belief, words
from streamgauge.result import Result
from streamgauge.result.model.latency import LatencyPair
from streamgauge.result.model.verdict import ExpectationResult

_HEADLINES: Final = {"end_to_end": "End-to-end", "ack": "Acknowledgement"}


@dataclass(frozen=True, slots=True)
class Card:
    """One figure with what it is, and whether it is good, bad or in doubt."""

    name: str
    value: str
    small: str
    tone: str = ""


def cards(result: Result) -> list[Card]:
    """What a busy person needs: throughput, the tail, what became of the messages, whether it was expected."""
    latencies = [card for path in _HEADLINES if (card := _latency_card(path, result))]
    expected = [_expected_card(result.expectations)] if result.expectations else []
    return [_rate_card(result), *latencies, _delivery_card(result), *expected]


def _rate_card(result: Result) -> Card:
    """The last stage that the run has."""
    throughput, rates = result.throughput, words.rates(result)
    if not rates:
        return Card("Throughput", UNKNOWN, "no measurement")
    stage, target = list(rates)[-1], throughput.target_per_second
    parts = [f"target {per_second(target)}" if target is not None else "", words.megabytes(throughput) or ""]
    return Card(f"Throughput, {stage}", rates[stage], ", ".join(filter(None, parts)))


def _latency_card(path: str, result: Result) -> Card | None:
    """Response time, or service time where there is no schedule."""
    pair: LatencyPair = getattr(result.latency, path)
    for kind, figures in pair.kinds.items():
        if figures and figures.p99_ms is not None:
            mark, trust = "> " if figures.is_least("p99") else "", result.trust.get(f"latency.{path}.{kind}.p99_ms")
            shown = belief.cell(figures.p99_ms, trust, milliseconds, mark)
            small = f"p50 {significant(figures.p50_ms)}, max {milliseconds(figures.max_ms)}; {kind} time"
            return Card(f"{_HEADLINES[path]} p99", shown, small)
    return None


def _delivery_card(result: Result) -> Card:
    delivery, troubles = result.delivery, words.troubles(result)
    grave = [each for each in troubles if each.grave]
    small = ", ".join(str(each) for each in words.went_well(result))
    if troubles:
        return Card("Delivery", str((grave or troubles)[0]), small, "bad" if grave else "doubt")
    if not small:
        return Card("Delivery", UNKNOWN, "not known", "doubt")
    return Card("Delivery", "none lost" if delivery.lost == 0 else "no problems found", small, "good")


def _expected_card(expectations: Sequence[ExpectationResult]) -> Card:
    failed = [each.path for each in expectations if not each.passed]
    small = f"failed: {', '.join(failed)}" if failed else "as the scenario states them"
    return Card("Expectations", words.passed(expectations), small, "bad" if failed else "good")
