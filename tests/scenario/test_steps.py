"""The steps of a load: which it has, and which full seconds each covers."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.scenario.parse import parse
from streamgauge.scenario.profile import profile_of
from streamgauge.scenario.profile.model import PaceProfile, PaceSegment
from streamgauge.scenario.profile.steps import load_steps


def steps_of(rate: Any, seconds: float = 60) -> list[tuple[int, int, int, float, float]]:
    """Number, first second, end, and rates of each step."""
    scenario = parse({"name": "x", "load": {"rate": rate}})
    found = load_steps(profile_of(scenario).pace, round(seconds * NS_PER_SECOND))
    return [(step.number, step.begin, step.end, step.from_per_second, step.to_per_second) for step in found]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        pytest.param(
            {"steps": {"from": "1k/s", "to": "3k/s", "steps": 3, "each": "10s"}},
            [(1, 0, 10, 1000, 1000), (2, 10, 20, 2000, 2000), (3, 20, 60, 3000, 3000)],
            id="the last step is kept",
        ),
        pytest.param(
            "RAMP_2_1k_2k_20s", [(1, 0, 20, 1000, 1000), (2, 20, 60, 2000, 2000)], id="tussle's word for steps"
        ),
        pytest.param(
            "SPIKE_1k_5k_20s_10s",
            [(1, 0, 20, 1000, 1000), (2, 20, 30, 5000, 5000), (3, 30, 60, 1000, 1000)],
            id="before, in and after a spike",
        ),
        pytest.param(
            {"ramp": {"from": "1k/s", "to": "2k/s", "over": "20s"}},
            [(1, 0, 20, 1000, 2000), (2, 20, 60, 2000, 2000)],
            id="a ramp, and what follows",
        ),
        pytest.param(
            [{"rate": 100, "for": "1500ms"}, {"rate": 200, "for": "1s"}, {"rate": 300, "for": "7500ms"}],
            [(1, 0, 1, 100, 100), (3, 3, 60, 300, 300)],
            id="only full seconds count, and a step without one is left out",
        ),
        pytest.param(
            {"segments": {"list": [{"rate": 100, "for": "10s"}, {"rate": 200, "for": "10s"}], "then": "stop"}},
            [(1, 0, 10, 100, 100), (2, 10, 20, 200, 200)],
            id="nothing follows",
        ),
        pytest.param(
            {"steps": {"from": 0, "to": "3k/s", "steps": 4, "each": "25s"}},
            [(1, 0, 25, 0, 0), (2, 25, 50, 1000, 1000), (3, 50, 60, 2000, 2000)],
            id="steps after the measure phase do not take place",
        ),
        pytest.param("10k/s", [], id="one rate"),
        pytest.param("max", [], id="no schedule"),
        pytest.param({"burst": {"base": 1, "burst": 9, "for": "1s", "every": "5s"}}, [], id="repeated bursts"),
        pytest.param(
            {"segments": {"list": [{"rate": 1, "for": "5s"}, {"rate": 2, "for": "5s"}], "then": "repeat"}},
            [],
            id="repeated segments",
        ),
        pytest.param([{"rate": 1, "for": "5s"}], [], id="a single step"),
    ],
)
def test_steps_of_a_load(rate: Any, expected: list[Any]) -> None:
    assert steps_of(rate) == expected


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 10_000)), min_size=1, max_size=9), st.integers(1_000, 60_000)
)
def test_steps_follow_each_other_within_the_measure_phase(pieces: list[tuple[int, int]], measure_ms: int) -> None:
    segments = tuple(PaceSegment(from_per_second=rate, to_per_second=rate, for_ns=ms * 10**6) for rate, ms in pieces)
    pace = PaceProfile(kind="segments", words="", per_second=None, segments=segments, then=())
    found = load_steps(pace, measure_ms * 10**6)
    assert len(found) != 1
    assert all(step.begin < step.end <= measure_ms // 1000 for step in found)
    assert all(one.end <= other.begin and one.number < other.number for one, other in pairwise(found))
