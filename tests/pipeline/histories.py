"""Random histories of small runs, and what was outstanding in them: told again in plain Python, row by row.

Times are few and often equal, so that their order matters. A history has whatever a run may have: sends that failed,
for certain or not, or have no report; messages that were aborted, written twice, delivered again, never processed, or
by nobody sent.
"""

import math
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Protocol

MS = 1_000_000
ORIGIN = 1_000 * MS
"""When the load begins."""
FROM, TO, ENDED = ORIGIN + 300 * MS, ORIGIN + 1_500 * MS, ORIGIN + 2_050 * MS
"""Measure phase, and end of the drain."""
EVERY = 100 * MS
STEP = 5 * MS
"""Between two times at which anything happens: so few that much happens at once."""
PARTITIONS, PRODUCERS, GROUPS = 3, 2, 2
CERTAIN, AMBIGUOUS, SILENT = "MSG_SIZE_TOO_LARGE", "_MSG_TIMED_OUT", "fate_unknown"
Row = dict[str, Any]


class Writer(Protocol):
    def facts(self, **changes: Any) -> Any: ...

    def events(self, kind: str, columns: Any, worker: str = "w", part: int = 0) -> Any: ...


@dataclass
class History:
    """The rows of one run."""

    seed: int
    healthy: bool
    processing: bool = True
    messages: int = 240
    sent: list[Row] = field(default_factory=list)
    received: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.logs: list[list[Row]] = [[] for _ in range(PARTITIONS)]
        for number in range(self.messages):
            self._send(number % PRODUCERS, number // PRODUCERS)
        for group in range(GROUPS):
            for partition, log in enumerate(self.logs):
                self._consume(group, partition, log)

    def _chance(self, share: float) -> bool:
        return not self.healthy and self.random.random() < share

    def _send(self, producer: int, seq: int) -> None:
        due = ORIGIN + (seq * PRODUCERS + producer) * 260 // self.messages * STEP
        admitted = due + self.random.choice((-1, 0, 0, 8)) * STEP
        sent = max(due, admitted) + self.random.randrange(3) * STEP
        row: Row = {"producer": producer, "seq": seq, "due_ns": due, "sent_ns": sent, "admitted_ns": admitted}
        row |= {"acked_ns": sent + 2 * MS, "partition": None, "offset": None, "error": None, "transaction": None}
        if self._chance(0.05):
            row |= {"sent_ns": None, "admitted_ns": None, "acked_ns": None, "error": "unsent"}
        elif self._chance(0.05):
            row |= {"error": CERTAIN}
        elif self._chance(0.06):
            row |= {"error": AMBIGUOUS}
            if self.random.random() < 0.5:
                self._write(row)
        elif self._chance(0.08):
            if self.random.random() < 0.6:
                self._write(dict(row))
            row |= {"sent_ns": None, "admitted_ns": None, "acked_ns": None, "error": SILENT}
        elif self._chance(0.08):
            row |= {"transaction": 1}
            # Aborted: in the log, and hidden from those who read what is committed.
            partition = self.random.randrange(PARTITIONS)
            self.logs[partition].append({"hidden": True})
            row |= {"partition": partition, "offset": len(self.logs[partition]) - 1}
        else:
            row |= {"transaction": None if self.healthy else 0}
            row |= self._write(row)
            if self._chance(0.05):
                self._write(row)
        if not self._chance(0.02):
            # Otherwise it is in no row: a part that a disk has damaged.
            self.sent.append(row)

    def _write(self, row: Row) -> Row:
        if self._chance(0.08):
            self.logs[self.random.randrange(PARTITIONS)].append({"foreign": True, "sent_ns": row["sent_ns"]})
        partition = self.random.randrange(PARTITIONS)
        self.logs[partition].append(row)
        return {"partition": partition, "offset": len(self.logs[partition]) - 1}

    def _consume(self, group: int, partition: int, log: list[Row]) -> None:
        reached = len(log) - (0 if self.healthy else self.random.randrange(6))
        for offset, record in enumerate(log[:reached]):
            if record.get("hidden"):
                continue
            if self._chance(0.03):
                continue  # lost
            for copy in range(1 + self._chance(0.1) + self._chance(0.05)):
                self._deliver(group, partition, offset, record, copy)

    def _deliver(self, group: int, partition: int, offset: int, record: Row, copy: int) -> None:
        got = record["sent_ns"] + (1 + self.random.randrange(4) + 6 * copy) * STEP
        done = got + self.random.choice((0, 1, 1, 30)) * STEP
        never = self.random.random() < (0.02 if self.healthy else 0.06)
        named = ("producer", "seq", "due_ns", "sent_ns")
        stamp = {name: None if record.get("foreign") else record[name] for name in named}
        self.received.append(
            stamp
            | {"group": group, "consumer": 2 * group + copy % 2, "poll": len(self.received), "partition": partition}
            | {"offset": offset, "received_ns": got, "started_ns": got if self.processing and not never else None}
            | {"processed_ns": done if self.processing and not never else None}
        )  # fmt: skip

    def shown(self) -> dict[tuple[int, int], int]:
        """When each message was sent that anybody received, by its stamp."""
        return {(row["producer"], row["seq"]): row["sent_ns"] for row in self.received if row["producer"] is not None}

    def silent(self, *, came: bool) -> list[Row]:
        """The messages of unknown fate that somebody received, or nobody did."""
        shown = self.shown()
        return [row for row in self.sent if row["error"] == SILENT and ((row["producer"], row["seq"]) in shown) == came]

    def write(self, writer: Writer, policy: dict[str, Any] | None) -> Any:
        """The run folder of it."""
        writer.events("sent", {"topic": 0, "size_bytes": 9} | _columns(self.sent), "producer")
        writer.events("received", {"topic": 0, "size_bytes": 9, "intact": True} | _columns(self.received), "consumer")
        if not self.healthy:
            outcomes: Row = {"transaction": [0, 1], "outcome": ["committed", "aborted"]}
            shared: Row = {"began_ns": ORIGIN, "ended_ns": FROM, "messages": 1}
            for producer in range(PRODUCERS):
                writer.events("transactions", outcomes | shared | {"producer": producer}, f"producer-{producer}")
        lanes = [(group, partition) for group in range(GROUPS) for partition in range(PARTITIONS)]
        common: Row = {"at_ns": ENDED, "topic": 0, "group": [lane[0] for lane in lanes]}
        common |= {"partition": [lane[1] for lane in lanes], "start": 0}
        ends = [len(self.logs[partition]) for _, partition in lanes]
        writer.events("lag", common | {"moment": "start", "committed": 0, "end": 0}, "start")
        writer.events("lag", common | {"moment": "final", "committed": ends, "position": ends, "end": ends}, "final")
        phases = [("warmup", ORIGIN, FROM), ("measure", FROM, TO), ("drain", TO, ENDED)]
        consume = {"processing": {"delay": "3ms"}} if self.processing else {}
        return writer.facts(
            scenario={"load": {"rate": "1k/s"}, "consume": consume, "backpressure": policy, "lag": {"every": "100ms"}},
            groups=[{"id": group, "name": f"g{group}"} for group in range(GROUPS)],
            phases=[{"name": name, "from_ns": begin, "to_ns": end} for name, begin, end in phases],
            load_ended_ns=TO,
            drain_ended_ns=ENDED,
        )


def _columns(rows: list[Row]) -> dict[str, Any]:
    return {name: [row[name] for row in rows] for name in rows[0]}


@dataclass
class Told:
    """What was outstanding of one group, by definition: every quantity at any time."""

    history: History
    group: int

    def __post_init__(self) -> None:
        rows = self.history.sent
        shown = self.history.shown()
        self.counted = {
            (row["producer"], row["seq"]): row["sent_ns"] or shown[row["producer"], row["seq"]]
            for row in rows
            if (row["sent_ns"] is not None or (row["error"] == SILENT and (row["producer"], row["seq"]) in shown))
            and row["error"] != CERTAIN
            and row["transaction"] != 1
        }
        mine = [row for row in self.history.received if row["group"] == self.group]
        self.done = _firsts(((row["producer"], row["seq"]), self._over(row)) for row in mine)
        self.passed = _firsts(self._frontier(mine))

    def _over(self, row: Row) -> float:
        over = row["processed_ns"] if self.history.processing else row["received_ns"]
        return math.inf if over is None else over

    def _frontier(self, mine: list[Row]) -> list[tuple[Any, float]]:
        """When each message was below the frontier of its partition: all at its offset or before it are processed."""
        places: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in mine:
            places[row["partition"], row["offset"]].append(row)
        reached: dict[int, float] = defaultdict(float)
        found = []
        for (partition, _), rows in sorted(places.items()):
            reached[partition] = max(reached[partition], min(map(self._over, rows)))
            found.append(((rows[0]["producer"], rows[0]["seq"]), reached[partition]))
        return found

    def _left(self, over: dict[Any, float]) -> list[tuple[float, float]]:
        return [(sent, over.get(message, math.inf)) for message, sent in self.counted.items()]

    def at(self, time: int) -> Row:
        """The quantities at a time."""
        lives = self._left(self.done)
        waiting = [sent for sent, done in lives if sent <= time < done]
        return {
            "sent": sum(sent <= time for sent, _ in lives),
            "processed": sum(done <= time for _, done in lives),
            "outstanding": sum(sent <= time for sent, _ in lives) - sum(done <= time for _, done in lives),
            "time_lag_ms": (time - min(waiting)) / MS if waiting else None,
        }

    def most(self, begin: int, end: int) -> tuple[int, int]:
        """The most outstanding, and uncredited, at any time of [begin, end]: after every change, and at the begin.

        At one time, what is processed goes before what is sent, so the value after all changes of it counts.
        """
        found = []
        for over in (self.done, self.passed):
            lives = self._left(over)
            times = [begin, *{time for life in lives for time in life if begin < time <= end}]
            found.append(
                max(sum(sent <= at for sent, _ in lives) - sum(done <= at for _, done in lives) for at in times)
            )
        return found[0], found[1]


def _firsts(pairs: Any) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for message, time in pairs:
        found[message] = min(time, found.get(message, math.inf))
    return found
