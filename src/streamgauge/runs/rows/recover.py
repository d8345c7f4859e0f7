"""Runs whose supervisor was killed: what their shared cells still say is written down before anything is analysed."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from streamgauge.cluster import registry
from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, RecordError, StreamgaugeError
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.engine.supervise.cells import PREFIX, Claims, after_death, read_claims
from streamgauge.engine.supervise.local import memory_folder
from streamgauge.processes.lock import FolderLock
from streamgauge.record.facts import read_facts, write_facts
from streamgauge.record.parts import close_left_open
from streamgauge.runs.request.materials import arrivals_of
from streamgauge.runs.rows.parent import record_changes
from streamgauge.runs.rows.settle import MessageSource, settle, sources_of_scenario
from streamgauge.scenario import Scenario, parse

_DRAFT_SECONDS: Final = 60.0
"""A file of cells that has not got its name by then never will."""


def own(folder: RunFolder) -> contextlib.AbstractContextManager[object]:
    """Be the only one who works on a run folder as a whole; raises BadInput while somebody else does.

    A run does from its start to the end of its report, so nobody comes between its load and its analysis.
    """
    # Workers share the lock of the folder itself. This is another one, and no worker has it.
    # `Path.is_dir` raises where a name is too long.
    return _exclusive(folder, folder.events) if os.path.isdir(folder.events) else contextlib.nullcontext()  # noqa: PTH112


def alone(folder: RunFolder, *, owned: bool = False) -> contextlib.ExitStack:
    """Hold a run folder alone; raises BadInput while its run goes on, or somebody else writes to it.

    Also where there is no such folder. `owned` says that the caller has its `own` already.
    """
    with contextlib.ExitStack() as held:
        if not owned:
            held.enter_context(own(folder))
        held.enter_context(_exclusive(folder, folder.root))
        return held.pop_all()


def _exclusive(folder: RunFolder, path: Path) -> FolderLock:
    where = str(folder.root)
    try:
        lock = FolderLock.exclusive(path)
    except OSError as error:
        # Says best what is wrong with a name that is no run.
        read_facts(folder)
        raise BadInput.single(where, f"cannot be opened: {error.strerror}", "Name a run folder") from error
    if lock is None:
        what = "its run, or another analysis or report, is still active"
        raise BadInput.single(where, what, "Wait until it has ended, and try again")
    return lock


def completed(folder: RunFolder, progress: Callable[[str], None]) -> RunFacts:
    """run.json of a folder that the caller holds alone, once all that the dead left undone is done.

    Raises BadInput where there is no run.json that can be read, RecordError where rows cannot be read or written.
    """
    facts = recovered(folder)
    # The broker of a run that was killed has ended with it; its data are still in the folder.
    registry.sweep()
    for path, reason in close_left_open(folder):
        progress(f"{path.relative_to(folder.root)}: {reason}")
    scenario = _scenario(facts)
    try:
        settle(folder, facts, _sources(scenario) if scenario else {})
        if scenario and facts.ending is None:
            record_changes(folder, scenario, facts.phases)
    except RecordError as error:
        progress(f"messages without a row could not be determined: {error}")
    return facts


def _scenario(facts: RunFacts) -> Scenario | None:
    """What was asked for; None where this version cannot read it."""
    try:
        return parse(facts.scenario)
    except BadInput:
        return None


def _sources(scenario: Scenario) -> dict[int, MessageSource]:
    """What the producers were to send."""
    try:
        return sources_of_scenario(scenario, arrivals_of(scenario))
    except BadInput:
        # The file of arrivals may be gone. Without it, due times are not known.
        return sources_of_scenario(scenario, None)


def recovered(folder: RunFolder) -> RunFacts:
    """run.json of a folder that the caller holds alone; amended where its supervisor was killed.

    Raises BadInput where there is none that can be read, RecordError where it cannot be written.
    """
    facts = read_facts(folder)
    if facts.cells is None or facts.ending is not None:
        return facts
    file = Path(facts.cells)
    claims = _claims(file)
    facts = after_death(facts, claims)
    write_facts(folder, facts)
    # A copy of the folder of a run that goes on names the cells of that run.
    if claims and _is_of(claims, folder):
        file.unlink(missing_ok=True)
    return facts


def sweep(memory: Path | None = None) -> None:
    """Write down and remove the cells of runs of which nobody lives any more; what belongs to others stays."""
    for file in (memory or memory_folder()).glob(f"*{PREFIX}*"):
        # Another user's, or just removed by somebody else who sweeps.
        with contextlib.suppress(OSError, StreamgaugeError):
            if file.name.startswith(PREFIX):
                _sweep(file)
            elif clock.clock_pair().wall_ns / clock.NS_PER_SECOND - file.stat().st_mtime > _DRAFT_SECONDS:
                file.unlink()


def _sweep(file: Path) -> None:
    lock = FolderLock.exclusive(file)
    if lock is None:
        return
    with lock:
        claims = _claims(file)
        folder = RunFolder(Path(claims.run)) if claims else None
        if folder and folder.facts.exists():
            with alone(folder):
                recovered(folder)
        file.unlink(missing_ok=True)


def _is_of(claims: Claims, folder: RunFolder) -> bool:
    """Whether cells are of this folder, or of one that is no longer where it was."""
    run = Path(claims.run)
    return not run.exists() or run.resolve() == folder.root.resolve()


def _claims(file: Path) -> Claims | None:
    """What the cells say; None where they are gone or cannot be read."""
    try:
        return read_claims(file.read_bytes())
    except (OSError, ValueError):
        return None
