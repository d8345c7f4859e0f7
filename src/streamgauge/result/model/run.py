"""The run as result.json tells of it: what run.json says."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from streamgauge.result.model.base import Count, OpenSection, Section
from streamgauge.scenario.profile import Profile, recorded_profile


class NumberedName(Section):
    """A topic or group, and the number that stands for it in the rows."""

    id: int
    """Number that stands in the rows."""
    name: str
    """Name in the cluster."""
    partitions: int | None
    """Number of partitions; null for a group."""
    uuid: str | None = None
    """Identity of a topic that this run made; no other topic has the same, also of the same name."""


class MeasuredBroker(Section):
    """The cluster that was measured."""

    embedded: bool
    """Whether it was an embedded broker."""
    bootstrap: str
    """Its address."""
    version: str | None
    """Version of Apache Kafka, where it is known."""
    processes: list[str]
    """Names of the embedded brokers' processes, as in `resources`."""


class WorkerEnding(OpenSection):
    """One worker process and how it ended."""

    name: str
    """Name, like `producer-0`."""
    role: str
    """`producer`, `consumer`, `sampler` or another."""
    number: int
    """Number of its first client, within its role."""
    members: list[int] = Field(default_factory=list)
    """Numbers of all its clients, as they stand in the rows."""
    exit_code: int | None
    """Exit code, negative for a signal; null where it is not known."""
    declared_dead: bool
    """Whether the scenario asked for its death."""
    error: str | None
    """What it said before it failed."""
    dropped_rows: Count
    """Rows that it could not write."""
    next_seqs: list[Count] | None = None
    """Producers: of each of its clients the first sequence that it did not take up; null where nobody knows, and for
    other roles."""


class PhaseSpan(Section):
    """One phase as it was."""

    name: Literal["warmup", "measure", "drain"]
    """Which phase."""
    from_ns: int
    """When it began."""
    to_ns: int
    """When it ended."""


class RunSection(OpenSection):
    """What run.json says: what was asked, on what, when, and how it ended. Times are CLOCK_MONOTONIC in ns."""

    id: str
    """Name of the run folder: when the run began, and the scenario's name."""
    name: str
    """Name of the scenario."""
    tag: int
    """Number of the run in every stamp, by which its messages are told from others."""
    created: str
    """When the run began, UTC."""
    wall_ns: int
    """Wall clock, ns since 1970, read together with `monotonic_ns`."""
    monotonic_ns: int
    """Monotonic clock, read together with `wall_ns`."""
    ended_wall_ns: int | None = None
    """Wall clock when the run ended, read together with `ended_monotonic_ns`; null where it was killed."""
    ended_monotonic_ns: int | None = None
    """Monotonic clock when the run ended, read together with `ended_wall_ns`."""
    command: list[str]
    """The command line, secrets masked."""
    scenario: dict[str, Any]
    """The scenario with every default written out."""
    profile: Profile
    """What the scenario means; made of it where the run was recorded without."""
    versions: dict[str, str]
    """Versions of what took part in the measurement."""
    machine: dict[str, Any]
    """What the machine is: processor, cores, memory, system."""
    broker: MeasuredBroker
    """The cluster that was measured."""
    topics: list[NumberedName]
    """The topics, and the numbers that stand for them in the rows."""
    groups: list[NumberedName]
    """The consumer groups, and the numbers that stand for them in the rows."""
    workers: list[WorkerEnding]
    """The worker processes and how they ended."""
    phases: list[PhaseSpan]
    """The phases as they were: from `from_ns` up to, and without, `to_ns`."""
    load_ended_ns: int | None
    """When producers stopped taking up new messages; earlier than planned when interrupted."""
    drain_ended_ns: int | None
    """When the drain was over."""
    drained: bool | None
    """Whether every position had reached its log end when the drain was over; null where nobody consumes."""
    ending: Literal["finished", "interrupted", "failed"] | None
    """How the run ended; null where it was killed."""
    reasons: list[str]
    """Why it did not simply finish, in plain words."""

    @model_validator(mode="before")
    @classmethod
    def _with_profile(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not isinstance(scenario := given.get("scenario"), Mapping):
            return given
        return {**given, "profile": recorded_profile(given.get("profile"), scenario)}
