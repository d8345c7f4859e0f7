"""What a user asked for, as it was checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.cluster.embedded import EmbeddedCluster
from streamgauge.processes.disk import free_bytes
from streamgauge.processes.jvm.java import Java
from streamgauge.runs.request.trust import Trust
from streamgauge.scenario import Scenario, Setting, advice, room_advice
from streamgauge.workload.pacing import Int64s, count_before
from streamgauge.workload.pacing.build import pacer_of


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

    @property
    def replayed_messages(self) -> int | None:
        """Messages of a replay that are due in the load; None of another load."""
        if self.arrivals is None or self.scenario.load is None:
            return None
        warmup_ns, load_ns = self.scenario.phases.warmup, self.scenario.load_ns
        pacer = pacer_of(
            self.scenario.load.rate, producer=0, producers=1, seed=0, warmup_ns=warmup_ns, arrivals=self.arrivals
        )
        return count_before(pacer, load_ns, len(self.arrivals)) if pacer else None

    def advice(self) -> list[str]:
        """What to know before it begins: what is allowed and hardly ever meant, and a disk that may become full."""
        embedded, free, replayed = self.bootstrap is None, free_bytes(self.out), self.replayed_messages
        room = room_advice(self.scenario, str(self.out), free, embedded=embedded, replayed=replayed)
        return [*advice(self.scenario), *room]
