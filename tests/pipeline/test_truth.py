"""Bounds as properties: whatever a starved instrument does to a load, the truth of every message lies within them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.plainly import Plainly, Row
from tests.simulated.run import rows as rows_of
from tests.simulated.run import truths
from tests.simulated.system import Plan

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.percentiles import PERCENTILES, rank_of

US = 1_000
METRICS = ("ack_response", "ack_service", "end_to_end_response", "end_to_end_service")


@st.composite
def stalls(draw: st.DrawFn, end: int, most: int) -> tuple[tuple[int, int], ...]:
    """When a thread has no core: some long and some short times, one after the other."""
    edges = sorted(draw(st.lists(st.integers(0, end), max_size=2 * most, unique=True)))
    return tuple(zip(edges[::2], edges[1::2], strict=False))


@st.composite
def plans(draw: st.DrawFn, /, most: int = 4, **fixed: Any) -> Plan:
    producers, consumers = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    gap = draw(st.sampled_from((50 * US, 400 * US, 2 * NS_PER_MS, 5 * NS_PER_MS)))
    counts = [draw(st.integers(1, 40)) for _ in range(producers)]
    seed = draw(st.integers(0, 1 << 16))
    rng = np.random.default_rng(seed)
    dues = tuple(tuple(np.cumsum(rng.integers(0, 2 * gap, count)).tolist()) for count in counts)
    end = max(each[-1] for each in dues) + 10 * NS_PER_MS
    return Plan(
        seed=seed,
        dues=dues,
        consumers=consumers,
        stalls=tuple(draw(stalls(end, most)) for _ in range(producers + consumers)),
        counts_delay=draw(st.booleans()),
        limit=draw(st.sampled_from((1, 3, 100))),
        **{"slow_ns": draw(st.sampled_from((20 * US, 300 * US, 3 * NS_PER_MS)))}
        | {name: draw(each) if isinstance(each, st.SearchStrategy) else each for name, each in fixed.items()},
    )


Truth = dict[tuple[int, int], dict[str, int]]


def check(plan: Plan, off_ns: int = 0) -> None:
    """The truth of each message, and of each percentile, lies within."""
    told, true = _ran(plan)
    for metric in METRICS:
        rows, truth = _truth(told, true, metric)
        assert len(rows) == len(true)
        _check_each(told, metric, rows, truth, off_ns)
        _check_percentiles(told, metric, rows, truth, off_ns)


def _ran(plan: Plan) -> tuple[Plainly, Truth]:
    """What a run tells, and what is true of each message."""
    sent, received = rows_of(plan)
    end = max(row["received_ns"] for row in received) + max(row["acked_ns"] for row in sent) + 1
    return Plainly(sent, received, (0, end), (0, end)), truths(plan)


def _truth(told: Plainly, true: Truth, metric: str) -> tuple[list[Row], Any]:
    """The rows of a metric, and the truth of each."""
    rows, path = told.rows(metric), metric.rsplit("_", 1)[0]
    return rows, np.array([true[row["producer"], row["seq"]][path] for row in rows])


def _check_each(told: Plainly, metric: str, rows: list[Row], truth: Any, off_ns: int) -> None:
    response = metric.replace("service", "response")
    for row, true in zip(rows, truth.tolist(), strict=True):
        value, width, most = told.value(metric, row), told.width(metric, row), told.value(response, row)
        assert value is not None
        assert width is not None
        assert most is not None
        assert max(0, value - width) - off_ns <= true <= most + off_ns, (metric, row, true, value, width)


def _check_percentiles(told: Plainly, metric: str, rows: list[Row], truth: Any, off_ns: int) -> None:
    low = told.low_ends(metric)
    most = np.sort([told.value(metric.replace("service", "response"), row) or 0 for row in rows])
    ordered = np.sort(truth)
    assert low is not None
    for name, rank in PERCENTILES.items():
        place = rank_of(rank, len(ordered)) - 1
        assert low.percentiles_ns[name] - off_ns <= ordered[place] <= most[place] + off_ns
    assert low.min_ns - off_ns <= ordered[0]
    assert low.mean_ns - off_ns <= ordered.mean()
    assert low.max_ns - off_ns <= ordered[-1]


@given(plans())
def test_of_servers_one_after_the_other(plan: Plan) -> None:
    check(plan)


TICKS = (NS_PER_MS // 3, 4 * NS_PER_MS)


@given(plans(tick_ns=st.sampled_from(TICKS)))
def test_of_a_server_that_works_in_batches(plan: Plan) -> None:
    """But for one batch: who is late by a moment may miss it."""
    check(plan, plan.tick_ns)


@given(plans(full=st.sampled_from((1, 3, 1_000)), linger_ns=st.sampled_from(TICKS), slow_ns=0))
def test_of_clients_that_send_batches(plan: Plan) -> None:
    """But for the time that a batch is waited for, which begins with another message."""
    check(plan, plan.linger_ns)


ROUNDED = 100
"""Waits are told to a nanosecond each, and there are as many as messages."""


@given(plans(most=1, flush=st.sampled_from((1, 3, 10))))
def test_of_producers_that_wait_for_reports(plan: Plan) -> None:
    """If each is starved once, outside of its waits: later waits add delays up, and no column tells how far."""
    check(plan, ROUNDED)


@given(plans(most=1, flush=st.sampled_from((2, 5, 10)), transactional=True))
def test_of_transactions(plan: Plan) -> None:
    """Likewise: what is late in a transaction delays what was sent in it before."""
    check(plan, ROUNDED)


@pytest.mark.parametrize(
    ("seed", "gap_ns", "slow_ns"),
    [
        pytest.param(7, 3 * NS_PER_MS, 3 * NS_PER_MS, id="what is sent soon ends later"),
        pytest.param(1, 1_100 * US, 20 * US, id="at times, nothing is in flight"),
    ],
)
def test_a_producer_that_has_fallen_behind_is_late_long_after_its_stall(seed: int, gap_ns: int, slow_ns: int) -> None:
    """It waits for a report after each message: what is due meanwhile waits for the system, and for an old delay."""
    dues = tuple(range(gap_ns, 500 * NS_PER_MS, gap_ns))
    stall = ((100 * NS_PER_MS, 200 * NS_PER_MS),)

    check(Plan(seed, (dues,), stalls=(stall,), flush=1, slow_ns=slow_ns), ROUNDED)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"full": 1_000, "linger_ns": 5 * NS_PER_MS}, id="batches begin with other messages"),
        pytest.param({"shared": True, "slow_ns": NS_PER_MS // 2}, id="late messages are overtaken"),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_not_true_of_single_messages_evens_out(seed: int, changes: dict[str, Any]) -> None:
    """Some lie outside of their bounds, and no percentile does."""
    rng = np.random.default_rng(seed)
    dues = tuple(tuple(np.cumsum(rng.integers(500 * US, 1_500 * US, 1_000)).tolist()) for _ in range(2))
    begins = np.cumsum(rng.integers(10 * NS_PER_MS, 80 * NS_PER_MS, 20)).tolist()
    stalls = tuple((begin, begin + int(rng.integers(100 * US, 3 * NS_PER_MS))) for begin in begins)
    plan = Plan(seed, dues, stalls=(stalls, stalls[::2]), **changes)

    told, true = _ran(plan)
    for metric in METRICS:
        rows, truth = _truth(told, true, metric)
        _check_percentiles(told, metric, rows, truth, 0)
    with pytest.raises(AssertionError):
        _check_each(told, "ack_response", *_truth(told, true, "ack_response"), 0)


@pytest.mark.parametrize("slow_ns", [20 * US, 150 * US, 300 * US])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_what_the_fastest_of_many_messages_took_is_a_bound_for_all(seed: int, slow_ns: int) -> None:
    """Of percentiles: the fastest that was seen is not the fastest that there can be."""
    rng = np.random.default_rng(seed)
    dues = tuple(tuple(np.cumsum(rng.integers(0, 800 * US, 700)).tolist()) for _ in range(2))
    begins = [np.cumsum(rng.integers(20 * NS_PER_MS, 60 * NS_PER_MS, 6)).tolist() for _ in range(4)]
    stalls = tuple(
        tuple((begin, begin + int(rng.integers(100 * US, 20 * NS_PER_MS))) for begin in each) for each in begins
    )
    told, true = _ran(Plan(seed, dues, consumers=2, stalls=stalls, limit=100, slow_ns=slow_ns))

    for metric in METRICS:
        rows, truth = _truth(told, true, metric)
        assert any(told.least(row) > 0 for row in rows)
        _check_percentiles(told, metric, rows, truth, 0)
