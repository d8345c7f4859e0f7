"""What holds producers back, and how often it is decided."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import Count, Duration, OneOf, ScenarioPart

Between = Annotated[Duration, Field(ge=NS_PER_MS, le=60 * NS_PER_SECOND)]


class Hysteresis(ScenarioPart):
    """Producers pause above one lag and go on below another: committed lag, as it was last sampled."""

    max_lag: Count = Field(ge=1)
    """Committed lag above which all producers pause."""
    resume_lag: Count | None = Field(default=None, ge=1)
    """Committed lag below which they go on; half of `max_lag` when left out."""
    poll: Between = Field(default="200ms", validate_default=True)
    """Between two decisions, 1ms to 60s."""
    held: Literal["keep", "drop"] = "keep"
    """What becomes of messages that are due while producers are paused: `keep` sends them afterwards, with the due
    times that they had; `drop` never sends them, as sources do that lose what they may not send."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.resume > self.max_lag:
            raise BadValue("resume_lag is above max_lag", "Write a smaller one, or leave it out for half of max_lag")
        return self

    @property
    def resume(self) -> int:
        """The lag below which producers go on."""
        return max(1, self.max_lag // 2) if self.resume_lag is None else self.resume_lag


class Credit(ScenarioPart):
    """Producers send what they are granted: never more are sent and not processed than the limit."""

    limit: Count = Field(ge=1)
    """Messages that are sent and not processed, at most."""
    poll: Between = Field(default="1ms", validate_default=True)
    """Between two decisions, 1ms to 60s."""


class Backpressure(OneOf):
    """What holds producers back: one policy."""

    hysteresis: Hysteresis | None = None
    """Pause above a lag, go on below another, like `{max_lag: 20k, resume_lag: 5k, poll: 200ms}`."""
    credit: Credit | None = None
    """Never more than a limit sent and not processed, like `{limit: 5000}`."""

    @property
    def held(self) -> Literal["keep", "drop"]:
        """What becomes of messages that may not be sent when they are due."""
        return self.hysteresis.held if self.hysteresis else "keep"

    @property
    def poll_ns(self) -> int:
        """Between two decisions."""
        policy = self.chosen[1]
        assert isinstance(policy, Hysteresis | Credit)
        return policy.poll
