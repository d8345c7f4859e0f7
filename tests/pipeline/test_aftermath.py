"""What a delay of the generator does to others: the truth, of queues that are simulated twice, lies within."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.metrics.aftermath import NEVER_NS, delays

BIN_NS = 1_000
_ = NEVER_NS


def numbers(*values: int) -> Int64s:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("own", "service", "idle", "expected"),
    [
        pytest.param([0, 0, 0], [5, 5, 5], "", [0, 0, 0], id="nobody is late"),
        pytest.param([0, 300, 0, 0], [9, 400, 50, 9], "", [0, 300, 300, 50], id="a message that ends soon limits it"),
        pytest.param([0, 300, 0, 0], [9, 400, 400, 400], "", [0, 300, 300, 300], id="one that does not, does not"),
        pytest.param([0, 300, 20, 0], [9, 400, 50, 9], "", [0, 300, 300, 70], id="its own delay counts, too"),
        pytest.param([0, 300, 200, 0], [9, 400, 5, 9], "", [0, 300, 300, 205], id="a smaller one that comes after"),
        pytest.param([0, 200, 900, 0], [9, 999, 999, 9], "", [0, 200, 900, 900], id="a larger one that comes after"),
        pytest.param([0, 300, 0, 0], [9, 10, 50, 9], "", [0, 300, 300, 50], id="a late one limits only to its delay"),
        pytest.param([0, 300, 0, 0], [9, 400, _, 9], "", [0, 300, 300, 300], id="one that never ends, nothing"),
        pytest.param([0, 300, 0, 0], [9, 400, 400, 9], " x ", [0, 300, 0, 0], id="until nothing is in flight"),
    ],
)
def test_an_aftermath_lasts_until_a_message_ends_soon(
    own: list[int], service: list[int], idle: str, expected: list[int]
) -> None:
    """One message of one partition in each bin."""
    bins = np.arange(len(own))
    nothing_left = np.array([each == "x" for each in idle.ljust(len(own))])

    assert delays(numbers(*own), nothing_left, bins, bins * 0, numbers(*service)).tolist() == expected


def test_each_partition_has_an_aftermath_of_its_own() -> None:
    """A message that ends soon says nothing of another partition; bins without messages carry on."""
    own, idle = numbers(0, 700, 0, 0, 0), np.zeros(5, np.bool_)
    bins, lanes = numbers(1, 1, 2, 4, 4), numbers(0, 1, 0, 0, 1)

    assert delays(own, idle, bins, lanes, numbers(800, 800, 30, 9, 9)).tolist() == [700, 700, 700, 30, 700]


def test_of_several_messages_of_a_bin_the_soonest_counts_for_those_of_later_bins() -> None:
    """Those of the same bin may have been sent before it."""
    own, idle = numbers(700, 0, 0), np.zeros(3, np.bool_)

    assert delays(own, idle, numbers(0, 1, 2), numbers(0, 0, 0), numbers(900, 4, 900)).tolist() == [700, 700, 4]


@dataclass(frozen=True)
class Ran:
    """A load through a server that all share, then one of each partition, and a constant way back."""

    due: Int64s
    sent: Int64s
    lanes: Int64s
    shared: Int64s
    own: Int64s
    way_ns: int

    def ends(self, arrivals: Int64s) -> Int64s:
        """When each message ends that arrives then."""
        out, free, lane_free = [], 0, dict.fromkeys(self.lanes.tolist(), 0)
        for arrival, lane, shared, own in np.stack([arrivals, self.lanes, self.shared, self.own], axis=1).tolist():
            free = max(free, arrival) + shared
            lane_free[lane] = max(free, lane_free[lane]) + own
            out.append(lane_free[lane] + self.way_ns)
        return numbers(*out)

    def bound(self) -> Int64s:
        """By how much each message can have ended earlier."""
        ended = self.ends(self.sent)
        last = int(ended.max()) // BIN_NS + 1
        edges = (np.arange(last) + 1) * BIN_NS
        late = np.zeros(last, np.int64)
        np.maximum.at(late, self.sent // BIN_NS, self.sent - self.due)
        begun, done = (np.searchsorted(np.sort(times), edges, "left") for times in (self.sent, ended))
        cells, place = np.unique(self.sent // BIN_NS * 8 + self.lanes, return_inverse=True)
        service = np.full(len(cells), NEVER_NS)
        np.minimum.at(service, place, ended - self.sent)
        return delays(late, begun == done, cells // 8, cells % 8, service)[place]

    def check(self) -> None:
        """The truth lies within."""
        measured, truth = self.ends(self.sent) - self.due, self.ends(self.due) - self.due
        assert (truth <= measured).all()
        assert (truth >= measured - self.bound()).all()


@st.composite
def loads(draw: st.DrawFn) -> Ran:
    """Messages, some of them late; those behind a late one in its producer are late with it."""
    count = draw(st.integers(1, 60))
    due = np.cumsum(draw(_lists(count, 0, 3_000)))
    stalls = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(1, 30_000)), max_size=4))
    sent = due.copy()
    for at, stall in stalls:
        sent[at:] = np.maximum(sent[at:], due[at] + stall)
    lanes, shared, own = (np.array(draw(_lists(count, 0, high))) for high in (3, 2_000, 6_000))
    return Ran(due, sent, lanes, shared, own, draw(st.integers(0, 5_000)))


def _lists(count: int, low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=count, max_size=count)


@given(loads())
def test_the_truth_lies_within(ran: Ran) -> None:
    """Whatever the load, and whichever server is the bottleneck."""
    ran.check()
