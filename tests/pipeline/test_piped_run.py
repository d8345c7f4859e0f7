"""Every table of a run with a pipeline in the measured path, against numpy over the same messages."""

from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.piped import AGAIN, AHEAD, BEGIN, COUNT, FROM, MS, SECOND, TO, Ints, Piped, wall_ms

from streamgauge.domain.latency.buckets import bucket_of, upper_edge_ns
from streamgauge.pipeline.run import analyse

pytestmark = pytest.mark.spark

Row = dict[str, Any]
STAGES = ("stage_schedule", "stage_produce", "stage_wait", "stage_process", "stage_deliver")


@pytest.fixture(autouse=True)
def _session(spark: SparkSession) -> SparkSession:
    """The pipeline uses the session of the suite."""
    return spark


def rows(folder: Any, name: str, **wanted: Any) -> list[Row]:
    table = pq.read_table(folder.table(name)).to_pylist()
    return [row for row in table if all(row[key] == value for key, value in wanted.items())]


def row(folder: Any, name: str, **wanted: Any) -> Row:
    (found,) = rows(folder, name, **wanted)
    return found


def edges(run: Piped) -> list[Ints]:
    """The six edges of each message on the monotonic clock, as they are told."""
    told = [wall_ms(each) * MS - AHEAD for each in (run.appended, run.began, run.written)]
    return [run.due, run.sent, *told, run.received]


def rank(values: Ints, share: float) -> float:
    """A percentile as the buckets tell it, in ms."""
    place = np.sort(values)[int(np.ceil(len(values) * share)) - 1 :][:1]
    return min(int(upper_edge_ns(bucket_of(place))[0]), int(values.max())) / MS


def check_stage(found: Row, values: Ints) -> None:
    assert found["count"] == len(values)
    assert found["sum_ns"] == int(values.sum())
    assert found["mean_ms"] == pytest.approx(values.mean() / MS)
    assert (found["min_ms"], found["max_ms"]) == (values.min() / MS, values.max() / MS)
    assert [found[f"{name}_ms"] for name in ("p50", "p90", "p99")] == [rank(values, each) for each in (0.5, 0.9, 0.99)]


def test_micro_batches_of_a_pass(run: Any) -> None:
    made = Piped()
    folder = made.write(run, {"job": {"pass": {}}, "engine": {"micro-batch": {"every": "250ms"}}})
    analyse(folder)

    measured = (made.due >= FROM) & (made.due < TO)
    at = [each[measured] for each in edges(made)]
    found = rows(folder, "waterfall")
    assert [each["stage"] for each in found] == [*STAGES, "stage_all"]
    assert [(each["from"], each["to"]) for each in found] == [
        ("due", "sent"), ("sent", "source"), ("source", "batch"), ("batch", "sink"), ("sink", "received"),
        ("due", "received"),
    ]  # fmt: skip
    for number, each in enumerate(found[:-1]):
        check_stage(each, at[number + 1] - at[number])
        shown = row(folder, "latency", metric=each["stage"], scope="measure")
        assert (shown["count"], shown["p99_ms"], shown["max_ms"]) == (each["count"], each["p99_ms"], each["max_ms"])
    check_stage(found[-1], at[5] - at[0])
    assert found[-1]["sum_ns"] == sum(each["sum_ns"] for each in found[:-1])
    assert sum(each["share"] for each in found[:-1]) == pytest.approx(1)
    assert [each["error_ms"] for each in found] == [0, 1, 1, 1, 1, 0]
    assert {(each["null_count"], each["reason"]) for each in found} == {(0, None)}
    seconds = {each["second"] for each in rows(folder, "latency", metric="stage_wait", scope="window")}
    assert seconds == {*range(-2, 4)}

    again = len(made.lost_batch)
    delivery = row(folder, "delivery", scope="run")
    assert (delivery["acked"], delivery["received"]) == (COUNT, COUNT + again)
    assert (delivery["delivered_once"], delivery["duplicate_producer"], delivery["lost"]) == (COUNT - again, again, 0)
    assert row(folder, "pipeline_delivery", scope="run") == {
        "scope": "run", "group": 0, "expected": None, "dropped": None, "unexpected": None, "duplicated_at_source": 0,
        "duplicated_by_pipeline": again,
    }  # fmt: skip
    end_to_end = row(folder, "latency", metric="end_to_end_response", scope="measure")
    assert end_to_end["max_ms"] == (made.received - made.due)[measured].max() / MS

    _check_bounds(folder, made, measured)
    _check_own_account(folder, made, again)
    _check_lag(folder, made)


