"""Which figures a failing check of the instrument takes away. A check that names none takes all."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from streamgauge.verdict.check import Check

ALL: Final = ("",)
_TAIL: Final = tuple(f".{name}_ms" for name in ("p99", "p99_5", "p99_9", "p99_99", "max", "mean", "stddev"))


class Taken(NamedTuple):
    """Figures by how their paths begin and end."""

    begins: tuple[str, ...]
    ends: tuple[str, ...] = ("",)
    bounded: bool = False
    """Whether what the cause did is in the bounds of each message: where these are known, they decide."""

    def names(self, path: str) -> bool:
        """Whether a figure is among them."""
        return path.startswith(self.begins) and path.endswith(self.ends)


_EVERYTHING: Final = Taken(ALL)
TAKES: Final[Mapping[str, Taken]] = {
    "clock": Taken(
        (
            "latency.",
            "pipeline.stages.",
        )
    ),
    "schedule": Taken(
        (
            "latency.",
            "pipeline.stages.",
        ),
        bounded=True,
    ),
    "ack_polls": Taken(("latency.ack.",), bounded=True),
    "receive_polls": Taken(("latency.end_to_end.", "latency.processing."), bounded=True),
    "worker_cpu": Taken(("latency.", "pipeline.stages.", "lag."), bounded=True),
    "rate": Taken(("throughput.",)),
    "unsent": Taken(("throughput.", "delivery.unsent")),
    "machine_cpu": Taken(("latency.", "pipeline.stages.", "lag.", "recovery.")),
    "cpu_quota": Taken(("latency.", "pipeline.stages.", "lag.", "recovery."), bounded=True),
    "start_transient": Taken(("latency.", "pipeline.stages."), _TAIL),
    "record_clock": Taken(("latency.since_record_time.",)),
    "wall_clock": Taken(("latency.since_record_time.", "pipeline.stages.")),
    "connections": Taken(("connections.",)),
    "connection_rate": Taken(("connections.",)),
    "controller": Taken(("backpressure.", "throughput.", "lag.")),
    "lag_samples": Taken(("lag.committed", "lag.position", "recovery.")),
    "lag_sampler": Taken(("lag.committed", "lag.position", "recovery.")),
    "processing_delay": Taken(("latency.processing.", "lag.", "recovery.")),
    "fate_unknown": Taken(("delivery.",)),
    "unrecorded": Taken(("delivery.",)),
    "accounted": Taken(("delivery.", "throughput.")),
    "undecided": Taken(("delivery.",)),
    "source": Taken(("delivery.",)),
}
"""What a check takes when it fails and the instrument is the cause."""


STARVED_CONSUMERS: Final = Taken(("throughput.received", "throughput.processed"))
"""What `worker_cpu` takes besides, where consumers fell behind."""
LIMITED_RATES: Final = Taken(("throughput.",))
"""What `cpu_quota` takes besides, where there is no schedule that tells whether the rate was reached."""
SLOWED_LOAD: Final = Taken(("latency.poll.", "latency.batch.", "latency.flush_wait."))
"""What `worker_cpu` and `cpu_quota` take besides: how long the load's own calls took, had they had a core."""


def failing(checks: Sequence[Check]) -> list[tuple[Check, Taken]]:
    """The failing checks of the instrument, with what they take."""
    failed = [check for check in checks if check.about == "instrument" and check.status == "fail"]
    return [(check, TAKES.get(check.name, _EVERYTHING)) for check in failed]
