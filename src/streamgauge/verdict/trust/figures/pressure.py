"""Lag and recovery: sampled, and so known to within the time between question and answer, or between two samples."""

from collections.abc import Iterator, Sequence

from streamgauge.domain.text.numbers import milliseconds
from streamgauge.result.model.pressure import LagFigures, LagSection, RecoveryScore
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.evidence import Evidence
from streamgauge.verdict.trust import limits


def lags(run: Evidence, lag: LagSection | None) -> Iterator[tuple[str, FigureTrust]]:
    """A lag that was sampled is that of some time between question and answer: the rate times that is in doubt."""
    if lag is None:
        return
    rate = (run.measured or {}).get("acked", 0) / (run.measured_seconds or 1)
    took_ms = max((row.get("took_ms") or 0.0 for row in run.matching("lag", scope="group")), default=0.0)
    for name in ("committed", "position", "outstanding"):
        shown: LagFigures | None = getattr(lag, name)
        for each in ("max", "mean", "final"):
            if shown is None or (value := getattr(shown, each)) is None:
                continue
            moved = 0.0 if name == "outstanding" or each == "final" else rate * took_ms / 1_000
            low, high = max(0.0, value - moved), value + moved
            trust = limits.of_lag(value, low, high)
            because = [] if trust == "believed" else [f"a sample took up to {milliseconds(took_ms)}"]
            yield f"lag.{name}.{each}", FigureTrust(value=value, low=low, high=high, trust=trust, because=because)


def recoveries(recovery: Sequence[RecoveryScore]) -> Iterator[tuple[str, FigureTrust]]:
    """The time to drain is that of a sample: off by at most the time between two."""
    for place, score in enumerate(recovery):
        if (value := score.time_to_drain_s) is not None:
            off = score.interval_ms / 1_000
            yield (
                f"recovery.{place}.time_to_drain_s",
                FigureTrust(value=value, low=max(0.0, value - off), high=value, trust="believed", because=[]),
            )