def _check_bounds(folder: Any, made: Piped, measured: Any) -> None:
    """Each stage was as long as its interval says: to the nanosecond, and had the message been sent when it was due.

    Or passed its first edge then, and its second one as it did.
    """
    exact = [each[measured] for each in (made.due, made.sent, made.appended, made.began, made.written, made.received)]
    late = exact[1] - exact[0]
    punctual = [exact[0], *(each - late for each in exact[1:])]
    for number, name in enumerate([*STAGES, "stage_all"]):
        begin, end = (number, number + 1) if number < len(STAGES) else (0, 5)
        found = row(folder, "bounds", metric=name)
        assert found["known"]
        for begins, ends in ((exact, exact), (punctual, punctual), (punctual, exact)):
            values = ends[end] - begins[begin]
            told = {"min": values.min() / MS, "mean": values.mean() / MS, "max": values.max() / MS}
            told |= {f"p{share}": rank(values, share / 100) for share in (50, 90, 99)}
            for figure, value in told.items():
                low, high = found[f"{figure}_ms"], found[f"{figure}_high_ms"]
                assert low * 0.99 <= value <= high * 1.01, (name, figure)
                assert high - low <= 3.2 + 0.05 * value, (name, figure)


def _check_own_account(folder: Any, made: Piped, again: int) -> None:
    """What the query said of itself, in every table."""
    batches = rows(folder, "query_batches")
    assert len(batches) == int(made.batch.max()) + 2
    twice = [each for each in batches if each["batch"] == AGAIN]
    assert [(each["start"], each["source"], each["committed"]) for each in twice] == [
        (0, "checkpoint", False),
        (1, "told", True),
    ]
    first = batches[0]
    assert first["second"] == pytest.approx((BEGIN - FROM + 250 * MS) / SECOND, abs=0.001)
    assert (first["rows"], first["offsets"], first["since_ms"]) == (int((made.batch == 0).sum()),) * 2 + (None,)
    assert (batches[1]["since_ms"], first["duration_ms"], first["watermark_behind_ms"]) == (250, 100, 5_000)

    whole = row(folder, "pipeline")
    within = [each for each in batches if 0 <= each["second"] < 4]
    assert {name: whole[name] for name in ("job", "does", "engine", "sink", "starts", "deaths", "down_s")} == {
        "job": "pass", "does": "same", "engine": "micro-batch", "sink": "topic", "starts": 2, "deaths": 1,
        "down_s": 0.7,
    }  # fmt: skip
    assert whole["batches"] == len(within)
    assert whole["batch_rows_mean"] == pytest.approx(np.mean([each["rows"] for each in within]))
    assert whole["batch_max_ms"] == max(each["duration_ms"] for each in within)
    assert (whole["duplicated_by_pipeline"], whole["duplicated_at_source"]) == (again, 0)
    assert whole["late_rows"] == sum(each["late_rows"] for each in batches)
    assert whole["checkpoint_bytes_max"] == 1_000 + int(made.batch.max())
    assert whole["state_rows_max"] == 7 * int(made.batch.max())
    assert (whole["committed"], whole["end"], whole["committed_lag"]) == (COUNT, COUNT, 0)
    assert whole["cpu_cores"] == pytest.approx(0.75)
    inside = [
        max(0.0, min(each["second"] + each["duration_ms"] / 1e3, 4) - max(each["second"], 0))
        * each["rows"] / each["duration_ms"] * 1e3
        for each in batches
    ]  # fmt: skip
    assert whole["cpu_us_per_message"] == pytest.approx(0.75 * 4e6 / sum(inside))

    life = rows(folder, "query")
    assert [(each["event"], each["starting_s"], each["down_s"]) for each in life] == [
        ("started", None, None), ("ready", 2.0, None), ("died", None, None), ("started", None, None),
        ("ready", 0.6, 0.7), ("ended", None, None),
    ]  # fmt: skip
    driver = row(folder, "executors", scope="measure", executor="driver")
    assert (driver["tasks"], driver["gc_share"], driver["busy_cores"]) == (30, 0.05, 0.8)
    assert driver["cpu_cores"] == pytest.approx(0.5)
    assert row(folder, "executors", scope="measure", executor="0")["cpu_cores"] == pytest.approx(0.25)
    looked = row(folder, "lookups", scope="run")
    assert (looked["count"], looked["failed"], looked["error"]) == (12, 1, "no such file")
    assert looked["max_ms"] == 10 * 10 + 1
    assert looked["fresh_max_ms"] == 10 * 10 + 1 + 30
    assert row(folder, "lookups", scope="measure")["count"] == 4


