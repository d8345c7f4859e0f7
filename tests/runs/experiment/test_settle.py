"""Waiting for a quiet machine: no longer than is allowed, and only as long as it is loud."""

from collections.abc import Sequence

import psutil
import pytest

from streamgauge.runs.experiment.settle import Settled, idle_share, settled

SECOND = 10**9


@pytest.mark.parametrize(
    ("shares", "limit_seconds", "expected", "looks"),
    [
        pytest.param([0.95, 0.95, 0.1], 30, Settled(is_quiet=True, idle_share=0.95), 2, id="quiet at once"),
        pytest.param(
            [0.1, 0.95, 0.2, 0.9, 0.99], 30, Settled(is_quiet=True, idle_share=0.99), 5, id="a pause is no end"
        ),
        pytest.param([0.1] * 9, 4, Settled(is_quiet=False, idle_share=0.1), 4, id="never quiet"),
        pytest.param([0.1], 0, Settled(is_quiet=False, idle_share=0.1), 1, id="no time"),
    ],
)
def test_it_waits_for_two_quiet_looks(
    shares: Sequence[float], limit_seconds: int, expected: Settled, looks: int
) -> None:
    taken: list[float] = []

    def look() -> float:
        taken.append(shares[len(taken)])
        return taken[-1]

    assert settled(limit_seconds * SECOND, look, lambda: len(taken) * SECOND) == expected
    assert len(taken) == looks


def test_the_machine_tells_its_idle_share() -> None:
    assert 0 <= idle_share() <= 1


@pytest.mark.parametrize(("cores", "busy"), [(1, 0.0), (1, 0.05), (2, 0.05), (64, 8.0)])
def test_the_idle_share_is_that_of_few_and_of_many_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, busy: float
) -> None:
    """A look at one core sees less than a second of CPU time."""
    times = psutil.cpu_times()
    spent = times._replace(user=times.user + busy, idle=times.idle + 0.25 * cores - busy)
    looks = iter([times, spent])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(looks))
    monkeypatch.setattr("psutil.time.sleep", lambda _seconds: None)

    assert idle_share() == pytest.approx(1 - busy / (0.25 * cores), abs=0.001)
