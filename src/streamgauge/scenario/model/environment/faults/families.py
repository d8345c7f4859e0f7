"""Which model a fault is of, by its kind."""

from collections.abc import Mapping
from typing import Final

from streamgauge.domain.errors import BadValue

PROCESS, LEADERSHIP, LINK, DISK = "(process)", "(leadership)", "(link)", "(disk)"
NEMESIS = "(nemesis)"
"""Tags of the models; they stand in paths of pydantic's errors and are not shown."""

DISK_FAILS: Final = "disk-fails"
LOSE_DATA: Final = "lose-data"
TRUNCATE_TAIL: Final = "truncate-tail"
ONE_DIRECTORY: Final = ("dir-fails", "dir-unreadable", "dir-full", "dir-slow")
"""What is done to one of several log directories of a broker."""

FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    PROCESS: ("pause", "kill", "stop", "restart", "rolling-restart"),
    LINK: ("cut", "black-hole", "delay", "rate-limit", "stall", "slow-close"),
    DISK: (DISK_FAILS, LOSE_DATA, TRUNCATE_TAIL, *ONE_DIRECTORY),
    LEADERSHIP: ("move-leader", "elect-preferred", "reassign"),
    NEMESIS: ("nemesis",),
}
"""The kinds of faults of each model."""


def family_of(value: object) -> str:
    """The tag of the model that a fault is of; of one whose kind nobody knows, one that says so, and fits the rest."""
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    has_sides = isinstance(value, Mapping) and "between" in value and "target" not in value
    return next((family for family, kinds in FAMILIES.items() if kind in kinds), LINK if has_sides else PROCESS)


def known_kind(value: object) -> object:
    """The kind as it is; BadValue, which lists all kinds, for another."""
    kinds = [kind for each in FAMILIES.values() for kind in each]
    if value not in kinds:
        raise BadValue("not a kind of fault", f"Write one of {', '.join(kinds)}")
    return value
