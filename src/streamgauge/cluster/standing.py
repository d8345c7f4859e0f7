"""Nodes that `broker start` started on this machine, which outlive us, and what faults do to them."""

import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from streamgauge.cluster import outages, registry
from streamgauge.cluster.disks.broker_disk import BrokerDisk
from streamgauge.cluster.named import nodes_of
from streamgauge.cluster.nodes.layout import Member
from streamgauge.cluster.outages import NotedOutage
from streamgauge.cluster.registry import Entry
from streamgauge.domain import clock
from streamgauge.domain.errors import BrokerError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.identity import identify, is_alive
from streamgauge.processes.jvm.properties import properties_in
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.fault import BROKER

_COMMAND_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.001


class StandingBroker:
    """A node that `broker start` started, to which faults can be done."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.is_down_on_purpose = False
        """Whether its disk fails, so that it ends by itself."""
        self._command = _command_of(entry.process.pid)
        self.settings = _settings_of(self._command)
        """Kafka's, by their names."""
        self._member = _member(entry, self.settings)
        # What those before have left may not have been possible to undo.
        self.noted = outages.noted(entry)
        """The signal that is noted; None where none is."""

    @property
    def name(self) -> str:
        """Its name in the run, the same in all its lives: a broker has Kafka's number, whatever it is registered as.

        Where another cluster runs already, `broker start` names the first broker of the next one `broker-2`, say.
        """
        return f"{BROKER}-{self.number}" if self.is_broker else self.entry.name

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
        outages.reap()
        return not is_alive(self.entry.process)

    @property
    def alive(self) -> bool:
        """Whether its process has not ended."""
        return not self.has_ended

    @property
    def disk(self) -> "NotedDisk":
        """Its log directories, to which faults can be done; none of them passes through us."""
        directories = [Path(each) for each in self.settings["log.dirs"].split(",")]
        gc_log = RunFolder(self.entry.log.parent).gc_log(self.entry.name)
        logs = [self.entry.log, self.entry.log.with_name(gc_log.name)]
        return NotedDisk(self, BrokerDisk(self, directories, logs, {}))

    def signal(self, number: int) -> None:
        """Send its process a signal; raises OSError where it has ended, or where that cannot be noted before."""
        if self.has_ended:
            raise ProcessLookupError(f"{self.name} is not running")
        # One that was asked to end is still ending, whether it is paused as well or goes on.
        is_ending = self.noted in outages.ENDING
        if number in outages.ENDING or (number == signal.SIGSTOP and not is_ending):
            self.note(number)
        os.kill(self.pid, number)
        if number == signal.SIGCONT and not is_ending:
            self.forget()

    def kill(self) -> None:
        """End it at once, and wait until it is gone; raises OSError where it is not, or where that cannot be noted."""
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        if not outages.is_over(self.entry.process, outages.GONE_SECONDS):
            raise OSError(f"{self.name} could not be killed")

    def restart(self) -> None:
        """Start it again after it has ended, with the same command; raises OSError where it lives.

        What another run has left may have been undone meanwhile, so that it runs already.
        """
        if not outages.is_over(self.entry.process, outages.GONE_SECONDS):
            raise OSError(f"{self.name} has not ended")
        noted = outages.note_of(self.entry)
        self.entry = outages.adopted(self.entry) or outages.again(self.entry, self._command)
        self.is_down_on_purpose = False
        noted.unlink(missing_ok=True)
        self.noted = None

    def note(self, number: int) -> None:
        """Note that it is to be started again, or to go on, after this signal; raises OSError where that fails."""
        outage = NotedOutage(owner=identify(os.getpid()), entry=self.entry, command=self._command, signal=number)
        try:
            registry.write(outages.note_of(self.entry), outage)
        except BrokerError as error:
            raise OSError(str(error)) from error
        self.noted = number

    def forget(self) -> None:
        """It goes on: nothing is to be undone."""
        outages.note_of(self.entry).unlink(missing_ok=True)
        self.noted = None


@dataclass(frozen=True, slots=True)
class NotedDisk:
    """The log directories of a broker that outlives us: what is done to them is noted before, like all else."""

    broker: StandingBroker
    disk: BrokerDisk

    def begin(self, fault: DiskFault) -> None:
        """Do what the fault says; OSError where that is not possible, or cannot be noted."""
        if not fault.is_of_one_directory:
            # Whether its disk fails or it is killed: only another process is sure to be free of it.
            self.broker.note(signal.SIGKILL)
        self.disk.begin(fault)

    def end(self, fault: DiskFault) -> None:
        """Undo it, and start the broker again; OSError where that is not possible."""
        self.disk.end(fault)


def standing(bootstrap: str) -> list[StandingBroker]:
    """The nodes of the cluster at these addresses, if `broker start` started it on this machine; else none.

    What was left of the faults of others is undone before.
    """
    outages.undo()
    addresses = set(map(_as_started, bootstrap.split(",")))
    running = [entry for entry in registry.listing() if entry.owner is None]
    found = next((entry for entry in running if entry.bootstrap in addresses), None)
    if found is None:
        return []
    with contextlib.suppress(psutil.Error, OSError, LookupError, ValueError):
        return [StandingBroker(each) for each in nodes_of(found, running)]
    return []


def _as_started(address: str) -> str:
    """An address with this machine as what we start names it; others as they are."""
    host, _, port = address.rpartition(":")
    return f"{LOOPBACK}:{port}" if host.lower() in {"localhost", "[::1]"} else address


def _command_of(pid: int) -> tuple[str, ...]:
    """The command line of a process; raises psutil.Error where it has ended."""
    process = psutil.Process(pid)
    deadline_ns = clock.monotonic_ns() + _COMMAND_SECONDS * clock.NS_PER_SECOND
    # For a moment while a program starts, the system has taken its old command line away and not yet set the new one.
    while not (command := tuple(process.cmdline())) and clock.monotonic_ns() < deadline_ns:
        clock.sleep_seconds(_LOOK_SECONDS)
    return command


def _settings_of(command: tuple[str, ...]) -> dict[str, str]:
    """The configuration that the command of a node names."""
    return properties_in(Path(command[-1]).read_text(encoding="ascii"))


def _member(entry: Entry, settings: Mapping[str, str]) -> Member:
    """Number and roles of a node, from its configuration."""
    roles = settings["process.roles"].split(",")
    return Member(int(settings["node.id"]), entry.name, "broker" in roles, "controller" in roles)
