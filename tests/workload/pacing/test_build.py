"""Every shape of a load: its due times against an exact account of what the shape asks for."""

import pickle
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from streamgauge.scenario.model.pacing.pace import Pacing
from streamgauge.workload.pacing import NEVER, ConstantPacer, Int64s, Pacer, count_before
from streamgauge.workload.pacing.build import pacer_of

SECOND = 1_000_000_000
MS = 1_000_000
RATES: TypeAdapter[Any] = TypeAdapter(Pacing)
BURST = {"burst": {"base": "5k/s", "burst": "15k/s", "for": "3s", "every": "12s"}}
ARRIVALS = np.cumsum(np.random.default_rng(1).integers(0, 5 * MS, 40_000))
EVERY_SHAPE: list[Any] = [
    "10k/s",
    {"ramp": {"from": "0/s", "to": "9k/s", "over": "10s"}},
    {"ramp": {"from": "9k/s", "to": "0/s", "over": "10s"}},
    "RAMP_4_1k_7k_2s",
    "SPIKE_1k_20k_3s_500ms",
    [{"rate": "1k/s", "for": "1s"}, {"rate": "0/s", "for": "2s"}, {"rate": "1k/s", "to": "3.3/s", "for": "7s"}],
    {"segments": {"list": [{"rate": "777/s", "for": "1s"}, {"rate": "1/s", "for": "10s"}], "then": "stop"}},
    {"segments": {"list": [{"rate": "0.3/s", "to": "5k/s", "for": "1s"}, {"rate": 0, "for": "1us"}], "then": "repeat"}},
    BURST,
    {"windows": {"messages": 500, "window": "100ms"}},
    {"windows": {"messages": 50, "window": "100ms", "deviation": 20, "hold": 3, "spread": True}},
    {"poisson": {"rate": "10k/s"}},
    {"replay": {"file": "arrivals.txt", "scale": 2}},
]

Asked = Sequence[tuple[Fraction, Fraction, int]]
"""Rates at the begin and at the end of stretches of time, which are so many ns long."""


def pacer(rate: Any, producer: int = 0, producers: int = 1, seed: int = 42, warmup_ns: int = 0) -> Pacer:
    made = pacer_of(
        RATES.validate_python(rate),
        producer=producer,
        producers=producers,
        seed=seed,
        warmup_ns=warmup_ns,
        arrivals=ARRIVALS,
    )
    assert made is not None
    return made


def due_ns(rate: Any, count: int, **options: int) -> list[int]:
    times: list[int] = pacer(rate, **options).due_ns(0, count).tolist()
    return times


def messages(asked: Iterable[tuple[Fraction, Fraction, int]], until_ns: int) -> Fraction:
    """How many messages are asked for until a time: the integral of the rate, exactly."""
    count, left_ns = Fraction(0), max(0, until_ns)
    for begin, end, duration_ns in asked:
        part_ns = min(left_ns, duration_ns)
        count += (2 * begin + (end - begin) * Fraction(part_ns, duration_ns)) / 2 * part_ns / SECOND
        left_ns -= part_ns
    return count


def assert_exact(times_ns: Int64s, first: int, step: int, asked: Asked) -> None:
    """Each message is due, within 1 ns, when the number that was asked for passes its own."""
    for place, time_ns in enumerate(times_ns.tolist()):
        message = first + place * step
        assert messages(asked, time_ns - 1) <= message <= messages(asked, time_ns + 1), message
        # Where nothing is asked for, the message belongs to what comes afterwards.
        assert messages(asked, time_ns + 2) > message, message


def test_a_constant_rate_stays_what_it_was() -> None:
    found = pacer("3/s", producer=1, producers=2, warmup_ns=5 * SECOND)

    assert ConstantPacer(Fraction(3), 1, 2) == found


@pytest.mark.parametrize("rate", ["max", "closed", {"closed": {"batch": 10}}])
def test_what_has_no_schedule_has_no_pacer(rate: Any) -> None:
    assert pacer_of(RATES.validate_python(rate), producer=0, producers=1, seed=42, warmup_ns=0) is None


def test_a_replay_needs_its_arrivals() -> None:
    rate = RATES.validate_python({"replay": {"file": "arrivals.txt"}})

    with pytest.raises(ValueError, match="without arrivals"):
        pacer_of(rate, producer=0, producers=1, seed=42, warmup_ns=0)


