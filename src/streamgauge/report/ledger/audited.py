"""The ledger of a run: every class of delivery problems, where and when, during which fault, with first examples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.tables.delivery import DELIVERY_COUNTS
from streamgauge.report.files import read_facts, rows_of, table_file
from streamgauge.result import Result
from streamgauge.verdict.evidence import Row
from streamgauge.workload.changes import CHANGES

AFTERMATH_SECONDS: Final = 60
"""What was due so long after the end of a fault is counted with it, as in the scorecards of faults."""
_WELL: Final = frozenset(
    {"sent", "acked", "received", "delivered_once", "aborted", "unread", "fate_unknown_received"}
)  # fmt: skip
"""Counts of which none is a problem by itself, or that other counts hold."""


@dataclass(frozen=True, slots=True)
class Example:
    """One message, offset or poll of a class; None is what is not known."""

    topic: str | None
    producer: int | None
    seq: int | None
    partition: int | None
    offset: int | None
    due_second: float | None
    """Seconds from the start of the measure phase."""
    error: str | None

    @property
    def name(self) -> str | None:
        """What `streamgauge trace` finds it by."""
        if self.producer is not None and self.seq is not None:
            return f"{self.producer}:{self.seq}"
        return None if self.offset is None else f"{self.topic}/{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True)
class LedgerClass:
    """One class of problems of one group."""

    name: str
    group: str | None
    """None for what concerns no group, like failed messages."""
    count: int
    by_partition: dict[str, int]
    """Counts by topic and partition, `TOPIC/PARTITION`; empty where the analysis did not say."""
    first_second: int | None
    last_second: int | None
    """Seconds in which the first and the last of them were due."""
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class FaultProblems:
    """What was due while a fault lasted, or within AFTERMATH_SECONDS of its end, and went wrong."""

    kind: str
    target: str
    begin_second: float
    end_second: float | None
    problems: dict[str, int]
    """Counts by class, of the group for which there are most."""


@dataclass(frozen=True, slots=True)
class RunLedger:
    """The ledger of a run."""

    run: str
    counts: dict[str, int]
    """Counts of the whole run for the worst group; those that are not known are left out."""
    reasons: dict[str, str]
    """Why a count is not known."""
    classes: tuple[LedgerClass, ...]
    faults: tuple[FaultProblems, ...]

    def document(self) -> dict[str, Any]:
        """The ledger as plain data."""
        return asdict(self)


def ledger_of(folder: RunFolder, result: Result, first: int) -> RunLedger:
    """The ledger of an analysed run, with so many examples of each class.

    Raises AnalysisError where its tables cannot be read.
    """
    tables = {
        name: rows_of(folder, name) if table_file(folder, name).exists() else []
        for name in ("problems", "problem_counts", "faults")
    }
    return made(read_facts(folder), result, tables, first)


def made(facts: RunFacts, result: Result, tables: Mapping[str, Sequence[Row]], first: int) -> RunLedger:
    """The ledger, from what the analysis wrote."""
    topics = {topic.id: topic.name for topic in facts.topics}
    groups = {group.id: group.name for group in facts.groups}
    measure = facts.phase("measure")
    delivery = result.delivery.model_dump()
    counts = {name: delivery[name] for name in DELIVERY_COUNTS if delivery.get(name) is not None}
    by_group: list[tuple[str | None, Row]] = [(each.group, each.model_dump()) for each in result.delivery.groups]
    by_group = by_group or [(None, delivery)]
    found = _found(by_group, tables["problem_counts"])
    classes = tuple(
        _class(name, group, count, tables, groups, topics, measure.from_ns if measure else None, first)
        for (name, group), count in found.items()
    )
    reasons = {name: why for name, why in delivery["reasons"].items() if name in DELIVERY_COUNTS}
    return RunLedger(facts.id, counts, reasons, classes, tuple(_faults(tables["faults"], tables["problem_counts"])))


def _found(by_group: Sequence[tuple[str | None, Row]], counted: Sequence[Row]) -> dict[tuple[str, str | None], int]:
    """Every class that is not empty, in the order of the counts; those that concern no group once."""
    of_groups = {row["class"] for row in counted if row["group"] is not None}
    of_none = {row["class"] for row in counted} - of_groups | {"unaccounted", "resent"}
    found: dict[tuple[str, str | None], int] = {}
    for name in DELIVERY_COUNTS:
        for group, counts in by_group:
            if (count := counts.get(name)) and name not in _WELL:
                found.setdefault((name, None if name in of_none else group), count)
    return found


def _class(
    name: str,
    group: str | None,
    count: int,
    tables: Mapping[str, Sequence[Row]],
    groups: Mapping[int, str],
    topics: Mapping[int, str],
    measure_ns: int | None,
    first: int,
) -> LedgerClass:
    def mine(table: str) -> list[Row]:
        rows = (row for row in tables[table] if row["class"] == name)
        return [row for row in rows if row["group"] is None or groups.get(row["group"]) in {group, None}]

    counted, places = mine("problem_counts"), Counter[str]()
    for row in counted:
        if row["partition"] is not None:
            places[f"{topics.get(row['topic'], row['topic'])}/{row['partition']}"] += row["count"]
    seconds = [row["second"] for row in counted if row["second"] is not None]
    examples = (
        Example(
            topic=topics.get(row["topic"]),
            due_second=None if row["due_ns"] is None or measure_ns is None else (row["due_ns"] - measure_ns) / 1e9,
            **{key: row[key] for key in ("producer", "seq", "partition", "offset", "error")},
        )
        for row in mine("problems")[:first]
    )
    in_order = dict(sorted(places.items(), key=lambda each: (-each[1], each[0])))
    return LedgerClass(
        name, group, count, in_order, min(seconds, default=None), max(seconds, default=None), tuple(examples)
    )


def _faults(faults: Sequence[Row], counted: Sequence[Row]) -> list[FaultProblems]:
    """Each fault that was carried out, with the problems of its time; changes of the load are none."""
    found = []
    for place, row in enumerate(faults):
        if row["action"] != "begin" or row["error"] is not None or (row["kind"], row["target"]) in CHANGES:
            continue
        same = (each for each in faults[place + 1 :] if (each["kind"], each["target"]) == (row["kind"], row["target"]))
        ended = next((each["second"] for each in same if each["action"] == "end"), None)
        last = (row["second"] if ended is None else ended) + AFTERMATH_SECONDS
        by_class: dict[str, Counter[int | None]] = {}
        for each in counted:
            # What was due in the second in which it began may have been due before; it is counted all the same.
            if each["second"] is not None and int(row["second"] // 1) <= each["second"] <= last:
                by_class.setdefault(each["class"], Counter())[each["group"]] += each["count"]
        problems = {name: max(groups.values()) for name, groups in sorted(by_class.items())}
        found.append(FaultProblems(row["kind"], row["target"], row["second"], ended, problems))
    return found
