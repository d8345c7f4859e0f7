"""Connections besides the load, or alone: held open, or opened and closed at a rate."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from streamgauge.domain.blocks import ConnectionKind, Work
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import format_rate, fraction
from streamgauge.scenario.model.values import SLOWEST, Duration, ScenarioPart, rate_between

FASTEST: Final = 10_000
"""Limit of operations per second: one process starts no more."""
MOST_HELD: Final = 1_000


def _per_second(value: object) -> float | None:
    if value is None or value is False or value == "off":
        return None
    return rate_between(value, FASTEST, say="how many a second, like 10/s, or off", like="10/s")


PerSecond = Annotated[
    float | None,
    BeforeValidator(_per_second),
    PlainSerializer(lambda rate: None if rate is None else format_rate(rate), return_type=str | None),
    WithJsonSchema(
        {
            "type": ["number", "string", "boolean", "null"],
            "x-form": "rate",
            "examples": ["10/s", 0.5, "off"],
            "minimum": SLOWEST,
            "maximum": FASTEST,
        }
    ),
]


class Hold(ScenarioPart):
    """Connections held open from before the load until its end."""

    producers: int = Field(default=0, ge=0, le=MOST_HELD, strict=True)
    """Producers; each requests the leaders of the topic's partitions, and sends nothing."""
    consumers: int = Field(default=0, ge=0, le=MOST_HELD, strict=True)
    """Consumers without a group; each polls one partition at its log end."""
    metadata: int = Field(default=0, ge=0, le=MOST_HELD, strict=True)
    """Admin clients; each requests metadata of the brokers and the topic."""
    refresh: Duration = Field(default="1s", validate_default=True, ge=NS_PER_MS)
    """Interval in which each of them is used, at least 1ms."""


class Connections(ScenarioPart):
    """Connections held open, or opened and closed at a rate."""

    hold: Hold = Hold()
    """Connections held open from before the load until its end, each used once every `refresh`."""
    open: PerSecond = None
    """Connections opened and closed a second, like `10/s`; `off` for none."""
    metadata: PerSecond = None
    """Clients created, metadata fetched, and closed a second, like `10/s`; `off` for none."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.work:
            raise BadValue("no connections are configured", "Write open, metadata or hold")
        return self

    @property
    def work(self) -> tuple[Work, ...]:
        """The operations configured, by kind."""
        return tuple(self._work())

    def _work(self) -> Iterator[Work]:
        for kind, rate in ((ConnectionKind.OPEN, self.open), (ConnectionKind.METADATA, self.metadata)):
            if rate is not None:
                yield Work(kind, fraction(rate))
        hold = self.hold
        held = {
            ConnectionKind.HOLD_PRODUCER: hold.producers,
            ConnectionKind.HOLD_CONSUMER: hold.consumers,
            ConnectionKind.HOLD_METADATA: hold.metadata,
        }
        for kind, count in held.items():
            if count:
                yield Work(kind, Fraction(count * NS_PER_SECOND, hold.refresh), count)
