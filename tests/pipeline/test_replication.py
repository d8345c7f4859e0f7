"""Replicas and leaders over time, from what the cluster told of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.delivery.outages import FaultSpan
from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.pipeline.pressure.replication import follower_rows, next_leaders, replication_tables
from streamgauge.pipeline.read.silver import Span

SPAN = Span(0, 20 * NS_PER_SECOND, MeasureSpan(5 * NS_PER_SECOND, 15 * NS_PER_SECOND))
"""Five seconds of warm-up, ten that are measured, five of drain."""


def seen(second: float, partition: int, leader: int | None, in_sync: int) -> dict[str, Any]:
    at_ns = int((second + 5) * NS_PER_SECOND)
    told = {"topic": 0, "partition": partition, "leader": leader, "in_sync": in_sync, "replicas": 3, "error": None}
    return {"at_ns": at_ns, "answered_ns": at_ns + 2_000_000, **told}


def unanswered(second: float) -> dict[str, Any]:
    nothing = dict.fromkeys(("answered_ns", "topic", "partition", "leader", "in_sync", "replicas"))
    return {"at_ns": int((second + 5) * NS_PER_SECOND), **nothing, "error": "timed out"}


FINE = [seen(-5, 0, 1, 3), seen(-5, 1, 2, 3)]


def partitions(*events: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Of each partition: least in sync, seconds with too few, seconds without a leader, changes of the leader."""
    names = ("least_in_sync", "under_replicated_seconds", "leaderless_seconds", "leader_changes")
    return [tuple(row[name] for name in names) for row in replication_tables(events, [], SPAN)["partition_replicas"]]


