"""The table `bounds`: Spark's answer is that of plain Python, message by message."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.pipeline.conftest import RunWriter

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND, NS_PER_US
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.bounds import LowEnds, Widths, low_ends, width_class
from streamgauge.domain.latency.buckets import Int64s, bucket_of
from streamgauge.pipeline.metrics.aftermath import NEVER_NS, delays
from streamgauge.pipeline.run import analyse

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

START = 10**15
MEASURE = START + NS_PER_SECOND
END = START + 4 * NS_PER_SECOND
PHASES = [
    {"name": "warmup", "from_ns": START, "to_ns": MEASURE},
    {"name": "measure", "from_ns": MEASURE, "to_ns": END},
    {"name": "drain", "from_ns": END, "to_ns": END + NS_PER_SECOND},
]


@dataclass(frozen=True)
class History:
    """Messages of one producer, one after the other, and the polls that brought them."""

    due: Int64s
    sent: Int64s
    handed: Int64s
    waited: Int64s
    acked: Int64s
    polled: Int64s
    received: Int64s
    empty: Int64s

    @classmethod
    def drawn(cls, seed: int, count: int = 3_000) -> "History":
        """A millisecond apart; some late by themselves, some behind a full queue, some read late."""
        rng = np.random.default_rng(seed)
        due = START + 1_000 + np.arange(count) * NS_PER_MS
        waited = np.where(rng.random(count) < 0.1, rng.integers(0, 3 * NS_PER_MS, count), 0)
        late = rng.integers(0, 300 * NS_PER_US, count)
        late[rng.integers(0, count, 5)] += rng.integers(0, 60 * NS_PER_MS, 5)
        sent = np.maximum.accumulate(due + waited + late)
        handed = sent + rng.integers(0, 200 * NS_PER_US, count)
        acked = handed + rng.integers(0, 5 * NS_PER_MS, count)
        # Polls: each brings what is there by then.
        returned = np.sort(rng.integers(START, END + NS_PER_SECOND, 2 * count))
        arrived = np.maximum.accumulate(handed + rng.integers(0, 9 * NS_PER_MS, count))
        received = returned[np.searchsorted(returned, arrived)]
        return cls(
            due, sent, handed, waited, acked, acked - rng.integers(0, 9 * NS_PER_MS, count), received,
            received - rng.integers(0, 4 * NS_PER_MS, count),
        )  # fmt: skip

    def by_seconds(self, gaps: dict[str, Int64s]) -> "History":
        """The history with the bounds that the longest gaps of each second give, from the second before the run on."""

        def gap(role: str, times: Int64s, other: int) -> Int64s:
            second = times // NS_PER_SECOND - START // NS_PER_SECOND + 1
            return np.maximum(gaps[role][second], gaps[role][second + other])

        return replace(
            self,
            waited=np.zeros_like(self.waited),
            handed=self.sent + gap("producer", self.sent, 1),
            polled=self.acked - gap("producer", self.acked, -1),
            empty=self.received - gap("consumer", self.received, -1),
        )

    def write(self, run: RunWriter, **changes: Any) -> RunFolder:
        """The run folder of it."""
        count = len(self.due)
        stamp = {"topic": 0, "producer": 0, "seq": np.arange(count), "partition": 0, "offset": np.arange(count)}
        times = {"due_ns": self.due, "sent_ns": self.sent, "size_bytes": 100}
        told = {"handed_ns": self.handed, "waited_ns": self.waited, "polled_ns": self.polled}
        sent = {**stamp, **times, "acked_ns": self.acked, **told}
        run.events("sent", sent | {name: changes[name] for name in changes if name in sent})
        read = {"group": 0, "consumer": 0, "poll": 0, "received_ns": self.received, "empty_ns": self.empty}
        run.events("received", {**stamp, **times, **read} | {name: changes[name] for name in changes if name in read})
        returned, counts = np.unique(self.received, return_counts=True)
        polls = {"consumer": 0, "poll": np.arange(len(counts)), "started_ns": returned - 1, "returned_ns": returned}
        run.events("polls", {**polls, "count": counts})
        return run.facts(phases=PHASES, load_ended_ns=END, drain_ended_ns=END + NS_PER_SECOND, drained=True)

    def expected(self, metric: str) -> LowEnds | None:
        """The low ends, each message by itself."""
        path, kind = metric.rsplit("_", 1)
        begin = self.due if kind == "response" else self.sent
        end, ready = (self.acked, self.polled) if path == "ack" else (self.received, self.empty)
        width = end - np.maximum(ready, self.sent)
        bins = (self.sent - START) // NS_PER_MS
        width += self.delayed(bins, end - self.sent)
        chosen = (self.due >= MEASURE) & (self.due < END)
        value = (end - begin)[chosen]
        widths = Widths(bucket_of(value), width_class(width[chosen]), np.ones(len(value), np.int64))
        return low_ends(widths)

    def delayed(self, bins: Int64s, service: Int64s) -> Int64s:
        count = (END + NS_PER_SECOND - START) // NS_PER_MS + 1
        edges = START + (np.arange(count) + 1) * NS_PER_MS
        own = self.of_bins(np.maximum(self.handed - self.due - self.waited, 0), bins, count)
        sent, ended = (np.searchsorted(np.sort(times), edges, "left") for times in (self.sent, self.received))
        cells, place = np.unique(bins, return_inverse=True)
        least = np.full(len(cells), NEVER_NS)
        np.minimum.at(least, place, service)
        return delays(own, sent == ended, cells, cells * 0, least)[place]

    @staticmethod
    def of_bins(values: Int64s, bins: Int64s, count: int | None = None) -> Int64s:
        largest = np.zeros(count or bins.max() + 1, np.int64)
        np.maximum.at(largest, bins, values)
        return largest


def bounds(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """The rows by their metrics; only stages of pipelines have high ends."""
    rows = pq.read_table(folder.tables / "bounds.parquet").to_pylist()
    ends = [name for name in rows[0] if name.endswith("_high_ms") and name != "mad_high_ms"]
    assert {row[name] for row in rows for name in ends} == {None}
    return {row.pop("metric"): {name: value for name, value in row.items() if name not in ends} for row in rows}


def shown(low: LowEnds | None) -> dict[str, Any]:
    assert low
    percentiles = {f"{name}_ms": value for name, value in low.percentiles_ns.items()}
    found = {"min_ms": low.min_ns, "mean_ms": low.mean_ns, "max_ms": low.max_ns, **percentiles}
    found |= {"rms_width_ms": low.rms_width_ns, "mad_low_ms": low.mad_ns[0], "mad_high_ms": low.mad_ns[1]}
    return {name: value / NS_PER_MS for name, value in found.items()}


METRICS = ("ack_response", "ack_service", "end_to_end_response", "end_to_end_service")


@pytest.mark.parametrize("seed", [1, 2])
def test_low_ends_are_those_of_each_message_by_itself(run: RunWriter, seed: int) -> None:
    history = History.drawn(seed)
    folder = history.write(run)

    analyse(folder)

    found = bounds(folder)
    for metric in METRICS:
        assert found[metric].pop("known") is True
        assert found[metric] == pytest.approx(shown(history.expected(metric)))


def test_where_messages_have_no_bounds_the_gaps_of_their_seconds_stand_for_them(run: RunWriter) -> None:
    """As in runs that older versions recorded. The second that lacks a sample has no bound."""
    history = History.drawn(4)
    count = (END - START) // NS_PER_SECOND + 4
    gaps = {role: np.random.default_rng(5).integers(0, 9 * NS_PER_MS, count) for role in ("producer", "consumer")}
    for role, longest in gaps.items():
        # The sample of a second tells the one before.
        at_ns = (START // NS_PER_SECOND + np.arange(count)) * NS_PER_SECOND + 5 * NS_PER_MS
        run.events("resources", {"at_ns": at_ns, "process": f"{role}-0", "role": role, "poll_gap_ns": longest}, role)
    untold = dict.fromkeys(("handed_ns", "waited_ns", "polled_ns", "empty_ns"))
    folder = history.write(run, **untold)

    analyse(folder)

    found, expected = bounds(folder), history.by_seconds(gaps)
    for metric in METRICS:
        assert found[metric].pop("known") is True
        assert found[metric] == pytest.approx(shown(expected.expected(metric)))


def test_what_nobody_tells_is_not_known(run: RunWriter) -> None:
    """A row without the return of its produce calls: neither how late it was is known, nor how long they took."""
    history = History.drawn(3)
    folder = history.write(run, handed_ns=None)

    analyse(folder)

    found = bounds(folder)
    assert {found[metric]["known"] for metric in METRICS} == {False}
    assert {value for metric in METRICS for name, value in found[metric].items() if name != "known"} == {None}
