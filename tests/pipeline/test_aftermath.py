"""What a delay of the generator does to others: the truth, of a queue that is simulated twice, lies within."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.metrics import aftermath
from streamgauge.pipeline.metrics.aftermath import delays

BIN_NS = 1_000


def numbers(*values: int) -> Int64s:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("own", "level", "expected"),
    [
        pytest.param([0, 0, 0, 0], [5, 5, 5, 5], [0, 0, 0, 0], id="nobody is late"),
        pytest.param([0, 0, 300, 0, 0], [5, 5, 5, 5, 5], [0, 0, 300, 300, 0], id="until what was late has ended"),
        pytest.param([0, 0, 900, 0, 0, 0], [5, 5, 9, 7, 5, 5], [0, 0, 900, 900, 900, 0], id="until it is as before"),
        pytest.param([0, 0, 900, 200, 0], [5, 5, 9, 7, 5], [0, 0, 900, 900, 900], id="a smaller one in its aftermath"),
        pytest.param([0, 0, 900, 200, 0, 0], [5, 5, 9, 5, 5, 5], [0, 0, 900, 900, 200, 0], id="a smaller one after it"),
        pytest.param(
            [0, 0, 200, 900, 0, 0], [5, 5, 9, 9, 5, 5], [0, 0, 200, 900, 900, 0], id="a larger one in its aftermath"
        ),
        pytest.param(
            [0, 0, 0, 0, 3000, 0, 0], [5, 2, 1, 1, 9, 5, 5], [0, 0, 0, 0, 3000, 3000, 0], id="before it began"
        ),
        pytest.param([0, 0, 0, 900, 0, 0], [5, 3, 5, 9, 4, 4], [0, 0, 0, 900, 900, 900], id="the lowest before counts"),
        pytest.param([400, 0, 0], [3, 3, 0], [400, 400, 400], id="at the begin of a run nothing is in flight"),
        pytest.param([0, 0, 900, 0, 0, 0], [5, 5, 9, 0, 7, 7], [0, 0, 900, 900, 0, 0], id="nothing in flight"),
    ],
)
def test_an_aftermath_lasts_until_the_messages_in_flight_are_back(
    own: list[int], level: list[int], expected: list[int]
) -> None:
    """Ten messages are sent in each bin; each is over one bin later, those of the level apart."""
    sent = 10 * np.arange(1, len(own) + 1)

    assert delays(numbers(*own), sent, sent - numbers(*level), BIN_NS).tolist() == expected


@dataclass(frozen=True)
class Ran:
    """A load through a first-in-first-out server that takes batches, and a constant way back."""

    due: Int64s
    sent: Int64s
    served: Int64s
    way_ns: int

    def ends(self, arrivals: Int64s) -> Int64s:
        """When each message ends that arrives then."""
        out, free = [], 0
        for arrival, takes in zip(arrivals.tolist(), self.served.tolist(), strict=True):
            free = max(free, arrival) + takes
            out.append(free + self.way_ns)
        return numbers(*out)

    def bound(self) -> Int64s:
        """By how much each message can have ended earlier."""
        ended = self.ends(self.sent)
        last = int(ended.max()) // BIN_NS + 1
        edges = (np.arange(last) + 1) * BIN_NS
        own = np.zeros(last, np.int64)
        np.maximum.at(own, self.sent // BIN_NS, self.sent - self.due)
        sent, done = (np.searchsorted(np.sort(times), edges, "left") for times in (self.sent, ended))
        return delays(own, sent, done, BIN_NS)[self.sent // BIN_NS]

    def check(self, slack_ns: int = 0) -> None:
        """The truth lies within."""
        measured, truth = self.ends(self.sent) - self.due, self.ends(self.due) - self.due
        assert (truth <= measured).all()
        assert (truth >= measured - self.bound() - slack_ns).all()


@st.composite
def loads(draw: st.DrawFn, *, steady: bool) -> Ran:
    """Messages, some of them late; those behind a late one in its producer are late with it."""
    count = draw(st.integers(1, 60))
    gaps = [draw(st.integers(50, 2_000))] * count if steady else draw(_lists(count, 0, 3_000))
    due = np.cumsum(gaps)
    stalls = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(1, 30_000)), max_size=4))
    sent = due.copy()
    for at, stall in stalls:
        sent[at:] = np.maximum(sent[at:], due[at] + stall)
    # A batch takes its time with its first message, the others nothing.
    served = [draw(st.integers(0, gaps[0]))] * count if steady else draw(_lists(count, 0, 4_000))
    return Ran(due, sent, np.array(served), draw(st.integers(0, 5_000)))


def _lists(count: int, low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=count, max_size=count)


@given(loads(steady=True))
def test_of_a_steady_load_the_truth_lies_within(ran: Ran) -> None:
    """Also where something is always in flight: the level comes back.

    Levels are whole messages: what is late by less than one takes to be served does not show in them.
    """
    ran.check(slack_ns=int(ran.served.max()))


@given(ran=loads(steady=False))
def test_whatever_the_load_the_truth_lies_within_until_nothing_is_in_flight(ran: Ran) -> None:
    """Where the level before says nothing, as the load is another one by then, only an empty system is sure."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(aftermath, "_level_before", lambda *_: 0)
        ran.check()
