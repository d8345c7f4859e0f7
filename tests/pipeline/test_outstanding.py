"""What was outstanding, and how far behind consumers were: against histories that are told again in plain Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.pipeline.histories import EVERY, FROM, GROUPS, MS, TO, History, Told

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.pipeline.pressure.lives import MOST_INTERVALS, NEVER, Grid
from streamgauge.pipeline.pressure.outstanding import oldest
from streamgauge.pipeline.read.silver import Span
from streamgauge.pipeline.run import analyse

pytestmark = pytest.mark.spark

CREDIT = {"credit": {"limit": 40, "poll": "1ms"}}


@pytest.fixture(autouse=True)
def _session(spark: SparkSession) -> SparkSession:
    """The pipeline uses the session of the suite."""
    return spark


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition has several blocks of offsets."""
    monkeypatch.setattr("streamgauge.pipeline.pressure.lives.BLOCK_BITS", 4)


def rows(folder: Any, name: str, **wanted: Any) -> list[dict[str, Any]]:
    table = pq.read_table(folder.table(name)).to_pylist()
    return [row for row in table if all(row[key] == value for key, value in wanted.items())]


@pytest.mark.parametrize(
    ("seed", "healthy", "processing", "policy"),
    [
        (1, True, True, CREDIT),
        pytest.param(2, True, False, CREDIT, marks=pytest.mark.soak),
        (3, False, True, CREDIT),
        pytest.param(4, False, True, CREDIT, marks=pytest.mark.soak),
        (5, False, False, CREDIT),
        (6, False, True, None),
        pytest.param(7, True, True, None, marks=pytest.mark.soak),
    ],
)
def test_the_replay_is_what_history_tells(
    run: Any, seed: int, healthy: bool, processing: bool, policy: dict[str, Any] | None
) -> None:
    """Every column of every interval and group, to the message and to the nanosecond."""
    history = History(seed, healthy, processing)
    folder = history.write(run, policy)
    analyse(folder)

    sent, shown = history.sent, history.shown()
    most: list[tuple[int, int]] = []
    for group in range(GROUPS):
        told = Told(history, group)
        found = rows(folder, "outstanding", group=group)
        assert len(found) == (TO - FROM) // EVERY + 3 + 6
        begin = -1
        for row in found:
            end = FROM + round(row["second"] * 1_000) * MS
            assert (end - FROM) % EVERY == 0
            wanted = told.at(end)
            assert {name: row[name] for name in wanted} == pytest.approx(wanted)
            assert row["due"] == sum(each["due_ns"] <= end for each in sent)
            let_go = [max(each["due_ns"], each["admitted_ns"]) for each in sent if each["admitted_ns"] is not None]
            assert row["admitted"] == (sum(at <= end for at in let_go) if policy else row["due"])
            # What is of unknown fate was taken up: it waits for nobody, whether it came or not.
            handed = [each["sent_ns"] for each in sent if each["sent_ns"] is not None]
            handed += [shown[each["producer"], each["seq"]] for each in history.silent(came=True)]
            handed += [each["due_ns"] for each in history.silent(came=False)]
            assert row["backlog"] == row["due"] - sum(at <= end for at in handed)
            exact = (row["outstanding_max"], row["credits_used_max"])
            assert exact == (told.most(begin, end) if policy else (None, None))
            most.append(told.most(begin, end))
            begin = end
        # All that is asked about happens in it.
        assert found[-1]["sent"] == len(told.counted) > 150
        if group == 0:
            windows = rows(folder, "throughput", scope="window")
            ends = [FROM + (each["second"] + 1) * 1_000 * MS for each in windows]
            # What happens at an end belongs to the next.
            assert [each["outstanding"] for each in windows] == [told.at(end - 1)["outstanding"] for end in ends]
    if policy:
        (row,) = rows(folder, "backpressure")
        assert row["outstanding_max"] == max(each[0] for each in most)
        assert row["credits_used_max"] == max(each[1] for each in most)
        unreported = len(history.silent(came=False))
        within = row["credits_used_max"] <= 40
        assert row["within_limit"] == (None if within and row["credits_used_max"] + unreported > 40 else within)
        errors = [each["error"] for each in sent]
        # What came was sent, for certain: its credit came back when it was processed.
        assert row["ambiguous"] == errors.count("_MSG_TIMED_OUT") + unreported
        assert row["returned"] == errors.count("MSG_SIZE_TOO_LARGE")
    else:
        assert rows(folder, "backpressure") == []


