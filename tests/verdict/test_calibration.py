"""Which calibration speaks for a run, by table."""

from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.scenario import parse
from streamgauge.scenario.profile import profile_of
from streamgauge.verdict.calibration import OLD_DAYS, Calibration, machine_of, nearest, of_machine, rate_of

DAY_NS = 86_400 * NS_PER_SECOND
NOW = 1_000 * DAY_NS
FACTS = {"processor": "AMD", "cores": 2, "load_average_1m": 0.5, "booted": "yesterday"}


def made(rate: float, days: float = 1, version: str = "1.0", **machine: Any) -> Calibration:
    """A calibration that is so many days old."""
    return Calibration(machine_of(FACTS | machine), version, rate, NOW - int(days * DAY_NS), {"ack.response.p50": 0.1})


@pytest.mark.parametrize(
    ("kept", "rate", "expected"),
    [
        ([], 1_000, None),
        ([made(1_000), made(10_000), made(100_000)], 1_000, (1_000, 1)),
        ([made(1_000), made(10_000), made(100_000)], 3_000, (1_000, 1)),
        ([made(1_000), made(10_000), made(100_000)], 4_000, (10_000, 1)),
        ([made(1_000), made(10_000), made(100_000)], 5_000_000, (100_000, 1)),
        ([made(1_000, days=3), made(1_000, days=2)], 900, (1_000, 2)),
        ([made(1_000, days=OLD_DAYS + 1), made(100_000)], 1_000, (100_000, 1)),
        ([made(1_000, days=OLD_DAYS), made(100_000)], 1_000, (1_000, OLD_DAYS)),
        ([made(1_000, days=90), made(100_000, days=60)], 1_000, (1_000, 90)),
        ([made(1_000, days=-1)], 1_000, (1_000, 0)),
        ([made(1_000, version="0.9")], 1_000, None),
        ([made(1_000, processor="ARM")], 1_000, None),
        ([made(1_000, cores=4), made(100_000)], 1_000, (100_000, 1)),
        ([made(1_000), made(100_000)], None, (100_000, 1)),
    ],
)
def test_the_nearest_rate_speaks(
    kept: list[Calibration], rate: float | None, expected: tuple[float, float] | None
) -> None:
    """Of this machine and version; an old one only where nothing else does."""
    found = nearest(kept, FACTS, "1.0", rate, NOW)

    assert (found and (found.rate, found.age_days(NOW))) == expected


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("10k/s", 10_000),
        ("max", None),
        ("closed", None),
        ({"poisson": {"rate": "2k/s"}}, 2_000),
        ({"ramp": {"from": "100/s", "to": "5k/s", "over": "10s"}}, 5_000),
        ({"spike": {"base": "1k/s", "peak": "8k/s", "at": "2s", "for": "1s"}}, 8_000),
    ],
)
def test_of_a_shape_without_a_mean_the_highest_rate_counts(rate: Any, expected: float | None) -> None:
    """Not the highest of all calibrations, as where no rate is asked for."""
    assert rate_of(profile_of(parse({"name": "x", "load": {"rate": rate}})).pace) == expected


def test_a_run_that_sends_nothing_has_no_rate() -> None:
    assert rate_of(profile_of(parse({"name": "x", "load": "off"})).pace) is None


def test_a_machine_is_told_by_what_stays() -> None:
    """Its load and when it was started say nothing; facts of older versions may be missing."""
    kept = [made(1_000)]
    assert of_machine(kept, FACTS | {"load_average_1m": 9.0}) == kept
    assert of_machine(kept, {"processor": "AMD"}) == []
