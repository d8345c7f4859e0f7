"""Growth of a series: found where it is, and not where a series only swings."""

import numpy as np
import pytest

from streamgauge.statistics.growth import FEWEST, growth


def series(kind: str, rng: np.random.Generator, count: int = 60) -> list[float]:
    noise = rng.normal(0, 20, count)
    if kind == "steady":
        return list(500 + noise)
    if kind == "swinging":
        return list(500 + 200 * np.sin(np.arange(count) / 3 + rng.uniform(0, 6)) + noise)
    return list(500 + 50 * np.arange(count) + noise)


@pytest.mark.parametrize("kind", ["steady", "swinging"])
def test_what_does_not_grow_is_seldom_said_to(kind: str) -> None:
    rng = np.random.default_rng(3)
    found = [growth(series(kind, rng)) for _ in range(200)]
    # A swing may end higher than it began; that it grows is said of few.
    assert sum(each is not None and each[0] > 60 for each in found) <= 10


def test_what_grows_is_found_and_by_how_much() -> None:
    rng = np.random.default_rng(4)
    found = [growth(series("growing", rng)) for _ in range(50)]
    assert all(each is not None and each[0] > 0 for each in found)
    assert sum(each is not None and each[0] <= 50 * 59 <= each[1] for each in found) >= 45


def test_a_short_series_says_nothing() -> None:
    assert growth([1.0] * FEWEST) is None
    assert growth([1.0] * (FEWEST + 1)) == (0.0, 0.0)
