"""The rows of a run that only its parent can write."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import NULL_INT32, NULL_INT64, Block, ClientSpec, Fetched, Values
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError, Interrupted, RecordError
from streamgauge.domain.folder.facts import Phase, RunFolder
from streamgauge.domain.query import QuerySpec
from streamgauge.engine.supervise.inject import FaultRow, block_of
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.engine.supervise.start import SUPERVISOR
from streamgauge.jobs.oracles import Expected, oracle_of
from streamgauge.kafka.reread import reread
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


def ask_stands(topics: Topics, done: Sequence[int]) -> Stands:
    """Log starts, log ends and commits as they are now; raises BrokerError where the cluster does not answer.

    `done` tells how far a query is: of each partition of its source, the first offset that it is not done with.
    """
    starts, ends = topics.log_starts(), topics.log_ends()
    committed = {group: topics.committed(group) for group in range(len(topics.groups))}
    if topics.scenario.pipeline:
        committed[len(topics.groups)] = [*done, *[None] * (topics.scenario.places - len(done))]
    return Stands(clock.monotonic_ns(), starts, ends, committed)


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
                    # A query is where it has committed: it tells nothing in between.
                    "position": done if is_query and moment == "final" else None,
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


def record_source(
    folder: RunFolder, scenario: Scenario, spec: QuerySpec, topics: Topics, tag: int, outcome: Outcome
) -> None:
    """Read the source of a pipeline once more, by a reader of our own, and record where each message stands."""
    reader = ClientSpec("source-reader", scenario.sent_topics, spec.connection, stamp_in_header=_in_header(scenario))
    places = len(topics.starts)
    seconds = scenario.phases.drain / NS_PER_SECOND
    try:
        blocks = reread(reader, topics.starts, topics.log_ends()[:places], seconds, topics.cluster.check)
        record_appended(folder, blocks, tag, oracle_of(spec))
    except (BrokerError, RecordError) as error:
        outcome.fail(f"the source of the pipeline was not read again: {error}")
    except Interrupted as error:
        outcome.interrupt(f"the source of the pipeline was not read again: {error}")


def _in_header(scenario: Scenario) -> bool | None:
    return scenario.load.stamped_in_headers if scenario.load else None


def record_appended(folder: RunFolder, read: Iterable[Fetched], tag: int, expected: Expected | None) -> int:
    """The source of a pipeline as it stands: where each message is, when it came there, whether it is to come out.

    Returns the number of rows. `tag` is the run's; what has another is foreign.
    """
    rows = 0
    with contextlib.closing(PartSink(folder, "appended", SUPERVISOR, {"topic": 0})) as sink:
        for fetched in read:
            block = appended_rows(fetched, tag, expected)
            sink.append(block, fetched.count)
            rows += fetched.count
    return rows


def appended_rows(fetched: Fetched, tag: int, expected: Expected | None) -> Block:
    """Rows of `appended`."""
    mine = stamp.is_stamp(fetched.stamps, tag)
    wanted: Values = None
    if expected is not None:
        heads = [each.tobytes() if is_mine else None for each, is_mine in zip(fetched.stamps, mine, strict=True)]
        contents = zip(fetched.contents(), heads, strict=True)
        wanted = np.fromiter((expected(key, value or b"", head) for (value, key), head in contents), np.int8)
    return {
        "partition": fetched.partition,
        "offset": fetched.offset,
        "producer": np.where(mine, fetched.stamps["producer"].astype(np.int32), NULL_INT32),
        "seq": np.where(mine, fetched.stamps["seq"].astype(np.int64), NULL_INT64),
        "append_ms": fetched.append_ms,
        "expected": wanted,
    }
