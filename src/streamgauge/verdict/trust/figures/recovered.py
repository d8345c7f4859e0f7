"""Recovery from causes: times are known to within one interval of sampling."""

from collections.abc import Iterator, Sequence

from streamgauge.result.model.pressure import RecoveryScore
from streamgauge.result.model.trust import FigureTrust


def recoveries(recovery: Sequence[RecoveryScore]) -> Iterator[tuple[str, FigureTrust]]:
    """Figures of recovery by their paths."""
    for place, score in enumerate(recovery):
        if (value := score.time_to_drain_s) is not None:
            off = score.interval_ms / 1_000
            yield (
                f"recovery.{place}.time_to_drain_s",
                FigureTrust(value=value, low=max(0.0, value - off), high=value, trust="believed", because=[]),
            )
