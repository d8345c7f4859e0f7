"""The table `bounds`: Spark's answer is that of plain Python, message by message."""

import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.pipeline.conftest import RunWriter
from tests.pipeline.plainly import BIN_NS, Plainly, Row

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, NS_PER_US
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.pipeline.metrics.aggregates.bounds import UNKNOWN, LowEnds, Widths, widest_ns
from streamgauge.pipeline.run import analyse

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

START = 10**15
MEASURE = START + NS_PER_SECOND // 4
END = START + NS_PER_SECOND
OVER = END + NS_PER_SECOND
AHEAD_MS = 1_800_000_000_000
PHASES = [
    {"name": "warmup", "from_ns": START, "to_ns": MEASURE},
    {"name": "measure", "from_ns": MEASURE, "to_ns": END},
    {"name": "drain", "from_ns": END, "to_ns": OVER},
]
METRICS = tuple(f"{path}_{kind}" for path in ("ack", "end_to_end", "processing") for kind in ("response", "service"))
TOLD = ("handed_ns", "waited_ns", "polled_ns", "empty_ns")


@dataclass
class History:
    """The rows of one run, as its seed has them: what it has of all that a run may have is drawn, too."""

    seed: int
    messages: int = 1_000
    sent: list[Row] = field(default_factory=list)
    received: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = draw = random.Random(self.seed)
        self.topics, self.partitions, self.producers, self.groups = (draw.randint(1, most) for most in (2, 3, 3, 2))
        self.scheduled, self.troubled = draw.random() < 0.8, draw.random() < 0.6
        self.processing, self.throttled, self.transactional = (draw.random() < 0.4 for _ in range(3))
        # Some seconds apart nothing is in flight at times, and at others always.
        self.slow_ms = draw.choice((0.3, 2.0, 9.0))
        self.ends: dict[tuple[int, int], int] = {}
        for number in range(self.messages):
            # Three at a time, so that several share a bin.
            due = START + 1_000 + number // 3 * 27 * NS_PER_MS // 10
            self._send(number % self.producers, number // self.producers, due)

    def _chance(self, share: float) -> bool:
        return self.draw.random() < share

    def _upto(self, ms: float) -> int:
        return self.draw.randint(0, int(ms * NS_PER_MS))

    def _send(self, producer: int, seq: int, due: int) -> None:
        waited = self._upto(3) if self._chance(0.1) else None
        admitted = due + self._upto(2) - NS_PER_MS if self.throttled else None
        late = self._upto(60) if self._chance(0.005) else self._upto(0.3)
        sent = max(due, admitted or due) + (waited or 0) + late
        handed = sent + self._upto(0.2)
        acked = handed + self._upto(self.slow_ms)
        place = {"topic": self.draw.randrange(self.topics), "partition": self.draw.randrange(self.partitions)}
        row: Row = place | {"producer": producer, "seq": seq, "due_ns": due if self.scheduled else None}
        row |= {"sent_ns": sent, "handed_ns": handed, "waited_ns": waited, "admitted_ns": admitted, "acked_ns": acked}
        row |= {"polled_ns": acked - self._upto(4), "size_bytes": 9, "error": None, "offset": None}
        row["transaction"] = seq // 20 if self.transactional else None
        nothing = {"partition": None, "polled_ns": None, "transaction": None}
        if self.troubled and self.scheduled and self._chance(0.03):
            never = dict.fromkeys(("sent_ns", "handed_ns", "waited_ns", "admitted_ns", "acked_ns"))
            self.sent.append(row | nothing | never | {"error": "unsent"})
            return
        if self.troubled and self._chance(0.03):
            self.sent.append(row | nothing | {"error": "MSG_SIZE_TOO_LARGE"})
            return
        where = place["topic"], place["partition"]
        row["offset"] = self.ends[where] = self.ends.get(where, -1) + 1
        self.sent.append(row)
        for group in range(self.groups):
            for _ in range(1 + (self.troubled and self._chance(0.05))):
                self._deliver(group, row)

    def _deliver(self, group: int, row: Row) -> None:
        got = row["handed_ns"] + self._upto(self.slow_ms)
        done = got + self._upto(2) if self.processing and not self._chance(0.03) else None
        stamp = {name: row[name] for name in ("topic", "partition", "offset", "producer", "seq", "due_ns", "sent_ns")}
        self.received.append(
            stamp
            | {"group": group, "consumer": group, "poll": len(self.received), "received_ns": got, "size_bytes": 9}
            | {"started_ns": got if done else None, "processed_ns": done, "empty_ns": got - self._upto(4)}
            | {"intact": not (self.troubled and self._chance(0.02))}
        )

    def forget(self, name: str, share: float = 1.0) -> "History":
        """What some rows did not tell, or none."""
        for row in self.sent if name in self.sent[0] else self.received:
            row[name] = None if self._chance(share) else row[name]
        return self

    def write(self, run: RunWriter) -> RunFolder:
        """The run folder of it."""
        run.events("sent", columns(self.sent))
        run.events("received", columns(self.received))
        polls = [{"consumer": row["consumer"], "poll": row["poll"], "count": 1} for row in self.received]
        times = [{"started_ns": row["received_ns"] - 1, "returned_ns": row["received_ns"]} for row in self.received]
        run.events("polls", columns([poll | time for poll, time in zip(polls, times, strict=True)]))
        if self.transactional:
            for producer in range(self.producers):
                numbers = sorted({row["transaction"] for row in self.sent if row["transaction"] is not None})
                told: Row = {"producer": producer, "began_ns": START, "ended_ns": END, "messages": 1}
                run.events("transactions", told | {"transaction": numbers, "outcome": "committed"}, f"p-{producer}")
        return run.facts(
            scenario={
                "load": {"rate": "1k/s" if self.scheduled else "max"},
                "consume": {"processing": {"delay": "1ms"}} if self.processing else {},
                "backpressure": {"credit": {"limit": 100}} if self.throttled else None,
            },
            topics=[{"id": topic, "name": f"t{topic}"} for topic in range(self.topics)],
            groups=[{"id": group, "name": f"g{group}"} for group in range(self.groups)],
            phases=PHASES,
            load_ended_ns=END,
            drain_ended_ns=OVER,
            drained=True,
        )

    def told(self) -> Plainly:
        """The same in plain Python."""
        return Plainly(
            self.sent,
            self.received,
            (START, OVER),
            (MEASURE, END),
            leaves_in_client=self.processing,
            throttled=self.throttled,
        )


def columns(rows: list[Row]) -> dict[str, Any]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def bounds(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """The rows by their metrics; only stages of pipelines have high ends."""
    rows = pq.read_table(folder.tables / "bounds.parquet").to_pylist()
    spread = {"stddev_high_ms", "mad_high_ms"}
    ends = [name for name in rows[0] if name.endswith("_high_ms") and name not in spread]
    assert {row[name] for row in rows for name in ends} == {None}
    return {row.pop("metric"): {name: value for name, value in row.items() if name not in ends} for row in rows}


def shown(low: LowEnds | None, delivered: LowEnds | None) -> dict[str, Any]:
    if low is None:
        return {"known": False}
    percentiles = {f"{name}_ms": value for name, value in low.percentiles_ns.items()}
    found = {"min_ms": low.min_ns, "mean_ms": low.mean_ns, "max_ms": low.max_ns, **percentiles}
    if delivered:
        found |= {f"delivered_{name}_ms": delivered.percentiles_ns[name] for name in ("p50", "p95", "p99", "p99_9")}
    for name, (least, most) in (("stddev", low.stddev_ns), ("mad", low.mad_ns)):
        found |= {f"{name}_low_ms": least, f"{name}_high_ms": most}
    return {"known": True} | {name: value / NS_PER_MS for name, value in found.items()}


def widths(folder: RunFolder, metrics: Collection[str]) -> dict[str, Counter[tuple[int, int | None]]]:
    """How many messages of each metric have a bucket and a width, in us, as `latency_widths` has it."""
    found: dict[str, Counter[tuple[int, int | None]]] = {}
    for row in pq.read_table(folder.tables / "latency_widths.parquet").to_pylist():
        if row["metric"] in metrics:
            found.setdefault(row["metric"], Counter())[row["bucket"], row["width_us"]] += row["count"]
    return found


def one_by_one(told: Widths) -> Counter[tuple[int, int | None]]:
    found = Counter[tuple[int, int | None]]()
    for bucket, width, count in zip(told.bucket.tolist(), told.width.tolist(), told.count.tolist(), strict=True):
        width_us = None if width == UNKNOWN else int(widest_ns(np.array([width]))[0]) // NS_PER_US
        found[bucket, width_us] += count
    return found


def check(folder: RunFolder, told: Plainly, metrics: tuple[str, ...] = METRICS) -> set[str]:
    """Compare all that the run has; returns the metrics that it has and whose widths are known."""
    analyse(folder)
    found = {metric: row for metric, row in bounds(folder).items() if metric in metrics}
    expected = {
        metric: shown(told.low_ends(metric), told.delivered(metric))
        for metric in metrics
        if len(told.widths(metric).count)
    }
    assert found.keys() == expected.keys()
    for metric, row in expected.items():
        known = {name: value for name, value in found[metric].items() if value is not None}
        assert known == pytest.approx(row), metric
    assert widths(folder, metrics) == {metric: one_by_one(told.widths(metric)) for metric in expected}
    return {metric for metric, row in expected.items() if row["known"]}


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 8))])
def test_low_ends_are_those_of_each_message_by_itself(run: RunWriter, seed: int) -> None:
    history = History(seed)
    known = check(history.write(run), history.told())

    assert {"ack_service", "end_to_end_service"} <= known
    assert ("end_to_end_response" in known) is history.scheduled
    assert ("processing_service" in known) is history.processing


