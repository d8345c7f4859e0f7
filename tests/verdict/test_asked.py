"""What the scenario of a run.json asks for, however old or new the version that wrote it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.verdict.asked import Delay, Pace, delays, is_on, is_read_committed, is_steady, pace_of, part

MS = 1_000_000


@pytest.mark.parametrize(
    ("rate", "pace", "steady"),
    [
        ("10k/s", Pace.RATE, True),
        (200, Pace.RATE, True),
        (None, Pace.RATE, True),
        ("max", Pace.FASTEST, True),
        ("closed", Pace.CLOSED, True),
        ({"closed": {"batch": 10}}, Pace.CLOSED, True),
        ({"poisson": {"rate": "1k/s"}}, Pace.SHAPE, True),
        ({"windows": {"messages": 500, "window": "100ms"}}, Pace.SHAPE, True),
        ({"burst": {"base": "1k/s", "burst": "2k/s", "on": "1s", "every": "2s"}}, Pace.SHAPE, False),
        ({"replay": {"file": "arrivals.txt"}}, Pace.SHAPE, False),
        ("RAMP_10_from_100_to_60", Pace.SHAPE, False),
        ("SPIKE_100_1000_10_5", Pace.SHAPE, False),
    ],
)
def test_the_pace_of_a_load(rate: Any, pace: Pace, steady: bool) -> None:
    scenario = {"load": {"rate": rate}, "consume": {}}
    assert (pace_of(scenario), is_steady(scenario)) == (pace, steady)
    assert pace.is_scheduled == (pace in {Pace.RATE, Pace.SHAPE})


def test_processing_that_changes_is_not_steady() -> None:
    processing: dict[str, Any] = {"delay": "4ms", "changes": []}
    scenario = {"load": {"rate": "1k/s"}, "consume": {"processing": processing}}
    assert is_steady(scenario)
    processing["changes"].append({"at": "5s", "delay": "0s"})
    assert not is_steady(scenario)


@pytest.mark.parametrize("off", [None, False, "off"])
def test_what_is_off_is_empty(off: Any) -> None:
    scenario = {"load": {"flush": off}, "consume": off}
    assert part(scenario, "consume", "processing") == part(scenario, "nothing") == {}
    assert (is_on(scenario, "load"), is_on(scenario, "load", "flush"), is_on(scenario, "consume", "processing")) == (
        True,
        False,
        False,
    )


def test_clients_that_are_told_nothing_read_what_is_committed() -> None:
    assert is_read_committed({"consume": {}})
    assert is_read_committed({"consume": {"client": {"isolation.level": "read_committed"}}})
    assert not is_read_committed({"consume": {"client": {"isolation.level": "read_uncommitted"}}})


@pytest.mark.parametrize(
    ("processing", "expected"),
    [
        ({"delay": "4ms"}, [Delay(0, 4 * MS, 0)]),
        ({"delay": "0s", "jitter": "0s", "exponential": True}, [Delay(0, 0, 0)]),
        ({"delay": "4ms", "exponential": True}, [Delay(0, 4 * MS, 4 * MS)]),
        (
            {"delay": "4ms", "changes": [{"at": "9s", "delay": "1ms"}, {"at": "3s", "delay": "2ms"}]},
            [Delay(0, 4 * MS, 0), Delay(3_000 * MS, 2 * MS, 0), Delay(9_000 * MS, MS, 0)],
        ),
        ({"function": "a:b"}, []),
        ({"delay": "0s", "function": "a:b"}, []),
        (None, []),
    ],
)
def test_the_delays_follow_each_other(processing: Any, expected: list[Delay]) -> None:
    assert list(delays({"consume": {"processing": processing}})) == expected


@given(st.integers(0, 50_000), st.integers(0, 50_000), st.booleans(), st.integers(0, 1 << 32))
def test_mean_and_deviation_are_those_of_draws(delay_us: int, jitter_us: int, exponential: bool, seed: int) -> None:
    """Within seven standard errors of a thousand draws."""
    asked = {"delay": f"{delay_us}us", "jitter": f"{jitter_us}us", "exponential": exponential}
    (found,) = delays({"consume": {"processing": asked}})
    draws = np.random.default_rng(seed)
    begun = draws.exponential(delay_us, 1_000) if exponential else np.full(1_000, float(delay_us))
    taken = (begun + draws.uniform(0, jitter_us, 1_000)) * 1_000
    error = 7 * taken.std() / 1_000**0.5 + 1
    assert abs(taken.mean() - found.mean_ns) <= error
    # The deviation of an exponential sample is itself off by twice its standard error.
    assert abs(taken.std() - found.stddev_ns) <= 2 * error
