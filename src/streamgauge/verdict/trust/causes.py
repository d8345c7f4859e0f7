"""Which figures a failing check of the instrument takes away. A check that names none takes all."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from streamgauge.scenario.profile import Profile
from streamgauge.verdict.check import Check

_TAIL: Final = (
    *(f".{name}_ms" for name in ("p99", "p99_5", "p99_9", "p99_99", "max", "mean", "stddev")), ".variance_ms2",
)  # fmt: skip


class Taken(NamedTuple):
    """Figures by how their paths begin and end."""

    begins: tuple[str, ...]
    ends: tuple[str, ...] = ("",)
    bounded: bool = False
    """Whether what the cause did is in the bounds of each message: where these are known, they decide."""

    def names(self, path: str) -> bool:
        """Whether a figure is among them."""
        return path.startswith(self.begins) and path.endswith(self.ends)


_EVERYTHING: Final = Taken(("",))
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
    "machine_cpu": Taken(("latency.", "pipeline.stages.", "lag.", "recovery.", "connections.")),
    "cpu_quota": Taken(("latency.", "pipeline.stages.", "lag.", "recovery.", "connections."), bounded=True),
    "start_transient": Taken(("latency.", "pipeline.stages."), _TAIL),
    "record_clock": Taken(("latency.since_record_time.",)),
    "wall_clock": Taken(("latency.since_record_time.", "pipeline.stages.")),
    "connections": Taken(("connections.",)),
    "connection_rate": Taken(("connections.",)),
    "controller": Taken(("throughput.", "lag.")),
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
UNKNOWN_TAKES: Final = frozenset({"wall_clock"})
"""Checks that take the same when they are unknown: nothing else says how far their figures may be off.

Others that can be unknown are about figures that have bounds, which decide, as those of `schedule` and `rate`; about
figures that are missing then, too, as those of `lag_samples`; never fail, as `undecided`; or are unknown only where
another fails, as `controller` in a run that was killed. The rest are unknown in runs that are short, on machines that
do not count something, or beside brokers of others, and take nothing there.
"""
LIMITING: Final = frozenset({"rate", "unsent", "controller", "worker_cpu", "cpu_quota"})
"""Checks that take a rate because it would have been higher."""
_SUBJECTS: Final[Mapping[str, Callable[[Profile], bool]]] = {
    "connections.": lambda profile: bool(profile.connections),
    "lag.": lambda profile: profile.lag_every_ns is not None,
    "latency.ack.": lambda profile: profile.load is not None,
    "latency.end_to_end.": lambda profile: profile.load is not None and profile.consume is not None,
    "latency.processing.": lambda profile: profile.processing is not None,
    "latency.since_record_time.": lambda profile: profile.load is None and profile.consume is not None,
    "pipeline.stages.": lambda profile: profile.pipeline is not None,
    "recovery.": lambda profile: profile.fault_count > 0,
}
"""Which runs have figures whose paths begin so; every run has others."""

STARVED_CONSUMERS: Final = Taken(("throughput.received", "throughput.processed"))
"""What `worker_cpu` takes besides, where consumers fell behind."""
LIMITED_RATES: Final = Taken(("throughput.",))
"""What `cpu_quota` takes besides, where there is no schedule that tells whether the rate was reached."""
SLOWED_LOAD: Final = Taken(("latency.poll.", "latency.poll_per_record.", "latency.batch.", "latency.flush_wait."))
"""What `worker_cpu` and `cpu_quota` take besides: how long the load's own calls took, had they had a core."""


def failing(checks: Sequence[Check]) -> list[Check]:
    """The failing checks of the instrument."""
    return [check for check in checks if check.about == "instrument" and check.status == "fail"]


def taken(checks: Sequence[Check], paths: Collection[str], profile: Profile) -> list[tuple[Check, Taken]]:
    """The checks of the instrument that fail, or are unknown and nothing else says it, with what they take of a run.

    A failing check takes all if none of the figures that it names is there, although the run should have them: what
    failed was about something.
    """
    unknown = [check for check in checks if check.status == "unknown" and check.name in UNKNOWN_TAKES]
    return [
        *((check, _taken(TAKES.get(check.name, _EVERYTHING), paths, profile)) for check in failing(checks)),
        *((check, TAKES[check.name]) for check in unknown),
    ]


def _taken(takes: Taken, paths: Collection[str], profile: Profile) -> Taken:
    has_figures = any(takes.names(path) for path in paths)
    has_subject = any(_has(profile, begin) for begin in takes.begins)
    return _EVERYTHING if has_subject and not has_figures else takes


def _has(profile: Profile, begin: str) -> bool:
    return all(has(profile) for subject, has in _SUBJECTS.items() if begin.startswith(subject))
