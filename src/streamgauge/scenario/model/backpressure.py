"""Backpressure policies."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import Count, Duration, OneOf, ScenarioPart

PollInterval = Annotated[Duration, Field(ge=NS_PER_MS, le=60 * NS_PER_SECOND)]


class Hysteresis(ScenarioPart):
    """Producers pause above one committed lag and resume below another, by the last sample."""

    max_lag: Count = Field(ge=1)
    """Committed lag above which all producers pause."""
    resume_lag: Count | None = Field(default=None, ge=1)
    """Committed lag below which they resume; half of `max_lag` by default."""
    poll: PollInterval = Field(default="200ms", validate_default=True)
    """Interval of decisions, 1ms to 60s."""
    held: Literal["keep", "drop"] = "keep"
    """Messages due while producers are paused: `keep` sends them afterwards, with their original due times; `drop`
    never sends them, as lossy sources do."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.resume > self.max_lag:
            raise BadValue("resume_lag is above max_lag", "Write a smaller one, or leave it out for half of max_lag")
        return self

    @property
    def resume(self) -> int:
        """The lag below which producers resume."""
        return max(1, self.max_lag // 2) if self.resume_lag is None else self.resume_lag


class Credit(ScenarioPart):
    """Limit of outstanding messages (sent and not processed): producers need credit to send."""

    limit: Count = Field(ge=1)
    """Maximum of outstanding messages."""
    poll: PollInterval = Field(default="1ms", validate_default=True)
    """Interval of decisions, 1ms to 60s."""


class Backpressure(OneOf):
    """Backpressure policy."""

    hysteresis: Hysteresis | None = None
    """Producers pause above one committed lag and resume below another, by the last sample, like `{max_lag: 20k,
    resume_lag: 5k, poll: 200ms}`."""
    credit: Credit | None = None
    """Limit of outstanding messages (sent and not processed): producers need credit to send, like `{limit: 5000}`."""

    @property
    def held(self) -> Literal["keep", "drop"]:
        """What happens to throttled messages."""
        return self.hysteresis.held if self.hysteresis else "keep"

    @property
    def poll_ns(self) -> int:
        """Interval of decisions."""
        policy = self.chosen[1]
        assert isinstance(policy, Hysteresis | Credit)
        return policy.poll
