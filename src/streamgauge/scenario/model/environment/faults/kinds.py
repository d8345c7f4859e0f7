"""A fault of any kind."""

from typing import Annotated

from pydantic import Discriminator, Tag

from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.families import DISK, LEADERSHIP, LINK, NEMESIS, PROCESS, family_of
from streamgauge.scenario.model.environment.faults.leadership import LeadershipFault
from streamgauge.scenario.model.environment.faults.links import LinkFault
from streamgauge.scenario.model.environment.faults.nemesis import DoneFault as DoneFault
from streamgauge.scenario.model.environment.faults.nemesis import Nemesis
from streamgauge.scenario.model.environment.faults.processes import ProcessFault

Injected = Annotated[
    Annotated[ProcessFault, Tag(PROCESS)]
    | Annotated[LeadershipFault, Tag(LEADERSHIP)]
    | Annotated[LinkFault, Tag(LINK)]
    | Annotated[DiskFault, Tag(DISK)]
    | Annotated[Nemesis, Tag(NEMESIS)],
    Discriminator(family_of),
]
"""A fault as a scenario says it."""


def link_of(fault: Injected) -> LinkFault | None:
    """The fault of the network that it is, or one of those that it may draw; None for another fault."""
    return fault.link if isinstance(fault, Nemesis) else fault if isinstance(fault, LinkFault) else None
