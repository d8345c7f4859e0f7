"""Specifications that run programs: what would be started, and what was measured."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from streamgauge.domain.errors import RunFailed
from streamgauge.foreign.specs.write.programs import ProgramRun, plan_lines
from streamgauge.runs.foreign.programs import Say, check_programs, run_programs, shown_command
from streamgauge.verdict.exits import Exit


def carry_out_programs(
    runs: Sequence[ProgramRun],
    source: str,
    folder: Path,
    notes: Sequence[str],
    *,
    allow_code: bool,
    dry_run: bool,
    as_json: bool,
    say: Say,
    show: Callable[[str], None],
) -> int:
    """Tell, or carry out, what a specification runs; the exit code.

    Raises BadInput where that is not allowed, RunFailed with what a run that failed said last.
    """
    check_programs(runs, source, allow_code=allow_code)
    if dry_run:
        show(programs_forecast(runs, notes, as_json=as_json))
        return Exit.DONE
    for note in notes:
        say(note)
    ended = run_programs(runs, folder, ["streamgauge", *sys.argv[1:]], say)
    if ended.kept or as_json:
        # It brings all that draws figures, which no scenario needs before its load.
        from streamgauge.cli.results.imported import kept_text

        show(kept_text(ended.kept, as_json=as_json))
    else:
        show(f"{ended.last.run.name}: nothing was measured, so there is no run folder")
    if ended.last.is_interrupted:
        return Exit.INTERRUPTED
    if ended.last.error:
        raise RunFailed(ended.last.failure)
    return Exit.DONE


def programs_forecast(runs: Sequence[ProgramRun], notes: Sequence[str], *, as_json: bool) -> str:
    """What would be started."""
    lines = [shown_command(line) for line in plan_lines(runs)]
    if as_json:
        return json.dumps({"programs": lines, "notes": list(notes)}, indent=2)
    return "\n".join(["Dry run: nothing was started. It would run:", *lines, *(f"Note: {note}" for note in notes)])
