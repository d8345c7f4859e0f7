"""A run folder with a pipeline in the measured path, and what every message went through: told again in plain numpy.

One producer sends to the source; batches move what is there to the sink; one consumer reads it. The query dies once and
does one batch again. Clocks of broker and Spark tell whole milliseconds.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

MS, SECOND = 1_000_000, 1_000_000_000
AHEAD: Final = 1_700_000_000 * SECOND + 123_456
"""How far the wall clock is ahead."""
BEGIN, FROM, TO, ENDED = 98 * SECOND, 100 * SECOND, 104 * SECOND, 110 * SECOND
COUNT, PARTITIONS, EVERY = 6_000, 3, 250 * MS
AGAIN: Final = 9
"""The batch that is begun twice."""
Ints = NDArray[np.int64]
Row = dict[str, Any]


def wall_ms(times: Ints) -> Ints:
    """What a clock in whole milliseconds says."""
    return (times + AHEAD) // MS


class Piped:
    """The run, as columns by message in the order of their sequences."""

    def __init__(self, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.seq: Ints = np.arange(COUNT)
        self.due: Ints = BEGIN + self.seq * (TO - BEGIN) // COUNT
        self.sent: Ints = self.due + rng.integers(0, 300_000, COUNT)
        self.appended: Ints = np.maximum.accumulate(self.sent + rng.integers(MS, 4 * MS, COUNT))
        self.partition: Ints = self.seq % PARTITIONS
        self.offset: Ints = self.seq // PARTITIONS
        self.batch: Ints = (self.appended - BEGIN) // EVERY
        self.began: Ints = BEGIN + (self.batch + 1) * EVERY + 40_000
        self.to: Ints = rng.integers(0, PARTITIONS, COUNT)
        self.written: Ints = self.began + rng.integers(20 * MS, 60 * MS, COUNT)
        self.received: Ints = self.written + rng.lognormal(14.5, 0.5, COUNT).astype(np.int64)
        self.place: Ints = np.zeros(COUNT, np.int64)
        for number in range(PARTITIONS):
            mine = np.flatnonzero(self.to == number)
            self.place[mine[np.argsort(self.written[mine], kind="stable")]] = np.arange(len(mine))

    @property
    def lost_batch(self) -> Ints:
        """Messages of the batch that was begun twice."""
        return np.flatnonzero(self.batch == AGAIN)

    def write(self, run: Any, pipeline: Mapping[str, Any], *, expected: Any = None, gone: Ints | None = None) -> Any:
        """The run folder; `expected` is what the oracle says, `gone` what does not come out."""
        stays = np.ones(COUNT, bool)
        if gone is not None:
            stays[gone] = False
        stamp = {"producer": 0, "seq": self.seq, "due_ns": self.due, "sent_ns": self.sent}
        at_source = {"topic": 0, "partition": self.partition, "offset": self.offset}
        told = {"handed_ns": self.sent + 50_000, "waited_ns": 0, "polled_ns": self.appended - 100_000}
        sent = {"acked_ns": self.appended, "size_bytes": 100}
        run.events("sent", stamp | at_source | sent | told, "producer-0")
        appended = at_source | {"producer": 0, "seq": self.seq, "append_ms": wall_ms(self.appended)}
        run.events("appended", appended | {"expected": expected}, "reader-0")
        got = {name: each[stays] if isinstance(each, np.ndarray) else each for name, each in stamp.items()}
        at_sink = {"topic": 1, "group": 0, "consumer": 0, "partition": self.to[stays], "offset": self.place[stays]}
        got |= {"poll": self.seq[stays], "append_ms": wall_ms(self.written)[stays], "intact": True, "size_bytes": 100}
        times = {"received_ns": self.received[stays], "empty_ns": self.received[stays] - 100_000}
        run.events("received", got | at_sink | times, "consumer-0")
        self._again(run)
        self._batches(run)
        self._lag(run)
        self._rest(run)
        return run.facts(
            wall_ns=AHEAD, monotonic_ns=0,
            scenario={"load": {"rate": "1k/s"}, "consume": {}, "pipeline": dict(pipeline), "lag": {"every": "500ms"}},
            topics=[{"id": 0, "name": "in", "partitions": PARTITIONS}, {"id": 1, "name": "out"}],
            groups=[{"id": 0, "name": "readers"}, {"id": 1, "name": "query"}],
            workers=[{"name": "query-0", "role": "query", "number": 0, "exit_code": 0}],
            phases=[
                {"name": "warmup", "from_ns": BEGIN, "to_ns": FROM}, {"name": "measure", "from_ns": FROM, "to_ns": TO},
                {"name": "drain", "from_ns": TO, "to_ns": ENDED},
            ],
            load_ended_ns=TO, drain_ended_ns=ENDED, drained=True,
        )  # fmt: skip

    def _again(self, run: Any) -> None:
        """What the second attempt wrote: all of the batch once more, behind everything else."""
        again = self.lost_batch
        ends = np.bincount(self.to, minlength=PARTITIONS)
        place = np.zeros(len(again), np.int64)
        for number in range(PARTITIONS):
            mine = self.to[again] == number
            place[mine] = ends[number] + np.arange(mine.sum())
        run.events(
            "received",
            {
                "topic": 1, "group": 0, "consumer": 0, "poll": COUNT + again, "producer": 0, "seq": self.seq[again],
                "partition": self.to[again], "offset": place, "append_ms": wall_ms(self.written[again] + SECOND),
                "due_ns": self.due[again], "sent_ns": self.sent[again], "received_ns": self.received[again] + SECOND,
                "empty_ns": self.received[again] + SECOND - 100_000,
                "size_bytes": 100, "intact": True,
            },
            "consumer-0", 1,
        )  # fmt: skip

    def _batches(self, run: Any) -> None:
        advances: list[Row] = []
        progress: list[Row] = []
        edge = np.zeros(PARTITIONS, np.int64)
        for batch in range(int(self.batch.max()) + 1):
            mine = self.batch == batch
            to = np.array([edge[n] + (mine & (self.partition == n)).sum() for n in range(PARTITIONS)])
            for attempt in range(2 if batch == AGAIN else 1):
                start = int(batch > AGAIN or attempt == 1)
                began = int(wall_ms(np.array([BEGIN + (batch + 1) * EVERY + 40_000 + attempt * SECOND]))[0])
                source = "checkpoint" if batch == AGAIN and not attempt else "told"
                progress.append(
                    {
                        "at_ns": BEGIN + (batch + 2) * EVERY, "start": start, "batch": batch, "began_ms": began,
                        "source": source, "rows": int(mine.sum()), "duration_ms": 100 + batch, "add_batch_ms": 60,
                        "state_rows": 7 * batch, "late_rows": batch % 2, "watermark_ms": began - 5_000,
                        "checkpoint_bytes": 1_000 + batch, "committed_lag": 3,
                    }
                )  # fmt: skip
                advances += [
                    {
                        "start": start, "batch": batch, "began_ms": began, "topic": 0, "partition": n,
                        "from_offset": int(edge[n]), "to_offset": int(to[n]), "latest": int(to[n]) + 1,
                        "committed": source == "told",
                    }
                    for n in range(PARTITIONS)
                ]  # fmt: skip
            edge = to
        run.events("progress", _columns(progress), "query-0")
        run.events("advances", _columns(advances), "query-0")

    def _lag(self, run: Any) -> None:
        """Groups read to the end; the query was behind by 1,500 messages for a while."""
        zeros, numbers = np.zeros(PARTITIONS, np.int64), np.arange(PARTITIONS)
        ends = {0: np.bincount(self.partition), 1: np.bincount(np.concatenate([self.to, self.to[self.lost_batch]]))}
        for topic, group in ((0, 1), (1, 0)):
            common = {"topic": topic, "group": group, "partition": numbers, "start": zeros}
            ended = {"committed": ends[topic], "position": ends[topic], "end": ends[topic]}
            begun = common | {"at_ns": BEGIN, "moment": "start", "committed": zeros, "end": zeros}
            run.events("lag", begun, f"start-{topic}")
            run.events("lag", common | ended | {"at_ns": ENDED, "moment": "final"}, f"final-{topic}")
            for sample in range(12):
                at = BEGIN + sample * SECOND // 2
                behind = 500 if group == 1 and FROM + SECOND <= at < FROM + 2 * SECOND else 0
                said = {
                    "end": zeros + 10_000,
                    "committed": zeros + 10_000 - behind,
                    "position": zeros + 10_000 - behind,
                }
                run.events("lag", common | said | {"at_ns": at, "moment": "sample"}, f"sample-{topic}", sample)

    def _rest(self, run: Any) -> None:
        died = FROM + 1_200 * MS
        run.events(
            "query",
            {
                "at_ns": [BEGIN - 3 * SECOND, BEGIN - SECOND, died, died + 100 * MS, died + 700 * MS, ENDED],
                "start": [0, 0, 0, 1, 1, 1], "event": ["started", "ready", "died", "started", "ready", "ended"],
                "detail": [None, None, "killed", None, None, None],
            },
            "query-0",
        )  # fmt: skip
        kill = {"at_ns": [FROM + SECOND], "kind": "kill", "target": "query", "action": "begin"}
        run.events("faults", kill, "supervisor")
        seconds = np.arange(BEGIN, ENDED, SECOND)
        for process, role, share in (
            ("driver", "driver", 0.5),
            ("executor-0", "executor", 0.25),
            ("query-0", "query", 1),
        ):
            spent = {"cpu_ns": ((seconds - BEGIN) * share).astype(np.int64), "rss_bytes": 100 + 0 * seconds}
            run.events("resources", {"at_ns": seconds, "process": process, "role": role} | spent, process)
        looks = seconds + SECOND // 2
        counters = {"tasks": 10 * np.arange(len(looks)), "task_ms": 800 * np.arange(len(looks))}
        counters |= {"gc_ms": 40 * np.arange(len(looks)), "failed_tasks": 0 * looks, "memory_bytes": 5 + 0 * looks}
        for executor in ("driver", "0"):
            run.events("executors", {"at_ns": looks, "start": 0, "executor": executor} | counters, f"query-{executor}")
        run.events(
            "lookups",
            {
                "at_ns": seconds, "took_ns": (seconds - BEGIN) // 100 + MS, "rows": np.arange(len(seconds)),
                "files": np.arange(len(seconds)), "newest_ns": seconds - 30 * MS,
                "error": [None] * (len(seconds) - 1) + ["no such file"],
            },
            "lookup-0",
        )  # fmt: skip


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
