"""The run folder as others may read it: the model of run.json, and its paths."""

import json
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from streamgauge.domain.errors import BadValue
from streamgauge.domain.folder.paths import RunFolder as RunFolder

FORMAT: Final = 2
"""Of run.json, events and tables. Format 1 had no profile, and other names of some keys, columns and tables."""
PhaseName = Literal["warmup", "measure", "drain"]
Ending = Literal["finished", "interrupted", "failed"]
_NOT_FACTS = "run.json has unexpected content"
_SHOWN = 3
"""Faults of a run.json that are told: nobody writes one by hand."""


class _Facts(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Phase(_Facts):
    """One phase, as planned at the start and as it was at the end: [from_ns, to_ns) on the monotonic clock."""

    name: PhaseName
    from_ns: int
    to_ns: int


class Numbered(_Facts):
    """A topic or group: the number that stands in the rows, and its name."""

    id: int
    name: str
    partitions: int | None = None
    uuid: str | None = None
    """Topic that this run made: what the cluster calls it; no other topic has the same, also of the same name."""


class WorkerFacts(_Facts):
    """One worker and how it ended; `exit_code` is negative for a signal, null while it runs."""

    name: str
    role: str
    number: int
    members: list[int] = []
    """Numbers of all its clients; empty in runs that were recorded before several could share a process."""
    pid: int | None = None
    exit_code: int | None = None
    ended_ns: int | None = None
    declared_dead: bool = False
    """Whether the scenario asked for its death."""
    error: str | None = None
    """What it said before it failed."""
    dropped_rows: int = 0
    """Rows that it could not write."""
    next_seqs: list[int] | None = None
    """Of each of its producers, in the order of `numbers`, the first sequence that it did not take up: each message
    below was claimed for sending, or recorded as never sent. Null where nobody knows, and for other roles."""

    @property
    def numbers(self) -> list[int]:
        """Numbers of its clients, as they stand in the rows."""
        return self.members or [self.number]

    @property
    def died(self) -> bool:
        """Whether it ended without finishing its work."""
        return self.exit_code is not None and self.exit_code != 0


class BrokerFacts(_Facts):
    """The cluster that was measured."""

    embedded: bool
    bootstrap: str
    version: str | None = None
    processes: list[str] = []
    """Names of the embedded brokers' processes, as in `resources` and in the names of their logs."""
    modelled: bool = False
    """Whether it is the model of a calibration, and no Kafka."""
    class_archive: bool | None = None
    """Whether the embedded broker started from an archive of its classes; null if that is not known."""
    security: str | None = None
    """How clients connect to the embedded broker, like `SASL_SSL with SCRAM-SHA-512`; null for plain text."""


def node_of(name: str) -> str:
    """The node whose process has this name: one that was started again has a name for each life, like `broker-1.2`."""
    return name.partition(".")[0]


class CalibrationFacts(_Facts):
    """How wrong the instrument was on this machine when what it measured was known (`streamgauge calibrate`)."""

    rate: float
    """Messages a second; the nearest to the target rate of the run."""
    wall_ns: int
    """When it was made."""
    errors_ms: dict[str, float]
    """Measured less planted, by figures like `end_to_end.response.p99`."""


class RunFacts(_Facts):
    """run.json: what was asked, on what, when, and how it ended.

    Written whole at the start, again when the load begins, with the phases as they are planned, and again at the end.
    Until then `ending` is null: a reader that finds it so, and nobody who holds the folder, knows that the parent was
    killed.
    """

    format: int = FORMAT
    id: str
    name: str
    tag: int
    """Run tag in every stamp."""
    imported: str | None = None
    """The tool that measured it, where its results were imported; null for a run of Streamgauge."""
    created: str
    wall_ns: int
    monotonic_ns: int
    """`wall_ns` and `monotonic_ns` were read together."""
    ended_wall_ns: int | None = None
    ended_monotonic_ns: int | None = None
    """The same when the run ended; null while it goes on, and when it was killed."""
    command: list[str]
    scenario: dict[str, Any]
    profile: dict[str, Any] | None = None
    """What the scenario means, as `scenario.profile` has it; null in format 1."""
    versions: dict[str, str]
    machine: dict[str, Any]
    broker: BrokerFacts
    codecs: dict[str, Any] | None = None
    """What codecs made of batches of the load, as result.json tells it; null where `load.codecs` does not ask."""
    calibration: CalibrationFacts | None = None
    """The calibration that speaks for the run; null where this version was not calibrated on this machine."""
    topics: list[Numbered]
    beside: dict[str, str | None] = {}
    """Other topics that this run made, as of dead letters, and what the cluster calls each."""
    groups: list[Numbered]
    workers: list[WorkerFacts] = []
    phases: list[Phase] = []
    load_ended_ns: int | None = None
    """When producers stopped taking up new messages; earlier than planned when interrupted."""
    drain_ended_ns: int | None = None
    drained: bool | None = None
    """Whether every position had reached its log end when the drain was over; null where nobody consumes."""
    cells: str | None = None
    """The file in memory that says how far producers are; there until the run is over or, where everything was killed,
    until it is analysed."""
    ending: Ending | None = None
    reasons: list[str] = []
    """Why it did not simply finish, in plain words."""

    @property
    def made(self) -> dict[str, str]:
        """The topics that this run made, and what the cluster calls each."""
        told = {topic.name: topic.uuid for topic in self.topics} | self.beside
        return {name: uuid for name, uuid in told.items() if uuid}

    def phase(self, name: PhaseName) -> Phase | None:
        """The phase of this name; None when the run never got that far."""
        return next((phase for phase in self.phases if phase.name == name), None)


def parse_facts(content: bytes) -> RunFacts:
    """What a run.json says; ValueError, fit to be shown, where it does not say what it should.

    It is a BadValue where the remedy is another than to restore the file.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_NOT_FACTS}: it is {'not JSON' if content.strip() else 'empty'}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{_NOT_FACTS}: it is not an object")  # noqa: TRY004 - one kind of error for all
    version = document.get("format", FORMAT)
    if isinstance(version, int) and version > FORMAT:
        what = f"format {version} is newer than this version reads ({FORMAT})"
        raise BadValue(what, "Use a newer version of streamgauge")
    try:
        return RunFacts.model_validate(_in_names_of_today(document))
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False)]
        more = f" (and {len(wrong) - _SHOWN} more)" if len(wrong) > _SHOWN else ""
        raise ValueError(f"{_NOT_FACTS}: {', '.join(wrong[:_SHOWN])}{more}") from error


_RENAMED: Final = {"scenario.consume.in_hand": "buffer", "scenario.consume.processing.drop": "skip"}


def _in_names_of_today(part: Any, path: str = "") -> Any:
    """A part of a run.json of any format, whose keys have the names of today."""
    if not isinstance(part, dict):
        return part
    named = ((_RENAMED.get(f"{path}{key}", key), f"{path}{key}.", value) for key, value in part.items())
    return {name: _in_names_of_today(value, below) for name, below, value in named}
