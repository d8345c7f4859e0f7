"""What a delay of the generator does to others: the truth, of queues that are simulated twice, lies within."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.metrics.aftermath import NEVER_NS, delays, fastest, slower, usual

BIN_NS = 1_000
EDGE = 2**-8
"""A figure is told no better than this."""
_ = NEVER_NS


def numbers(*values: int) -> Int64s:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("own", "slower_by", "in_flight", "expected"),
    [
        pytest.param([0, 0, 0], [5, 5, 5], "999", [0, 0, 0], id="nobody is late"),
        pytest.param(
            [0, 300, 0, 0], [9, 400, 50, 9], "9999", [0, 300, 300, 50], id="a message that ends soon limits it"
        ),
        pytest.param([0, 300, 0, 0], [9, 400, 400, 400], "9999", [0, 300, 300, 300], id="one that does not, does not"),
        pytest.param([0, 300, 20, 0], [9, 400, 50, 9], "9999", [0, 300, 300, 70], id="its own delay counts, too"),
        pytest.param([0, 300, 200, 0], [9, 400, 5, 9], "9999", [0, 300, 300, 205], id="a smaller one that comes after"),
        pytest.param(
            [0, 200, 900, 0], [9, 999, 999, 9], "9999", [0, 200, 900, 900], id="a larger one that comes after"
        ),
        pytest.param(
            [0, 300, 0, 0], [9, 10, 50, 9], "9999", [0, 300, 300, 50], id="a late one limits only to its delay"
        ),
        pytest.param([0, 300, 0, 0], [9, 400, _, 9], "9999", [0, 300, 300, 300], id="one that never ends, nothing"),
        pytest.param([0, 300, 0, 0], [9, 400, 400, 9], "9099", [0, 300, 0, 0], id="until nothing is in flight"),
        pytest.param([0, 300, 0, 0], [9, 400, 400, 9], "9599", [0, 300, 0, 0], id="until no more than usual are"),
        pytest.param([0, 300, 0, 0], [9, 400, 400, 400], "9659", [0, 300, 300, 0], id="which may take some time"),
    ],
)
def test_an_aftermath_lasts_until_a_message_ends_soon_or_no_more_than_usual_are_in_flight(
    own: list[int], slower_by: list[int], in_flight: str, expected: list[int]
) -> None:
    """One message of one partition in each bin; usually five are in flight."""
    bins = np.arange(len(own))
    left, five = numbers(*map(int, in_flight)), np.full(len(own), 5)

    assert delays(numbers(*own), left, five, bins, bins * 0, numbers(*slower_by)).tolist() == expected


@pytest.mark.parametrize(
    ("service", "lanes", "counts", "least", "expected"),
    [
        pytest.param([], [], [], [], [], id="no cells"),
        pytest.param(
            [700, 900, 50, 60], [0, 0, 1, 1], [99, 1, 50, 50], [700, 700, 50, 50], [0, 200, 0, 10], id="each by itself"
        ),
        pytest.param(
            [700, 900, 50, 60], [0, 0, 1, 1], [98, 1, 50, 50], [50] * 4, [650, 850, 0, 10], id="few are beside all"
        ),
        pytest.param(
            [700, 900, 50, 60], [0, 0, 1, 1], [99, 1, 1, 1], [700, 700, 50, 50], [0, 200, 0, 10], id="few are the first"
        ),
        pytest.param([700, 50], [0, 1], [50, 49], [0, 0], [700, 50], id="all are few"),
        pytest.param([700, _, 50, _], [0, 0, 1, 1], [100, 0, 100, 0], [700, 700, 50, 50], [0, _, 0, _], id="never"),
        pytest.param([_, _, 50], [0, 0, 1], [0, 0, 100], [50] * 3, [_, _, 0], id="a partition where nothing ends"),
        pytest.param([_], [0], [0], [0], [_], id="nothing ends"),
    ],
)
def test_the_fastest_message_of_a_partition_tells_how_long_each_must_take(
    service: list[int], lanes: list[int], counts: list[int], least: list[int], expected: list[int]
) -> None:
    """From a hundred messages on."""
    assert fastest(numbers(*service), numbers(*lanes), numbers(*counts), numbers(*service)).tolist() == least
    assert slower(numbers(*service), numbers(*lanes), numbers(*counts)).tolist() == expected


def test_what_piles_up_after_a_delay_does_not_become_usual() -> None:
    """What counts is what was usual when it began."""
    own, service, nine = numbers(0, 300, 0, 0, 0), np.full(5, 400), np.full(5, 9)

    assert delays(own, nine, numbers(5, 5, 9, 9, 9), np.arange(5), nine * 0, service).tolist() == [
        0,
        300,
        300,
        300,
        300,
    ]


@pytest.mark.parametrize(
    ("in_flight", "expected"),
    [
        pytest.param([], [], id="no bins"),
        pytest.param([7, 8, 9, 9], [7, 7, 7, 7], id="one group knows only itself"),
        pytest.param([4] * 4 + [9] * 4 + [2] * 2, [4] * 8 + [6] * 2, id="the groups before"),
        pytest.param([4, 4, 0, 4, 1, 3, 3, 3, 8, 8, 8, 8], [3] * 8 + [2] * 4, id="the lower quartile of each"),
        pytest.param([5] * 8 + [90] * 4 + [5] * 8, [5] * 20, id="one that stands out is not usual"),
        pytest.param([9] * 4 + [2] * 16, [9] * 8 + [5] * 4 + [2] * 8, id="the last three"),
    ],
)  # fmt: skip
def test_usual_is_what_few_were_before(in_flight: list[int], expected: list[int]) -> None:
    """In groups of four bins."""
    assert usual(numbers(*in_flight), 4).tolist() == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param([100, 100, 100, 100, 100], [7, 3, 7, 3, 7], id="of the first, and of two the least"),
        pytest.param([100, 1, 100, 1, 100], [7, 7, 7, 7, 7], id="of few, that of all"),
        pytest.param([1, 1, 1, 1, 1], [0, 0, 0, 0, 0], id="of few in all, nothing"),
    ],
)
def test_what_is_told_of_the_fastest_message_is_told_of_its_partition(counts: list[int], expected: list[int]) -> None:
    """Whatever is told of others."""
    service, lanes, told = numbers(50, 80, 40, 80, 90), numbers(0, 1, 0, 1, 0), numbers(1, 4, 7, 3, 0)

    assert fastest(service, lanes, numbers(*counts), told).tolist() == expected


def test_each_partition_has_an_aftermath_of_its_own() -> None:
    """A message that ends soon says nothing of another partition; bins without messages carry on."""
    own, busy = numbers(0, 700, 0, 0, 0), np.full(5, 9)
    bins, lanes = numbers(1, 1, 2, 4, 4), numbers(0, 1, 0, 0, 1)

    assert delays(own, busy, busy * 0, bins, lanes, numbers(800, 800, 30, 9, 9)).tolist() == [700, 700, 700, 30, 700]


def test_of_several_messages_of_a_bin_the_soonest_counts_for_those_of_later_bins() -> None:
    """Those of the same bin may have been sent before it."""
    own, busy = numbers(700, 0, 0), np.full(3, 9)

    assert delays(own, busy, busy * 0, numbers(0, 1, 2), numbers(0, 0, 0), numbers(900, 4, 900)).tolist() == [
        700,
        700,
        4,
    ]


@st.composite
def cells(draw: st.DrawFn) -> tuple[Int64s, ...]:
    """Bins with few delays of each size, so that they meet, and what `delays` is given of the cells in them."""
    random, count = np.random.default_rng(draw(st.integers(0, 1 << 32))), draw(st.integers(0, 40))
    # Delays go on for some bins, and then for none.
    own, in_flight, usually = (random.integers(0, most, count) for most in (20, 30, 5))
    where = np.flatnonzero(random.random(count * 3) < 0.6)
    slower_by = np.where(random.random(len(where)) < 0.2, NEVER_NS, random.integers(0, 20, len(where)))
    return own, in_flight, usually, where // 3, where % 3, slower_by


def one_by_one(
    own: Int64s, in_flight: Int64s, usual: Int64s, bins: Int64s, lanes: Int64s, slower_by: Int64s
) -> list[int]:
    """What `delays` gives, by its words: one bin after the other, and in each bin one cell."""
    found, left, delaying, level = [], [0] * 3, False, 0
    for at in range(len(own)):
        if own[at] and not delaying:
            delaying, level = True, int(usual[at])
        left = [max(each, int(own[at])) for each in left]
        for cell in np.flatnonzero(bins == at).tolist():
            found.append(left[lanes[cell]])
            left[lanes[cell]] = min(found[-1], int(own[at] + slower_by[cell]))
        if not delaying or in_flight[at] <= level:
            delaying, left = False, [0] * 3
    return found


@given(cells())
def test_all_bins_at_once_give_what_one_gives_after_the_other(given: tuple[Int64s, ...]) -> None:
    assert delays(*given).tolist() == one_by_one(*given)


@dataclass(frozen=True)
class Ran:
    """A load through a server that all share, then one of each partition, and a constant way back of its own."""

    due: Int64s
    sent: Int64s
    lanes: Int64s
    shared: Int64s
    own: Int64s
    way_ns: Int64s

    def ends(self, arrivals: Int64s) -> Int64s:
        """When each message ends that arrives then; whoever arrives first is served first."""
        out, free, lane_free = np.zeros(len(arrivals), np.int64), 0, dict.fromkeys(self.lanes.tolist(), 0)
        order = np.argsort(arrivals, kind="stable")
        rows = np.stack([order, arrivals[order], self.lanes[order], self.shared[order], self.own[order]], axis=1)
        for place, arrival, lane, shared, own in rows.tolist():
            free = max(free, arrival) + shared
            lane_free[lane] = max(free, lane_free[lane]) + own
            out[place] = lane_free[lane] + self.way_ns[lane]
        return out

    def bound(self, group: int | None = None) -> Int64s:
        """By how much each message can have ended earlier: for certain, or over many with groups of so many bins."""
        ended = self.ends(self.sent)
        last = int(ended.max()) // BIN_NS + 1
        edges = (np.arange(last) + 1) * BIN_NS
        late = np.zeros(last, np.int64)
        np.maximum.at(late, self.sent // BIN_NS, self.sent - self.due)
        begun, done = (np.searchsorted(np.sort(times), edges, "left") for times in (self.sent, ended))
        cells, place = np.unique(self.sent // BIN_NS * 8 + self.lanes, return_inverse=True)
        service = np.full(len(cells), NEVER_NS)
        np.minimum.at(service, place, ended - self.sent)
        if group is None:
            slower_ns = service - self._least()[cells % 8]
        else:
            slower_ns = slower(service, cells % 8, np.bincount(place))
        level = np.zeros(last, np.int64) if group is None else usual(begun - done, group)
        return delays(late, begun - done, level, cells // 8, cells % 8, slower_ns)[place]

    def _least(self) -> Int64s:
        """How long a message of each partition takes at the least, which is known of a simulation."""
        shared, own = np.zeros((2, 8), np.int64)
        for lane in set(self.lanes.tolist()):
            shared[lane], own[lane] = (each[self.lanes == lane].min() for each in (self.shared, self.own))
        return np.array(shared + own + self.way_ns, np.int64)

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
    return Ran(due, sent, lanes, shared, own, np.array(draw(_lists(8, 0, 5_000))))


def _lists(count: int, low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=count, max_size=count)


@given(loads())
def test_the_truth_lies_within(ran: Ran) -> None:
    """Whatever the load, and whichever server is the bottleneck."""
    ran.check()


@pytest.mark.parametrize("busy", [0.3, 0.7, 0.9])
@pytest.mark.parametrize(("stalls", "stall_bins"), [(5, 30), (40, 3), (150, 2)])
def test_figures_lie_within_where_messages_are_always_in_flight(busy: float, stalls: int, stall_bins: int) -> None:
    """One of two producers stalls again and again, beside small delays; ten messages a bin, as of 10,000 a second."""
    random, count = np.random.default_rng(stalls), 30_000
    due = np.arange(count) * BIN_NS // 10
    sent = due + random.exponential(BIN_NS / 10, count).astype(np.int64)
    for at in random.integers(10_000, count, stalls).tolist():
        behind = np.arange(at, count, 2)
        sent[behind] = np.maximum(sent[behind], due[at] + int(random.exponential(stall_bins) * BIN_NS))
    ways = np.array([0, 1, 3, 3, 3, 3, 9, 50]) * BIN_NS
    shared = random.exponential(busy * BIN_NS / 10, count).astype(np.int64)
    ran = Ran(due, sent, random.integers(0, 8, count), shared, shared * 0, ways)
    measured, truth = ran.ends(sent) - due, ran.ends(due) - due
    low = measured - ran.bound(1_000)

    for percent in (50, 90, 99, 99.9):
        least, true, most = (np.percentile(each[10_000:], percent) for each in (low, truth, measured))
        assert least <= true * (1 + EDGE)
        assert true <= most
    # The interval says something, too, unless somebody is late all the time.
    assert stalls == 150 or np.percentile(low[10_000:], 50) > 0.7 * np.percentile(measured[10_000:], 50)
