"""A run counted again in plain Python: from its shared cells, its rows, and the log of a broker that is still there."""

import mmap
import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pyarrow.parquet as pq
from confluent_kafka.admin import AdminClient

from streamgauge.domain import stamp
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.engine.supervise.cells import read_claims

Stamp = tuple[int, int]
"""Producer and sequence."""


class Witness:
    """Keeps the shared cells of a run in sight, also when their file is gone."""

    def __init__(self) -> None:
        self._maps: dict[str, mmap.mmap] = {}

    @property
    def has_seen_any(self) -> bool:
        """Whether the cells of a run are in sight."""
        return bool(self._maps)

    def knows(self, folder: RunFolder) -> bool:
        """Whether the cells of this run are."""
        return str(folder.root) in self._maps

    def look(self, folder: RunFolder, facts: RunFacts) -> None:
        """Map the cells that run.json names, if they are there."""
        if facts.cells and str(folder.root) not in self._maps and Path(facts.cells).exists():
            descriptor = os.open(facts.cells, os.O_RDONLY)
            self._maps[str(folder.root)] = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
            os.close(descriptor)

    def next_seqs(self, folder: RunFolder) -> Mapping[int, int] | None:
        """How far each producer had come; None where nobody saw the cells."""
        found = self._maps.get(str(folder.root))
        return None if found is None else read_claims(found[:]).next_seqs


def rows_of(folder: RunFolder, kind: str, *names: str) -> list[tuple[Any, ...]]:
    """Some columns of all rows of a kind."""
    found: list[tuple[Any, ...]] = []
    for path in sorted(folder.events.glob(f"{kind}/worker=*/part-*.parquet")):
        table = pq.read_table(path, columns=list(names), partitioning=None)
        found += zip(*(table.column(name).to_pylist() for name in names), strict=True)
    return found


def claims_hold(folder: RunFolder, next_seqs: Mapping[int, int]) -> list[str]:
    """Faults: rows other than `unsent` are the messages taken up, each once."""
    faults = []
    of: dict[int, dict[int, str | None]] = defaultdict(dict)
    for producer, seq, error in rows_of(folder, "sent", "producer", "seq", "error"):
        if seq in of[producer]:
            faults.append(f"producer {producer}: two rows of message {seq}")
        of[producer][seq] = error
    for producer, next_seq in next_seqs.items():
        rows = of[producer]
        missing = [seq for seq in range(next_seq) if seq not in rows]
        beyond = [seq for seq, error in rows.items() if seq >= next_seq and error != "unsent"]
        if missing:
            faults.append(f"producer {producer}: {len(missing)} of {next_seq} messages without a row: {missing[:3]}...")
        if beyond:
            faults.append(f"producer {producer}: {len(beyond)} rows of messages that were not taken up")
    return faults


def counts(folder: RunFolder) -> dict[str, int]:
    """Counts of delivery that can be told from the rows alone."""
    rows = rows_of(folder, "sent", "producer", "seq", "error")
    errors = Counter(
        {None: "acked", "unsent": "unsent", "fate_unknown": "fate_unknown"}.get(error, "failed") for _, _, error in rows
    )
    sent = {(producer, seq): error for producer, seq, error in rows}
    received = rows_of(folder, "received", "producer", "seq")
    copies = Counter(received)
    return {
        **{name: errors[name] for name in ("acked", "unsent", "fate_unknown", "failed")},
        "received": len(received),
        "unrecorded": sum(each not in sent for each in copies),
        "unacked_received": sum(sent.get(each) not in {None, "unsent"} for each in copies),
        "delivered": sum(error is None and copies[each] > 0 for each, error in sent.items()),
        "not_received": sum(error == "fate_unknown" and not copies[each] for each, error in sent.items()),
    }


