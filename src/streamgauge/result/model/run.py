"""The run in result.json: the contents of run.json."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from streamgauge.result.model.base import Count, OpenSection, Section
from streamgauge.scenario.profile import Profile, recorded_profile


class NumberedName(Section):
    """A topic or group, and its number in the recorded rows."""

    id: int
    """Number in the recorded rows."""
    name: str
    """Name in the cluster."""
    partitions: int | None
    """Number of partitions; null for a group."""
    uuid: str | None = None
    """ID of a topic that this run created; unique, even among topics of the same name."""


class MeasuredBroker(Section):
    """The cluster that was measured."""

    embedded: bool
    """Whether it was an embedded broker."""
    bootstrap: str
    """Bootstrap address."""
    version: str | None
    """Version of Apache Kafka, if known."""
    processes: list[str]
    """Names of the embedded brokers' processes, as in `resources`."""
    modelled: bool = False
    """Whether it was the model of a calibration, and no Kafka."""
    class_archive: bool | None = None
    """Whether the embedded broker started from an archive of its classes (Java's class data sharing); null if that is
    not known. Runs that are compared should agree."""
    security: str | None = None
    """How clients and brokers connected to an embedded broker, like `SASL_SSL with SCRAM-SHA-512`; null for plain text,
    and for your own cluster."""


class UsedCalibration(Section):
    """The calibration (`streamgauge calibrate`) that speaks for a run."""

    rate: float
    """Messages per second at which it was made: the nearest to the target rate."""
    wall_ns: int
    """When it was made: wall clock, ns since 1970."""
    errors_ms: dict[str, float]
    """Measured - planted, in ms, by figures like `end_to_end.response.p99`."""


class WorkerEnding(OpenSection):
    """One worker process and how it ended."""

    name: str
    """Name, like `producer-0`."""
    role: str
    """`producer`, `consumer`, `sampler` or another."""
    number: int
    """Number of its first client, within its role."""
    members: list[int] = Field(default_factory=list)
    """Numbers of all its clients, as in the recorded rows."""
    exit_code: int | None
    """Exit code, negative for a signal; null if unknown."""
    declared_dead: bool
    """Whether the scenario kills it."""
    error: str | None
    """Its error message before it failed."""
    dropped_rows: Count
    """Rows that it could not write."""
    next_seqs: list[Count] | None = None
    """Producers: for each of its clients, the first sequence number that it did not claim; null if unknown, and for
    other roles."""


class PhaseSpan(Section):
    """Actual times of one phase."""

    name: Literal["warmup", "measure", "drain"]
    """Phase."""
    from_ns: int
    """Start."""
    to_ns: int
    """End."""


class RunSection(OpenSection):
    """Contents of run.json: scenario, environment, times, and how the run ended. Times are CLOCK_MONOTONIC in ns."""

    id: str
    """Name of the run folder: start time, and the scenario's name."""
    name: str
    """Name of the scenario."""
    tag: int
    """Number of the run in every stamp; it identifies the messages of the run."""
    imported: str | None = None
    """The tool that measured it, where its results were imported: then there are no recorded rows; null for a run of
    Streamgauge."""
    created: str
    """Start time of the run, UTC; of an imported run whose file has no time, the time of the import."""
    wall_ns: int
    """Wall clock, ns since 1970, read together with `monotonic_ns`."""
    monotonic_ns: int
    """Monotonic clock, read together with `wall_ns`."""
    ended_wall_ns: int | None = None
    """Wall clock at the end of the run, read together with `ended_monotonic_ns`; null if the run was killed."""
    ended_monotonic_ns: int | None = None
    """Monotonic clock at the end of the run, read together with `ended_wall_ns`."""
    command: list[str]
    """The command line, secrets masked."""
    scenario: dict[str, Any]
    """The scenario with every default written out."""
    profile: Profile
    """Properties derived from the scenario; also added to runs recorded without them."""
    versions: dict[str, str]
    """Versions of the software that took part in the measurement."""
    machine: dict[str, Any]
    """The machine: processor, cores, memory, system."""
    broker: MeasuredBroker
    """The cluster that was measured."""
    calibration: UsedCalibration | None = None
    """How wrong the instrument was on this machine; null if this version was not calibrated there."""
    topics: list[NumberedName]
    """The topics, and their numbers in the recorded rows."""
    beside: dict[str, str | None] = Field(default_factory=dict)
    """Other topics that this run created, such as idle ones and those of dead letters, and the ID of each; null if the
    cluster did not report one."""
    groups: list[NumberedName]
    """The consumer groups, and their numbers in the recorded rows."""
    workers: list[WorkerEnding]
    """The worker processes and how they ended."""
    phases: list[PhaseSpan]
    """Actual times of the phases: from `from_ns` (inclusive) to `to_ns` (exclusive)."""
    load_ended_ns: int | None
    """Time producers stopped claiming new messages; earlier than planned if interrupted."""
    drain_ended_ns: int | None
    """End of the drain."""
    drained: bool | None
    """Whether all consumer positions had reached their log ends at the end of the drain; null without consumers."""
    ending: Literal["finished", "interrupted", "failed"] | None
    """How the run ended; null if it was killed."""
    reasons: list[str]
    """Why it did not finish normally."""

    @model_validator(mode="before")
    @classmethod
    def _with_profile(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not isinstance(scenario := given.get("scenario"), Mapping):
            return given
        return {**given, "profile": recorded_profile(given.get("profile"), scenario)}
