"""The topic of a run."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import ClientSettings, ScenarioPart, Setting
from streamgauge.scenario.topic_names import LONGEST_NAME, MAX_TOPICS, checked_name, expanded

TopicName = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[a-zA-Z0-9._-]+(\[\d{1,4}-\d{1,4}\][a-zA-Z0-9._-]*)*$"),
    AfterValidator(checked_name),
]

_MOST_BROKER = (1 << 31) - 1


def _assigned(value: object) -> object:
    rows = value if isinstance(value, list | tuple) else []
    are_lists = all(isinstance(row, list | tuple) and row for row in rows)
    if not rows or not are_lists or not all(_is_broker(each) for row in rows for each in row):
        raise BadValue("not the ids of brokers for each partition", "Write lists, like [[1, 2], [2, 3], [3, 1]]")
    return value


def _is_broker(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_BROKER


Assignments = Annotated[
    tuple[Annotated[tuple[int, ...], Field(max_length=32)], ...],
    Field(max_length=10_000),
    BeforeValidator(_assigned),
]


def _counted(given: Any) -> Any:
    """Assignments say how many partitions there are, and how many replicas of each."""
    if not isinstance(given, Mapping) or not isinstance(rows := given.get("assignments"), list | tuple):
        return given
    follows = {"partitions": len(rows)}
    if rows and isinstance(rows[0], list | tuple):
        follows["replication"] = len(rows[0])
    return {**{name: count for name, count in follows.items() if count}, **given}


def _brokers(replication: int, assignments: Assignments | None) -> int:
    return max(replication, *(max(each) for each in assignments or ((0,),)))


class IdleTopic(ScenarioPart):
    """A topic that the run creates, and to which nobody writes: brokers and clients have more to keep in mind."""

    name: TopicName
    """Name; `idle[1-100]` names a hundred topics."""
    partitions: int = Field(default=1, ge=1, le=10_000, strict=True)
    """Number of partitions of each topic."""
    replication: int = Field(default=1, ge=1, le=32, strict=True)
    """Replicas of each partition."""
    assignments: Assignments | None = None
    """Brokers of each partition, as in `topic.assignments`."""
    configs: dict[str, Setting] = Field(default={})
    """Kafka topic configuration, like `retention.ms`."""

    _follow = model_validator(mode="before")(staticmethod(_counted))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all topics."""
        return expanded(self.name)

    @property
    def brokers(self) -> int:
        """How many brokers an embedded cluster needs for them."""
        return _brokers(self.replication, self.assignments)


class Topic(ScenarioPart):
    """The topic that carries the load; created if it does not exist."""

    name: TopicName | None = None
    """Name: letters, digits, `.`, `_` and `-`; `t[1-3]` names three topics, `t1` to `t3`,
    and `t[1-2]-[1-3]` six; `streamgauge-<name of the scenario>` by default."""
    count: int | None = Field(default=None, ge=1, le=MAX_TOPICS, strict=True)
    """Number of topics, `NAME-1`, `NAME-2` and so on; one of the plain name by default."""
    partitions: int = Field(default=12, ge=1, le=10_000, strict=True)
    """Number of partitions of each topic."""
    adopt: bool = Field(default=False, strict=True)
    """Use an existing topic with the number of partitions that it has; `partitions` is then for one that the run
    creates."""
    replication: int = Field(default=1, ge=1, le=32, strict=True)
    """Replicas of each partition; more than one starts an embedded cluster of three brokers or more. A topic that
    exists keeps those that it has."""
    assignments: Assignments | None = None
    """Brokers of each partition, the preferred leader first, like `[[1, 2], [2, 3], [3, 1]]`; `partitions` and
    `replication` follow from them. Every topic that the run creates has them; by default the cluster chooses."""
    configs: dict[str, Setting] = Field(default={})
    """Kafka topic configuration, like `retention.ms`."""
    client: ClientSettings = Field(default={})
    """Settings of the librdkafka client that creates topics and asks about them, like `socket.timeout.ms`."""
    idle: tuple[IdleTopic, ...] = Field(default=(), max_length=100)
    """Topics that the run creates beside these and that nobody uses, like `[{name: "idle[1-50]", partitions: 10}]`."""
    reset: bool = Field(default=False, strict=True)
    """Delete an existing topic of this name first; on your own cluster only with `--allow-reset`."""

    _follow = model_validator(mode="before")(staticmethod(_counted))

    @property
    def brokers(self) -> int:
        """How many brokers an embedded cluster needs, whose brokers are numbered from 1."""
        return max([_brokers(self.replication, self.assignments), *(each.brokers for each in self.idle)])

    @property
    def is_compacted(self) -> bool:
        """Whether the log forgets messages on purpose: compaction keeps the last one of each key."""
        return "compact" in str(self.configs.get("cleanup.policy", ""))
