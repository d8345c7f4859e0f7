"""Generates run folders of any size without a broker: the events of a healthy run with two producers and consumers.

Each producer fills one batch after the other, each for one random partition, like a sticky partitioner; the batches of
both producers interleave in a partition. `sticky` is the number of consecutive messages to one partition; 1 scatters
every sequence over all partitions, the worst case for the audit.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks import planted
from streamgauge.arrow import arrow_schema
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.events import EVENTS
from streamgauge.domain.folder.facts import BrokerFacts, Numbered, Phase, RunFacts, RunFolder, WorkerFacts
from streamgauge.record.parts import write_parquet

PRODUCERS = 2
CONSUMERS = 2
ROWS_PER_PART = 1 << 20
BEGIN_NS = 1_000 * NS_PER_SECOND
Int64s = NDArray[np.int64]
DELAY_NS = np.random.default_rng(7).lognormal(10.5, 0.6, 1 << 16).astype(np.int64)
"""How late messages are sent, about 36 us; by sequence, so that both sides of a message agree."""
CALL_NS = 20_000
"""How long a call takes that hands messages over."""
GAP_NS = 100_000
"""How long reports and messages may have been ready before they were taken."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to make."""

    messages: int
    rate: int = 200_000
    partitions: int = 12
    sticky: int = 200
    warmup_ns: int = 5 * NS_PER_SECOND
    seed: int = 42
    planted: bool = False
    """Whether the log was read again, and anomalies are planted."""

    @property
    def load_ns(self) -> int:
        """How long the load lasts."""
        return self.messages * NS_PER_SECOND // self.rate


@dataclass(slots=True)
class _Batches:
    """Batches of one slab of time: where each goes and when it passes each stage."""

    producer: Int64s
    first_seq: Int64s
    size: Int64s
    partition: Int64s
    base: Int64s
    acked_ns: Int64s
    received_ns: Int64s
    first_poll: int
    """The number of the first batch: there is a poll for each."""


