"""What is planted in a calibration: the load at one rate, and what the modelled broker does with its messages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.modelled.model import Anomaly, Model, Server, next_in
from streamgauge.scenario import Scenario, parse

PRODUCERS: Final = 2
SIZE_BYTES: Final = 100
STALL_NS: Final = 2 * NS_PER_SECOND
STALLS_AT: Final = 0.3
"""At this share of the measure phase."""
SERVERS: Final = (
    Server(0.40),
    Server(0.30, (NS_PER_MS // 2,), (NS_PER_MS,)),
    Server(0.20, (NS_PER_MS,), (5 * NS_PER_MS,)),
    Server(0.07, (NS_PER_MS // 2,) * 9 + (5 * NS_PER_MS,), (NS_PER_MS // 2,) * 9 + (20 * NS_PER_MS,)),
    Server(0.02, (25 * NS_PER_MS,), (50 * NS_PER_MS,)),
    Server(0.01),
)
"""The partitions of each producer: delays of 0, 1 and 5 ms, a bimodal mix, 50 ms; the last one stalls."""
MODEL: Final = Model(SERVERS, anomalies=tuple(anomaly for anomaly in Anomaly if anomaly))


@dataclass(frozen=True, slots=True)
class Planned:
    """One run of a calibration."""

    rate: int
    """Messages a second of all producers."""
    seconds: float
    """Of the measure phase."""
    warmup_seconds: float

    @property
    def scenario(self) -> Scenario:
        """What the run is asked to do. The partitions are dealt out so that each consumer reads those of a producer."""
        lanes = len(SERVERS)
        document: Mapping[str, Any] = {
            "name": f"calibrate-{self.rate}",
            "topic": {"partitions": PRODUCERS * lanes},
            "load": {"rate": self.rate, "producers": PRODUCERS, "size": SIZE_BYTES, "payload": "random"},
            "consume": {
                "consumers": PRODUCERS,
                "partitions": [producer * lanes + lane for lane in range(lanes) for producer in range(PRODUCERS)],
            },
            "phases": {"warmup": self.warmup_seconds, "measure": self.seconds, "drain": 10},
            "lag": "off",
        }
        return parse(document)

    @property
    def models(self) -> tuple[Model, ...]:
        """What happens to the messages of each producer; the last tenth is whole, so that none waits for another."""
        per_second = self.rate / PRODUCERS
        last = int(per_second * (self.warmup_seconds + 0.9 * self.seconds))
        stalled = int(per_second * (self.warmup_seconds + STALLS_AT * self.seconds))
        models = [replace(MODEL, seed=MODEL.seed + producer, anomalous_until=last) for producer in range(PRODUCERS)]
        return tuple(
            replace(model, stalls=((next_in(model, len(SERVERS) - 1, stalled), STALL_NS),)) for model in models
        )
