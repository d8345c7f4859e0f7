"""A nemesis: faults at random, drawn with the scenario's seed, so that the same scenario has the same faults."""

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import format_duration
from streamgauge.scenario.model.environment.faults.disks import DiskFault
from streamgauge.scenario.model.environment.faults.families import DISK_FAILS, FAMILIES, LEADERSHIP, LINK, PROCESS
from streamgauge.scenario.model.environment.faults.fault import BROKER, KILL, PAUSE, SHORTEST_NS, ScheduledFault
from streamgauge.scenario.model.environment.faults.leadership import LeadershipFault
from streamgauge.scenario.model.environment.faults.links import LinkFault, Side, two_sides
from streamgauge.scenario.model.environment.faults.processes import NODES, STOP, ProcessFault
from streamgauge.scenario.model.environment.faults.targets import process_target, role_of
from streamgauge.scenario.model.values import Duration

DoneFault = ProcessFault | LeadershipFault | LinkFault | DiskFault
"""A fault as it is done: what a nemesis draws is one of these."""
Drawn = Literal[
    "pause", "kill", "stop", "restart", "move-leader", "elect-preferred", "reassign", "cut", "black-hole", "delay",
    "disk-fails",
]  # fmt: skip
LASTING: Final = frozenset({PAUSE, KILL, STOP, DISK_FAILS, *FAMILIES[LINK]})
"""Kinds whose end is drawn; the others end by themselves."""
_LONGEST_NS: Final = 3 * NS_PER_SECOND
_BETWEEN: Final = (("random-broker",), ("clients", "brokers"))
_DELAY: Final = "100ms"


class Nemesis(ScheduledFault):
    """Faults at random, one after the other."""

    kind: Literal["nemesis"]
    """`nemesis`: injects random faults, which follow from `seed`, from `at` to the end of the measure phase."""
    kinds: tuple[Drawn, ...] = Field(default=("pause", "kill"), min_length=1)
    """Kinds to choose from: `pause`, `kill`, `stop`, `restart`, `move-leader`, `elect-preferred`, `reassign`;
    of the network `cut`, `black-hole`, `delay`; of disks `disk-fails`."""
    targets: tuple[Annotated[str, AfterValidator(process_target)], ...] = Field(
        default=("random-broker",), min_length=1
    )
    """Targets to choose from for the kinds of processes and `disk-fails`, as in other faults; changes of
    leadership are done to all partitions."""
    between: Annotated[tuple[Side, ...], AfterValidator(two_sides)] | None = None
    """The two sides of faults of the network, as in these; by default a random broker, and all clients and other
    brokers."""
    delay: Annotated[Duration, Field(ge=NS_PER_MS)] | None = None
    """Of `delay`: how long bytes are on their way, in each direction; 100ms by default."""
    pace: Annotated[Duration, Field(ge=SHORTEST_NS)] = Field(default="10s", validate_default=True)
    """Mean time from the end of one fault to the start of the next, at least 100ms: each time a
    random one from half to one and a half of it."""
    for_: Annotated[Duration, Field(ge=NS_PER_MS)] | None = Field(default=None, alias="for")
    """Longest duration of one fault: each lasts a random time from half of it to all of it; 3s by default."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.when is not None or self.every is not None:
            raise BadValue("a nemesis has random times of its own", "Leave `when` and `every` out, and write `pace`")
        if self.between is not None and self.link is None:
            raise BadValue("`between` belongs to faults of the network", "Leave it out, or add `cut` to kinds")
        if self.delay is not None and "delay" not in self.kinds:
            raise BadValue("`delay` belongs to the kind `delay`", "Leave it out, or add `delay` to kinds")
        for kind in self.kinds:
            for target in self.targets:
                self._checked(kind, target)
        return self

    def _checked(self, kind: str, target: str) -> None:
        """Refuse what the fault itself refuses, and what has no end."""
        if kind == DISK_FAILS and role_of(target) != BROKER:
            raise BadValue(f"{kind} of {target}: not a broker", f"Name brokers, or leave {kind} out")
        if kind in {KILL, STOP} and role_of(target) not in NODES:
            raise BadValue(
                f"{kind} of {target}: a worker is not started again", "Name brokers, or write `kinds: [pause]`"
            )
        self._one(kind, target, 0, NS_PER_SECOND)

    def _one(self, kind: str, target: str, at_ns: int, lasts_ns: int) -> DoneFault:
        """The fault of this kind."""
        given: dict[str, Any] = {"kind": kind, "at": format_duration(at_ns)}
        if kind in FAMILIES[LEADERSHIP]:
            return LeadershipFault.model_validate({**given, "target": "partitions"})
        if kind in LASTING:
            given["for"] = format_duration(lasts_ns)
        if kind in FAMILIES[LINK]:
            delay = {"delay": format_duration(self.delay) if self.delay else _DELAY} if kind == "delay" else {}
            return LinkFault.model_validate({**given, **delay, "between": self.between or _BETWEEN})
        model = DiskFault if kind == DISK_FAILS else ProcessFault
        return model.model_validate({**given, "target": target})

    @property
    def link(self) -> LinkFault | None:
        """A fault of the network that it may draw: all of them have the same sides; None where it draws none."""
        kind = next((kind for kind in self.kinds if kind in FAMILIES[LINK]), None)
        found = self._one(kind, "", 0, NS_PER_SECOND) if kind else None
        return found if isinstance(found, LinkFault) else None

    @property
    def needs_own_cluster(self) -> bool:
        """Whether any that it may draw is done to brokers or to partitions."""
        of_processes = [kind for kind in self.kinds if kind in FAMILIES[PROCESS]]
        on_node = any(role_of(target) in NODES for target in self.targets)
        return len(of_processes) < len(self.kinds) or on_node

    def drawn(self, until_ns: int, random: Random) -> Iterator[DoneFault]:
        """The faults that end before `until_ns` after the start of the measure phase, in the order of their times."""
        at_ns, longest_ns = self.at, self.for_ or _LONGEST_NS
        while True:
            at_ns += _to_ms(self.pace * random.uniform(0.5, 1.5))
            kind, target = random.choice(self.kinds), random.choice(self.targets)
            lasts_ns = _to_ms(longest_ns * random.uniform(0.5, 1)) if kind in LASTING else 0
            if at_ns + lasts_ns >= until_ns:
                return
            yield self._one(kind, target, at_ns, lasts_ns)
            at_ns += lasts_ns


def _to_ms(nanoseconds: float) -> int:
    """In whole milliseconds, one at least, so that the schedule can be read."""
    return max(1, round(nanoseconds / NS_PER_MS)) * NS_PER_MS
