"""What a user asked for, as it was checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.processes.disk import free_bytes
from streamgauge.processes.jvm.java import Java
from streamgauge.runs.request.trust import Trust
from streamgauge.scenario import Scenario, Setting, advice, room_advice
from streamgauge.workload.pacing import Int64s


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    scenario: Scenario
    out: Path
    command: Sequence[str]
    """The command line, secrets masked."""
    java: Java
    bootstrap: str | None = None
    """The cluster to measure; None for an embedded broker."""
    broker: EmbeddedCluster | None = None
    """An embedded broker that serves other runs, too; None for one that ends with the run."""
    connection: Mapping[str, Setting] = field(default_factory=dict)
    keep_broker: bool = False
    allow_reset: bool = False
    trust: Trust = Trust()  # noqa: RUF009 - frozen
    """What the command line grants a scenario; code, and files elsewhere, only where it says so."""
    arrivals: Int64s | None = None
    """When messages are due, in ns from the first one on, where the load replays them."""

    @property
    def target_per_second(self) -> float | None:
        """The target rate on average; None without a load, and where the rate says none."""
        return self.scenario.load.mean_rate if self.scenario.load else None

    def advice(self) -> list[str]:
        """What to know before it begins: what is allowed and hardly ever meant, and a disk that may become full."""
        embedded, free = self.bootstrap is None, free_bytes(self.out)
        return [*advice(self.scenario), *room_advice(self.scenario, str(self.out), free, embedded=embedded)]
