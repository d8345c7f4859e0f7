"""The disk of a broker of our own, to which faults are done; `cluster.disks` has it.

Workers know brokers without one: they know nothing of scenarios.
"""

from typing import Protocol

from streamgauge.engine.ports.workers import Broker
from streamgauge.scenario.model.environment.faults.disks import DiskFault


class Disk(Protocol):
    """The log directories of a broker of our own."""

    def begin(self, fault: DiskFault) -> None:
        """Do something to them; OSError where that is not possible."""
        ...

    def end(self, fault: DiskFault) -> None:
        """Undo it, and start the broker again where it ended; OSError where that is not possible."""
        ...


class StoringBroker(Broker, Protocol):
    """A node of a cluster of our own, with its disk."""

    @property
    def disk(self) -> Disk:
        """Its log directories."""
        ...