def test_a_burst_begins_with_the_measure_phase_after_a_warm_up_at_the_base() -> None:
    """And every period begins with one."""
    burst = {"burst": {"base": "1/s", "burst": "4/s", "for": "1s", "every": "3s"}}

    times = [time_ns / SECOND for time_ns in due_ns(burst, 14, warmup_ns=2 * SECOND)]

    assert times == [0, 1, 2, 2.25, 2.5, 2.75, 3, 4, 5, 5.25, 5.5, 5.75, 6, 7]


def test_a_ramp_begins_with_the_measure_phase_and_then_holds() -> None:
    """2/s in the warm-up; 2 to 4/s within 2 s is 6 messages; then 4/s."""
    times = due_ns({"ramp": {"from": "2/s", "to": "4/s", "over": "2s"}}, 12, warmup_ns=SECOND)

    assert [time_ns / SECOND for time_ns in times[:3]] == [0, 0.5, 1]
    # t^2 / 2 + 2t = 1
    assert times[3] == SECOND + round((6**0.5 - 2) * SECOND)
    assert [time_ns / SECOND for time_ns in times[8:]] == [3, 3.25, 3.5, 3.75]


def test_steps_are_equally_high_and_long_and_the_last_one_stays() -> None:
    """1, 3, 5 messages a second."""
    times = due_ns("RAMP_3_1_5_1s", 12)

    assert [time_ns / SECOND for time_ns in times] == pytest.approx(
        [0, 1, 4 / 3, 5 / 3, 2, 2.2, 2.4, 2.6, 2.8, 3, 3.2, 3.4], abs=1e-9
    )


def test_a_spike_is_followed_by_what_was_before_it() -> None:
    times = due_ns("SPIKE_1_4_2s_1s", 8)

    assert [time_ns / SECOND for time_ns in times] == [0, 1, 2, 2.25, 2.5, 2.75, 3, 4]


def test_a_spike_at_once_comes_after_a_warm_up_at_the_base() -> None:
    times = due_ns({"spike": {"base": "1/s", "peak": "4/s", "at": "0s", "for": "1s"}}, 7, warmup_ns=SECOND)

    assert [time_ns / SECOND for time_ns in times] == [0, 1, 1.25, 1.5, 1.75, 2, 3]


@pytest.mark.parametrize(
    ("then", "expected"),
    [("hold", [4, 4.25, 4.5]), ("repeat", [4, 4.5, 6]), ("stop", [NEVER / SECOND] * 3)],
)
def test_segments_go_on_as_they_say(then: str, expected: list[float]) -> None:
    """The warm-up has the rate of the first; where nothing is asked for, nothing is due."""
    listed = [{"rate": "2/s", "for": "1s"}, {"rate": 0, "for": "1s"}, {"rate": "4/s", "for": "1s"}]

    times = due_ns({"segments": {"list": listed, "then": then}}, 11, warmup_ns=SECOND)

    assert [time_ns / SECOND for time_ns in times] == [0, 0.5, 1, 1.5, 3, 3.25, 3.5, 3.75, *expected]


@pytest.mark.parametrize(
    "rate",
    [
        [{"rate": "2/s", "to": 0, "for": "2s"}],
        [{"rate": "2/s", "for": "1s"}, {"rate": 0, "for": "1s"}],
        {"ramp": {"from": "2/s", "to": 0, "over": "2s"}},
    ],
)
def test_nothing_is_due_any_more_where_the_last_rate_is_zero(rate: Any) -> None:
    assert due_ns(rate, 4)[2:] == [NEVER, NEVER]
    assert count_before(pacer(rate), NEVER, NEVER) == 2


def test_no_message_is_rounded_out_of_its_segment() -> None:
    """Two thirds of a second, and a ns that is not whole: the third message is due just before its end."""
    made = pacer([{"rate": "3/s", "for": "666666667ns"}, {"rate": 0, "for": "1s"}])

    assert made.due_ns(0, 4).tolist() == [0, 333_333_333, 666_666_666, NEVER]
    assert count_before(made, 666_666_667, NEVER) == 3


def test_what_is_due_in_a_thousand_years_is_never_due() -> None:
    made = pacer([{"rate": "0.001/s", "for": "1s"}])

    assert made.due_ns(1 << 40, 2).tolist() == [NEVER, NEVER]


