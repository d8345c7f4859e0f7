"""Runs of other programs, as specifications ask for them: their figures become run folders like imported results."""

import contextlib
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.secrets import mask_setting
from streamgauge.domain.text.shown import one_line
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.foreign.results.measured import ForeignError
from streamgauge.foreign.results.reading import ImportedFile
from streamgauge.foreign.specs.write.programs import ProgramCommand, ProgramRun
from streamgauge.processes.scratch import PROGRAM, Scratch
from streamgauge.processes.talk.program import ProgramEnd, carry_out
from streamgauge.runs.interrupts import noted
from streamgauge.runs.request.scenario_file import translation_of
from streamgauge.runs.request.spec_files import place_of

if TYPE_CHECKING:
    from streamgauge.runs.foreign.imported import ImportedRun

_SHORTEST_TOLD: Final = 2_000
Say = Callable[[str], None]


@dataclass(slots=True)
class ProgramStatus:
    """What a program tells in Trogdor's lines of JSON."""

    status: Any = None
    error: str = ""

    def hear(self, line: str, say: Say) -> bool:
        """Take in one line; whether it tells an error, which ends the program."""
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            say(one_line(line)[:_SHORTEST_TOLD])
            return False
        self.status = told.get("status", self.status)
        if "log" in told:
            say(one_line(str(told["log"]))[:_SHORTEST_TOLD])
        if "error" in told:
            self.error = self.error or str(told["error"])
        return "error" in told


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """What one run came to: its error, empty for none, and what it told."""

    run: ProgramRun
    error: str
    status: Any
    found: tuple[ImportedFile, ...]
    is_interrupted: bool = False

    @property
    def failure(self) -> str:
        """The run and its error, in one line."""
        return f"{self.run.name}: {one_line(self.error)[:_SHORTEST_TOLD]}"


@dataclass(frozen=True, slots=True)
class ProgramsEnded:
    """What runs came to."""

    last: ProgramOutcome
    """Of the last run that was begun: one that failed or was interrupted ends the others."""
    kept: tuple["ImportedRun", ...]
    """The run folders of all."""


def programs_of(source: str, settings: Sequence[str]) -> tuple[ProgramRun, ...]:
    """The programs that a specification runs; none for anything else. Raises BadInput for settings of a scenario."""
    try:
        translation = translation_of(source)
    except BadInput:
        # Whoever reads the scenario says so, with all other faults.
        return ()
    programs = () if translation is None else translation.programs
    if programs and settings:
        what = "changes a scenario, and this specification runs a program"
        raise BadInput.single(f"--set {one_line(mask_setting(settings[0]))}", what, "Change the specification")
    return programs


def check_programs(runs: Sequence[ProgramRun], source: str, *, allow_code: bool) -> None:
    """Raise BadInput with every program that would run, unless that is allowed."""
    commands = dict.fromkeys((each.where, each.shown) for run in runs for each in run.commands)
    if commands and not allow_code:
        raise BadInput(
            [
                Fault(
                    f"{place_of(source)}: {where}",
                    f"{one_line(mask_setting(shown))} is a program that would run",
                    "Use --allow-code if you trust this specification",
                )
                for where, shown in commands
            ]
        )


def shown_command(text: str) -> str:
    """A command as a terminal may show it: `***` for one with a secret, `?` for what would move the cursor."""
    return "".join(character if character.isprintable() else "?" for character in mask_setting(text))


def run_programs(runs: Sequence[ProgramRun], folder: Path, command: Sequence[str], say: Say) -> ProgramsEnded:
    """Carry out every run, and make a run folder below `folder` of the figures of each.

    A run that fails ends the others, and has no run folder. There is at least one. `command` is kept as what made them.
    """
    # It brings all that draws figures, which no scenario needs before its load.
    from streamgauge.runs.foreign.imported import keep_runs

    kept: list[ImportedRun] = []
    for run in runs:
        outcome = carry_out_run(run, say)
        kept += keep_runs(outcome.found, folder, command, say)
        if outcome.is_interrupted or outcome.error:
            break
    return ProgramsEnded(outcome, tuple(kept))


def carry_out_run(run: ProgramRun, say: Say) -> ProgramOutcome:
    """Do what one run says, until it is over or the user ends it."""
    interrupts = Interrupts()
    with noted(interrupts, say), Scratch(PROGRAM) as scratch:
        return _carried_out(run, scratch.path, interrupts, say)


def _carried_out(run: ProgramRun, scratch: Path, interrupts: Interrupts, say: Say) -> ProgramOutcome:
    from streamgauge.runs.foreign.figures import program_figures

    status = ProgramStatus()
    if run.command is None:
        _wait(run.lasts_s, interrupts)
        return ProgramOutcome(run, "", "done", (), interrupts.count > 0)
    error, began = "", 0
    for command in (*run.before, run.command):
        began = clock.clock_pair().wall_ns
        error = _one(run, command, scratch, status, interrupts, say)
        if error or interrupts.count:
            break
    done = clock.clock_pair().wall_ns
    for command in run.after:
        # What was set up is cleaned up, whatever became of the run; only who asks again has no patience for it.
        problem = _one(run, command, scratch, ProgramStatus(), interrupts, say, asked=2)
        error = error or problem
    if error or interrupts.count:
        return ProgramOutcome(run, error, status.status, (), interrupts.count > 0)
    try:
        found = program_figures(run, scratch / "main.out", status.status, began, done)
    except ForeignError as wrong:
        return ProgramOutcome(run, f"its output {wrong.what}. {wrong.mend}", status.status, ())
    except BadInput as wrong:
        return ProgramOutcome(run, str(wrong), status.status, ())
    return ProgramOutcome(run, "", status.status, tuple(found))


def _one(
    run: ProgramRun,
    command: ProgramCommand,
    scratch: Path,
    status: ProgramStatus,
    interrupts: Interrupts,
    say: Say,
    asked: int = 1,
) -> str:
    """Run one program; what went wrong, empty for nothing. It ends when the user has asked so often."""
    name = "main" if command is run.command else "other"
    say(f"{run.name}: {shown_command(command.shown)}")
    end = carry_out(
        command.words,
        scratch / f"{name}.out",
        scratch / f"{name}.err",
        folder=command.folder,
        environment=command.environment,
        line=run.input if command is run.command else None,
        limit_s=command.limit_s,
        grace_s=run.grace_s,
        hears=lambda line: command is run.command and run.speech == "trogdor" and status.hear(line, say),
        is_stopped=lambda: interrupts.count >= asked,
    )
    return status.error or _problem(run, command, end, scratch / f"{name}.err")


def _problem(run: ProgramRun, command: ProgramCommand, end: ProgramEnd, errors: Path) -> str:
    """What went wrong with a program; empty for nothing."""
    if end.problem:
        return f"{shlex.join(command.words[:1])} {end.problem}"
    if end.is_stopped or (end.is_late and run.is_ended_in_time and command is run.command):
        return ""
    if end.is_late:
        return f"{command.where} had not ended after {command.limit_s:g} s"
    if end.code:
        last = ""
        with contextlib.suppress(OSError):
            last = errors.read_text(errors="replace")[-_SHORTEST_TOLD:].strip().rpartition("\n")[2]
        return f"{command.where} exited with return code {end.code}{': ' if last else ''}{last}"
    return ""


def _wait(seconds: float, interrupts: Interrupts) -> None:
    until = clock.monotonic_ns() + round(seconds * NS_PER_SECOND)
    while clock.monotonic_ns() < until and not interrupts.count:
        clock.sleep_seconds(min(0.1, seconds))