@pytest.mark.parametrize(("name", "metric"), [("polled_ns", "ack"), ("empty_ns", "end_to_end")])
def test_what_a_few_messages_do_not_tell_is_not_known(run: RunWriter, name: str, metric: str) -> None:
    history = History(6, 500).forget(name, 0.01)
    known = check(history.write(run), history.told())

    assert {each for each in METRICS[:4] if each not in known} == {f"{metric}_response", f"{metric}_service"}


def test_without_the_return_of_one_call_neither_delays_nor_calls_are_known(run: RunWriter) -> None:
    """Also of others: what one message was late by may have delayed them, and the call may have been the longest."""
    history = History(6, 500)
    cells = Counter(map(cell, history.sent))
    row = next(row for row in history.sent if row["due_ns"] >= MEASURE and cells[cell(row)] > 1)
    row["handed_ns"] = None

    assert check(history.write(run), history.told()) == set()


def cell(row: Row) -> tuple[int, int]:
    return (row["sent_ns"] - START) // BIN_NS, row["partition"]


def test_where_messages_have_no_bounds_the_gaps_of_their_seconds_stand_for_them(run: RunWriter) -> None:
    """As in runs that older versions recorded. The second that lacks a sample has no bound."""
    history, draw = History(4, 500), random.Random(5)
    for name in TOLD:
        history.forget(name)
    first, count = START // NS_PER_SECOND - 1, 5
    gaps = {role: [draw.randint(0, 9 * NS_PER_MS) for _ in range(count)] for role in ("producer", "consumer")}
    for role, longest in gaps.items():
        # The sample of a second tells the one before.
        at_ns = [(first + 1 + second) * NS_PER_SECOND + 5 * NS_PER_MS for second in range(count)]
        run.events("resources", {"at_ns": at_ns, "process": f"{role}-0", "role": role, "poll_gap_ns": longest}, role)
    folder = history.write(run)

    def gap(role: str, time: int, other: int) -> int:
        second = time // NS_PER_SECOND - first
        return max(gaps[role][second], gaps[role][second + other])

    for row in history.sent:
        if row["sent_ns"] is not None:
            row["handed_ns"] = row["sent_ns"] + gap("producer", row["sent_ns"], 1)
            row["polled_ns"] = row["acked_ns"] - gap("producer", row["acked_ns"], -1)
    for row in history.received:
        row["empty_ns"] = row["received_ns"] - gap("consumer", row["received_ns"], -1)

    assert check(folder, history.told())


