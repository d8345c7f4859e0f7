"""Recorded arrivals: the same gaps, scaled, and an end."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.workload.pacing import NEVER
from streamgauge.workload.pacing.recorded import Recorded


@given(
    arrivals=st.lists(st.integers(0, 1 << 60), min_size=1, max_size=50),
    scale=st.fractions(Fraction(1, 1000), 1_000_000, max_denominator=1000),
    start_ns=st.integers(0, 1 << 50),
    producers=st.integers(1, 5),
    data=st.data(),
)
def test_every_arrival_is_scaled_exactly(
    arrivals: list[int], scale: Fraction, start_ns: int, producers: int, data: st.DataObject
) -> None:
    """The floor of arrival / scale after the start, also where the product would not fit into 64 bits."""
    arrivals.sort()
    producer = data.draw(st.integers(0, producers - 1))
    expected = [start_ns + int(arrival / scale) for arrival in arrivals[producer::producers]]

    share = Recorded.share(np.array(arrivals), scale, start_ns, producer, producers)

    found = share.due_ns(0, len(arrivals)).tolist()
    assert [min(NEVER, each) for each in expected] == pytest.approx(found[: len(expected)], abs=1)
    assert set(found[len(expected) :]) <= {NEVER}


def test_after_the_last_one_nothing_is_due() -> None:
    share = Recorded.share(np.array([0, 5, 7]), Fraction(1), 100, 0, 1)

    assert share.due_ns(1, 4).tolist() == [105, 107, NEVER, NEVER]
    assert share.due_ns(9, 2).tolist() == [NEVER, NEVER]
