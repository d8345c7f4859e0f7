"""Producers, consumers and topics as a scenario writes them, for so many clients of other tools."""

from typing import Any, Final

from streamgauge.foreign.specs.write.translation import Draft

_OWN_PROCESS: Final = 4
"""Up to so many clients have a process each, as ours have by default."""
_SHARED: Final = 2
MOST: Final = 256


def topics_of(name: str | None, topics: int) -> dict[str, Any]:
    """The name of a topic and how many there are; one keeps its plain name."""
    named = {} if name is None else {"name": name}
    return named if topics == 1 else {**named, "count": topics}


def producers_of(draft: Draft, where: str, each: int, topics: int) -> dict[str, Any]:
    """`producers` for so many on each topic."""
    return _clients(draft, where, "producers", each, topics)


def consumers_of(draft: Draft, where: str, each: int, topics: int) -> dict[str, Any]:
    """`consumers` for so many on each topic."""
    return _clients(draft, where, "consumers", each, topics)


def clients(draft: Draft, where: str, role: str, count: int) -> dict[str, Any]:
    """So many clients of all topics together, and the processes that they share."""
    if count > MOST:
        draft.refuse(where, f"{count:,} {role} are more than {MOST}", f"Write at most {MOST}")
    if count <= _OWN_PROCESS:
        return {role: count}
    draft.differs(where, f"{count} {role} share {_SHARED} processes here; there they are threads of one")
    return {role: count, "processes": _SHARED}


def _clients(draft: Draft, where: str, role: str, each: int, topics: int) -> dict[str, Any]:
    if topics > 1 and each == 1:
        shared = clients(draft, where, role, topics)
        return {**shared, role: "per-topic"}
    if topics > 1:
        draft.differs(where, f"{role} serve all topics here; there each serves one")
    return clients(draft, where, role, each * topics)
