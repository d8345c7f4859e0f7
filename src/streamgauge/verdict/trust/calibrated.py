"""What a calibration says of a run: how wrong each latency may be at least, and whether it is missing or old."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import CalibrationFacts, RunFacts
from streamgauge.domain.text.numbers import milliseconds, per_second
from streamgauge.verdict.calibration import OLD_DAYS

PLANTED_MS: Final[Mapping[str, Mapping[str, float]]] = {
    "ack": {"p50": 0.5, "p99": 25.0, "p99_9": 1_000.0, "max": 2_000.0},
    "end_to_end": {"p50": 1.0, "p99": 50.0, "p99_9": 1_000.0, "max": 2_000.0},
}
"""About how long the latencies are that a calibration plants at each figure that it compares."""
_MEASURED_AS: Final = {
    "processing.response": "end_to_end.response", "processing.service": "end_to_end.service",
    "since_record_time": "end_to_end.service",
}  # fmt: skip
"""Latencies that a calibration does not have, and those that it sees by the same steps."""
_DAY_NS: Final = 86_400 * NS_PER_SECOND


class Floor(NamedTuple):
    """How far a latency may lie beside the truth, as the instrument's did when the truth was known."""

    below_ms: float
    """By how much it was measured too long."""
    above_ms: float
    """By how much it was measured too short."""

    def widened(self, value_ms: float, low_ms: float, high_ms: float) -> tuple[float, float]:
        """The ends of an interval that is at least as wide; a latency that was not below zero is not with it."""
        return min(low_ms, max(0.0, value_ms - self.below_ms)), max(high_ms, value_ms + self.above_ms)


NO_FLOOR: Final = Floor(0.0, 0.0)


def floor(calibration: CalibrationFacts | None, metric: str, value_ms: float) -> Floor:
    """What a calibration says of a value of a latency like `end_to_end.response`; nothing where it is not known.

    An error belongs to the length of the latency that it was measured at, and not to the rank of the figure: each rank
    of a calibration lies among messages of one planted length, p99 in the partitions that are slow and p99.9 in a stall
    of 2 s. What is wrong by 4 ms of 1,500 says next to nothing of 7 ms, and what is wrong by 0.1 ms of 1 ms may be
    wrong by as much of any. So the error is that between the two nearest planted lengths; beyond the shortest and the
    longest it is theirs.
    """
    if calibration is None:
        return NO_FLOOR
    measured_as = _MEASURED_AS.get(metric, metric)
    planted = PLANTED_MS.get(measured_as.partition(".")[0], {})
    known = [
        (length, calibration.errors_ms[f"{measured_as}.{name}"])
        for name, length in planted.items()
        if f"{measured_as}.{name}" in calibration.errors_ms
    ]
    if not known:
        return NO_FLOOR
    error = _between(known, value_ms)
    return Floor(max(0.0, error), max(0.0, -error))


def _between(known: Sequence[tuple[float, float]], value_ms: float) -> float:
    """The error at a length, on the line between those of its neighbours; `known` ascends."""
    if value_ms <= known[0][0]:
        return known[0][1]
    for (shorter, low), (longer, high) in pairwise(known):
        if value_ms <= longer:
            return low + (high - low) * (value_ms - shorter) / (longer - shorter)
    return known[-1][1]


def told(calibration: CalibrationFacts, found: Floor) -> str:
    """The floor in words, as a cause."""
    error, which = (found.below_ms, "much") if found.below_ms else (found.above_ms, "little")
    return (
        f"when it was calibrated at {per_second(calibration.rate)}, the instrument measured {milliseconds(error)} "
        f"too {which} at such latencies"
    )


def lacking(facts: RunFacts) -> str | None:
    """What is to be said of a calibration that is missing or old; None where there is nothing to say."""
    if facts.broker.modelled:
        return None
    if facts.calibration is None:
        return "missing for this version and machine: run `streamgauge calibrate`"
    days = (facts.wall_ns - facts.calibration.wall_ns) / _DAY_NS
    return f"it is {days:.0f} days old: run `streamgauge calibrate`" if days > OLD_DAYS else None
