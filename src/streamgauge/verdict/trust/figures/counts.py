"""Rates and counts: exact, unless the load follows from the answers, or the fate of messages is unknown."""

from collections.abc import Iterator
from typing import Final

from streamgauge.domain.text.numbers import whole
from streamgauge.result.model.delivery import DeliverySection
from streamgauge.result.model.throughput import ThroughputSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.trust import limits, unbounded
from streamgauge.verdict.trust.figures.interval import at_least, disbelieved, exact

RATES: Final = ("sent", "acked", "received", "processed")
_MAY_BE_UNKNOWN: Final = ("delivered_once", "undelivered", "lost", "expired", "unrecorded")
_FOLLOWS: Final = "the rate depends on how fast messages are acknowledged, and so on the instrument, too"


def rates(run: Evidence, throughput: ThroughputSection) -> Iterator[tuple[str, FigureTrust]]:
    """Rates by their paths."""
    names = [f"{name}_per_second" for name in RATES] + ["sent_mb_per_second", "received_mb_per_second"]
    for name in names:
        if (value := getattr(throughput, name)) is None:
            continue
        if run.follows_answers:
            yield f"throughput.{name}", at_least(value, _FOLLOWS)
        else:
            yield f"throughput.{name}", exact(value)


def counts(run: Evidence, delivery: DeliverySection) -> Iterator[tuple[str, FigureTrust]]:
    """Counts of the delivery by their paths."""
    doubted = unbounded.of_counts(run)
    groups = {f"delivery.groups.{place}": group for place, group in enumerate(delivery.groups)}
    for prefix, found in {"delivery": delivery, "delivery.measure": delivery.measure, **groups}.items():
        unknown = (found.unknown or 0) + (found.fate_unknown or 0)
        for name, value in found:
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            high = value + unknown if name in _MAY_BE_UNKNOWN else value
            because = [f"the fate of {whole(unknown)} messages is unknown"] if high > value else []
            trust = limits.of_count(value, high)
            figure = FigureTrust(value=value, low=value, high=high, trust=trust, because=because)
            # What did not happen, a gap has not caused.
            is_doubted = name in doubted and value > 0
            yield f"{prefix}.{name}", disbelieved(figure, [doubted[name]]) if is_doubted else figure
