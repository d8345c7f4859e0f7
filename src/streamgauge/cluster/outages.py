"""What faults do to brokers that outlive us: noted before it is done, so that whoever starts next undoes what is left.

A broker that ends with the process that started it needs no note. One that `broker start` started stays, and so does
what was done to it: where we were killed while it was paused, ending or dead, `undo` lets it go on, or starts it again.
A note stays until that is done.
"""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Final

import psutil
from pydantic import BaseModel, ConfigDict

from streamgauge.cluster import registry
from streamgauge.cluster.nodes.node import spawn
from streamgauge.cluster.registry import Entry
from streamgauge.domain import clock
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.identity import ProcessId, identify, is_alive, is_gone

_SUFFIX: Final = ".outage"
GONE_SECONDS: Final = 10.0
"""A process that was killed is gone by then."""
_LOOK_SECONDS: Final = 0.005
ENDING: Final = frozenset({signal.SIGTERM, signal.SIGKILL})
"""Signals that end a process, sooner or later."""
_LEFT: Final[list["subprocess.Popen[bytes]"]] = []
"""Brokers that outlive us on purpose: a process that runs while its object is collected is taken for a mistake."""


class NotedOutage(BaseModel):
    """A broker to which somebody does something that is to be undone."""

    model_config = ConfigDict(frozen=True)

    owner: ProcessId
    """Who undoes it while he lives."""
    entry: Entry
    command: tuple[str, ...]
    """What starts it again."""
    signal: int | None = None
    """What ends or stops its process; None in notes of earlier versions, where it may end by itself."""


def undo() -> list[Entry]:
    """Let brokers go on, or start them again, to which somebody did something who has been killed since.

    One that is still ending is waited for, at most 10 s, and then killed. What cannot be undone stays noted.
    """
    undone = []
    for path, outage in list(registry.read(f"*{_SUFFIX}", NotedOutage)):
        if is_gone(outage.owner):
            with contextlib.suppress(OSError, BrokerError, psutil.Error):
                _undo(path, outage)
                undone.append(outage.entry)
    return undone


def _undo(path: Path, outage: NotedOutage) -> None:
    """Undo one outage; raises OSError, BrokerError or psutil.Error where that fails, and leaves the note as it was."""
    # That takes its time, and nobody else is to do it meanwhile.
    registry.write(path, outage.model_copy(update={"owner": identify(os.getpid())}))
    try:
        _let_live(outage)
    except (OSError, BrokerError, psutil.Error):
        registry.write(path, outage)
        raise
    path.unlink(missing_ok=True)


def _let_live(outage: NotedOutage) -> None:
    process = outage.entry.process
    if outage.signal in ENDING:
        _bring_to_an_end(outage.entry, outage.signal)
    if is_alive(process):
        os.kill(process.pid, signal.SIGCONT)
    elif adopted(outage.entry) is None and Path(outage.command[-1]).exists():
        again(outage.entry, outage.command)


def _bring_to_an_end(entry: Entry, number: int) -> None:
    """End a process that was ending, or was about to: in order, or else by force; raises OSError where it lives on."""
    for each in dict.fromkeys((number, signal.SIGKILL)):
        if is_alive(entry.process):
            with contextlib.suppress(ProcessLookupError):
                # It may not have been told before its end was noted.
                os.kill(entry.process.pid, each)
                # A paused process takes note of nothing else.
                os.kill(entry.process.pid, signal.SIGCONT)
        if is_over(entry.process, GONE_SECONDS):
            return
    raise OSError(f"{entry.name} has not ended")


def adopted(entry: Entry) -> Entry | None:
    """The entry of a broker that somebody else has started again, remembered; None where nobody has.

    Whoever did may have been killed before it was remembered. Raises BrokerError where that cannot be done.
    """
    running = registry.brokers_in(entry.data)
    if not running:
        return None
    after = _as(entry, running[0].pid)
    registry.succeed(entry, after)
    return after


def again(entry: Entry, command: tuple[str, ...]) -> Entry:
    """Start the same command once more, and remember its process; raises OSError or BrokerError, and nothing runs."""
    with entry.log.open("ab") as log:
        process = spawn(command, entry.log.parent, log)
    after = _as(entry, process.pid)
    try:
        registry.succeed(entry, after)
    except BrokerError:
        process.kill()
        process.wait(GONE_SECONDS)
        raise
    _LEFT.append(process)
    return after


def _as(entry: Entry, pid: int) -> Entry:
    """The entry of a broker that is another process now."""
    return entry.model_copy(update={"process": identify(pid)})


def is_over(process: ProcessId, seconds: float) -> bool:
    """Whether a process has ended, or does so within this time."""
    deadline_ns = clock.monotonic_ns() + int(seconds * clock.NS_PER_SECOND)
    while True:
        reap()
        if not is_alive(process):
            return True
        if clock.monotonic_ns() >= deadline_ns:
            return False
        clock.sleep_seconds(_LOOK_SECONDS)


def reap() -> None:
    """Learn of the death of those that we started: until somebody asks, they are there for the system."""
    for process in _LEFT:
        process.poll()


def noted(entry: Entry) -> int | None:
    """The signal that is noted for a broker; None where none is."""
    return next((outage.signal for _, outage in registry.read(note_of(entry).name, NotedOutage)), None)


def note_of(entry: Entry) -> Path:
    """Where it is noted what is done to a broker."""
    return registry.file_of(entry).with_suffix(_SUFFIX)
