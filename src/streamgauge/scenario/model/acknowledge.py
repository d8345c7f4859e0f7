"""Acknowledgement of single messages."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_serializer, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import Duration, OneOf, ScenarioPart

MOST_REDELIVERIES = 1_000
MOST_DELAYS = 20
MOST_OF_SHARE = 24
"""Brokers deliver a message of a share group at most 25 times."""


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


def _few(value: object) -> object:
    if value == "unlimited" or (
        isinstance(value, int) and not isinstance(value, bool) and not 1 <= value <= MOST_OF_SHARE
    ):
        what = f"the broker delivers a message of a share group 2 to {MOST_OF_SHARE + 1} times"
        raise BadValue(what, f"Write 1 to {MOST_OF_SHARE} redeliveries")
    return value


class ShareGroup(ScenarioPart):
    """Acknowledgement of each message to a share group (KIP-932), whose brokers deliver again what is not accepted."""

    lock: Duration = Field(default="30s", validate_default=True, ge=NS_PER_SECOND, le=3_600 * NS_PER_SECOND)
    """Time for which a delivered message is its consumer's; one that is not acknowledged by then is delivered again. At
    least 1s, or what the cluster allows: 15s by default."""
    limit: Annotated[int, Field(strict=True), BeforeValidator(_few)] = 3
    """Redeliveries of a message before it is given up, 1 to 24; the group's `share.delivery.count.limit`, which counts
    deliveries, is one more."""
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    """Which messages of transactions the group reads: the group's `share.isolation.level`."""
    locks: int = Field(default=2_000, ge=100, le=10_000, strict=True)
    """Messages of a partition that are locked at a time, at most: the group's `share.partition.max.record.locks`."""
    heartbeat: Duration | None = Field(default=None, ge=500 * NS_PER_MS)
    """Interval of the consumers' heartbeats, which bring them their partitions; that of the cluster by default."""
    session: Duration | None = Field(default=None, ge=NS_PER_SECOND)
    """Time without a heartbeat after which a consumer counts as gone, and others get its partitions; that of the
    cluster, 45s, by default. What it had comes to others of its partitions at once when its connection breaks."""
    dead_letters: bool = Field(default=True, strict=True)
    """Whether consumers write a message whose last delivery fails to the topic `TOPIC__undelivered`. If not, it is
    archived: brokers keep no dead letters."""

    @model_validator(mode="before")
    @classmethod
    def _renews_nothing(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "renew" in given:
            what = "renew: the share consumer of confluent-kafka 2.16.1 cannot renew a lock"
            raise BadValue(what, "Leave it out, and write a longer `lock`")
        return given

    @model_serializer(mode="wrap")
    def _given(self, dump: Any) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None}


class Acknowledge(OneOf):
    """Acknowledgement of single messages."""

    markers: Markers | None = None
    """Markers in a topic of their own, as kmq does it, like `{timeout: 5s, limit: 3}`."""
    retry: Retry | None = None
    """Retry topics, as applications build them on offsets, like `{delays: [1s, 5s, 30s]}`."""
    share: ShareGroup | None = None
    """A share group, whose brokers deliver again, like `{lock: 30s, limit: 3}`."""

    @property
    def most(self) -> int | None:
        """Redeliveries of a message before it is given up; None for no limit."""
        limited = self.markers or self.share
        return limited.limit if limited else self.retry.most if self.retry else None

    @property
    def has_dead_letters(self) -> bool:
        """Whether messages that are given up are written to a topic of dead letters."""
        return self.share.dead_letters if self.share else self.most is not None
