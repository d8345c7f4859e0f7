"""The model of a scenario: its parts, and every default."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from streamgauge.domain.scenario.consume import Consume
from streamgauge.domain.scenario.load import Load
from streamgauge.domain.scenario.values import (
    Duration,
    Part,
    Setting,
    off_is_none,
    share_as_text,
)

_KAFKAS_OWN = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})


def _topic_name(value: str) -> str:
    if value in {".", ".."}:
        raise ValueError("Kafka takes no topic of this name; write another")
    if value in _KAFKAS_OWN:
        raise ValueError("a topic of Kafka's own; name another")
    return value


TopicName = Annotated[
    str, Field(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._-]+$"), AfterValidator(_topic_name)
]


class Topic(Part):
    """The topic that carries the load; made when it does not exist."""

    name: TopicName | None = None
    """Name: letters, digits, `.`, `_` and `-`; `streamgauge-<name of the scenario>` when left out."""
    partitions: int = Field(default=12, ge=1, le=10_000, strict=True)
    """Number of partitions."""
    replication: int = Field(default=1, ge=1, le=32, strict=True)
    """Replicas of each partition."""
    configs: dict[str, Setting] = Field(default={})
    """Topic configuration by Kafka's names, like `retention.ms`."""
    reset: bool = Field(default=False, strict=True)
    """Delete an existing topic of this name first; on a cluster of yours only with `--allow-reset`."""


class Phases(Part):
    """How long each phase lasts."""

    warmup: Duration = Field(default="5s", validate_default=True)
    """Load that is recorded and audited but not measured."""
    measure: Duration = Field(default="30s", validate_default=True)
    """Load that is measured; more than 0s."""
    drain: Duration = Field(default="30s", validate_default=True)
    """Longest time that consumers may take to reach the log end after the load; also bounds a send's life; more
    than 0s."""


class Scenario(Part):
    """One scenario, resolved: every default filled in."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    """Short name: lower-case letters, digits, `.`, `_` and `-`; it begins with a letter or digit."""
    about: str = ""
    """One sentence for people."""
    topic: Topic = Topic()
    load: Annotated[Load | None, BeforeValidator(off_is_none)] = Load()
    """`off` for a run that only consumes."""
    consume: Annotated[Consume | None, BeforeValidator(off_is_none)] = Consume()
    """`off` for a run that only produces."""
    phases: Phases = Phases()
    verify: Annotated[str, BeforeValidator(share_as_text)] = Field(
        default="all", pattern=r"^(all|off|1/[1-9][0-9]{0,8})$"
    )
    """Share of messages whose checksum consumers verify: `all`, `1/16` (every sixteenth), or `off`."""
    seed: int = Field(default=42, ge=0, lt=1 << 63, strict=True)
    """Seed of all that is random; the same seed gives the same payloads."""
    expect: dict[str, Setting] = Field(default={})
    """What the result must say: path to a value or a bound, like `{latency.ack.response.p99_ms: "<= 20"}`."""

    @property
    def topic_name(self) -> str:
        """The topic's name, given or derived."""
        return self.topic.name or f"streamgauge-{self.name}"

    @property
    def verify_every(self) -> int | None:
        """The n where every n-th message is verified; None for none."""
        if self.verify == "off":
            return None
        return 1 if self.verify == "all" else int(self.verify.removeprefix("1/"))

    @property
    def load_ns(self) -> int:
        """How long the load lasts: warm-up and measure phase."""
        return self.phases.warmup + self.phases.measure
