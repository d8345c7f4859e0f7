"""Programs that a specification runs: what is started, for how long, and where its figures are found."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from streamgauge.domain.text.quantities import format_duration
from streamgauge.foreign.results.asked import Asked

ProgramSpeech = Literal["plain", "trogdor"]
"""What standard output says: anything, or Trogdor's lines of JSON with `status`, `log` and `error`."""


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """One program that is started."""

    where: str
    """Where it stands in its specification."""
    words: tuple[str, ...]
    folder: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 600.0
    """After how many seconds it is ended."""

    @property
    def shown(self) -> str:
        """The command as a shell would take it."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        command = " ".join([*settings, shlex.join(self.words)])
        return f"cd {shlex.quote(self.folder)} && {command}" if self.folder else command


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """Where the figures of a program are found."""

    patterns: tuple[str, ...] = ()
    """Regular expressions of its standard output, whose named groups are figures."""
    files: tuple[str, ...] = ()
    """Regular expressions of the names of result files in its folder."""
    result: str | None = None
    """A file with a result of tussle as JSON."""
    asked: Asked = field(default_factory=Asked)


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """One run of a program, with what is done before and after it."""

    name: str
    tool: str
    command: ProgramCommand | None
    """None where nothing is done."""
    lasts_s: float = 0.0
    """How long it runs where nothing is done."""
    before: tuple[ProgramCommand, ...] = ()
    after: tuple[ProgramCommand, ...] = ()
    input: str | None = None
    """A line on its standard input, which then stays open."""
    speech: ProgramSpeech = "plain"
    grace_s: float = 5.0
    """How long it may take to end before it is killed."""
    is_ended_in_time: bool = False
    """Whether it is meant to run until its time is over; else it has failed by then."""
    output: ProgramOutput = field(default_factory=ProgramOutput)
    spec: Mapping[str, Any] = field(default_factory=dict)
    """What its specification says, where results repeat it."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def commands(self) -> tuple[ProgramCommand, ...]:
        """All that is started, in order."""
        return (*self.before, *([self.command] if self.command else []), *self.after)


def plan_lines(runs: Sequence[ProgramRun]) -> Iterator[str]:
    """What would be done, line by line."""
    for run in runs:
        for command in run.commands:
            ends = "is ended" if run.is_ended_in_time else "fails"
            limit = f"{ends} after {format_duration(round(command.limit_s * 1e9))}"
            yield f"{run.name}: {command.where}: {command.shown}  ({limit})"
        if run.command is None:
            yield f"{run.name}: nothing is done for {format_duration(round(run.lasts_s * 1e9))}"
