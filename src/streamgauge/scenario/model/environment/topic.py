"""The topic of a run."""

from typing import Annotated

from pydantic import AfterValidator, Field

from streamgauge.scenario.model.values import ScenarioPart, Setting
from streamgauge.scenario.topic_names import LONGEST_NAME, MAX_TOPICS, checked_name

TopicName = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_NAME, pattern=r"^[a-zA-Z0-9._-]+(\[\d{1,4}-\d{1,4}\][a-zA-Z0-9._-]*)*$"),
    AfterValidator(checked_name),
]


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
    """Replicas of each partition; more than one starts an embedded cluster of three brokers or more."""
    configs: dict[str, Setting] = Field(default={})
    """Kafka topic configuration, like `retention.ms`."""
    reset: bool = Field(default=False, strict=True)
    """Delete an existing topic of this name first; on your own cluster only with `--allow-reset`."""

    @property
    def is_compacted(self) -> bool:
        """Whether the log forgets messages on purpose: compaction keeps the last one of each key."""
        return "compact" in str(self.configs.get("cleanup.policy", ""))
