"""Acknowledgement of single messages."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_serializer, model_validator

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import Duration, OneOf, ScenarioPart

MOST_REDELIVERIES = 1_000
MOST_DELAYS = 20


def _redeliveries(value: object) -> object:
    return None if value == "unlimited" else value


def _delays(value: object) -> object:
    if not isinstance(value, list | tuple) or not value:
        what = "an empty list" if isinstance(value, list | tuple) else "not a list"
        raise BadValue(what, "Write one delay or more in brackets, like [1s, 5s, 30s]")
    if len(value) > MOST_DELAYS:
        raise BadValue(f"{len(value)} delays", f"Write at most {MOST_DELAYS}: each has a topic of its own")
    return value


def _limit(value: object) -> object:
    if value is None or value == "unlimited":
        return value
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_REDELIVERIES:
        raise BadValue("not a number of redeliveries", f"Write one up to {MOST_REDELIVERIES}, or unlimited")
    return value


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


class Retry(ScenarioPart):
    """Commits of offsets, and topics from which messages that failed come again after a delay."""

    delays: Annotated[tuple[Duration, ...], BeforeValidator(_delays)]
    """Time after which a message comes again that failed once, twice, and so on; each delay has a topic of its own,
    `TOPIC__retry_1` and so on."""
    limit: Annotated[
        int | Literal["unlimited"] | None,
        BeforeValidator(_limit),
        WithJsonSchema({"type": ["integer", "string", "null"], "examples": [3, "unlimited"]}),
    ] = None
    """Redeliveries of a message before it becomes a dead letter, in the topic `TOPIC__undelivered`: one for each delay
    by default; with more, the last delay counts again; or `unlimited`."""

    @model_validator(mode="after")
    def _uses_all(self) -> Self:
        if isinstance(self.limit, int) and self.limit < len(self.delays):
            what = f"limit {self.limit} leaves {len(self.delays) - self.limit} of {len(self.delays)} delays unused"
            raise BadValue(what, f"Write at least {len(self.delays)}, or fewer delays, or leave limit out")
        return self

    @model_serializer(mode="wrap")
    def _given(self, dump: Any) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None}

    @property
    def most(self) -> int | None:
        """Redeliveries of a message at most; None for no limit."""
        return None if self.limit == "unlimited" else len(self.delays) if self.limit is None else self.limit


class Acknowledge(OneOf):
    """Acknowledgement of single messages."""

    markers: Markers | None = None
    """Markers in a topic of their own, as kmq does it, like `{timeout: 5s, limit: 3}`."""
    retry: Retry | None = None
    """Retry topics, as applications build them on offsets, like `{delays: [1s, 5s, 30s]}`."""
