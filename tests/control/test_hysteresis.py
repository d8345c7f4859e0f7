"""Hysteresis: a table of single decisions, and any sequence of lags against what the words say."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from streamgauge.control.hysteresis import PAUSE, RESUME, LagHysteresis


@pytest.mark.parametrize(
    ("paused", "lag", "after", "reason"),
    [
        (False, 0, False, None),
        (False, 100, False, None),
        (False, 101, True, PAUSE),
        (True, 101, True, None),
        (True, 100, True, None),
        (True, 20, True, None),
        (True, 19, False, RESUME),
        (False, 19, False, None),
        (False, None, False, None),
        (True, None, True, None),
    ],
)
def test_above_one_lag_it_pauses_and_below_the_other_it_goes_on(
    paused: bool, lag: int | None, after: bool, reason: str | None
) -> None:
    """Between 20 and 100 it stays as it is, and with an unknown lag, too."""
    before = LagHysteresis(100, 20, paused)

    assert before.decide(lag) == (replace(before, paused=after), reason)


@pytest.mark.parametrize(("lag", "reason"), [(10, None), (11, PAUSE)])
def test_equal_thresholds_are_one(lag: int, reason: str | None) -> None:
    state, said = LagHysteresis(10, 10).decide(lag)

    assert said == reason
    assert state.decide(10) == (state, None)
    assert state.decide(9)[1] == (RESUME if reason else None)


class HysteresisMachine(RuleBasedStateMachine):
    """Whatever lags come: who is paused has seen more than the one since they saw less than the other."""

    @initialize(max_lag=st.integers(1, 50), share=st.floats(0, 1))
    def begin(self, max_lag: int, share: float) -> None:
        self.state = LagHysteresis(max_lag, max(1, int(max_lag * share)))
        self.known: list[int] = []
        self.reasons: list[str] = []

    @rule(lag=st.none() | st.integers(0, 100))
    def a_lag_is_seen(self, lag: int | None) -> None:
        before = self.state
        self.state, reason = before.decide(lag)
        assert (reason is None) == (before == self.state)
        if reason:
            self.reasons.append(reason)
        if lag is None:
            assert reason is None
        else:
            self.known.append(lag)
            assert self.state.paused or lag <= self.state.max_lag
            assert not self.state.paused or lag >= self.state.resume_lag

    @invariant()
    def the_last_lag_outside_of_both_decides(self) -> None:
        telling = [lag for lag in self.known if lag > self.state.max_lag or lag < self.state.resume_lag]
        assert self.state.paused == bool(telling and telling[-1] > self.state.max_lag)

    @invariant()
    def pauses_and_resumptions_take_turns(self) -> None:
        assert self.reasons == [PAUSE if place % 2 == 0 else RESUME for place in range(len(self.reasons))]


TestHysteresis: Any = HysteresisMachine.TestCase
TestHysteresis.settings = settings(stateful_step_count=40)
