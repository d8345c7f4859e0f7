"""Which embedded brokers run on this machine, remembered in files, so that none outlives its purpose unnoticed.

Each broker has one small file in `$XDG_STATE_HOME/streamgauge/brokers` (`~/.local/state` where that is not set),
written when it starts and removed when it ends. What is left of an owner that was killed is cleared away by `sweep`;
every start of a broker sweeps first. Data are removed only when no process can be using them any more.
"""

import contextlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from streamgauge.cluster.disks.mounts import unmount_below
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.processes.disk import whole
from streamgauge.processes.identity import ProcessId, identify, is_alive, is_gone
from streamgauge.processes.places import state_folder

MARKER: Final = "-Dstreamgauge.broker="
"""Begins a word in the command line of every embedded broker; its name follows."""
PROPERTIES: Final = "server.properties"
"""A broker's configuration, in its data folder, itself in that of its cluster: the last word of its command line."""
_CLAIM: Final = ".claim"
_PATIENCE_SECONDS: Final = 10.0
_ENTRY_BYTES: Final = 4096
"""More than an entry takes."""


Content = TypeVar("Content", bound=BaseModel)


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
    cluster: Path | None = None
    """The data folder of the whole cluster: that of the broker itself where it is alone, and none in earlier versions.
    Nodes with the same are of one cluster."""
    ports: tuple[int, ...] = ()
    """All that it listens on, or will again when it is started again."""
    is_broker: bool = True
    """Whether clients connect to it; a controller apart from the brokers serves none."""


class Claim(BaseModel):
    """A data folder in which a broker is being made that has no process yet."""

    model_config = ConfigDict(frozen=True)

    owner: ProcessId
    data: Path
    temporary: bool = True
    """Whether the folder goes away with its owner."""


class _Noted(BaseModel):
    """As much of an outage as matters here."""

    entry: Entry


def check_writable() -> None:
    """Return if brokers can be remembered; raises BadInput that says where, why not and how to mend it."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as draft:
            draft.write(bytes(_ENTRY_BYTES))
        list(folder.iterdir())
    except OSError as error:
        what = f"the list of running brokers cannot be written there: {error.strerror}"
        mend = "Check its permissions and its disk, or set XDG_STATE_HOME to another folder"
        raise BadInput.single(f"state folder {folder}", what, mend) from error


@contextlib.contextmanager
def claimed(data: Path, *, temporary: bool = True) -> Iterator[None]:
    """Remember that brokers in a folder go away with us until all of them are registered; a temporary folder, too.

    Raises BrokerError where that cannot be written.
    """
    path = _folder() / f"{secrets.token_hex(8)}{_CLAIM}"
    write(path, Claim(owner=identify(os.getpid()), data=data, temporary=temporary))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def register(entry: Entry) -> None:
    """Remember a broker. Raises BrokerError where it cannot be written."""
    write(file_of(entry), entry)


def write(path: Path, content: BaseModel) -> None:
    """Write a file that appears whole. Raises BrokerError where it cannot be written."""
    try:
        # Who reads the folder meanwhile takes the name of the draft for nothing.
        with whole(path, path.with_suffix(".new")) as draft:
            draft.write_text(content.model_dump_json(indent=2), encoding="utf-8")
    except OSError as error:
        raise BrokerError(f"a broker cannot be registered in {path.parent}: {error.strerror}") from error


def forget(entry: Entry) -> bool:
    """Remove what a broker that has ended leaves behind: its data if they are temporary, and its file.

    Does nothing, and returns False, while the broker may live.
    """
    if not _is_over(entry) or brokers_in(entry.data):
        return False
    unmount_below(entry.data)
    if entry.temporary:
        shutil.rmtree(entry.data, ignore_errors=True)
        if entry.cluster:
            # The last node of a cluster takes its folder with it.
            with contextlib.suppress(OSError):
                entry.cluster.rmdir()
    with contextlib.suppress(OSError):
        file_of(entry).unlink(missing_ok=True)
    return True


def succeed(before: Entry, after: Entry) -> None:
    """Remember the process that a broker is now, and no longer the one that it was; what it keeps stays."""
    register(after)
    if file_of(before) != file_of(after):
        file_of(before).unlink(missing_ok=True)


def listing() -> list[Entry]:
    """The brokers that run now, by name."""
    return sorted((entry for entry in _entries() if _runs(entry)), key=lambda entry: entry.name)


def reserved_ports() -> set[int]:
    """The ports of all brokers that are remembered: one that a fault has ended is to listen there again."""
    return {port for entry in _entries() for port in entry.ports}


def sweep() -> list[Entry]:
    """End every broker that nobody looks after, and clear away what it leaves; returns their entries.

    One that cannot be ended stays as it is, and so does one that another machine or a container looks after.
    """
    left = []
    # One that a fault has ended is started again: by who ended it, or by `outages.undo`.
    away = {file_of(each.entry) for _, each in read("*.outage", _Noted)}
    for entry in orphans([each for each in _entries() if file_of(each) not in away], _is_over, is_gone):
        with contextlib.suppress(BrokerError):
            end(entry)
            left.append(entry)
    for path, claim in read(f"*{_CLAIM}", Claim):
        if is_gone(claim.owner):
            # Nobody was told of brokers whose start was not over; others of their cluster may never have been started.
            for entry in [each for each in _entries() if claim.data in {each.data, each.cluster}]:
                with contextlib.suppress(BrokerError):
                    end(entry)
                    left.append(entry)
            # The last one may not have been registered yet.
            for process in brokers_in(claim.data):
                _bury(process, in_order=not claim.temporary)
            if not brokers_in(claim.data):
                unmount_below(claim.data)
                if claim.temporary:
                    shutil.rmtree(claim.data, ignore_errors=True)
                path.unlink(missing_ok=True)
    return left


def orphans(
    entries: Iterable[Entry], is_over: Callable[[Entry], bool], is_gone: Callable[[ProcessId], bool]
) -> list[Entry]:
    """The entries that nobody looks after: whose owner has ended or, where they have none, the broker itself."""
    return [each for each in entries if (is_gone(each.owner) if each.owner else is_over(each))]


def end(entry: Entry) -> None:
    """End a broker, if need be by force, and forget it; raises BrokerError where it lives on, and keeps its data."""
    processes = set(brokers_in(entry.data))
    with contextlib.suppress(psutil.NoSuchProcess):
        processes |= {psutil.Process(entry.process.pid)} if _runs(entry) else set()
    # The last nodes of a cluster would wait for a quorum to let them go, and nobody wants data that are temporary.
    in_order = not entry.temporary or entry.cluster in {None, entry.data}
    for process in processes:
        _bury(process, in_order=in_order)
    if not forget(entry):
        raise BrokerError(
            f"{entry.name} (process {entry.process.pid}) could not be stopped; its data are kept in {entry.data}"
        )


def brokers_in(data: Path) -> list[psutil.Process]:
    """The embedded brokers that work in a data folder, of their own or of their cluster, found by their command lines.

    An owner that dies while it starts its broker again leaves one that no file names.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            words = process.cmdline()
            if any(word.startswith(MARKER) for word in words) and data in Path(words[-1]).parents:
                found.append(process)
    return found


