"""The disk of a broker of our own: what faults do to it, and how they end."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from streamgauge.cluster.disks.files import cut_tails, empty
from streamgauge.cluster.disks.limits import limit_files
from streamgauge.cluster.disks.mounts import Mount
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.families import DISK_FAILS, LOSE_DATA, TRUNCATE_TAIL

_GIVEN_UP: Final = "Stopping serving logs in dir"


class Owner(Protocol):
    """The broker whose disk it is."""

    is_down_on_purpose: bool
    """Whether somebody ended it who will start it again."""

    @property
    def pid(self) -> int:
        """The number of its process now."""
        ...

    @property
    def alive(self) -> bool:
        """Whether its process has not ended."""
        ...

    def kill(self) -> None:
        """End it at once, and wait until it is gone."""
        ...

    def restart(self) -> None:
        """Start it again."""
        ...


@dataclass(frozen=True, slots=True)
class BrokerDisk:
    """The log directories of a broker."""

    owner: Owner
    directories: Sequence[Path]
    logs: Sequence[Path]
    """Files that it tells what it does."""
    mounts: Mapping[int, Mount]
    """Directories that pass through us, by number from 1."""

    def begin(self, fault: DiskFault) -> None:
        """Do what the fault says; OSError where that is not possible."""
        if fault.kind == DISK_FAILS:
            limit_files(self.owner.pid, self.logs)
            # It will end by itself.
            self.owner.is_down_on_purpose = True
        elif fault.kind == LOSE_DATA:
            self._kill()
            empty(self.directories)
        elif fault.kind == TRUNCATE_TAIL:
            self._kill()
            cut_tails(self.directories, fault.cut_bytes)
        else:
            self._mount(fault).tell(fault)

    def end(self, fault: DiskFault) -> None:
        """Undo it, and start the broker again; OSError where that is not possible."""
        if fault.is_of_one_directory:
            self._mount(fault).tell(None)
        elif fault.kind == DISK_FAILS and self.owner.alive:
            is_ending = self._has_failed()
            # One that has failed ends at any moment; of several directories, those that failed stay so while it lives.
            self._kill()
            self.owner.restart()
            if not is_ending:
                raise OSError("the broker did not end: it wrote to no file that had reached the limit")
        else:
            self.owner.restart()

    def _has_failed(self) -> bool:
        """Whether it says that it had to give a log directory up."""
        return any(_GIVEN_UP in path.read_text(errors="replace") for path in self.logs if path.exists())

    def _kill(self) -> None:
        try:
            self.owner.kill()
        except subprocess.TimeoutExpired as error:
            raise OSError("the broker could not be killed") from error

    def _mount(self, fault: DiskFault) -> Mount:
        number = fault.directory or len(self.directories)
        if number not in self.mounts:
            raise OSError(f"directory {number} does not pass through the file system that faults are done to")
        return self.mounts[number]