def test_histories_have_what_they_are_for() -> None:
    """Those that are not healthy have every oddity; those that are have none."""
    odd, healthy = History(3, healthy=False), History(1, healthy=True)
    for history in (odd, healthy):
        told = Told(history, 0)
        deliveries = [(row["group"], row["partition"], row["offset"]) for row in history.received]
        stamped = [row for row in history.received if row["producer"] is not None]
        recorded = {(row["producer"], row["seq"]) for row in history.sent}
        seen = {
            "again": len(deliveries) != len(set(deliveries)),
            "foreign": any(row["producer"] is None for row in history.received),
            "errors": len({row["error"] for row in history.sent}) == 5,
            "silent": min(len(history.silent(came=came)) for came in (True, False)) > 1,
            "aborted": any(row["transaction"] == 1 for row in history.sent),
            "unrecorded": not {(row["producer"], row["seq"]) for row in stamped} <= recorded,
            "lost": any(message not in told.done for message in told.counted),
        }  # fmt: skip
        assert set(seen.values()) == {history is odd}, seen
        # Processed out of order, and some never.
        assert any(told.passed[message] > told.done[message] for message in told.counted if message in told.done)
        assert any(row["processed_ns"] is None for row in history.received)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40) | st.none(), st.integers(0, 10**6)), max_size=60))
def test_the_oldest_is_the_smallest_of_all_that_wait(ranges: list[tuple[int, int | None, int]]) -> None:
    """Of ranges of any lengths, done before they were sent and never, at every edge."""
    grid = Grid(0, 10, 31)
    begins, ends, firsts = (list(each) for each in zip(*ranges, strict=True)) if ranges else ([], [], [])
    ends = [None if end is None else min(end, 30) for end in ends]
    done = [-1 if end is None else end for end in ends]
    waited = {"sent": np.array(begins, int), "done": np.array(done, int), "first_ns": np.array(firsts, int)}

    lives = [(begin, 31 if end is None else end, first) for begin, end, first in zip(begins, ends, firsts, strict=True)]
    wanted = [min((first for begin, end, first in lives if begin <= edge < end), default=NEVER) for edge in range(31)]
    assert oldest(waited, grid).tolist() == wanted


@given(st.integers(50, 60_000), st.integers(0, 10**5), st.integers(1, 10**6), st.integers(0, 10**5))
def test_intervals_cover_the_run_and_are_not_too_many(
    every_ms: int, warmup_ms: int, measure_ms: int, rest_ms: int
) -> None:
    """Edges lie at whole multiples of the interval from the begin of the measure phase."""
    begin = 7 * MS + 13
    measure = MeasureSpan(begin + warmup_ms * MS, begin + (warmup_ms + measure_ms) * MS)
    span = Span(begin, measure.to_ns + rest_ms * MS, measure)
    grid = Grid.over(span, every_ms * MS)

    edges = grid.edges_ns
    assert len(edges) == grid.count <= MOST_INTERVALS + 2
    assert grid.length_ns % (every_ms * MS) == 0
    assert set(((edges - measure.from_ns) % grid.length_ns).tolist()) == {0}
    assert grid.origin_ns <= span.from_ns
    assert edges[-1] >= span.to_ns
    assert (np.diff(edges) == grid.length_ns).all()


