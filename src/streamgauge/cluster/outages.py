"""What faults do to brokers that outlive us: noted before it is done, so that whoever starts next undoes what is left.

A broker that ends with the process that started it needs no note. One that `broker start` started stays, and so does
what was done to it: where we were killed while it was paused or dead, `undo` lets it go on, or starts it again.
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
from streamgauge.cluster.disks.broker_disk import BrokerDisk
from streamgauge.cluster.nodes.layout import Member
from streamgauge.cluster.nodes.node import spawn
from streamgauge.cluster.registry import Entry
from streamgauge.domain import clock
from streamgauge.domain.errors import BrokerError
from streamgauge.processes.identity import ProcessId, identify, is_alive, is_gone

_SUFFIX: Final = ".outage"
_GONE_SECONDS: Final = 10.0
_COMMAND_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.001
_ENDING: Final = frozenset({signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL})
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


class StandingBroker:
    """A node that `broker start` started, to which faults can be done."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._command = _command_of(entry.process.pid)
        self._member = _member(entry, self._command)

    @property
    def name(self) -> str:
        """Its name, which stays the same in all its lives."""
        return self.entry.name

    @property
    def pid(self) -> int:
        """The number of its process now."""
        return self.entry.process.pid

    @property
    def number(self) -> int:
        """Kafka's `node.id` of it."""
        return self._member.number

    @property
    def is_broker(self) -> bool:
        """Whether it serves clients; a controller apart from the brokers does not."""
        return self._member.is_broker

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended; a paused one has not."""
        _reap()
        return not is_alive(self.entry.process)

    @property
    def disk(self) -> BrokerDisk:
        """Raises OSError: only brokers that the run starts have disks that can fail."""
        raise OSError(f"{self.name} was not started by this run")

    def signal(self, number: int) -> None:
        """Send its process a signal; raises OSError where it has ended, or where that cannot be noted before."""
        if self.has_ended:
            raise ProcessLookupError(f"{self.name} is not running")
        if number in _ENDING:
            self._note()
        os.kill(self.pid, number)
        if number == signal.SIGCONT:
            _note_of(self.entry).unlink(missing_ok=True)

    def restart(self) -> None:
        """Start it again after it has ended, with the same command; raises OSError where it lives."""
        with contextlib.suppress(psutil.Error):
            psutil.Process(self.pid).wait(_GONE_SECONDS)
        if not self.has_ended:
            raise OSError(f"{self.name} has not ended")
        noted = _note_of(self.entry)
        self.entry = _again(self.entry, self._command)
        noted.unlink(missing_ok=True)

    def _note(self) -> None:
        outage = NotedOutage(owner=identify(os.getpid()), entry=self.entry, command=self._command)
        try:
            registry.write(_note_of(self.entry), outage)
        except BrokerError as error:
            raise OSError(str(error)) from error


def standing(bootstrap: str) -> list[StandingBroker]:
    """The nodes of the cluster at these addresses, if `broker start` started it on this machine; else none.

    What was left of the faults of others is undone before.
    """
    undo()
    addresses = set(bootstrap.split(","))
    running = [entry for entry in registry.listing() if entry.owner is None]
    found = next((entry for entry in running if entry.bootstrap in addresses), None)
    if found is None:
        return []
    mine = [each for each in running if each == found or (found.cluster and each.cluster == found.cluster)]
    with contextlib.suppress(psutil.Error, OSError, LookupError, ValueError):
        return [StandingBroker(each) for each in mine]
    return []


def undo() -> list[Entry]:
    """Let brokers go on, or start them again, to which somebody did something who has been killed since."""
    undone = []
    for path, outage in list(registry.read(f"*{_SUFFIX}", NotedOutage)):
        if is_gone(outage.owner):
            with contextlib.suppress(OSError, BrokerError, psutil.Error):
                if is_alive(outage.entry.process):
                    os.kill(outage.entry.process.pid, signal.SIGCONT)
                else:
                    _again(outage.entry, outage.command)
                undone.append(outage.entry)
            path.unlink(missing_ok=True)
    return undone


def _again(entry: Entry, command: tuple[str, ...]) -> Entry:
    """Start the same command once more, and remember its process."""
    with entry.log.open("ab") as log:
        process = spawn(command, entry.log.parent, log)
    _LEFT.append(process)
    after = entry.model_copy(update={"process": identify(process.pid)})
    registry.succeed(entry, after)
    return after


def _reap() -> None:
    """Learn of the death of those that we started: until somebody asks, they are there for the system."""
    for process in _LEFT:
        process.poll()


def _note_of(entry: Entry) -> Path:
    return registry.file_of(entry).with_suffix(_SUFFIX)


def _command_of(pid: int) -> tuple[str, ...]:
    """The command line of a process; raises psutil.Error where it has ended."""
    process = psutil.Process(pid)
    deadline_ns = clock.monotonic_ns() + _COMMAND_SECONDS * clock.NS_PER_SECOND
    # For a moment while a program starts, the system has taken its old command line away and not yet set the new one.
    while not (command := tuple(process.cmdline())) and clock.monotonic_ns() < deadline_ns:
        clock.sleep_seconds(_LOOK_SECONDS)
    return command


def _member(entry: Entry, command: tuple[str, ...]) -> Member:
    """Number and roles of a node, from the configuration that its command names."""
    lines = Path(command[-1]).read_text(encoding="ascii").splitlines()
    settings = dict(line.split("=", 1) for line in lines if "=" in line)
    roles = settings["process.roles"].split(",")
    return Member(int(settings["node.id"]), entry.name, "broker" in roles, "controller" in roles)