def _runs(entry: Entry) -> bool:
    """Whether the broker of an entry runs."""
    if entry.process.is_exact:
        return is_alive(entry.process)
    # Earlier versions told processes apart by the wall clock, which may have been set since.
    return is_alive(entry.process) and _is_broker(entry.process.pid)


def _is_over(entry: Entry) -> bool:
    """Whether the broker of an entry has ended for certain."""
    return is_gone(entry.process) if entry.process.is_exact else not _runs(entry)


def _is_broker(pid: int) -> bool:
    """Whether a process may be a broker of ours; one that does not tell its command line may."""
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
    return any(word.startswith(MARKER) for word in words)


def _bury(process: psutil.Process, *, in_order: bool) -> None:
    """Make a process end, as far as that is possible; one that is to do so `in_order` is asked before."""
    with contextlib.suppress(psutil.Error):
        if in_order:
            process.terminate()
            # A stopped process takes note of nothing else.
            process.resume()
            with contextlib.suppress(psutil.TimeoutExpired):
                process.wait(_PATIENCE_SECONDS)
                return
        process.kill()
        process.wait(_PATIENCE_SECONDS)


def _folder() -> Path:
    return state_folder() / "brokers"


def file_of(entry: Entry) -> Path:
    """Named by what makes the process unique, so that no number that is used again is taken for another."""
    process = entry.process
    start = "" if process.start_ticks is None else f"-{process.start_ticks}"
    return _folder() / f"{process.pid}{start}.json"


def _entries() -> list[Entry]:
    return [entry for _, entry in read("*.json", Entry)]


def read(pattern: str, kind: type[Content]) -> Iterator[tuple[Path, Content]]:
    """The files of one kind that can be read."""
    for path in _folder().glob(pattern):
        # Another process may just have removed it, and what another version wrote is not ours to judge.
        with contextlib.suppress(OSError, ValidationError):
            text = path.read_bytes()
            if _is_torn(text):
                path.unlink()
            else:
                yield path, kind.model_validate_json(text)


def _is_torn(text: bytes) -> bool:
    """Whether a file is of no use to anybody."""
    try:
        json.loads(text)
    except ValueError:
        return True
    return False
