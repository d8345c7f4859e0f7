"""The simulator: what it counts, what it can never exceed, and that it agrees with theory."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import mean
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.control.simulate import Simulated, simulate
from streamgauge.control.simulation import FASTEST, TICK_NS, LagModel, Overdue, Sticky, model_of
from streamgauge.control.theory import laws
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.scenario import parse

PLAIN: dict[str, Any] = {
    "name": "simulated",
    "topic": {"partitions": 12},
    "load": {"rate": "10k/s", "producers": 8, "partition": "round-robin", "client": {"retries": 0}},
    "consume": {"processing": {"delay": "4ms", "jitter": "1ms", "order": "partitions"}, "commit": {"interval": "1s"}},
    "phases": {"warmup": "0s", "measure": "10s"},
}
"""10,000/s into 12 slots of 4 to 5 ms, which can do 2,667/s: the workload of the scenarios bp-loose and bp-tight."""
FEW = settings(max_examples=min(15, settings().max_examples))


def model(**parts: Any) -> LagModel:
    """The plain workload with some parts changed, key by key."""
    changed = {
        name: {**PLAIN.get(name, {}), **part} if isinstance(part, Mapping) and name != "backpressure" else part
        for name, part in parts.items()
    }
    return model_of(parse({**PLAIN, **changed}))


def credit(limit: int, **parts: Any) -> LagModel:
    return model(backpressure={"credit": {"limit": limit}}, **parts)


def hysteresis(max_lag: int, resume_lag: int, poll: str = "100ms", **parts: Any) -> LagModel:
    policy = {"max_lag": max_lag, "resume_lag": resume_lag, "poll": poll}
    return replace(model(backpressure={"hysteresis": policy}, **parts), held="drop")


@st.composite
def models(draw: st.DrawFn) -> LagModel:
    """Small workloads of every kind, without a policy."""
    order: dict[str, Any] = draw(
        st.sampled_from([{"order": "partitions"}, {"order": "loop"}, {"order": "slots", "slots": 3}])
    )
    delay = draw(st.integers(0, 5000))
    found = model(
        topic={"partitions": draw(st.integers(1, 6))},
        load={"rate": draw(st.integers(1, 5000)), "producers": draw(st.integers(1, 5))},
        consume={
            "consumers": draw(st.integers(1, 3)),
            "processing": {
                "delay": f"{delay}us",
                "jitter": f"{draw(st.integers(0, 2000))}us",
                "exponential": draw(st.booleans()),
                "changes": [{"at": "500ms", "delay": f"{draw(st.integers(0, 5000))}us"}],
                **order,
            },
            "commit": {"interval": f"{draw(st.integers(1, 700))}ms"},
        },
        lag={"every": f"{draw(st.integers(50, 500))}ms"},
        phases={"warmup": f"{draw(st.integers(0, 300))}ms", "measure": "1200ms"},
        seed=draw(st.integers(0, 99)),
    )
    sticky = draw(st.sampled_from([None, Sticky(lasts_ns=0), Sticky(lasts_ns=10 * NS_PER_MS), Sticky(messages=7)]))
    held: Overdue = draw(st.sampled_from(get_args(Overdue)))
    return replace(found, sticky=sticky, held=held, transit_ns=draw(st.integers(0, 20)) * NS_PER_MS)


POLICIES = st.one_of(
    st.none(),
    st.builds(lambda limit: {"credit": {"limit": limit}}, st.integers(8, 500)),
    st.builds(
        lambda lag, share: {"hysteresis": {"max_lag": lag, "resume_lag": max(1, int(lag * share)), "poll": "20ms"}},
        st.integers(1, 2000),
        st.floats(0, 1),
    ),
)


def under(found: LagModel, policy: dict[str, Any] | None) -> LagModel:
    return replace(found, policy=parse({**PLAIN, "backpressure": policy or "off"}).backpressure)


def conserved(found: LagModel, done: Simulated) -> None:
    """Every message that was due is held, dropped, waiting, in a slot or finished: counted apart, these add up."""
    last = done.rows[-1]
    assert last.at_ns == found.measure_ns
    assert last.end == done.waiting + done.in_slots + done.finished
    assert last.due == last.end + done.summary.held + done.summary.dropped
    # Slots overtake each other: what is finished above a message that is not may be more than there are slots.
    assert last.processed <= done.finished
    if done.waiting + done.in_slots == 0:
        assert last.processed == done.finished
    if found.slots_each == 1:
        assert done.finished <= last.processed + found.slots


@FEW
@given(models(), POLICIES)
def test_no_message_is_lost_or_made(found: LagModel, policy: dict[str, Any] | None) -> None:
    """And offsets are in their order at any time: committed, processed, sent, due."""
    found = under(found, policy)
    done = simulate(found, 100 * NS_PER_MS)

    conserved(found, done)
    for row in done.rows:
        assert 0 <= row.committed <= row.processed <= row.end <= row.due
        assert 0 <= row.worst_lag <= row.lag <= row.worst_lag * found.partitions
    for earlier, later in zip(done.rows, done.rows[1:], strict=False):
        assert all(after >= before for before, after in zip(earlier[1:5], later[1:5], strict=True))
    assert 0 <= done.summary.utilisation <= 1 + 1e-9
    assert done.summary.held == 0 or found.held == "keep"
    assert done.summary.dropped == 0 or found.held == "drop"


@FEW
@given(models(), st.integers(8, 500))
def test_credit_is_never_exceeded(found: LagModel, limit: int) -> None:
    """In no tick, whatever consumers and partitions do; and what is granted is never less than what was sent."""
    done = simulate(under(found, {"credit": {"limit": limit}}), TICK_NS)

    assert done.summary.peak_outstanding <= limit
    assert all(row.granted is not None and row.end <= row.granted <= row.processed + limit for row in done.rows)


@FEW
@given(
    max_lag=st.integers(500, 20_000),
    share=st.floats(0.01, 1),
    rate=st.integers(3_000, 12_000),
    sampling=st.integers(50, 2000),
    poll=st.integers(10, 500),
    commit=st.integers(10, 2000),
    seed=st.integers(0, 99),
)
@pytest.mark.slow
def test_hysteresis_stays_within_its_laws(
    max_lag: int, share: float, rate: int, sampling: int, poll: int, commit: int, seed: int
) -> None:
    """Within what lies between two ticks: a message for each slot, and those of two ticks."""
    found = hysteresis(
        max_lag,
        max(1, int(max_lag * share)),
        f"{poll}ms",
        load={"rate": rate},
        consume={"commit": {"interval": f"{commit}ms"}},
        lag={"every": f"{sampling}ms"},
        phases={"measure": "6s"},
        seed=seed,
    )
    summary = simulate(found).summary._asdict()

    grains = found.slots + 2 * rate * TICK_NS / NS_PER_SECOND
    for law in laws(found):
        if law.relation == "at most":
            assert summary[law.figure] <= law.value + grains, law
        if law.relation == "at least":
            assert summary[law.figure] >= law.value - 0.05, law


@pytest.mark.slow
def test_the_bound_of_hysteresis_is_reached_where_clocks_begin_at_the_wrong_time() -> None:
    """Out of many, the worst overshoot is nearly that of theory: the bound is no idle one."""
    found = hysteresis(20_000, 1, lag={"every": "2s"}, phases={"measure": "6s"})
    (bound,) = [law.value for law in laws(found) if law.figure == "peak_outstanding"]

    peaks = [simulate(replace(found, seed=seed)).summary.peak_outstanding for seed in range(12)]

    assert max(peaks) <= bound + found.slots + 20
    assert max(peaks) - 20_000 > 0.8 * (bound - 20_000)
    # On average a sample is half as old as it may be.
    assert mean(peaks) - 20_000 == pytest.approx((bound - 20_000) / 2, rel=0.35)


@pytest.mark.parametrize(
    ("max_lag", "resume_lag", "sampling"), [(5_000, 1_000, "1s"), (20_000, 5_000, "1s"), (8_000, 500, "700ms")]
)
@pytest.mark.slow
def test_how_much_hysteresis_starves_consumers_is_known(max_lag: int, resume_lag: int, sampling: str) -> None:
    """On average over where clocks begin, within 5 hundredths."""
    found = hysteresis(max_lag, resume_lag, lag={"every": sampling}, phases={"warmup": "3s", "measure": "15s"})
    (about,) = [law.value for law in laws(found) if (law.figure, law.relation) == ("utilisation", "about")]

    busy = mean(simulate(replace(found, seed=seed)).summary.utilisation for seed in range(6))

    assert busy == pytest.approx(about, abs=0.05)


def test_what_may_not_be_sent_is_dropped_or_kept() -> None:
    """Of 40,000 messages that are due, more than half cannot be sent under either policy."""
    for found in (hysteresis(5_000, 1_000, phases={"measure": "4s"}), credit(5_000, phases={"measure": "4s"})):
        dropping, keeping = (simulate(replace(found, held=held)) for held in get_args(Overdue)[::-1])
        conserved(found, dropping)
        conserved(found, keeping)
        assert (dropping.summary.held, keeping.summary.dropped) == (0, 0)
        assert min(dropping.summary.dropped, keeping.summary.held) > 20_000


def test_messages_that_were_kept_come_at_once_after_a_pause() -> None:
    """So that the bound of a source that drops them holds for the first pause only."""
    found = replace(hysteresis(5_000, 1_000, phases={"measure": "20s"}), held="keep")
    summary = simulate(found).summary
    bound = {law.figure: law.value for law in laws(found)}

    assert summary.first_peak_outstanding <= bound["first_peak_outstanding"] < 14_000
    assert bound["first_peak_outstanding"] < 3 * 14_000 < summary.peak_outstanding <= bound["peak_outstanding"]


@pytest.mark.parametrize(
    ("limit", "sticky", "low", "high"),
    [
        (5_000, None, 0.999, 1.0),
        (50, None, 0.995, 1.0),
        (20, None, 0.70, 0.80),
        (5_000, Sticky(messages=26), 0.97, 0.995),
        (50, Sticky(messages=26), 0.41, 0.47),
        (5_000, Sticky(lasts_ns=10 * NS_PER_MS), 0.99, 1.0),
        (50, Sticky(lasts_ns=10 * NS_PER_MS), 0.70, 0.76),
    ],
)
@pytest.mark.slow
def test_small_limits_starve_slots_where_messages_stay_together(
    limit: int, sticky: Sticky | None, low: float, high: float
) -> None:
    """12 slots of 4.5 ms: dealt out evenly, 50 messages are enough; in batches of 26, they are far from it."""
    found = replace(credit(limit, phases={"warmup": "3s", "measure": "20s"}), sticky=sticky)

    assert low <= simulate(found).summary.utilisation <= high


@FEW
@given(st.integers(8, 400), st.integers(0, 30), st.integers(1, 12), st.integers(0, 99))
@pytest.mark.slow
def test_utilisation_under_credit_follows_its_law(limit: int, transit: int, partitions: int, seed: int) -> None:
    """Dealt out evenly: within a tenth of what Little's law says, or a fifth where the limit is hardly more than the
    slots, which jitter then leaves empty; drawn: no less than the product form says."""
    even = replace(
        credit(limit, topic={"partitions": partitions}, phases={"warmup": "500ms", "measure": "2s"}, seed=seed),
        transit_ns=transit * NS_PER_MS,
    )
    for found in (even, replace(even, sticky=Sticky(lasts_ns=0)), replace(even, sticky=Sticky(messages=9))):
        (law,) = [law for law in laws(found) if law.figure == "utilisation"]
        busy = simulate(found).summary.utilisation
        tolerance = 0.1 if limit >= 2 * found.slots else 0.2
        assert busy >= law.value - tolerance
        assert law.relation == "at least" or busy <= law.value + tolerance


@pytest.mark.slow
def test_exponential_times_and_single_draws_are_the_product_form_itself() -> None:
    """Within 2 hundredths: nothing but the model of the theory, where a tick is short beside a message."""
    parts = {
        "load": {"rate": "1k/s"},
        "consume": {"processing": {"delay": "50ms", "exponential": True, "order": "partitions"}},
    }
    found = replace(credit(30, phases={"measure": "90s"}, **parts), sticky=Sticky(lasts_ns=0), transit_ns=0)

    assert simulate(found).summary.utilisation == pytest.approx(30 / (30 + 12 - 1), abs=0.02)


def test_without_a_policy_the_backlog_is_the_difference_of_the_rates() -> None:
    """It rises by 10,000 - 4,000 a second for 4 s, and falls by 16,000 - 10,000 from then on."""
    processing = {"delay": "1ms", "order": "partitions", "changes": [{"at": "4s", "delay": "250us"}]}
    found = model(topic={"partitions": 4}, consume={"processing": processing}, phases={"measure": "9s"})
    done = simulate(found)
    (law,) = laws(found)

    assert done.summary.peak_outstanding == pytest.approx(24_000, abs=100)
    assert law.value == pytest.approx(24_000)
    outstanding = [row.outstanding for row in done.rows]
    assert outstanding == pytest.approx([0, 6e3, 12e3, 18e3, 24e3, 18e3, 12e3, 6e3, 0, 0], abs=100)


def test_a_seed_makes_the_same_run_and_another_seed_another_one() -> None:
    found = replace(credit(50, phases={"measure": "2s"}), sticky=Sticky(lasts_ns=10 * NS_PER_MS))

    assert simulate(found) == simulate(found)
    assert simulate(found) != simulate(replace(found, seed=1))


def test_committed_lag_falls_when_something_is_committed_only() -> None:
    """And not at all where nothing ever is."""
    never = replace(model(load={"rate": "100/s"}), commit_ns=None)

    assert [row.lag for row in simulate(never).rows] == pytest.approx([1 + 100 * second for second in range(11)], abs=1)
    assert simulate(never).summary.peak_outstanding < 10


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"processing": {"order": "partitions"}}, (12, 12, 1)),
        ({"processing": {"order": "loop"}, "consumers": 3}, (3, 3, 1)),
        ({"processing": {"order": "slots", "slots": 5}, "consumers": 2}, (10, 2, 5)),
        ({"processing": {"order": "loop"}, "consumers": 20}, (12, 12, 1)),
    ],
)
def test_slots_are_those_of_the_scenario(parts: dict[str, Any], expected: tuple[int, int, int]) -> None:
    found = model(consume=parts)

    assert (found.slots, found.queues, found.slots_each) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"partition": "round-robin"}, None),
        ({"partition": "client", "client": {"linger.ms": 20}}, Sticky(lasts_ns=40 * NS_PER_MS)),
        ({"partition": "client", "client": {"sticky.partitioning.linger.ms": 3}}, Sticky(lasts_ns=3 * NS_PER_MS)),
        ({"partition": "client", "keys": "sequential"}, Sticky(lasts_ns=0)),
    ],
)
def test_partitions_are_drawn_as_the_client_does(parts: dict[str, Any], expected: Sticky | None) -> None:
    assert model(load=parts).sticky == expected


@pytest.mark.parametrize(
    ("commit", "expected"),
    [
        ("auto", 5 * NS_PER_SECOND),
        ("never", None),
        ("batch", TICK_NS),
        ({"interval": "70ms"}, 70 * NS_PER_MS),
        # 2 consumers that together do 12 / 4.5 ms commit after 1,000 each.
        ({"messages": 1000}, 750 * NS_PER_MS),
    ],
)
def test_commits_come_as_the_scenario_says(commit: Any, expected: int | None) -> None:
    assert model(consume={"commit": commit}).commit_ns == (expected if expected is None else pytest.approx(expected))


def test_capacity_is_slots_by_mean_delay_and_changes_with_it() -> None:
    """Nothing is faster than the clients are."""
    found = model(consume={"processing": {**PLAIN["consume"]["processing"], "changes": [{"at": "2s"}]}})

    assert found.capacity(0) == pytest.approx(12 / 0.0045)
    assert found.capacity(2 * NS_PER_SECOND) == FASTEST


def test_as_fast_as_possible_is_as_fast_as_the_model_is() -> None:
    found = model(load={"rate": "max"}, phases={"measure": "1s"})

    assert simulate(found).summary.sent_per_second == pytest.approx(FASTEST, rel=0.01)


def test_one_partition_has_one_slot() -> None:
    found = model(load={"partition": 7})

    assert (found.partitions, found.slots) == (1, 1)


@pytest.mark.parametrize(
    ("parts", "where"),
    [
        ({"load": "off", "consume": {}}, "load, consume"),
        ({"load": {"rate": "closed"}}, "load.rate"),
        ({"load": {"rate": {"replay": {"file": "a.txt"}}}}, "load.rate"),
        ({"consume": {"processing": {"delay": "1ms", "skip": 0.5}}}, "consume.processing"),
        ({"consume": {"processing": {"function": "a:b"}}}, "consume.processing"),
        ({"consume": {"rate": "1k/s"}}, "consume.rate"),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "consumer-0"}]}, "faults"),
        ({"phases": {"measure": {"messages": 100}}}, "phases.measure"),
        ({"phases": {"measure": "11m"}}, "phases"),
    ],
)
def test_what_the_model_does_not_know_is_refused(parts: dict[str, Any], where: str) -> None:
    """A simulation of something else would be worse than none."""
    with pytest.raises(BadInput) as caught:
        model(**parts)

    assert [fault.where for fault in caught.value.faults] == [where]


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(BadInput, match=r"20,000,000 messages or more"):
        simulate(model(load={"rate": "1M/s"}, phases={"measure": "30s"}))