@pytest.mark.parametrize("stamp", ["append_ms", "created_ms"])
def test_records_of_others_are_as_wide_as_their_polls_and_the_millisecond_of_their_stamps(
    run: RunWriter, stamp: str
) -> None:
    draw, rows = random.Random(1), list[Row]()
    for offset in range(500):
        got = MEASURE + offset * NS_PER_MS + draw.randint(0, 900) * NS_PER_US
        row: Row = dict.fromkeys(("append_ms", "created_ms", "producer", "seq", "due_ns", "sent_ns", "processed_ns"))
        row |= {"topic": 0, "group": 0, "consumer": 0, "poll": offset, "partition": offset % 2, "offset": offset}
        row |= {"received_ns": got, "empty_ns": got - draw.randint(0, 4 * NS_PER_MS), "size_bytes": 9}
        rows.append(row | {stamp: AHEAD_MS + got // NS_PER_MS - draw.randint(2, 9)})
    run.events("received", columns(rows))
    facts = {"scenario": {"load": "off", "consume": {}}, "wall_ns": AHEAD_MS * NS_PER_MS, "monotonic_ns": 0}
    folder = run.facts(**facts, phases=PHASES, load_ended_ns=END, drain_ended_ns=OVER, drained=True)
    told = Plainly([], rows, (START, OVER), (MEASURE, END), ahead_ns=AHEAD_MS * NS_PER_MS)

    assert check(folder, told, ("since_record_time",))
