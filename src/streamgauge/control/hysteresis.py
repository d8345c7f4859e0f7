"""Hysteresis: pause above one lag, go on below another; how far it overshoots depends on how old the lag is."""

from dataclasses import dataclass, replace
from typing import Final

PAUSE: Final = "pause"
RESUME: Final = "resume"


@dataclass(frozen=True, slots=True)
class LagHysteresis:
    """Whether producers are paused, between two thresholds in messages."""

    max_lag: int
    resume_lag: int
    paused: bool = False

    def decide(self, lag: int | None) -> tuple["LagHysteresis", str | None]:
        """What follows from a lag: `pause` above `max_lag`, `resume` below `resume_lag`, or nothing.

        An unknown lag decides nothing.
        """
        if lag is None:
            return self, None
        if not self.paused and lag > self.max_lag:
            return replace(self, paused=True), PAUSE
        if self.paused and lag < self.resume_lag:
            return replace(self, paused=False), RESUME
        return self, None
