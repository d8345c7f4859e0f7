"""What a calibration says of a run: how wrong each latency was at least, and whether it is missing or old."""

from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import CalibrationFacts, RunFacts
from streamgauge.verdict.calibration import OLD_DAYS

_STANDS_FOR: Final = {
    "p75": "p50", "p90": "p50", "mean": "p50", "p95": "p99", "p99_5": "p99", "p99_99": "p99_9",
}  # fmt: skip
"""Figures that a calibration does not compare, and those that stand for them."""
_DAY_NS: Final = 86_400 * NS_PER_SECOND


def floor_ms(calibration: CalibrationFacts | None, path: str) -> float:
    """How much too long a latency like `end_to_end.response.p99` was when it was known; negative if it was too short.

    0 where it is not known.
    """
    if calibration is None:
        return 0.0
    metric, _, name = path.rpartition(".")
    return calibration.errors_ms.get(f"{metric}.{_STANDS_FOR.get(name, name)}", 0.0)


def lacking(facts: RunFacts) -> str | None:
    """What is to be said of a calibration that is missing or old; None where there is nothing to say."""
    if facts.broker.modelled:
        return None
    if facts.calibration is None:
        return "missing for this version and machine: run `streamgauge calibrate`"
    days = (facts.wall_ns - facts.calibration.wall_ns) / _DAY_NS
    return f"it is {days:.0f} days old: run `streamgauge calibrate`" if days > OLD_DAYS else None