def test_windows_are_aligned_with_the_begin_of_the_measure_phase() -> None:
    windows = {"windows": {"messages": 2, "window": "300ms"}}

    times = due_ns(windows, 5, warmup_ns=SECOND)

    assert [time_ns // MS for time_ns in times] == [100, 100, 400, 400, 700]


def test_a_replay_begins_with_the_measure_phase() -> None:
    times = due_ns({"replay": {"file": "arrivals.txt", "scale": 2}}, len(ARRIVALS) + 1, warmup_ns=SECOND)

    assert times[:-1] == (SECOND + (ARRIVALS // 2)).tolist()
    assert times[-1] == NEVER


@pytest.mark.parametrize("rate", EVERY_SHAPE)
def test_due_times_never_fall(rate: Any) -> None:
    times = pacer(rate, warmup_ns=1234 * MS).due_ns(0, 60_000)

    assert times[0] >= 0
    assert np.all(np.diff(times) >= 0)


@pytest.mark.parametrize("rate", EVERY_SHAPE)
def test_the_shares_of_all_producers_are_the_whole(rate: Any) -> None:
    """Message i of producer k of n is message i * n + k."""
    whole = pacer(rate, warmup_ns=SECOND).due_ns(0, 30_000)

    shares = [pacer(rate, number, 3, warmup_ns=SECOND).due_ns(0, 10_000) for number in range(3)]

    assert np.array_equal(whole, np.stack(shares, axis=1).ravel())


@pytest.mark.parametrize("rate", EVERY_SHAPE)
def test_any_part_can_be_asked_for_at_any_time(rate: Any) -> None:
    """In any order, in blocks of any size, of a new pacer or one that was asked before."""
    whole = pacer(rate, 1, 2).due_ns(0, 30_000)
    asked = pacer(rate, 1, 2)

    for first, count in ((20_000, 1), (7, 8192), (0, 1), (25_000, 5000), (100, 12_345), (0, 30_000)):
        assert np.array_equal(whole[first : first + count], asked.due_ns(first, count))


@pytest.mark.parametrize("rate", EVERY_SHAPE)
def test_every_pacer_can_be_sent_to_a_worker(rate: Any) -> None:
    """Before it was asked for anything, and afterwards."""
    made = pacer(rate, 1, 2)

    fresh = pickle.loads(pickle.dumps(made))
    times = made.due_ns(500, 20_000)
    used = pickle.loads(pickle.dumps(made))

    assert np.array_equal(times, fresh.due_ns(500, 20_000))
    assert np.array_equal(times, used.due_ns(500, 20_000))


@pytest.mark.parametrize("rate", EVERY_SHAPE)
def test_messages_before_a_time_are_counted(rate: Any) -> None:
    made = pacer(rate, 1, 2)
    times = made.due_ns(0, 30_000)

    for at_ns in (0, 1, 777 * MS, int(times[100]), int(times[101]) + 1, 2 * SECOND):
        assert count_before(made, at_ns, 30_000) == np.count_nonzero(times < at_ns)


@pytest.mark.parametrize("name", ["poisson", "windows"])
def test_what_is_drawn_depends_on_the_seed_alone(name: str) -> None:
    rate = {"poisson": {"poisson": {"rate": "1k/s"}}, "windows": EVERY_SHAPE[-3]}[name]

    assert due_ns(rate, 20_000, seed=7) == due_ns(rate, 20_000, seed=7)
    assert due_ns(rate, 20_000, seed=7) != due_ns(rate, 20_000, seed=8)


SOME_RATES = st.sampled_from(["0/s", "0.3/s", "7/s", "333/s", "1234.567/s", "10k/s", "100/m", "2M/s"])
SOME_TIMES = st.one_of(st.integers(1, 20_000).map("{}ms".format), st.integers(1, 1 << 34).map("{}ns".format))


def fraction(rate: str) -> Fraction:
    """As exactly as a load is asked for."""
    model = RATES.validate_python([{"rate": rate, "for": "1s"}, {"rate": 1, "for": "1s"}])
    return Fraction(model.segments.segments[0].rate).limit_denominator(1000)


def nanoseconds(duration: str) -> int:
    return int(RATES.validate_python([{"rate": 1, "for": duration}]).segments.segments[0].for_)


@st.composite
def segments(draw: st.DrawFn) -> tuple[Any, Asked]:
    """Segments as they are written, and what they ask for."""
    one = st.tuples(SOME_RATES, SOME_RATES, st.booleans(), SOME_TIMES)
    drawn = draw(st.lists(one, min_size=1, max_size=6).filter(lambda all_: any(one[0] != "0/s" for one in all_)))
    listed = [{"rate": rate, "for": time} | ({"to": to} if ramps else {}) for rate, to, ramps, time in drawn]
    asked = [(fraction(rate), fraction(to if ramps else rate), nanoseconds(time)) for rate, to, ramps, time in drawn]
    then = draw(st.sampled_from(["hold", "repeat", "stop"]))
    following = {"hold": [(asked[-1][1], asked[-1][1], 1 << 58)], "repeat": asked * 40, "stop": []}[then]
    return {"segments": {"list": listed, "then": then}}, [*asked, *following]


@given(segments(), st.integers(1, 5), st.integers(0, 1 << 40), st.sampled_from([0, 1, 5 * SECOND, 12_345_678_901]))
@pytest.mark.slow
def test_segments_are_exact_wherever_they_are_looked_at(
    drawn: tuple[Any, Asked], producers: int, anywhere: int, warmup_ns: int
) -> None:
    """Of any rates and lengths, rising or falling, repeated or not: within 1 ns."""
    rate, asked = drawn
    if warmup_ns:
        asked = [(asked[0][0], asked[0][0], warmup_ns), *asked]
    total = messages(asked, 1 << 57)
    first = anywhere % (int(min(total, Fraction(1 << 33))) // producers + 1)
    share = pacer(rate, producers - 1, producers, warmup_ns=warmup_ns)

    times = share.due_ns(first, 30)

    in_time = times[: max(0, ceil((total - (first * producers + producers - 1)) / producers))]
    assert np.all(np.diff(times) >= 0)
    assert_exact(in_time, first * producers + producers - 1, producers, asked)


@given(segments(), st.integers(1, 60 * SECOND))
def test_as_many_messages_are_due_before_a_time_as_are_asked_for_until_then(
    drawn: tuple[Any, Asked], at_ns: int
) -> None:
    """A ramp integrates to the right count, and so do all of them together; the first message is due at once."""
    rate, asked = drawn
    at_ns = min(at_ns, sum(duration_ns for _, _, duration_ns in asked[:40]))

    found = count_before(pacer(rate), at_ns, NEVER)

    assert ceil(messages(asked, at_ns - 1)) <= found <= ceil(messages(asked, at_ns + 1))


@pytest.mark.parametrize(
    ("rate", "asked"),
    [
        ({"ramp": {"from": 0, "to": "10k/s", "over": "1h"}}, 18_000_000),
        ({"ramp": {"from": "10k/s", "to": 0, "over": "1h"}}, 18_000_000),
        ({"ramp": {"from": "1k/s", "to": "10k/s", "over": "30m"}}, 9_900_000 + 18_000_000),
        ("RAMP_10_1k_10k_6m", 19_800_000),
        ("SPIKE_1k_1M_5m_10s", 3_590_000 + 10_000_000),
        (BURST, 27_000_000),
    ],
)
def test_an_hour_has_as_many_messages_as_its_rates_say(rate: Any, asked: int) -> None:
    assert asked == count_before(pacer(rate), 3600 * SECOND, NEVER)
    assert asked // 4 == count_before(pacer(rate, 3, 4), 3600 * SECOND, NEVER)


@pytest.mark.parametrize(("begin", "end"), [(0, 1_000_000), (1_000_000, 0), (3, 1_000_000), (1_000_000, 3)])
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_a_ramp_is_exact_for_an_hour(begin: int, end: int, share: Fraction) -> None:
    """At its steep end and where it is flattest, of 1.8 thousand million messages."""
    asked = [(Fraction(begin), Fraction(end), 3600 * SECOND)]
    first = int(share * (messages(asked, 3600 * SECOND) - 100))

    times = pacer({"ramp": {"from": begin, "to": end, "over": "1h"}}).due_ns(first, 100)

    assert_exact(times, first, 1, [*asked, (Fraction(1), Fraction(1), SECOND)])


@pytest.mark.parametrize(
    ("rate", "per_period", "period_ns"),
    [
        ("7k/s", 7, MS),
        ([{"rate": "7k/s", "for": "3ms"}], 7, MS),
        ({"segments": {"list": [{"rate": "1k/s", "to": "3k/s", "for": "9ms"}], "then": "repeat"}}, 18, 9 * MS),
        (BURST, 90_000, 12 * SECOND),
        ({"burst": {"base": "1/s", "burst": "100k/s", "for": "333us", "every": "1ms"}}, Fraction("33.300667"), MS),
    ],
)
def test_nothing_drifts_within_a_day(rate: Any, per_period: int | Fraction, period_ns: int) -> None:
    """Whole numbers of messages pass in whole numbers of periods, and the time of the next one is exact."""
    made = pacer(rate)
    periods = 86_400 * SECOND // period_ns
    periods -= periods % Fraction(per_period).denominator
    last = int(periods * per_period)

    assert made.due_ns(last, 1).tolist() == [periods * period_ns]
    assert count_before(made, periods * period_ns, NEVER) == last
