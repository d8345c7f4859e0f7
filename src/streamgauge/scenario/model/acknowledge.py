"""Acknowledgement of single messages."""

from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.scenario.model.values import Duration, OneOf, ScenarioPart

MOST_REDELIVERIES = 1_000


def _redeliveries(value: object) -> object:
    return None if value == "unlimited" else value


class Markers(ScenarioPart):
    """Acknowledgement of each message by markers in a topic of their own, as kmq does it."""

    timeout: Duration = Field(default="5s", validate_default=True, ge=10 * NS_PER_MS)
    """Time after which a message that is not acknowledged is delivered again, at least 10ms."""
    limit: Annotated[
        int | None,
        Field(ge=0, le=MOST_REDELIVERIES),
        BeforeValidator(_redeliveries),
        PlainSerializer(lambda limit: "unlimited" if limit is None else limit),
        WithJsonSchema({"type": ["integer", "string"], "examples": [3, "unlimited"]}),
    ] = 3
    """Redeliveries of a message before it becomes a dead letter, in the topic `TOPIC__undelivered`; or `unlimited`."""
    silence: Duration = Field(default="1s", validate_default=True, ge=10 * NS_PER_MS)
    """Time without a marker in a partition after which trackers go by their own clock, not by that of the broker."""
    trackers: int = Field(default=1, ge=0, le=64, strict=True)
    """Trackers, which deliver messages again; 0 if somebody else runs them."""


class Acknowledge(OneOf):
    """Acknowledgement of single messages."""

    markers: Markers
    """Markers in a topic of their own, as kmq does it, like `{timeout: 5s, limit: 3}`."""
