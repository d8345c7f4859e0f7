"""The embedded cluster of a run that does not measure a cluster of the user's."""

from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.domain.limits import MOST_NODES
from streamgauge.scenario.model.environment.faults.disks import MOST_DIRECTORIES
from streamgauge.scenario.model.environment.security import ClusterSecurity
from streamgauge.scenario.model.values import ScenarioPart, Setting

HEAP: Final = r"^[1-9]\d*[kmgKMG]?$"
"""A heap size of Java."""
LEAST_REPLICATED: Final = 3
"""Brokers of a cluster that keeps replicas: with two, none may fail."""


def brokers_for(needed: int) -> int:
    """How many brokers an embedded cluster starts where so many are needed."""
    return 1 if needed == 1 else max(LEAST_REPLICATED, needed)


OWNED_BY_CLUSTER: Final = frozenset(
    {
        "process.roles", "node.id", "broker.id", "broker.rack", "listeners", "advertised.listeners",
        "listener.security.protocol.map", "inter.broker.listener.name", "security.inter.broker.protocol",
        "controller.listener.names", "controller.quorum.voters", "controller.quorum.bootstrap.servers", "log.dir",
        "log.dirs", "metadata.log.dir", "ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password",
        "ssl.truststore.type", "ssl.truststore.location", "sasl.enabled.mechanisms",
        "sasl.mechanism.inter.broker.protocol",
    }
)  # fmt: skip
"""Settings of brokers that an embedded cluster needs for itself."""


def _free(settings: dict[str, Setting]) -> dict[str, Setting]:
    if owned := sorted(OWNED_BY_CLUSTER & set(settings)):
        raise BadValue(f"{', '.join(owned)}: the embedded cluster decides this itself", "Leave it out")
    return settings


class EmbeddedSpec(ScenarioPart):
    """The embedded cluster; not used with `--bootstrap`."""

    brokers: int | None = Field(default=None, ge=1, le=MOST_NODES, strict=True)
    """Brokers; by default one, or as many as `topic.replication` needs, at least three."""
    controllers: int = Field(default=0, ge=0, le=MOST_NODES - 1, strict=True)
    """Controllers that are not brokers; with 0, one broker is the controller, or three of them if there are so many."""
    racks: int = Field(default=0, ge=0, le=MOST_NODES, strict=True)
    """Racks that the brokers are spread over, `rack-0` and so on; 0 for none."""
    heap: str | None = Field(default=None, pattern=HEAP)
    """Java heap of each node, like `512m`; by default `1g` for a single node, and `512m` for each of several."""
    data_dirs: int = Field(default=1, ge=1, le=MOST_DIRECTORIES, strict=True)
    """Log directories of each broker; Kafka spreads partitions over them."""
    configs: Annotated[dict[str, Setting], AfterValidator(_free)] = Field(default={})
    """Kafka configuration of every node, like `{replica.lag.time.max.ms: 10000}`."""
    security: ClusterSecurity = ClusterSecurity()
    """Encryption and authentication, like `{protocol: SASL_SSL}`; certificates and users are made for the run."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        nodes = (self.brokers or 1) + self.controllers
        if nodes > MOST_NODES:
            raise BadValue(f"{nodes} nodes", f"Write at most {MOST_NODES} brokers and controllers together")
        if self.brokers and self.racks > self.brokers:
            raise BadValue(f"{self.racks} racks for {self.brokers} brokers", "Write at most one rack for each broker")
        return self
