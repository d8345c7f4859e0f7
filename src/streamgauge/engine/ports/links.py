"""The links of a cluster, to which faults of the network are done; `cluster.links` has them as TCP proxies."""

from typing import Protocol

from streamgauge.scenario.model.environment.faults.links import LinkFault


class Links(Protocol):
    """The links of a cluster of our own, to which faults of the network can be done."""

    @property
    def pid(self) -> int:
        """The number of the process that carries them."""
        ...

    def begin(self, fault: LinkFault) -> None:
        """Do something to links; OSError where that is not possible."""
        ...

    def end(self, fault: LinkFault) -> None:
        """Undo it; OSError where that is not possible."""
        ...
