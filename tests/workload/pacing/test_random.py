"""What is drawn: means, deviations and bounds over enough draws to tell."""

import numpy as np
import pytest

from streamgauge.scenario.model.pacing.shapes import MOST_DEVIATIONS
from streamgauge.workload.pacing import Int64s
from streamgauge.workload.pacing.random import CHUNK, PoissonPacer, WindowPacer

SECOND = 1_000_000_000
WINDOW_NS = 100_000_000


def windows(
    messages: int = 500, deviation: float = 0, hold: int = 1, spread: bool = False, seed: int = 42
) -> WindowPacer:
    return WindowPacer(
        seed,
        messages=messages,
        deviation=deviation,
        most=messages + MOST_DEVIATIONS * deviation,
        hold=hold,
        window_ns=WINDOW_NS,
        spread=spread,
        start_ns=0,
    )


def sizes(made: WindowPacer, count: int) -> Int64s:
    """How many messages the first windows have."""
    times, first = made.times_ns(0, 1, 1000), 1000
    parts = [times]
    while parts[-1][-1] < count * WINDOW_NS:
        parts.append(made.times_ns(first, 1, 100_000))
        first += 100_000
    return np.bincount(np.concatenate(parts) // WINDOW_NS, minlength=count)[:count]


def test_poisson_arrivals_have_the_mean_and_the_deviation_of_a_poisson_process() -> None:
    """Per 10 ms at 10,000/s: a mean of 100 and a deviation of 10; standard errors of 10,000 draws are 0.1 and 0.07."""
    times = PoissonPacer(42, 10_000.0).times_ns(0, 1, 1_010_000)

    counts = np.bincount(times // 10_000_000)[:10_000]

    assert np.mean(counts) == pytest.approx(100, abs=0.4)
    assert np.std(counts) == pytest.approx(10, abs=0.3)


def test_gaps_between_poisson_arrivals_are_exponential() -> None:
    """Also between two chunks, and before the first arrival: e^-x of them are longer than x means."""
    times = np.concatenate([[0], PoissonPacer(1, 1000.0).times_ns(0, 1, 40 * CHUNK)])
    gaps = np.diff(times) / 1_000_000

    for longer in (0.1, 1, 3):
        assert np.mean(gaps > longer) == pytest.approx(np.exp(-longer), abs=0.004)
    assert np.all(gaps[CHUNK::CHUNK] > 0)
    assert np.corrcoef(gaps[:-1], gaps[1:])[0, 1] == pytest.approx(0, abs=0.01)


def test_the_fastest_poisson_arrivals_are_not_faster_than_asked() -> None:
    """Gaps of 10 ns that each lost their fraction would be 5 % too short."""
    count = 400 * CHUNK

    last = int(PoissonPacer(42, 100_000_000.0).times_ns(count - 1, 1, 1)[0])

    assert last == pytest.approx(count * 10, rel=0.002)


def test_windows_without_a_deviation_have_as_many_messages_each() -> None:
    times = windows(messages=3).times_ns(0, 1, 9)

    assert (times // WINDOW_NS).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert not np.any(times % WINDOW_NS)


def test_the_messages_of_a_window_may_be_spread_over_it() -> None:
    times = windows(messages=4, spread=True).times_ns(0, 1, 6)

    assert times.tolist() == [0, 25_000_000, 50_000_000, 75_000_000, 100_000_000, 125_000_000]


@pytest.mark.slow
def test_the_messages_of_a_window_deviate_as_asked() -> None:
    """Standard errors of 20,000 draws are 0.35 and 0.25."""
    found = sizes(windows(messages=500, deviation=50), 20_000)

    assert np.mean(found) == pytest.approx(500, abs=1.2)
    assert np.std(found) == pytest.approx(50, abs=1)
    assert np.mean(np.abs(found - 500) < 50) == pytest.approx(0.683, abs=0.015)


def test_no_window_is_empty_and_none_is_boundless() -> None:
    """With a deviation above the mean, a third of the draws would be less than one message."""
    found = sizes(windows(messages=2, deviation=4), 20_000)

    assert found.min() == 1
    assert np.mean(found == 1) == pytest.approx(0.45, abs=0.02)
    assert found.max() <= 2 + 4 * MOST_DEVIATIONS


def test_a_draw_holds_for_so_many_windows() -> None:
    held = sizes(windows(messages=500, deviation=50, hold=10), 10_000).reshape(-1, 10)

    assert np.all(held == held[:, :1])
    assert np.std(held[:, 0]) == pytest.approx(50, abs=5)
    assert np.count_nonzero(np.diff(held[:, 0])) > 900


@pytest.mark.parametrize("spread", [True, False])
def test_windows_follow_each_other_over_the_ends_of_chunks(spread: bool) -> None:
    """There are as many windows in a chunk as draws; none is left out, none comes twice."""
    found = sizes(windows(messages=2, deviation=1, spread=spread), 3 * CHUNK)

    assert found.min() == 1
    assert np.std(found[CHUNK - 50 : CHUNK + 50]) > 0.3
    assert not np.array_equal(found[:CHUNK], found[CHUNK : 2 * CHUNK])


def test_the_largest_draw_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No draw within a lifetime lies so far out, so this one is made up."""

    class FarOut:
        def normal(self, mean: float, deviation: float, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
            return mean + deviation * np.full(count, 20.0)

    monkeypatch.setattr(np.random, "default_rng", lambda _seed: FarOut())

    assert sizes(windows(messages=5, deviation=2), 3).tolist() == [21, 21, 21]
