"""What a fault of a process can be done to, by name or by role, as scenarios write it."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from streamgauge.domain.errors import BadValue

QUORUM: Final = "quorum"
"""The role of controllers apart from the brokers; `controller` is that of the backpressure policy's process."""
EXECUTORS: Final = 4
"""Executors of a query that can be told apart."""
_NAMED: Final = re.compile(
    r"(producer|consumer|tracker|executor|broker)s|(producer|consumer|tracker)-(\d{1,3})|(broker|controller)-[1-9]"
    rf"|executor-[0-{EXECUTORS - 1}]|driver|controller|broker"
)
_PARTITION: Final = r"(?:(?P<topic>[a-zA-Z0-9._-]{1,249})/)?(?P<partition>\d{1,5})"
_ROLE: Final = re.compile(
    rf"(?P<by>leader|follower)-of:{_PARTITION}|(?P<controller>active-controller)"
    r"|(?P<coordinator>coordinator)(?:-of:(?P<group>\S{1,249}))?|random-(?P<any>broker|consumer|producer)"
)
ROLES: Final = "leader-of:0, follower-of:0, active-controller, coordinator, random-broker"
"""Brokers that are found when a fault begins."""
_KNOWN: Final = (
    "producer-0, consumer-0, tracker-0 (or another number), producers, consumers, trackers, controller, broker-1, "
    f"brokers, controller-1, driver, {ROLES}, random-consumer, random-producer"
)


@dataclass(frozen=True, slots=True)
class ByRole:
    """A target that is found when the fault begins."""

    role: Literal["leader", "follower", "controller", "coordinator", "random"]
    topic: str | None = None
    """Of a leader or a follower; None for the first topic of the run."""
    partition: int = 0
    group: str | None = None
    """Of a coordinator; None for the first group of the run."""
    any_of: str = "broker"
    """What one is drawn from: `broker`, `consumer` or `producer`."""


def by_role(target: str) -> ByRole | None:
    """The role that a target names; None for a name."""
    found = _ROLE.fullmatch(target)
    if found is None:
        return None
    if found["by"]:
        is_leader = found["by"] == "leader"
        return ByRole("leader" if is_leader else "follower", found["topic"], int(found["partition"]))
    if found["any"]:
        return ByRole("random", any_of=found["any"])
    return ByRole("coordinator", group=found["group"]) if found["coordinator"] else ByRole("controller")


def process_target(value: str) -> str:
    """The target as it is; BadValue for what names nothing."""
    if not _NAMED.fullmatch(value) and by_role(value) is None:
        raise BadValue("not a fault target", f"Write one of {_KNOWN}")
    return value


def role_of(target: str) -> str:
    """What kind of process a target names: `producer`, `consumer`, `tracker`, `controller`, and so on."""
    if (looked_up := by_role(target)) is not None:
        return looked_up.any_of
    kind, _, number = target.partition("-")
    return QUORUM if kind == "controller" and number else kind.removesuffix("s")
