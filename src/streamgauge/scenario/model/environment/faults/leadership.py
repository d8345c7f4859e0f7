"""Faults of leadership: who leads partitions, and where their replicas are."""

import re
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.environment.faults.fault import ScheduledFault

MOVE_LEADER: Final = "move-leader"
ELECT_PREFERRED: Final = "elect-preferred"
REASSIGN: Final = "reassign"
_TARGET: Final = re.compile(r"partitions|partition-(\d{1,5})|([a-zA-Z0-9._-]{1,249})/(\d{1,5})")

LeadershipFaultKind = Literal["move-leader", "elect-preferred", "reassign"]


class PartitionsMeant(NamedTuple):
    """The partitions that a target means."""

    topic: str | None
    """None for all topics that the run sends to."""
    partition: int | None
    """None for all partitions."""


def _target(value: str) -> str:
    if not _TARGET.fullmatch(value):
        raise BadValue("not a target of this kind", "Write partition-0 (or another number), partitions, or TOPIC/0")
    return value


class LeadershipFault(ScheduledFault):
    """One fault of leadership; it ends when Kafka has done it, and is not undone."""

    kind: LeadershipFaultKind
    """`move-leader` makes another in-sync replica the leader, `elect-preferred` the first replica; `reassign` moves the
    replicas to other brokers."""
    target: Annotated[str, AfterValidator(_target)]
    """`partition-0` and so on, of every topic of the load; `partitions` for all; `TOPIC/0` of one topic."""
    to: tuple[Annotated[int, Field(ge=1, le=9, strict=True)], ...] | None = Field(default=None, min_length=1)
    """`reassign`: the numbers of the brokers that have the replicas afterwards, the preferred leader first; by default
    each replica moves to the next broker."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.for_ is not None:
            raise BadValue(f"{self.kind} ends when Kafka has done it", "Leave `for` out")
        if self.to is not None and self.kind != REASSIGN:
            raise BadValue("`to` belongs to a reassignment", "Leave `to` out, or write `kind: reassign`")
        if self.to is not None and len(set(self.to)) < len(self.to):
            raise BadValue("`to` names a broker twice", "Name each broker once")
        return self

    @property
    def needs_own_cluster(self) -> bool:
        """Partitions of the user's cluster stay where they are."""
        return True

    @property
    def meant(self) -> PartitionsMeant:
        """The partitions that are meant."""
        topic, slash, number = self.target.rpartition("/")
        if slash:
            return PartitionsMeant(topic, int(number))
        _, _, number = self.target.partition("-")
        return PartitionsMeant(None, int(number) if number else None)