def looks(*events: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("second", "under_replicated", "leaderless", "leaders_moved", "answered", "took_ms")
    return [tuple(row[name] for name in names) for row in replication_tables(events, [], SPAN)["replication"]]


def test_nothing_is_told_of_a_run_that_nobody_looked_at() -> None:
    assert replication_tables([], [], SPAN) == {"replication": [], "partition_replicas": []}


def test_where_nothing_happens_nothing_is_lacking() -> None:
    assert partitions(*FINE) == [(3, 0, 0, 0), (3, 0, 0, 0)]
    assert looks(*FINE) == [(-5, 0, 0, 0, True, 2.0)]


def test_a_broker_that_dies_is_seen_until_it_is_back() -> None:
    """It led partition 1 and kept a replica of both."""
    died = [seen(2, 0, 1, 2), seen(2, 1, None, 2), seen(3, 1, 3, 2)]
    back = [seen(6, 0, 1, 3), seen(6.5, 1, 3, 3), seen(8, 1, 2, 3)]

    assert partitions(*FINE, *died, *back) == [(2, 4.0, 0, 0), (2, 4.5, 1.0, 2)]
    assert looks(*FINE, *died, *back)[1:] == [
        (2, 2, 1, 0, True, 2.0), (3, 2, 0, 1, True, 2.0), (6, 1, 0, 0, True, 2.0), (6.5, 0, 0, 0, True, 2.0),
        (8, 0, 0, 1, True, 2.0),
    ]  # fmt: skip


def test_a_leader_that_comes_back_has_not_changed() -> None:
    assert partitions(*FINE, seen(1, 0, None, 3), seen(2, 0, 1, 3))[0] == (3, 0, 1.0, 0)


@pytest.mark.parametrize(("from_", "to", "seconds"), [(-3, -1, 0), (-2, 1, 1), (9, 12, 1), (-2, 12, 10), (11, 13, 0)])
def test_only_the_measure_phase_is_counted(from_: float, to: float, seconds: float) -> None:
    found = partitions(*FINE, seen(from_, 0, 2, 2), seen(to, 0, 1, 3))[0]

    assert found[1] == seconds
    assert found[0] == (2 if seconds else 3)
    assert found[3] == sum(0 <= each < 10 for each in (from_, to))


def test_what_is_lacking_at_the_end_lacks_until_the_end() -> None:
    assert partitions(*FINE, seen(7, 1, 1, 1))[1] == (1, 3.0, 0, 1)


def test_a_look_that_failed_changes_nothing_and_is_told() -> None:
    events = [*FINE, seen(2, 0, 1, 2), unanswered(3), seen(5, 0, 1, 3), seen(5, 1, 2, 3)]

    assert partitions(*events)[0] == (2, 3.0, 0, 0)
    assert looks(*events)[2] == (3, 1, 0, 0, False, None)


def test_the_order_of_the_rows_does_not_matter() -> None:
    events = [*FINE, seen(2, 0, None, 0), seen(3, 0, 2, 2), seen(6, 0, 2, 3)]

    assert partitions(*reversed(events)) == partitions(*events)


def controlled(second: float, controller: int | None) -> list[dict[str, Any]]:
    """A look at two brokers; of one that failed there is a row without a broker."""
    at_ns = int((second + 5) * NS_PER_SECOND)
    return [{"at_ns": at_ns, "controller": controller, "node": node} for node in ((1, 2) if controller else (None,))]


def test_each_look_tells_the_smallest_in_sync_set_and_the_controller_of_the_last_look_at_followers() -> None:
    events = [seen(2, 0, 1, 2), seen(3, 1, 2, 1), unanswered(4), seen(6, 1, 2, 3), seen(7, 0, 1, 3)]
    followers = [row for look in ((-4.5, 3), (2, 1), (5.5, None), (6.5, 2)) for row in controlled(*look)]

    rows = replication_tables([*FINE, *events], followers, SPAN)["replication"]

    assert [(row["second"], row["least_in_sync"], row["controller"]) for row in rows] == [
        (-5, 3, None), (2, 2, 1), (3, 1, 1), (4, 1, 1), (6, 2, None), (7, 3, 2),
    ]  # fmt: skip


def test_before_an_answer_no_in_sync_set_is_known() -> None:
    assert replication_tables([unanswered(-5)], [], SPAN)["replication"][0]["least_in_sync"] is None


_SECONDS = st.integers(-10, 30).map(lambda half: half / 2)


@given(
    st.lists(
        st.builds(seen, _SECONDS, st.integers(0, 2), st.none() | st.integers(1, 3), st.integers(0, 3)), max_size=9
    ),
    st.lists(_SECONDS.map(unanswered), max_size=2),
    st.lists(
        st.builds(controlled, _SECONDS, st.none() | st.integers(1, 3)),
        max_size=4,
        unique_by=lambda rows: rows[0]["at_ns"],
    ),
)
def test_it_is_what_a_look_back_from_each_look_finds(
    told: list[dict[str, Any]], failed: list[dict[str, Any]], looks: list[list[dict[str, Any]]]
) -> None:
    """One row of a partition in each look; what is known at a look is the last row of each partition until then."""
    events = list({(row["at_ns"], row["partition"]): row for row in (*told, *failed)}.values())
    followers = [row for look in looks for row in look]

    rows = replication_tables(events, followers, SPAN)["replication"]

    assert [row["second"] for row in rows] == sorted({(row["at_ns"] / NS_PER_SECOND) - 5 for row in events})
    for row in rows:
        until = [each for each in events if each["at_ns"] / NS_PER_SECOND - 5 <= row["second"]]
        last = {each["partition"]: each for each in sorted(until, key=lambda each: each["at_ns"]) if not each["error"]}
        before = [each for each in followers if each["at_ns"] / NS_PER_SECOND - 5 <= row["second"]]
        expected = {
            "under_replicated": len([each for each in last.values() if each["in_sync"] < 3]),
            "leaderless": len([each for each in last.values() if each["leader"] is None]),
            "least_in_sync": min([each["in_sync"] for each in last.values()]) if last else None,
            "controller": max(before, key=lambda each: each["at_ns"])["controller"] if before else None,
        }
        assert {name: row[name] for name in expected} == expected


def test_followers_are_told_in_the_order_of_their_looks() -> None:
    told = {"controller": 2, "behind": 4, "worst": 3, "topic": 0, "partition": 1, "error": None}
    nothing = dict.fromkeys(told) | {"node": None, "answered_ns": None, "error": "timed out"}
    events = [
        told | {"at_ns": 7 * NS_PER_SECOND, "answered_ns": 7 * NS_PER_SECOND + 2_000_000, "node": 2},
        nothing | {"at_ns": 8 * NS_PER_SECOND},
        told | {"at_ns": 7 * NS_PER_SECOND, "answered_ns": 7 * NS_PER_SECOND + 2_000_000, "node": 1},
    ]

    found = [(row["second"], row["node"], row["worst"], row["took_ms"]) for row in follower_rows(events, SPAN)]
    assert found == [(2, 1, 3, 2.0), (2, 2, 3, 2.0), (3, None, None, None)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], {}, id="nobody looked"),
        pytest.param(FINE, {}, id="nothing changed"),
        pytest.param([*FINE, seen(2, 0, 1, 2), seen(2, 1, 2, 2)], {}, id="replicas fell behind"),
        pytest.param([*FINE, seen(3.5, 1, 3, 2), seen(6, 1, 2, 3)], {(0, 0, 1): 1.5}, id="the first change counts"),
        pytest.param([*FINE, seen(2.5, 1, None, 2), seen(4, 1, 3, 2)], {(0, 0, 1): 2.0}, id="none, and then another"),
        pytest.param([*FINE, seen(2.5, 1, None, 2), seen(4, 1, 2, 2)], {(0, 0, 1): 2.0}, id="none, and then the same"),
        pytest.param([*FINE, seen(1, 1, None, 2), seen(4, 1, 2, 2)], {(0, 0, 1): 2.0}, id="there was none before"),
        pytest.param([*FINE, seen(1, 1, 3, 2), seen(2, 1, 2, 3)], {}, id="before it, and at its begin"),
        pytest.param([*FINE, seen(8, 1, 3, 2)], {(0, 0, 1): 6.0, (1, 0, 1): 0.5}, id="two faults at once"),
        pytest.param([*FINE, seen(9, 1, 3, 2)], {(1, 0, 1): 1.5}, id="after the span of the first"),
        pytest.param([seen(4, 0, 1, 3), seen(5, 0, 2, 3)], {}, id="nobody knows who led before"),
        pytest.param([*FINE, unanswered(2.5), seen(3, 0, 2, 2)], {(0, 0, 0): 1.0}, id="a look failed"),
        pytest.param(
            [*FINE, seen(5, 0, 2, 2), seen(3, 1, 3, 2)], {(0, 0, 0): 3.0, (0, 0, 1): 1.0}, id="each partition its own"
        ),
    ],
)
def test_the_next_leader_is_the_first_one_that_a_look_saw_after_the_begin(
    events: list[dict[str, Any]], expected: dict[tuple[int, int, int], float]
) -> None:
    """Two faults: from 2 s to 8 s, and from 7.5 s to 12 s of the measure phase."""
    spans = [FaultSpan(*(int((second + 5) * NS_PER_SECOND) for second in each)) for each in ((2, 8), (7.5, 12))]

    assert next_leaders(events, spans) == expected
