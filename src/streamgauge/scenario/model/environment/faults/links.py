"""Faults of the network: what is done to the links between clients and brokers, and between nodes."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.quantities import format_duration, parse_size_bytes
from streamgauge.scenario.model.environment.faults.families import known_kind
from streamgauge.scenario.model.environment.faults.fault import BROKER, ScheduledFault
from streamgauge.scenario.model.environment.faults.targets import ROLES, ByRole, by_role
from streamgauge.scenario.model.values import Duration

CLIENTS: Final = ("producers", "consumers", "pipeline")
"""Sets of clients that have links of their own; `clients` are all of them."""
_NAME: Final = re.compile(r"clients|producers|consumers|pipeline|brokers|controllers|(broker|controller)-[1-9]")
_STALL_NS: Final = 200 * NS_PER_MS
"""How long TCP waits on Linux, at least, before it sends again."""

LinkFaultKind = Literal["cut", "black-hole", "delay", "rate-limit", "stall", "slow-close"]
CUT: Final = "cut"
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "delay": ("delay",), "rate-limit": ("rate",), "stall": ("loss",), "slow-close": ("delay",),
}  # fmt: skip
"""What a kind cannot do without."""
_TAKES: Final[Mapping[str, tuple[str, ...]]] = {
    "delay": ("delay", "jitter", "distribution", "rate"), "rate-limit": ("rate",), "stall": ("loss", "delay"),
    "slow-close": ("delay",),
}  # fmt: skip
"""All that a kind can say besides."""
_LIKE: Final = {"delay": "delay: 50ms", "rate": "rate: 1MB/s", "loss": "loss: 0.01"}

Way = tuple[str, str]
"""Who sends, and who receives: a set of clients, or a node."""


def _side(value: object) -> object:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(each, str) for each in names):
        raise BadValue("not a name or a list of names", "Write clients, broker-1, or a list like [broker-2, broker-3]")
    if unknown := [each for each in names if not _NAME.fullmatch(each) and not is_of_node(each)]:
        known = f"clients, producers, consumers, pipeline, broker-1 (or another number), brokers, controller-1, {ROLES}"
        raise BadValue(f"{unknown[0]}: not an end of a link", f"Write one of {known}")
    return tuple(names)


def two_sides(value: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """The two sides as they are; BadValue for another number of them."""
    if len(value) != 2:
        raise BadValue(f"{len(value)} sides instead of two", "Write two, like [clients, broker-1]")
    return value


def _per_second(value: object) -> object:
    try:
        rate = parse_size_bytes(re.sub(r"\s*/\s*s\s*$", "", value) if isinstance(value, str) else value)
    except BadValue as error:
        raise BadValue("not a rate of bytes", "Write one like 1MB/s or 512KiB/s") from error
    if not rate:
        raise BadValue("a rate of 0", "Write `kind: black-hole`, or a rate like 1MB/s")
    return rate


Side = Annotated[
    tuple[str, ...],
    BeforeValidator(_side),
    PlainSerializer(lambda names: names[0] if len(names) == 1 else list(names)),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]
ByteRate = Annotated[
    int,
    BeforeValidator(_per_second),
    PlainSerializer(lambda rate: f"{rate}/s"),
    WithJsonSchema({"type": ["integer", "string"], "examples": ["1MB/s", "512KiB/s"]}),
]


class LinkFault(ScheduledFault):
    """One fault of the network, between two sides of an embedded cluster and its clients."""

    kind: Annotated[LinkFaultKind, BeforeValidator(known_kind)]
    """`cut` resets connections, and new ones at once; `black-hole` lets nothing through, and what was held goes on at
    the end; `delay` delays bytes; `rate-limit` limits bytes a second; `stall` holds everything up for `delay` when a
    segment is lost; `slow-close` passes on the end of a connection after `delay`."""
    between: Annotated[tuple[Side, ...], AfterValidator(two_sides)]
    """The two sides, each a name or a list of names: `producers`, `consumers`, `pipeline`, or `clients` for all of
    them; `broker-1` and so on, `brokers`; `controller-1` and so on, `controllers`. By role, which is looked up when the
    fault begins, as in faults of processes: `leader-of:0`, `follower-of:0`, `active-controller`, `coordinator`,
    `random-broker`; on the other side, names like `brokers` stand for the others then."""
    one_way: bool = Field(default=False, strict=True)
    """Only what the first side sends to the second; for a cut, only connections that the first opens to the second."""
    delay: Annotated[Duration, Field(ge=NS_PER_MS)] | None = None
    """Of `delay`: how long bytes are on their way, in each direction; of `slow-close`: how long the end is kept back;
    of `stall`: how long a loss holds everything up, 200ms by default. At least 1ms."""
    jitter: Duration | None = None
    """Of `delay`: how far it varies, at most (`uniform`), or as a standard deviation; bytes stay in order."""
    distribution: Literal["uniform", "normal", "exponential"] | None = None
    """Of `jitter`: `uniform` by default; the mean is always `delay`."""
    rate: ByteRate | None = None
    """Of `rate-limit`, and of `delay` that limits the rate, too: bytes a second, like `1MB/s`, of each pair of names in
    each direction."""
    loss: float | None = Field(default=None, gt=0, le=1, allow_inf_nan=False)
    """Of `stall`: share of segments of 1,448 bytes that are lost, like 0.01."""

    @model_validator(mode="after")
    def _says_what_it_needs(self) -> Self:
        if self.for_ is None:
            raise BadValue("a fault of the network needs an end", "Write how long it lasts, like `for: 5s`")
        given = {name for each in _TAKES.values() for name in each if getattr(self, name) is not None}
        if missing := [name for name in _NEEDS.get(self.kind, ()) if name not in given]:
            raise BadValue(f"{self.kind} without {missing[0]}", f"Add one, like `{_LIKE[missing[0]]}`")
        if others := sorted(given - set(_TAKES.get(self.kind, ()))):
            raise BadValue(f"{listed(others)}: not of {self.kind}", "Leave it out, or write another kind")
        if self.distribution and not self.jitter:
            raise BadValue("a distribution without jitter", "Add `jitter: 10ms`, or leave `distribution` out")
        if self.distribution in {None, "uniform"} and (self.jitter or 0) > (self.delay or 0):
            raise BadValue("more jitter than delay", "Write less jitter, or a longer delay")
        return self

    @property
    def target(self) -> str:
        """What it is done to, like `clients-broker-1`; several names of a side have `+` between them."""
        return "-".join("+".join(side) for side in self.between)

    @property
    def roles(self) -> dict[str, ByRole]:
        """The names that are looked up when it begins, with what is looked up."""
        return {name: role for side in self.between for name in side if (role := by_role(name))}

    def resolved(self, found: Mapping[str, str]) -> Self:
        """The same fault between nodes that are known, with the node that each role was found to be."""
        between = tuple(tuple(found.get(name, name) for name in side) for side in self.between)
        return self.model_copy(update={"between": between})

    @property
    def needs_own_cluster(self) -> bool:
        """Proxies are put between nodes of our own only."""
        return True

    @property
    def detail(self) -> str | None:
        """What it does, in short."""
        told = [format_duration(self.delay)] if self.delay else []
        told += [f"{format_duration(self.jitter)} jitter"] if self.jitter else []
        told += [f"{self.rate:,} bytes/s"] if self.rate else []
        told += [f"{self.loss:g} lost"] if self.loss else []
        return ", ".join([*told, *(["one way"] if self.one_way else [])]) or None

    @property
    def impairment(self) -> dict[str, Any]:
        """What is done to bytes, by the names of a proxy, in seconds and bytes a second; nothing for a cut."""
        delay, jitter = ((each or 0) / NS_PER_SECOND for each in (self.delay, self.jitter))
        match self.kind:
            case "black-hole":
                return {"held": True}
            case "delay":
                limited = {"rate": self.rate} if self.rate else {}
                return {"delay": delay, "jitter": jitter, "distribution": self.distribution or "uniform", **limited}
            case "rate-limit":
                return {"rate": self.rate}
            case "stall":
                return {"loss": self.loss, "stall": (self.delay or _STALL_NS) / NS_PER_SECOND}
            case "slow-close":
                return {"close": delay}
        return {}

    def sides(self, groups: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
        """The ends of links on its two sides, each name of `groups` in place of what it stands for.

        A role stands for all nodes that may have it.
        """
        first, second = ([end for name in side for end in _ends(name, groups)] for side in self.between)
        return first, second

    def ways(self, groups: Mapping[str, Sequence[str]]) -> set[Way]:
        """The ways between its sides, or one way only; who is on both sides has no link to itself."""
        first, second = self.sides(groups)
        there = {(sender, receiver) for sender, receiver in product(first, second) if sender != receiver}
        return there if self.one_way else there | {(receiver, sender) for sender, receiver in there}


def is_of_node(name: str) -> bool:
    """Whether a name is a role that a node of the cluster has."""
    role = by_role(name)
    return role is not None and role.any_of == BROKER


def _ends(name: str, groups: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """What a name of a side stands for: itself, a group, or all that may have a role."""
    role = by_role(name)
    if role is None:
        return groups.get(name, (name,))
    return (role.role == "controller" and groups["controllers"]) or groups["brokers"]


def groups_of(brokers: int, controllers: int) -> dict[str, tuple[str, ...]]:
    """What names of sides stand for, in a cluster of so many nodes."""
    return {
        "clients": CLIENTS,
        "brokers": tuple(f"broker-{number}" for number in range(1, brokers + 1)),
        "controllers": tuple(f"controller-{number}" for number in range(1, controllers + 1)),
    }


def links_of(faults: Iterable[object], groups: Mapping[str, Sequence[str]]) -> frozenset[Way]:
    """Who opens connections to which node, on the links that faults of the network are done to."""
    return frozenset(_opened(way for fault in faults if isinstance(fault, LinkFault) for way in fault.ways(groups)))


def _opened(ways: Iterable[Way]) -> Iterator[Way]:
    """Nodes open connections to each other, clients to brokers."""
    for sender, receiver in ways:
        if receiver not in CLIENTS:
            yield sender, receiver
        if sender not in CLIENTS:
            yield receiver, sender
