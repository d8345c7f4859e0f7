"""What a fault may wait for: counters of the run that reach a number."""

import re
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import parse_count
from streamgauge.scenario.model.values import Count, OneOf

_ABOVE: Final = re.compile(r"\s*>\s*(\S+)\s*")


def _above(value: object) -> int:
    found = _ABOVE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise BadValue("not a bound of the lag", 'Write one like "> 5k"')
    return parse_count(found[1])


class RunCounts(NamedTuple):
    """What a run has counted by now."""

    sent: int
    received: int
    lag: int | None
    """None while it is not known."""


class Condition(OneOf):
    """A condition on a counter of the run."""

    received: Annotated[Count, Field(ge=1)] | None = None
    """Messages received by all consumers together in the measure phase."""
    sent: Annotated[Count, Field(ge=1)] | None = None
    """Messages sent by all producers together in the measure phase."""
    lag: (
        Annotated[
            int,
            BeforeValidator(_above),
            PlainSerializer(lambda value: f"> {value}", return_type=str),
            WithJsonSchema({"type": "string", "pattern": "^\\s*>", "examples": ["> 5k"]}),
        ]
        | None
    ) = None
    """Committed lag of the group that is furthest behind, in messages, as it was sampled last."""

    def holds(self, counted: RunCounts) -> bool:
        """Whether it is met."""
        if self.lag is not None:
            return counted.lag is not None and counted.lag > self.lag
        return counted.sent >= self.sent if self.sent is not None else counted.received >= (self.received or 0)
