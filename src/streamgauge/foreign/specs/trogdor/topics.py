"""Trogdor's topics: names with ranges, as many brackets as they have, and their partitions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.read.java import plain_setting
from streamgauge.foreign.specs.write.translation import Draft, without_none

_PARTITIONS: Final = re.compile(r"\[(\d{1,4})-(\d{1,4})\]|(\d{1,4})")
_REPLICATION: Final = 3
"""What Trogdor takes where a specification says none."""


@dataclass(frozen=True, slots=True)
class TrogdorTopics:
    """The topics of a workload."""

    name: str
    document: dict[str, Any]
    """As a scenario writes them."""
    partitions: tuple[int, ...] | None = None
    """Partitions that are read; None for all."""


def topics_of(draft: Draft, where: str, given: dict[str, Any]) -> TrogdorTopics | None:
    """The topics that a workload uses: one name or range of them, all with the same partitions. None, and a fault, for
    others.
    """
    made = [(name, _topic(draft, f"{where}.{one_line(name)}", each)) for name, each in given.items()]
    if not made:
        draft.refuse(where, "names no topic", "Name one, like {foo[1-3]: {numPartitions: 10}}")
        return None
    if any(document != made[0][1] for _, document in made):
        draft.refuse(where, "topics that differ in more than their names", "Convert one of them, or make them alike")
        return None
    name = one_name(draft, where, [name for name, _ in made])
    return None if name is None else TrogdorTopics(name, {"name": name, **made[0][1]})


def idle_topics(draft: Draft, where: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Topics that are created and that nobody uses, as a scenario writes them."""
    return [{"name": name, **_topic(draft, f"{where}.{one_line(name)}", each)} for name, each in given.items()]


def read_topics(draft: Draft, where: str, names: Sequence[str]) -> TrogdorTopics | None:
    """The topics that a consumer reads, some with partitions behind a colon: `foo[1-3]`, `bar:0`, `bar:[0-2]`."""
    plain: list[str] = []
    partitions: dict[str, list[int]] = {}
    for each in names:
        name, colon, wanted = each.partition(":")
        plain.append(name)
        if colon:
            partitions.setdefault(name, []).extend(_partitions(draft, where, name, wanted))
    if not plain:
        draft.refuse(where, "names no topic", "Name one, like foo[1-3]")
        return None
    unique = list(dict.fromkeys(plain))
    wanted_of = [tuple(dict.fromkeys(partitions.get(name, ()))) for name in unique]
    if len(set(wanted_of)) > 1:
        draft.refuse(where, "topics of which other partitions are read", "Read the same partitions of all")
        return None
    common = one_name(draft, where, unique)
    if common is None:
        return None
    needed = {"partitions": max(wanted_of[0]) + 1} if wanted_of[0] else {}
    return TrogdorTopics(common, {"name": common, **needed}, wanted_of[0] or None)


def _partitions(draft: Draft, where: str, name: str, wanted: str) -> list[int]:
    """The partitions that `0` or `[0-2]` means."""
    found = _PARTITIONS.fullmatch(wanted)
    first, last = (int(found[1] or found[3]), int(found[2] or found[3])) if found else (1, 0)
    if first > last:
        what = f"{one_line(f'{name}:{wanted}')}: not a partition"
        draft.refuse(where, what, "Write one like foo:0, or an ascending range like foo:[0-2]")
    return list(range(first, last + 1))


def one_name(draft: Draft, where: str, names: Sequence[str]) -> str | None:
    """One name for several: itself, or the range that they are."""
    if len(names) == 1:
        return names[0]
    parts = [re.fullmatch(r"(.*?)(\d{1,4})(\D*)", name) for name in names]
    if all(parts):
        found = [(part[1], part[3], int(part[2])) for part in parts if part]
        numbers = sorted(number for _, _, number in found)
        alike = len({(before, after) for before, after, _ in found}) == 1
        if alike and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return f"{found[0][0]}[{numbers[0]}-{numbers[-1]}]{found[0][1]}"
    listed = ", ".join(map(one_line, names[:3]))
    draft.refuse(where, f"{listed}: a scenario has topics of one name, or of a range", "Rename them, like foo[1-3]")
    return None


def _topic(draft: Draft, where: str, given: Any) -> dict[str, Any]:
    fields = SpecFields(draft, {} if given is None else given, where, "a topic")
    partitions, replication = (
        fields.whole("numPartitions", 0, most=10_000),
        fields.whole("replicationFactor", 0, most=32),
    )
    assignments = _assignments(draft, fields)
    configs = {name: plain_setting(str(value)) for name, value in fields.mapping("configs").items()}
    if assignments:
        partitions, replication = len(assignments), len(assignments[0])
    if replication <= 0:
        replication = _REPLICATION
        draft.differs(fields.place("replicationFactor"), f"{_REPLICATION} where none is given, as there")
    fields.close()
    return without_none(
        {
            "partitions": max(1, partitions),
            "replication": replication,
            "assignments": assignments or None,
            "configs": configs or None,
        }
    )


def _assignments(draft: Draft, fields: SpecFields) -> list[list[int]]:
    """The brokers of each partition; empty where the cluster is to choose them."""
    given, where = fields.mapping("partitionAssignments"), fields.place("partitionAssignments")
    if not given:
        return []
    if set(given) != {str(number) for number in range(len(given))}:
        draft.refuse(where, "not every partition from 0 on is named", "Name each, like {0: [1, 2], 1: [2, 1]}")
        return []
    rows = [given[str(number)] for number in range(len(given))]
    if not all(isinstance(row, list) and row and all(type(each) is int and each >= 0 for each in row) for row in rows):
        draft.refuse(where, "not lists of the ids of brokers", "Write lists, like {0: [1, 2], 1: [2, 1]}")
        return []
    for name in ("numPartitions", "replicationFactor"):
        if fields.has(name):
            draft.left_out(fields.place(name), "the assignments say it, as there")
    return rows
