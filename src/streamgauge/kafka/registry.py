"""Which embedded brokers run on this machine, remembered in files, so that none outlives its purpose unnoticed.

Each broker has one small file in `$XDG_STATE_HOME/streamgauge/brokers` (`~/.local/state` where that is not set),
written when it starts and removed when it ends. What is left of an owner that was killed is cleared away by `sweep`;
every start of a broker sweeps first.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

_PATIENCE_SECONDS: Final = 10.0
_SAME_START_SECONDS: Final = 2.0
"""A process's start is computed from the boot time, which moves with the wall clock."""


class ProcessId(BaseModel):
    """A process for certain: its number, and when it was started, since numbers are used again."""

    model_config = ConfigDict(frozen=True)

    pid: int
    created: float
    """Seconds since the epoch."""


class Entry(BaseModel):
    """One embedded broker."""

    model_config = ConfigDict(frozen=True)

    name: str
    process: ProcessId
    owner: ProcessId | None
    """The process that looks after it and ends it; None for a broker that was asked to stay."""
    bootstrap: str
    version: str
    data: Path
    temporary: bool
    """Whether its data folder goes away with it."""
    log: Path


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where the program keeps what it must not forget between commands; may not exist yet."""
    root = environ.get("XDG_STATE_HOME")
    return (Path(root) if root else Path.home() / ".local" / "state") / "streamgauge"


def identify(pid: int) -> ProcessId:
    """The process that has this number now; raises psutil.NoSuchProcess if there is none."""
    return ProcessId(pid=pid, created=psutil.Process(pid).create_time())


def register(entry: Entry) -> None:
    """Remember a broker; the file appears whole."""
    path = _file(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(entry.model_dump_json(indent=2), encoding="utf-8")
    draft.replace(path)


def forget(entry: Entry) -> None:
    """Remove what a broker that has ended leaves behind: its data if they are temporary, and its file."""
    if entry.temporary:
        shutil.rmtree(entry.data, ignore_errors=True)
    _file(entry).unlink(missing_ok=True)


def succeed(before: Entry, after: Entry) -> None:
    """Remember the process that a broker is now, and no longer the one that it was; what it keeps stays."""
    register(after)
    if _file(before) != _file(after):
        _file(before).unlink(missing_ok=True)


def listing() -> list[Entry]:
    """The brokers that run now, by name."""
    return sorted((entry for entry in _entries() if is_alive(entry.process)), key=lambda entry: entry.name)


def sweep() -> list[Entry]:
    """End every broker that nobody looks after, and clear away what it leaves; returns their entries."""
    left = orphans(_entries(), is_alive)
    for entry in left:
        end(entry)
    return left


def orphans(entries: Iterable[Entry], alive: Callable[[ProcessId], bool]) -> list[Entry]:
    """The entries that nobody looks after: whose owner has ended or, where they have none, the broker itself."""
    return [each for each in entries if not alive(each.owner or each.process)]


def end(entry: Entry) -> None:
    """End a broker, if need be by force, and forget it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(entry.process.pid)
        if is_alive(entry.process):
            process.terminate()
            # A stopped process takes note of nothing else.
            process.resume()
            _bury(process)
    forget(entry)


def is_alive(wanted: ProcessId) -> bool:
    """Whether this very process runs; a zombie, or another one with its number, does not count."""
    try:
        process = psutil.Process(wanted.pid)
        same = abs(process.create_time() - wanted.created) < _SAME_START_SECONDS
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _bury(process: psutil.Process) -> None:
    try:
        process.wait(_PATIENCE_SECONDS)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(_PATIENCE_SECONDS)


def _folder() -> Path:
    return state_folder(os.environ) / "brokers"


def _file(entry: Entry) -> Path:
    return _folder() / f"{entry.process.pid}.json"


def _entries() -> list[Entry]:
    found = []
    for path in _folder().glob("*.json"):
        # Another process may just have removed it; one that cannot be read is of no use to anybody.
        with contextlib.suppress(FileNotFoundError):
            try:
                found.append(Entry.model_validate_json(path.read_bytes()))
            except ValidationError:
                path.unlink()
    return found