def _check_lag(folder: Any, made: Piped) -> None:
    """The query as a group: its lag, and how it recovered; what is outstanding is that of the readers."""
    behind = [each["committed_lag"] for each in rows(folder, "lag", scope="group", group=1)]
    assert behind == [0] * 6 + [1_500] * 2 + [0] * 4
    recovered = rows(folder, "recovery", quantity="committed_lag", group=1)
    assert [(each["peak"], each["floor"]) for each in recovered] == [(1_500, 0)]
    assert recovered[0]["p99_after_ms"] is not None
    assert {each["group"] for each in rows(folder, "outstanding")} == {0}
    for each in rows(folder, "outstanding"):
        edge = FROM + round(each["second"] * 1_000) * MS
        assert each["outstanding"] == (made.sent <= edge).sum() - (made.received <= edge).sum()


def test_a_subset_in_real_time_has_no_batches_and_an_oracle(run: Any) -> None:
    """What the oracle drops is in no class, and what comes all the same is counted."""
    made = Piped()
    expected = made.seq % 4 > 0
    gone = np.flatnonzero(~expected & (made.seq > 100))
    missing = np.flatnonzero(expected)[-7:]
    folder = made.write(
        run,
        {"job": {"filter": {"contains": "x"}}, "engine": {"real-time": {"batch": "60s"}}},
        expected=expected,
        gone=np.concatenate([gone, missing]),
    )
    analyse(folder)

    unexpected = set(np.flatnonzero(~expected)) - set(gone) | {each for each in made.lost_batch if not expected[each]}
    through = row(folder, "pipeline_delivery", scope="run")
    assert (through["expected"], through["dropped"]) == (expected.sum(), (~expected).sum())
    assert through["unexpected"] == len(unexpected)
    delivery = row(folder, "delivery", scope="run")
    again = int(expected[made.lost_batch].sum())
    assert (delivery["duplicate_producer"], delivery["lost"], delivery["unknown"]) == (again, 7, 0)
    assert delivery["delivered_once"] == expected.sum() - 7 - again
    assert rows(folder, "outstanding") == []
    assert row(folder, "latency", metric="end_to_end_response", scope="measure")["censored"] == 7
    found = {each["stage"]: each for each in rows(folder, "waterfall")}
    assert found["stage_wait"]["reason"] == "messages are passed on as they come, in no batch"
    assert (found["stage_process"]["from"], found["stage_process"]["to"]) == ("source", "sink")
    stays = (made.due >= FROM) & (made.due < TO) & ~np.isin(made.seq, [*gone, *missing])
    back = np.isin(made.seq, made.lost_batch) & np.isin(made.seq, [*gone, *missing]) & (made.due >= FROM)
    assert not (back & stays).any()
    assert found["stage_all"]["count"] == stays.sum() + back.sum()
    assert sum(found[name]["sum_ns"] or 0 for name in STAGES) == found["stage_all"]["sum_ns"]


def test_outputs_that_stand_for_several_messages_tell_nothing_of_loss(run: Any) -> None:
    made = Piped()
    folder = made.write(run, {"job": "count", "engine": "micro-batch", "sink": {"table": "counts"}}, gone=made.seq[::2])
    analyse(folder)

    delivery = row(folder, "delivery", scope="run")
    untold = (
        "delivered_once",
        "lost",
        "undelivered",
        "unknown",
        "expired",
        "duplicate_producer",
        "reordered",
        "corrupt",
    )
    assert {delivery[name] for name in untold} == {None}
    assert delivery["received"] == COUNT // 2 + len(made.lost_batch)
    # Every output is timed, also those that come again.
    measured = (made.due >= FROM) & (made.due < TO)
    outputs = (measured & (made.seq % 2 > 0)).sum() + measured[made.lost_batch].sum()
    assert row(folder, "latency", metric="end_to_end_response", scope="measure")["count"] == outputs
    assert (row(folder, "pipeline")["sink"], row(folder, "pipeline")["duplicated_by_pipeline"]) == ("table", None)
    assert rows(folder, "outstanding") == []
    assert {each["outstanding"] for each in rows(folder, "throughput", scope="window")} == {None}