def counts_hold(folder: RunFolder, delivery: Mapping[str, Any]) -> list[str]:
    """Faults: the result says what the rows say."""
    mine = counts(folder)
    not_received = mine.pop("not_received")
    delivered = sum(delivery.get(name) or 0 for name in ("delivered_once", "duplicate_consumer", "duplicate_producer"))
    theirs = {name: delivery.get(name) for name in mine} | {"delivered": delivered}
    faults = [f"{name}: {mine[name]} rows, result {theirs[name]}" for name in mine if mine[name] != (theirs[name] or 0)]
    classes = delivered + sum(delivery.get(name) or 0 for name in ("undelivered", "lost", "expired", "unknown"))
    if classes != mine["acked"] + not_received:
        faults.append(f"classes add up to {classes}, not {mine['acked']} acknowledged and {not_received} unknown")
    return faults


def kept_rate(folder: RunFolder, facts: RunFacts, rate: float) -> float:
    """Share of the target rate at which messages were sent in the measure phase.

    Until the last message of the run where it lies in the phase: who sent it may have been ended. Who sends later has
    missed the rate until the phase ended.
    """
    phase = next((each for each in facts.phases if each.name == "measure"), None)
    if phase is None:
        return 0.0
    begin, end = phase.from_ns, phase.to_ns
    times = [at for (at,) in rows_of(folder, "sent", "sent_ns") if at is not None]
    sent = [at for at in times if begin <= at < end]
    return len(sent) / (rate * (min(max(times), end) - begin) / 1e9) if sent else 0.0


def log_holds(folder: RunFolder, facts: RunFacts, bootstrap: str) -> list[str]:
    """Faults: each message of the run that is in the log has a row; what was acknowledged is where its row says."""
    in_log = read_log(facts, bootstrap)
    rows = {
        (producer, seq): (error, partition, offset)
        for producer, seq, error, partition, offset in rows_of(
            folder, "sent", "producer", "seq", "error", "partition", "offset"
        )
    }
    faults = []
    nobodys = {each for each in in_log.values() if each not in rows or rows[each][0] == "unsent"}
    if nobodys:
        faults.append(f"{len(nobodys)} messages are in the log and have no row: {sorted(nobodys)[:3]}")
    elsewhere = [
        each
        for each, (error, partition, offset) in rows.items()
        if error is None and offset is not None and in_log.get((partition, offset)) != each
    ]
    if elsewhere:
        faults.append(f"{len(elsewhere)} acknowledged messages are not where their rows say: {sorted(elsewhere)[:3]}")
    return faults


def topics_of(bootstrap: str) -> list[str]:
    """Names of the topics of a cluster."""
    return list(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=60).topics)


def read_log(facts: RunFacts, bootstrap: str) -> dict[tuple[int, int], Stamp]:
    """The stamps of the run in the log of its topic, by partition and offset."""
    topic = facts.topics[0]
    reader = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "torture", "enable.auto.commit": False})
    found: dict[tuple[int, int], Stamp] = {}
    try:
        left: dict[int, int] = {}
        places = []
        for partition in range(topic.partitions or 0):
            begin, end = reader.get_watermark_offsets(ck.TopicPartition(topic.name, partition), timeout=60)
            if begin < end:
                left[partition] = end - 1
                places.append(ck.TopicPartition(topic.name, partition, begin))
        reader.assign(places)
        while left:
            message = reader.poll(10)
            assert message is not None, f"the log of {topic.name} cannot be read"
            assert message.error() is None, message.error()
            partition, at = int(message.partition() or 0), int(message.offset() or 0)
            if at >= left.get(partition, at + 1):
                del left[partition]
            head = bytes(message.value() or b"")[: stamp.STAMP.itemsize]
            if len(head) == stamp.STAMP.itemsize:
                stamps = stamp.decode(head)
                if stamp.is_stamp(stamps, facts.tag).all():
                    found[partition, at] = (int(stamps["producer"][0]), int(stamps["seq"][0]))
    finally:
        reader.close()
    return found
