"""The section `scorecards` of result.json: what each fault did, from the tables of faults, partitions and recovery."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from streamgauge.report.assemble.nulls import OLDER, Values, made
from streamgauge.result.model.delivery import FaultPromise, FaultScorecard
from streamgauge.verdict.evidence import Evidence, Row
from streamgauge.verdict.promises import Affected, FaultEffect, Timeouts, promises, timeouts_of

_OF_RECOVERY: Final = ("detected_s", "p99_before_ms", "p99_during_ms", "p99_after_ms", "time_to_drain_s")
_EFFECTS: Final[tuple[Affected, ...]] = ("unwritable", "unreadable")
_OF_REPLICAS: Final = ("noticed_s", "unwritable_leader_s", "leaders_s", "in_sync_s")
_WHY_NOT: Final = {
    "detail": "no further details",
    "error": "it ended without an error",
    "noticed_s": "the cluster reported no change of leaders or replicas",
    "leaders_s": "no partition lost its leader, or one had none when the span was over",
    "in_sync_s": "replicas were missing, or the cluster did not answer, when the span was over",
    "detected_s": "no more messages than before were outstanding",
    "time_to_drain_s": "it did not recover before the load ended, or the next cause began",
    "failed": "nothing is sent",
    "worst_message_ms": "no message was due",
    "worst_message": "no message was due",
}


def scorecards(run: Evidence) -> list[FaultScorecard] | None:
    """A scorecard for each fault that was over; null where there was none."""
    timeouts = timeouts_of(run)
    topics = {topic.id: topic.name for topic in run.facts.topics}
    return [_of(run, row, topics, timeouts) for row in run.rows("fault_scores")] or None


def _of(run: Evidence, fault: Row, topics: Mapping[int, str], timeouts: Timeouts) -> FaultScorecard:
    partitions = run.matching("fault_partitions", fault=fault["fault"])
    lanes = [(row["topic"], row["partition"]) for row in partitions]
    names = {lane: f"{topics.get(lane[0], lane[0])}/{lane[1]}" for lane in lanes}
    known = [row for row in partitions if row["worst_ms"] is not None]
    worst = max(known, key=lambda row: float(row["worst_ms"]), default=None)
    held = [row["held"] for row in partitions]
    out: Values = {name: fault[name] for name in FaultScorecard.model_fields if name in fault}
    out["error"] = fault.get("error")
    out |= _recovered(run, fault)
    for name in _EFFECTS:
        out |= _lasted(partitions, name, names)
    out["unwritable_leader_s"] = _next_leader(partitions)
    out |= {
        "held": None if not held or None in held else sum(held),
        "worst_message_ms": worst and worst["worst_ms"],
        "worst_message": worst and _message(worst, names),
    }
    effects = [FaultEffect(name, out[f"{name}_s"], f"partition {out[f'{name}_partition']}") for name in _EFFECTS]
    kept = [FaultPromise(**each._asdict()) for each in promises(fault["target"], effects, timeouts)]
    return made(FaultScorecard, {**out, "promises": kept}, lambda key: _why(run, key))


def _message(row: Row, names: Mapping[tuple[int, int], str]) -> str:
    return f"{names[row['topic'], row['partition']]} {row['worst_producer']}:{row['worst_seq']}"


def _lasted(partitions: Sequence[Row], name: str, names: Mapping[tuple[int, int], str]) -> Values:
    """The longest of these times and its partition, and the median; null where nobody can tell."""
    worst = _worst(partitions, name)
    if worst is None:
        return dict.fromkeys((f"{name}_s", f"{name}_median_s", f"{name}_partition"))
    return {
        f"{name}_s": worst[f"{name}_s"],
        f"{name}_median_s": median(row[f"{name}_s"] for row in partitions if row[f"{name}_s"] is not None),
        f"{name}_partition": names[worst["topic"], worst["partition"]],
    }


def _next_leader(partitions: Sequence[Row]) -> float | None:
    """When the partition that was unwritable for longest had its next leader; null where none was."""
    worst = _worst(partitions, "unwritable")
    return worst["next_leader_s"] if worst and worst["unwritable_s"] else None


def _worst(partitions: Sequence[Row], name: str) -> Row | None:
    """The partition that was so for longest; null where nobody can tell."""
    known = [row for row in partitions if row[f"{name}_s"] is not None]
    return max(known, key=lambda row: float(row[f"{name}_s"]), default=None)


def _recovered(run: Evidence, fault: Row) -> Values:
    """What `recovery` says of the same cause, by what was outstanding of the group that is timed."""
    same = {"cause": fault["kind"], "target": fault["target"], "ended_second": fault["ended_second"]}
    rows = run.matching("recovery", quantity="outstanding", **same)
    row = min(rows, key=lambda row: -1 if row["group"] is None else int(row["group"]), default=None)
    return {name: row and row[name] for name in _OF_RECOVERY}


def _why(run: Evidence, key: str) -> str | None:
    if key in _OF_REPLICAS and not run.rows("partition_replicas"):
        return "each partition has one replica, or replicas were not observed"
    if key in _OF_RECOVERY and not run.matching("recovery", quantity="outstanding"):
        return "only a run that produces and consumes has outstanding messages"
    if key == "unwritable_leader_s":
        return _why_no_leader(run.rows("fault_partitions"))
    if key.startswith("unwritable") or key == "held":
        return "no acknowledgements are recorded"
    if key.startswith("unreadable"):
        return _why_not_read(run)
    return _WHY_NOT.get(key, OLDER if "fault_partitions" not in run.tables else "there was not enough data")


def _why_no_leader(partitions: Sequence[Row]) -> str:
    if all(row["unwritable_s"] is None for row in partitions):
        return "no acknowledgements are recorded"
    if not any(row["unwritable_s"] for row in partitions):
        return "no partition was unwritable"
    return "no change of its leader was recorded"


def _why_not_read(run: Evidence) -> str:
    if run.piped is not None:
        return "messages pass through a pipeline"
    return "no acknowledgements are recorded" if run.consumes else "no consumers"
