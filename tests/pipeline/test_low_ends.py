"""What a latency can have been without the instrument."""

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from streamgauge.domain.latency.buckets import Int64s, bucket_of, lower_edge_ns, upper_edge_ns
from streamgauge.domain.latency.percentiles import PERCENTILES, Buckets
from streamgauge.pipeline.metrics.aggregates.bounds import (
    UNKNOWN,
    WIDEST_US,
    Widths,
    high_ends,
    low_ends,
    widest_ns,
    width_class,
)

WIDTHS = st.integers(0, 10**10)
VALUES = st.integers(-10, 10**12)
MS = 1_000_000


@given(st.lists(WIDTHS, min_size=1))
def test_a_class_is_at_least_as_wide_as_its_widths_and_at_most_an_eighth_wider(widths: list[int]) -> None:
    widest = widest_ns(width_class(np.array(widths)))

    for width, found in zip(widths, widest.tolist(), strict=True):
        microseconds = math.ceil(width / 1000)
        assert width <= found <= 1000 * (microseconds * 9 // 8)


def test_no_width_has_the_class_of_the_unknown() -> None:
    """What is wider than all classes is told as the widest."""
    assert width_class(np.array([-5, 0, 1 << 62])).tolist() == [0, 0, width_class(np.array([WIDEST_US * 1000]))[0]]
    assert int(width_class(np.array([1 << 62]))[0]) < UNKNOWN


def counted(messages: list[tuple[int, int]]) -> Widths:
    """Messages by bucket and class, in any order, equal ones apart."""
    values, widths = (np.array(column, np.int64) for column in zip(*messages, strict=True))
    return Widths(bucket_of(values), width_class(widths), np.ones(len(messages), np.int64))


@given(st.lists(st.tuples(VALUES, WIDTHS), min_size=1, max_size=50), st.lists(st.integers(0, 10**12), max_size=20))
def test_low_ends_lie_below_those_of_the_messages_by_little(messages: list[tuple[int, int]], never: list[int]) -> None:
    """Message by message as the oracle: value less width, not below 0 unless it was negative itself.

    What never came counts in percentiles at its age, which no instrument made longer.
    """
    exact = sorted(value - min(width, max(value, 0)) for value, width in messages)
    of_all = sorted([*exact, *never])
    ages = Buckets(bucket_of(np.array(never, np.int64)), np.ones(len(never), np.int64))

    found = low_ends(counted(messages), ages)

    assert found
    largest = max([value for value, _ in messages] + never) + max(width for _, width in messages)
    slack = largest * 0.27 + 10_000
    assert min(exact) - slack <= found.min_ns <= max(min(exact), -1)
    assert max(exact) - slack <= found.max_ns <= max(*exact, -1)
    for name, rank in PERCENTILES.items():
        place = max(1, -(-len(of_all) * rank // 10_000)) - 1
        assert of_all[place] - slack <= found.percentiles_ns[name] <= max(of_all[place], -1)


@given(st.lists(st.tuples(st.integers(0, 10**12), WIDTHS), min_size=1, max_size=50), st.data())
def test_the_truth_of_moments_lies_within(messages: list[tuple[int, int]], data: st.DataObject) -> None:
    """Whatever each message was without the instrument, within its width."""
    truth = [data.draw(st.integers(max(0, value - width), value)) for value, width in messages]
    values = [value for value, _ in messages]

    found = low_ends(counted(messages))

    assert found
    assert found.mean_ns <= np.mean(truth) + 1e-3
    assert within(float(np.std(truth)), found.stddev_ns)
    assert within(float(np.std(values)), found.stddev_ns)
    least, most = found.mad_ns
    middle = sorted(truth)[(len(truth) + 1) // 2 - 1]
    assert least <= sorted(abs(value - middle) for value in truth)[(len(truth) + 1) // 2 - 1] <= most


def within(value: float, ends: tuple[float, float]) -> bool:
    """But for the precision of floating-point numbers."""
    return ends[0] * (1 - 1e-9) - 1e-3 <= value <= ends[1] * (1 + 1e-9) + 1e-3


def ends_of(widths: Widths) -> tuple[Int64s, Int64s]:
    """The least and the most that each message can have been."""
    lower = lower_edge_ns(widths.bucket)
    return lower - np.minimum(widest_ns(widths.width), lower), upper_edge_ns(widths.bucket)


COPIES = 40


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=1, max_size=8))
def test_the_ends_of_a_standard_deviation_can_be_reached(messages: list[tuple[int, int]]) -> None:
    """The low one by messages near one point, the high one by messages at their ends, but for a single message."""
    widths = counted(messages)
    low, high = (each.astype(np.float64) for each in ends_of(widths))

    found = low_ends(Widths(widths.bucket, widths.width, widths.count * COPIES))

    assert found
    points, step = np.linspace(low.min(), high.max(), 1_000, retstep=True)
    near = np.clip(points[:, None], low, high)
    distances = np.sqrt(((near - points[:, None]) ** 2).mean(axis=1))
    assert distances.min() - step - 1e-3 <= found.stddev_ns[0] <= distances.min() + 1e-3
    order = np.argsort(np.repeat((low + high) / 2, COPIES))
    lows, highs = np.repeat(low, COPIES)[order], np.repeat(high, COPIES)[order]
    most = max(np.var(np.append(lows[:place], highs[place:])) for place in range(len(order) + 1))
    assert most * (1 - 1e-9) - 1e-3 <= found.stddev_ns[1] ** 2 <= most + (high - low).max() ** 2 / len(order) + 1e-3


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=2, max_size=12))
@example([(8 * MS, 54 * MS), (56 * MS, 60 * MS), (48 * MS, MS), (59 * MS, 15 * MS), (23 * MS, 3 * MS)])
@example([(47 * MS, 2 * MS), (26 * MS, 15 * MS), (41 * MS, 13 * MS), (26 * MS, 27 * MS), (44 * MS, 6 * MS),
          (43 * MS, 44 * MS), (8 * MS, 26 * MS)])  # fmt: skip
def test_the_ends_of_a_median_absolute_deviation_hold_for_each_place_of_the_median(
    messages: list[tuple[int, int]],
) -> None:
    """By little. In both examples the end lies between two of the places that are tried."""
    low, high = ends_of(counted(messages))
    middle = (len(messages) + 1) // 2 - 1
    least, most = int(np.sort(low)[middle]), int(np.sort(high)[middle])
    places = np.linspace(least, most, 1_000)[:, None]
    nearest = np.sort(np.maximum(np.maximum(low - places, places - high), 0), axis=1)[:, middle].min()
    farthest = np.sort(np.maximum(high - places, places - low), axis=1)[:, middle].max()
    slack = (most - least) / 16 + 1e-3

    found = low_ends(counted(messages))

    assert found
    assert nearest - slack <= found.mad_ns[0] <= nearest + 1e-3
    assert farthest - 1e-3 <= found.mad_ns[1] <= farthest + slack


@given(st.lists(st.tuples(st.integers(0, 10**12), WIDTHS), min_size=1, max_size=50), st.booleans(), st.data())
def test_what_is_rounded_and_moved_lies_between_both_ends(
    messages: list[tuple[int, int]], moves: bool, data: st.DataObject
) -> None:
    """A duration whose begin and end are told in whole milliseconds, and may have been earlier by its width."""
    ms, truth = 1_000_000, []
    for value, width in messages:
        earlier = data.draw(st.integers(0, width))
        later = data.draw(st.integers(0, width)) if moves else 0
        rounded = data.draw(st.integers(1 - ms, ms - 1))
        truth.append(max(0, value - earlier + later + rounded))

    low, high = low_ends(counted(messages), less_ns=ms), high_ends(counted(messages), ms, moves=moves)

    assert low
    assert high
    truth.sort()
    assert low.min_ns <= truth[0] <= high.min_ns
    assert low.max_ns <= truth[-1] <= high.max_ns
    assert low.mean_ns - 1e-3 <= np.mean(truth) <= high.mean_ns + 1e-3
    for name, rank in PERCENTILES.items():
        place = max(1, -(-len(truth) * rank // 10_000)) - 1
        assert low.percentiles_ns[name] <= truth[place] <= high.percentiles_ns[name]


def test_of_nothing_there_are_no_ends() -> None:
    nothing = Widths(*(np.zeros(0, np.int64) for _ in range(3)))

    assert low_ends(nothing) is None
    assert high_ends(nothing, 0, moves=False) is None


def test_equal_counts_may_be_added_up() -> None:
    messages = [(5_000_000, 2_000), (5_000_000, 2_000), (9_000_000, 0)]
    merged = Widths(bucket_of(np.array([5_000_000, 9_000_000])), width_class(np.array([2_000, 0])), np.array([2, 1]))

    assert low_ends(counted(messages)) == low_ends(merged)


def test_where_nothing_came_there_are_no_low_ends() -> None:
    nothing = np.zeros(0, np.int64)

    assert low_ends(Widths(nothing, nothing, nothing)) is None


def test_a_part_of_the_messages_can_have_had_the_widest() -> None:
    """Bucket by bucket: of 3 messages with widths of 1, 2 and 5 us, two can have had 5 and 2."""
    widths = counted([(4, 1_000), (4, 5_000), (4, 2_000), (6, 9_000), (8, 7_000)])
    part = Buckets.merged(bucket_of(np.array([4, 4, 8])), np.ones(3, np.int64))

    found = widths.widest_in(part)

    assert found is not None
    assert (found.bucket.tolist(), found.count.tolist()) == (bucket_of(np.array([4, 4, 8])).tolist(), [1, 1, 1])
    assert widest_ns(found.width).tolist() == [5_000, 2_000, 7_000]


def test_nobody_knows_the_widths_of_a_part_with_more_messages_or_with_unknown_ones() -> None:
    one = counted([(4, 1_000)])
    part = Buckets.merged(bucket_of(np.array([4, 4])), np.ones(2, np.int64))

    assert one.widest_in(part) is None
    assert one.widest_in(Buckets.merged(bucket_of(np.array([5])), np.ones(1, np.int64))) is None
    assert Widths(one.bucket, np.array([UNKNOWN]), one.count).widest_in(part) is None


@given(st.data(), st.lists(st.tuples(VALUES, WIDTHS), min_size=1, max_size=30))
def test_the_low_ends_of_a_part_are_at_least_those_of_its_widest(
    data: st.DataObject, messages: list[tuple[int, int]]
) -> None:
    chosen = data.draw(st.lists(st.sampled_from(range(len(messages))), min_size=1, unique=True))
    part = counted([messages[place] for place in chosen])

    widest = counted(messages).widest_in(Buckets.merged(part.bucket, part.count))
    low, known = low_ends(widest) if widest else None, low_ends(part)

    assert low is not None
    assert known is not None
    assert all(low.percentiles_ns[name] <= known.percentiles_ns[name] for name in PERCENTILES)
