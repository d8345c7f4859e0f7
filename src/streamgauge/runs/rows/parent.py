"""The rows of a run that only its parent can write."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.folder.facts import Phase, RunFolder
from streamgauge.engine.supervise.faults.rows import FaultRow, block_of
from streamgauge.engine.supervise.start import SUPERVISOR
from streamgauge.record.parts import PartSink
from streamgauge.runs.conduct.topics import Topics
from streamgauge.scenario import Scenario
from streamgauge.workload.changes import changes
from streamgauge.workload.pacing import Int64s

_CHANGES: Final = "scenario"
"""Who has written what the scenario changes."""


@dataclass(frozen=True, slots=True)
class Stands:
    """Where every partition stood at some moment, in the order of the places."""

    at_ns: int
    starts: Sequence[int]
    ends: Sequence[int]
    committed: Mapping[int, Sequence[int | None]]
    """By group."""
    settled: Mapping[int, Sequence[int | None]] = field(default_factory=dict)
    """By share group: below this offset it is done with everything."""


def ask_stands(topics: Topics, done: Sequence[int]) -> Stands:
    """Log starts, log ends and commits as they are now; raises BrokerError where the cluster does not answer.

    `done` tells how far a query is: of each partition of its source, the first offset that it is not done with.
    """
    starts, ends = topics.log_starts(), topics.log_ends()
    committed = {group: topics.committed(group) for group in range(len(topics.groups))}
    if topics.scenario.pipeline:
        committed[len(topics.groups)] = [*done, *[None] * (topics.scenario.places - len(done))]
    settled = {group: known for group in committed if (known := topics.settled(group)) is not None}
    return Stands(clock.monotonic_ns(), starts, ends, committed, settled)


def record_stands(folder: RunFolder, topics: Topics, stands: Stands, moment: str) -> None:
    """One row for each partition and group; raises RecordError where they cannot be written."""
    partitions, ends = topics.scenario.topic.partitions, stands.ends
    with contextlib.closing(PartSink(folder, "lag", f"{SUPERVISOR}-{moment}", {}, len(ends))) as sink:
        for group in stands.committed or (None,):
            chosen = list(range(len(ends))) if group is None else topics.reads(group)
            committed = [None] * len(ends) if group is None else stands.committed[group]
            places = np.array(chosen, np.int32)
            done = _known(committed, chosen)
            is_query = group is not None and group >= len(topics.groups)
            # A query is where it has committed: it tells nothing in between. A share group is asked where it is.
            reached = committed if is_query else None if group is None else stands.settled.get(group)
            sink.append(
                {
                    "at_ns": stands.at_ns,
                    "answered_ns": stands.at_ns,
                    "moment": moment,
                    "topic": places // partitions,
                    "group": group,
                    "consumer": None,
                    "partition": places % partitions,
                    "start": _known(stands.starts, chosen),
                    "committed": done,
                    "position": None if reached is None or moment != "final" else _known(reached, chosen),
                    "end": _known(ends, chosen),
                    "error": None,
                },
                len(chosen),
            )


def _known(offsets: Sequence[int | None], places: Sequence[int]) -> Int64s:
    """The offsets of some places."""
    return np.array([NULL_INT64 if (offset := offsets[place]) is None else offset for place in places], np.int64)


def record_changes(folder: RunFolder, scenario: Scenario, phases: Sequence[Phase]) -> None:
    """What the scenario changed by itself while the load ran; nothing where that is written already.

    Raises RecordError where it cannot be written.
    """
    measure = next((phase for phase in phases if phase.name == "measure"), None)
    if measure is None or any(folder.worker_events("faults", _CHANGES).glob("*.parquet")):
        return
    found = changes(scenario, measure.to_ns - measure.from_ns)
    if rows := [FaultRow(*each._replace(at_ns=measure.from_ns + each.at_ns)) for each in found]:
        with contextlib.closing(PartSink(folder, "faults", _CHANGES, {}, len(rows))) as sink:
            sink.append(block_of(rows), len(rows))
