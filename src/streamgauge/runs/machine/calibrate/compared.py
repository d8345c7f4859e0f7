"""What was planted beside what was measured: pure functions from due times and a result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.percentiles import PERCENTILES, rank_of
from streamgauge.modelled.model import NEVER, Anomaly, Model, in_order, releases
from streamgauge.result import Result
from streamgauge.result.model.trust import FigureTrust
from streamgauge.workload.pacing import Int64s

FIGURES: Final = ("p50", "p99", "p99_9", "max")
KINDS: Final = ("ack.response", "ack.service", "end_to_end.response", "end_to_end.service")
PLANTED: Final[Mapping[str, Anomaly]] = {
    "lost": Anomaly.LOST,
    "duplicate_producer": Anomaly.DUPLICATED,
    "reordered": Anomaly.REORDERED,
    "corrupt": Anomaly.CORRUPTED,
}
"""Counts of the result, and the anomaly that makes each."""
INVENTED: Final = (
    "undelivered", "duplicate_consumer", "failed", "expired", "unknown", "foreign", "unrecorded", "unaccounted",
)  # fmt: skip
"""Counts that are zero, as nothing of the kind is planted."""


@dataclass(frozen=True, slots=True)
class PlantedLoad:
    """What one producer sent, had it been punctual."""

    due_ns: Int64s
    model: Model


@dataclass(frozen=True, slots=True)
class Figures:
    """Latencies in ms by `KIND.FIGURE`, None where nothing is told, and counts by name."""

    latencies_ms: Mapping[str, float | None]
    counts: Mapping[str, int]
    trust: Mapping[str, FigureTrust] = field(default_factory=dict)
    """What each measured latency can have been without the instrument, and whether it is believed."""

    @property
    def intervals_ms(self) -> dict[str, tuple[float, float]]:
        """The intervals that are known."""
        return {
            name: (each.low, each.high)
            for name, each in self.trust.items()
            if each.low is not None and each.high is not None
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """One rate: what was planted and what was measured."""

    rate: int
    planted: Figures
    measured: Figures
    unsent: int
    """Messages that were due and never sent, as the generator could not keep up."""
    state: str | None = None
    """The verdict: `valid`, `in_part` or `not_valid`."""
    failed: tuple[str, ...] = ()
    """Names of the checks of the instrument that failed."""

    @property
    def errors_ms(self) -> dict[str, float]:
        """Measured less planted, where both are told."""
        pairs = {name: (self.planted.latencies_ms[name], self.measured.latencies_ms[name]) for name in NAMES}
        return {
            name: measured - planted
            for name, (planted, measured) in pairs.items()
            if planted is not None and measured is not None
        }

    @property
    def outside(self) -> list[str]:
        """The latencies whose interval does not hold what was planted."""
        return [
            name
            for name, (low, high) in self.measured.intervals_ms.items()
            if (planted := self.planted.latencies_ms[name]) is not None and not low <= planted <= high
        ]

    @property
    def miscounted(self) -> list[str]:
        """The counts that are not what was planted."""
        return [name for name, count in self.planted.counts.items() if self.measured.counts[name] != count]


NAMES: Final = tuple(f"{kind}.{figure}" for kind in KINDS for figure in FIGURES)


def planted(loads: Sequence[PlantedLoad], from_ns: int, to_ns: int, ended_ns: int) -> Figures:
    """What is to be measured of messages that are due in `[from_ns, to_ns)`, and counted of all.

    A message that is lost counts with its age when the drain ended, `ended_ns`, as it does in a result.
    """
    found = [releases(load.due_ns, np.arange(len(load.due_ns)), load.model) for load in loads]
    due_ns = np.concatenate([load.due_ns for load in loads])
    anomaly = np.concatenate([each.anomaly for each in found])
    ends = {
        "ack": np.concatenate([each.acked_ns for each in found]),
        "end_to_end": np.concatenate([in_order(each) for each in found]),
    }
    chosen = (due_ns >= from_ns) & (due_ns < to_ns)
    latencies = {kind: _figures(due_ns[chosen], ends[kind.partition(".")[0]][chosen], ended_ns) for kind in KINDS}
    counts = {name: int(np.count_nonzero(anomaly == planted)) for name, planted in PLANTED.items()}
    return Figures(
        {f"{kind}.{name}": value for kind, figures in latencies.items() for name, value in figures.items()},
        counts | dict.fromkeys(INVENTED, 0),
    )


def _figures(due_ns: Int64s, ended_ns: Int64s, drain_ns: int) -> dict[str, float | None]:
    """Percentiles by nearest rank, and the maximum of what came."""
    never = ended_ns == NEVER
    ordered = np.sort(np.where(never, drain_ns, ended_ns) - due_ns)
    if never.all():
        return dict.fromkeys(FIGURES)
    ranks = {name: rank_of(PERCENTILES[name], len(ordered)) - 1 for name in FIGURES if name != "max"}
    found: dict[str, float | None] = {name: float(ordered[rank]) / NS_PER_MS for name, rank in ranks.items()}
    return {**found, "max": float((ended_ns - due_ns)[~never].max()) / NS_PER_MS}


def measured(result: Result) -> Figures:
    """The same figures as they stand in a result, with their intervals."""
    latencies: dict[str, float | None] = {}
    for kind in KINDS:
        what, begin = kind.split(".")
        figures = getattr(result.latency, what).kinds[begin]
        latencies |= {f"{kind}.{name}": None if figures is None else figures.ms(name) for name in FIGURES}
    counts = {name: getattr(result.delivery, name) for name in (*PLANTED, *INVENTED)}
    trust = {name: each for name in NAMES if (each := result.trust.get(f"latency.{name}_ms"))}
    return Figures(latencies, {name: 0 if count is None else count for name, count in counts.items()}, trust)