def make(folder: RunFolder, plan: Plan) -> None:
    """Write run.json and all events."""
    rng = np.random.default_rng(plan.seed)
    ends = np.zeros(plan.partitions, np.int64)
    parts: dict[tuple[str, str], int] = {}
    slab, polled = PRODUCERS * ROWS_PER_PART, 0
    for first in range(0, plan.messages, slab):
        count = min(slab, plan.messages - first) // PRODUCERS
        batches = _batches(plan, rng, first // PRODUCERS, count, ends, polled)
        polled += len(batches.size)
        for (kind, worker), columns in _rows(plan, batches):
            number = parts.get((kind, worker), 0)
            parts[kind, worker] = number + 1
            write(folder, kind, worker, columns, number)
    _lag(folder, plan, ends)
    _resources(folder, plan)
    folder.facts.write_text(facts(plan).model_dump_json(indent=1))


def write(folder: RunFolder, kind: str, worker: str, columns: dict[str, object], number: int = 0) -> None:
    """Write one closed part; columns that are left out are null."""
    schema = arrow_schema(EVENTS[kind])
    rows = max(len(values) for values in columns.values() if isinstance(values, np.ndarray | list))
    arrays = [_array(columns.get(field.name), field.type, rows) for field in schema]
    path = folder.worker_events(kind, worker) / f"part-{number}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(pa.Table.from_arrays(arrays, schema=schema), path)


def facts(plan: Plan) -> RunFacts:
    """What run.json of the run says."""
    measured, ended = BEGIN_NS + plan.warmup_ns, BEGIN_NS + plan.load_ns
    roles = [("producer", n) for n in range(PRODUCERS)] + [("consumer", n) for n in range(CONSUMERS)]
    return RunFacts(
        id="synthetic", name="synthetic", tag=1, created="2026-01-01T00:00:00Z", wall_ns=0, monotonic_ns=BEGIN_NS,
        command=[], scenario={"load": {"rate": f"{plan.rate}/s"}, "consume": {}, "verify": {"log": plan.planted}},
        versions={}, machine={},
        broker=BrokerFacts(embedded=False, bootstrap="none"),
        topics=[Numbered(id=0, name="synthetic", partitions=plan.partitions)],
        groups=[Numbered(id=0, name="synthetic")],
        workers=[WorkerFacts(name=f"{role}-{n}", role=role, number=n, exit_code=0) for role, n in roles],
        phases=[
            Phase(name="warmup", from_ns=BEGIN_NS, to_ns=measured),
            Phase(name="measure", from_ns=measured, to_ns=ended),
            Phase(name="drain", from_ns=ended, to_ns=ended + NS_PER_SECOND),
        ],
        load_ended_ns=ended, drain_ended_ns=ended + NS_PER_SECOND, drained=True, ending="finished",
    )  # fmt: skip


def _batches(
    plan: Plan, rng: np.random.Generator, first_seq: int, count: int, ends: Int64s, first_poll: int
) -> _Batches:
    """The batches of the sequences [first_seq, first_seq + count) of every producer; moves the log ends."""
    starts = np.arange(0, count, plan.sticky)
    sizes = np.minimum(plan.sticky, count - starts)
    producer = np.repeat(np.arange(PRODUCERS), len(starts))
    seq, size = np.tile(first_seq + starts, PRODUCERS), np.tile(sizes, PRODUCERS)
    closed = _due(plan, producer, seq + size - 1) + NS_PER_MS
    order = np.argsort(closed, kind="stable")
    producer, seq, size, closed = producer[order], seq[order], size[order], closed[order]
    partition = rng.integers(0, plan.partitions, len(order))
    base = np.zeros(len(order), np.int64)
    for number in range(plan.partitions):
        mine = np.flatnonzero(partition == number)
        base[mine] = ends[number] + np.cumsum(size[mine]) - size[mine]
        ends[number] += size[mine].sum()
    acked = closed + (rng.lognormal(0.3, 0.5, len(order)) * NS_PER_MS).astype(np.int64)
    received = acked + (rng.lognormal(0.0, 0.6, len(order)) * NS_PER_MS).astype(np.int64)
    return _Batches(producer, seq, size, partition, base, acked, received, first_poll)


def _due(plan: Plan, producer: Int64s, seq: Int64s) -> Int64s:
    return BEGIN_NS + (seq * PRODUCERS + producer) * NS_PER_SECOND // plan.rate


def _rows(plan: Plan, batches: _Batches) -> Iterator[tuple[tuple[str, str], dict[str, object]]]:
    """The rows of each worker, in the order in which the worker would see them."""
    for number in range(PRODUCERS):
        chosen = np.flatnonzero(batches.producer == number)
        chosen = chosen[np.argsort(batches.acked_ns[chosen], kind="stable")]
        sent = _sent(plan, batches, chosen)
        yield ("sent", f"producer-{number}"), planted.in_sent(sent) if plan.planted else sent
    for number in range(CONSUMERS):
        chosen = np.flatnonzero(batches.partition % CONSUMERS == number)
        chosen = chosen[np.argsort(batches.received_ns[chosen], kind="stable")]
        columns = _received(plan, batches, chosen, number)
        yield ("received", f"consumer-{number}"), planted.in_received(columns) if plan.planted else columns
        yield ("polls", f"consumer-{number}"), _polls(columns, number)
    if plan.planted:
        columns, _, _ = _messages(plan, batches, np.arange(len(batches.size)))
        yield ("appended", "supervisor"), planted.in_log(columns)


def _messages(plan: Plan, batches: _Batches, chosen: Int64s) -> tuple[dict[str, object], Int64s, Int64s]:
    """Columns that both sides share, the batch of each message and its place in the batch."""
    batch = np.repeat(chosen, batches.size[chosen])
    ends = np.cumsum(batches.size[chosen])
    place = np.arange(len(batch)) - np.repeat(ends - batches.size[chosen], batches.size[chosen])
    seq = batches.first_seq[batch] + place
    due = _due(plan, batches.producer[batch], seq)
    columns: dict[str, object] = {
        "topic": 0, "producer": batches.producer[batch], "seq": seq, "partition": batches.partition[batch],
        "offset": batches.base[batch] + place, "due_ns": due, "sent_ns": due + DELAY_NS[seq % len(DELAY_NS)],
        "size_bytes": 512,
    }  # fmt: skip
    return columns, batch, place


def _sent(plan: Plan, batches: _Batches, chosen: Int64s) -> dict[str, object]:
    columns, batch, place = _messages(plan, batches, chosen)
    acked = batches.acked_ns[batch] + place * 400 + DELAY_NS[place] // 64
    handed = np.asarray(columns["sent_ns"]) + CALL_NS
    return columns | {"acked_ns": acked, "handed_ns": handed, "polled_ns": batches.acked_ns[batch] - GAP_NS}


def _received(plan: Plan, batches: _Batches, chosen: Int64s, consumer: int) -> dict[str, object]:
    columns, batch, _ = _messages(plan, batches, chosen)
    polls = batches.first_poll + batch  # one poll per batch
    return columns | {
        "group": 0, "consumer": consumer, "poll": polls, "received_ns": batches.received_ns[batch],
        "intact": np.ones(len(batch), bool), "empty_ns": batches.received_ns[batch] - GAP_NS,
    }  # fmt: skip


def _polls(received: dict[str, object], consumer: int) -> dict[str, object]:
    returned, counts = np.unique(np.asarray(received["received_ns"]), return_counts=True)
    started = returned - 300_000
    return {
        "consumer": consumer, "poll": np.arange(len(returned)), "started_ns": started, "returned_ns": returned,
        "count": counts,
    }  # fmt: skip


def _lag(folder: RunFolder, plan: Plan, ends: Int64s) -> None:
    """The rows of `lag` that the audit needs: commits at the start, positions and log ends at the end."""
    partition = np.arange(plan.partitions)
    zeros = np.zeros_like(partition)
    start = {"at_ns": BEGIN_NS, "moment": "start", "topic": 0, "group": 0, "partition": partition}
    final = {"at_ns": BEGIN_NS + plan.load_ns, "moment": "final", "topic": 0, "group": 0, "partition": partition}
    write(folder, "lag", "start", start | {"start": zeros, "committed": zeros, "end": zeros}, 0)
    write(folder, "lag", "final", final | {"start": zeros, "committed": ends, "end": ends}, 0)
    write(folder, "lag", "positions", final | {"consumer": partition % CONSUMERS, "position": ends}, 0)
    if plan.planted:
        write(folder, "lag", "reread", final | {"moment": "reread", "group": None, "start": zeros, "end": ends}, 0)


def _resources(folder: RunFolder, plan: Plan) -> None:
    at = np.arange(BEGIN_NS, BEGIN_NS + plan.load_ns + 1, NS_PER_SECOND)
    for role, number in (("producer", 0), ("producer", 1), ("consumer", 0), ("consumer", 1)):
        rows = {
            "at_ns": at, "process": f"{role}-{number}", "role": role, "cpu_ns": (at - BEGIN_NS) // 5,
            "rss_bytes": 100_000_000 + 0 * at, "messages": (at - BEGIN_NS) // NS_PER_SECOND * plan.rate // 2,
        }  # fmt: skip
        write(folder, "resources", f"{role}-{number}", rows, 0)


def _array(values: object, kind: pa.DataType, rows: int) -> pa.Array:
    if isinstance(values, np.ndarray | list):
        return pa.array(values).cast(kind)
    return pa.array([values], kind).take(pa.array(np.zeros(rows, np.int32)))


def folder_rows(folder: RunFolder) -> int:
    """How many rows of `sent` and `received` a folder holds."""
    paths = [path for kind in ("sent", "received") for path in folder.events.glob(f"{kind}/*/part-*.parquet")]
    return sum(pq.read_metadata(path).num_rows for path in paths)


def main_facts(path: Path) -> dict[str, object]:
    """run.json as it stands."""
    loaded: dict[str, object] = json.loads(path.read_text())
    return loaded
