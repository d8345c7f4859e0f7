"""Rates and counts: exact, unless the load follows from the answers, or the fate of messages is unknown."""

from collections.abc import Iterator, Sequence
from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.numbers import whole
from streamgauge.result.model.delivery import DeliverySection
from streamgauge.result.model.throughput import StepResult, ThroughputSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.evidence import ARRIVING, Evidence, arrived
from streamgauge.verdict.trust import limits, unbounded
from streamgauge.verdict.trust.figures.interval import StepFigure, at_least, disbelieved, exact

RATES: Final = ("sent", "acked", "received", "processed")
_OF_STEPS: Final = ("sent", "acked", "received")
_MAY_BE_UNKNOWN: Final = ("delivered_once", "undelivered", "lost", "expired", "unrecorded")
_MAY_BE_UNREPORTED: Final = ("sent", "acked", "failed")
"""What a producer that died may have done and did not report."""
_FOLLOWS: Final = "the rate depends on how fast messages are acknowledged, and so on the instrument, too"


def rates(run: Evidence, throughput: ThroughputSection, delivery: DeliverySection) -> Iterator[tuple[str, FigureTrust]]:
    """Rates by their paths."""
    seconds = throughput.measured_seconds
    unknown = delivery.measure.fate_unknown or 0
    # They may have been sent and acknowledged; what was received was counted by those who received it.
    more = unknown / seconds if seconds else 0.0
    size_mb = (throughput.sent_mb_per_second or 0.0) / (throughput.sent_per_second or 1.0)
    highs = {"sent_per_second": more, "acked_per_second": more, "sent_mb_per_second": more * size_mb}
    names = [f"{name}_per_second" for name in RATES] + ["sent_mb_per_second", "received_mb_per_second"]
    for name in names:
        if (value := getattr(throughput, name)) is None:
            continue
        figure = at_least(value, _FOLLOWS) if run.follows_answers else _rate(value, highs.get(name, 0.0), unknown)
        yield f"throughput.{name}", figure


def of_steps(run: Evidence, steps: Sequence[StepResult], delivery: DeliverySection) -> Iterator[StepFigure]:
    """Rates of steps. In which step the messages of unknown fate were sent, nobody knows."""
    unknown = delivery.measure.fate_unknown or 0
    for place, step in enumerate(steps):
        row = run.one("steps", step=step.step)
        came = {"sent": row["sent"], "acked": row["acked"], "received": arrived(row)} if row else {}
        for name in _OF_STEPS:
            if (value := getattr(step, f"{name}_per_second")) is None:
                continue
            count = came.get(name)
            is_complete = row is not None and count is not None and count >= ARRIVING * row["due"]
            added = unknown * NS_PER_SECOND / row["duration_ns"] if name != "received" and row else 0.0
            follows = run.follows_answers and not is_complete
            figure = at_least(value, _FOLLOWS) if follows else _rate(value, added, unknown)
            path = f"{name}_per_second"
            yield StepFigure(f"steps.{place}.{path}", f"throughput.{path}", step, figure, is_complete)


def _rate(value: float, added: float, unknown: int) -> FigureTrust:
    """A rate that so many messages of unknown fate may have `added` to."""
    if not added:
        return exact(value)
    trust = limits.of_rate(value, value, value + added)
    because = [] if trust == "believed" else [_unreported(unknown)]
    return FigureTrust(value=value, low=value, high=value + added, trust=trust, because=because)


def _unreported(count: int) -> str:
    return f"the fate of {whole(count)} messages is unknown"


def counts(run: Evidence, delivery: DeliverySection) -> Iterator[tuple[str, FigureTrust]]:
    """Counts of the delivery by their paths."""
    doubted = unbounded.of_counts(run)
    groups = {f"delivery.groups.{place}": group for place, group in enumerate(delivery.groups)}
    for prefix, found in {"delivery": delivery, "delivery.measure": delivery.measure, **groups}.items():
        silent = found.fate_unknown or 0
        unknown = (found.unknown or 0) + silent
        for name, value in found:
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            more = unknown if name in _MAY_BE_UNKNOWN else silent if name in _MAY_BE_UNREPORTED else 0
            high = value + more
            because = [_unreported(more)] if more else []
            trust = limits.of_count(value, high)
            figure = FigureTrust(value=value, low=value, high=high, trust=trust, because=because)
            # What did not happen, a gap has not caused.
            is_doubted = name in doubted and value > 0
            yield f"{prefix}.{name}", disbelieved(figure, [doubted[name]]) if is_doubted else figure
