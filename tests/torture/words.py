"""The command line of the run of a case."""

from collections.abc import Mapping
from typing import Final

from tests.torture.place import Place
from tests.torture.plans import Ground, Plan

RATE: Final = 3_000
_SETTINGS: Final = (
    f"load.rate={RATE}", "load.producers=2", "topic.partitions=4", "phases.warmup=1s", "phases.measure=3s",
    "phases.drain=10s",
)  # fmt: skip
_OF_THREE: Final = (
    "topic.replication=3", "topic.configs={min.insync.replicas: 2}", "load.rate=500",
    "load.client={acks: all, enable.idempotence: true, max.in.flight: 1}",
)  # fmt: skip
_CLUSTERS: Final[Mapping[Ground, str]] = {
    "linked": "cluster={brokers: 3}",
    "kept": "cluster={brokers: 3}",
    "mounted": "cluster={brokers: 3, data_dirs: 2}",
}
_LINKED: Final = (
    "{at: 500ms, kind: delay, between: [clients, brokers], delay: 5ms, for: 2s}, "
    "{at: 1s, kind: kill, target: broker-2, for: 1s}, "
    "{at: 1500ms, kind: cut, between: [broker-1, broker-3], for: 1s}"
)
_HARMED: Final = "{{at: 500ms, kind: {kind}, target: broker-2, for: 2500ms}}"


def words_of(plan: Plan, place: Place, number: int, bootstrap: str | None, *, is_harmed: bool = True) -> list[str]:
    """What is said to the program for its run of this number; `is_harmed` if the plan's faults are on meanwhile."""
    settings = list(_SETTINGS)
    # Topics of a broker that stays must not be those of another case.
    settings.append(f"topic.name=torture-{place.root.name}-{number}")
    if plan.is_of_three:
        settings += _OF_THREE
    if plan.on in _CLUSTERS:
        settings.append(_CLUSTERS[plan.on])
    if plan.harm and is_harmed:
        faults = _LINKED if plan.on == "linked" else _HARMED.format(kind=plan.harm)
        settings.append(f"faults=[{faults}]")
    words = ["run", "baseline", "--no-prepare", "--out", str(place.out), *(f"--set={each}" for each in settings)]
    words += ["--bootstrap", bootstrap] if bootstrap else []
    words += ["--keep-broker"] if plan.on == "kept" else []
    return [*words, "--record-only"] if plan.record_only else words