def test_a_policy_shows_its_wait_apart_and_selects_service_time_by_when_messages_were_sent(run: Any) -> None:
    """Response time is by due time all the same; schedule delay is from due, and without the wait beside."""
    history = History(1, healthy=True)
    folder = history.write(run, CREDIT)
    analyse(folder)

    def figures(metric: str) -> tuple[Any, ...]:
        (row,) = rows(folder, "latency", metric=metric, scope="measure")
        return row["selected_by"], row["count"], row["min_ms"], row["max_ms"], row["reason"]

    def wanted(selected: str, values: dict[str, list[int]]) -> tuple[Any, ...]:
        chosen = [value for at, value in zip(values[selected], values["value"], strict=True) if FROM <= at < TO]
        return selected, len(chosen), min(chosen) / MS, max(chosen) / MS, None

    sent = history.sent
    times = {"due": [row["due_ns"] for row in sent], "sent": [row["sent_ns"] for row in sent]}
    let_go = [max(row["due_ns"], row["admitted_ns"]) for row in sent]
    for metric, selected, value in (
        ("throttle", "sent", [at - row["due_ns"] for at, row in zip(let_go, sent, strict=True)]),
        ("own_schedule_delay", "sent", [row["sent_ns"] - at for at, row in zip(let_go, sent, strict=True)]),
        ("schedule_delay", "due", [row["sent_ns"] - row["due_ns"] for row in sent]),
        ("ack_response", "due", [row["acked_ns"] - row["due_ns"] for row in sent]),
        ("ack_service", "sent", [row["acked_ns"] - row["sent_ns"] for row in sent]),
    ):
        assert figures(metric) == wanted(selected, times | {"value": value}), metric
    mine = [row for row in history.received if row["group"] == 0]
    times = {"due": [row["due_ns"] for row in mine], "sent": [row["sent_ns"] for row in mine]}
    assert figures("end_to_end_service") == wanted(
        "sent", times | {"value": [row["received_ns"] - row["sent_ns"] for row in mine]}
    )
    # The two selections differ, or this would prove nothing; windows and partitions follow the same.
    assert figures("ack_service")[1] != figures("ack_response")[1]
    for metric, at in (("ack_service", "sent_ns"), ("ack_response", "due_ns")):
        for second in (-1, 0, 1):
            counted = sum((row[at] - FROM) // (1_000 * MS) == second for row in sent)
            found = rows(folder, "latency", metric=metric, scope="window", second=second)
            assert sum(row["count"] for row in found) == counted
        parts = rows(folder, "latency", metric=metric, scope="partition")
        assert sum(row["count"] for row in parts) == figures(metric)[1]


def test_without_a_policy_nothing_is_held_back(run: Any) -> None:
    """Nobody waits for it, and service time is of the messages that were due."""
    folder = History(1, healthy=True).write(run, None)
    analyse(folder)

    for metric in ("throttle", "own_schedule_delay"):
        (row,) = rows(folder, "latency", metric=metric)
        assert (row["count"], row["reason"]) == (0, "no backpressure")
    assert {row["selected_by"] for row in rows(folder, "latency", metric="ack_service")} == {"due"}


def test_a_run_of_before_is_still_answered(run: Any, tmp_path: Path) -> None:
    """Its parts lack the column, its folder the kinds, and its scenario the words."""
    history = History(1, healthy=True)
    folder = history.write(run, None)
    (part,) = folder.events.glob("sent/*/*.parquet")
    pq.write_table(pq.read_table(part, partitioning=None).drop_columns(["admitted_ns"]), part)
    facts = (
        folder.facts.read_text().replace('"lag":{"every":"100ms"}', '"name":"x"').replace('"backpressure":null,', "")
    )
    assert "every" not in facts
    folder.facts.write_text(facts)
    analyse(folder)

    found = rows(folder, "outstanding", group=0)
    # Where lag was not sampled, a second is an interval.
    assert [row["second"] for row in found] == [0.0, 1.0, 2.0]
    assert found[-1]["sent"] == len(history.sent)
    assert [rows(folder, name) for name in ("lag", "backpressure", "faults", "recovery")] == [[], [], [], []]
    assert {path.stem for path in folder.tables.iterdir()} == set(TABLES)
