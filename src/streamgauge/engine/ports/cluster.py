"""What is asked of a cluster of our own about its leaders, and what is changed; `kafka.leadership` satisfies it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from streamgauge.domain.blocks import PartitionPlace, PartitionState


class Administrator(Protocol):
    """Asks and changes a cluster; each call takes some seconds at most, and raises BrokerError where it fails."""

    def partitions(self) -> Sequence[PartitionState]:
        """All partitions of the topics that the load is sent to."""
        ...

    def controller(self) -> int:
        """The number of the active controller."""
        ...

    def coordinator(self, group: str) -> int:
        """The number of the broker that coordinates a group."""
        ...

    def reassign(self, replicas: Mapping[PartitionPlace, Sequence[int]]) -> None:
        """Ask for these replicas of partitions, the preferred leader first; the brokers take their time to move."""
        ...

    def elect_preferred(self, places: Sequence[PartitionPlace]) -> None:
        """Make the preferred replicas of partitions their leaders."""
        ...
