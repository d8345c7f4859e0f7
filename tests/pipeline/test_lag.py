"""Lag as it was sampled, faults and recovery, and what a policy did: from rows to tables."""

from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamgauge.domain.events import EVENTS
from streamgauge.pipeline.pressure.lag import ENDS
from streamgauge.pipeline.read.bronze import look
from streamgauge.pipeline.run import analyse

pytestmark = pytest.mark.spark

MS = 1_000_000
SECOND = 1_000 * MS
BEGIN, FROM, TO, ENDED = (at * SECOND for at in (100, 102, 122, 125))
EVERY = 200 * MS
PAUSED, RESUMED = FROM + 5 * SECOND, FROM + 8 * SECOND
RATE = 100
"""Messages a second, of which 200 a second can be processed."""
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _session(spark: SparkSession) -> SparkSession:
    """The pipeline uses the session of the suite."""
    return spark


def rows(folder: Any, name: str, **wanted: Any) -> list[Row]:
    table = pq.read_table(folder.table(name)).to_pylist()
    return [row for row in table if all(row[key] == value for key, value in wanted.items())]


def paused_run(run: Any, **facts: Any) -> Any:
    """One message every 10 ms, processed 5 ms after it was sent; consumers are paused for three seconds."""
    count = (TO - BEGIN) // (10 * MS)
    seq = np.arange(count)
    due = BEGIN + seq * 10 * MS
    done = due + 5 * MS
    # What is due during the pause is processed one after the other from its end on.
    free = RESUMED
    for place in np.flatnonzero((due >= PAUSED) & (due < RESUMED + 10 * SECOND)).tolist():
        done[place] = max(done[place], free + 5 * MS)
        free = done[place]
    common = {"topic": 0, "producer": 0, "seq": seq, "partition": 0, "offset": seq, "due_ns": due, "sent_ns": due}
    run.events("sent", common | {"acked_ns": due + MS, "size_bytes": 9}, "producer-0")
    times = {"received_ns": done - MS, "started_ns": done - MS, "processed_ns": done, "size_bytes": 9, "intact": True}
    run.events("received", common | times | {"group": 0, "consumer": 0, "poll": seq}, "consumer-0")
    marks = {"at_ns": ENDED, "topic": 0, "group": 0, "partition": [0], "start": 0}
    run.events("lag", marks | {"moment": "start", "committed": 0, "end": 0}, "start")
    final = {"moment": "final", "committed": count, "position": count, "end": count}
    run.events("lag", marks | final, "final")
    at = np.arange(BEGIN, TO, EVERY)
    sent, over = (np.searchsorted(np.sort(each), at, side="right") for each in (due, done))
    sampled = {"at_ns": at, "moment": "sample", "topic": 0, "group": 0, "partition": 0, "position": over}
    run.events("lag", sampled | {"committed": over, "end": sent}, "lag")
    run.events(
        "faults",
        {
            "at_ns": [PAUSED, RESUMED, RESUMED + SECOND], "kind": "pause", "target": ["consumer-0", "consumer-0", "x"],
            "action": ["begin", "end", "begin"], "error": [None, None, "no such process"],
        },
    )  # fmt: skip
    phases = [("warmup", BEGIN, FROM), ("measure", FROM, TO), ("drain", TO, ENDED)]
    return run.facts(
        **{
            "scenario": {"load": {"rate": "100/s"}, "consume": {"processing": {}}, "lag": {"every": "200ms"}},
            "phases": [{"name": name, "from_ns": begin, "to_ns": end} for name, begin, end in phases],
            "drain_ended_ns": ENDED,
        }
        | facts
    )


def test_a_pause_is_seen_from_its_begin_to_its_recovery(run: Any) -> None:
    """Three seconds of 100 messages wait; they drain by 100/s, so after three seconds all is as before."""
    folder = paused_run(run)
    analyse(folder)

    assert [(row["second"], row["action"], row["error"]) for row in rows(folder, "faults")] == [
        (5.0, "begin", None), (8.0, "end", None), (9.0, "begin", "no such process"),
    ]  # fmt: skip
    found = {row["quantity"]: row for row in rows(folder, "recovery")}
    assert found.keys() == {"outstanding", "committed_lag"}
    for row in found.values():
        assert (row["cause"], row["target"], row["group"]) == ("pause", "consumer-0", 0)
        assert (row["began_second"], row["ended_second"], row["interval_ms"]) == (5.0, 8.0, pytest.approx(200.0))
        # At the ends of intervals a message was just sent, so one is outstanding; one interval has twenty of them.
        assert (row["floor"], row["tolerance"]) == (1.0, pytest.approx(20.0))
        assert row["detected_s"] == pytest.approx(0.4)
        assert row["at_end"] == row["peak"] == 301.0
        # Twenty remain after 2.8 s.
        assert row["time_to_drain_s"] == pytest.approx(2.8)
        assert row["drain_rate_per_second"] == pytest.approx(300 / 2.8)
        assert row["peak_slope_per_second"] == pytest.approx(100.0)
        assert row["p99_before_ms"] == pytest.approx(4.0, rel=1 / 256)
        assert row["p99_during_ms"] == pytest.approx(2_980, rel=0.02)
        # What is due at the end of the pause waits for 300 messages of 5 ms; one in a hundred is more.
        assert row["p99_after_ms"] == pytest.approx(1_500 - 14 * 5, rel=0.02)
        # The first message of the pause waits for 3 s, later ones for less and less: the medians of six seconds.
        assert row["latency_debt_ms_s"] == pytest.approx(1_000 * (2.75 + 2.25 + 1.75 + 1.25 + 0.75 + 0.25), rel=0.02)
    (exact,) = [row for row in rows(folder, "outstanding") if row["second"] == 8.0]
    assert (exact["outstanding"], exact["time_lag_ms"]) == (301, 3_000.0)
    assert exact["outstanding_max"] is None


def test_recovery_is_what_is_seen_under_load(run: Any) -> None:
    """What drains only because nothing is sent any more has not recovered."""
    later = [("warmup", BEGIN, FROM), ("measure", FROM, RESUMED + SECOND), ("drain", RESUMED + SECOND, ENDED)]
    folder = paused_run(run, phases=[{"name": name, "from_ns": begin, "to_ns": end} for name, begin, end in later])
    analyse(folder)

    assert [row["time_to_drain_s"] for row in rows(folder, "recovery")] == [None, None]


def test_samples_are_told_by_group_and_by_partition(run: Any) -> None:
    """Two groups and two partitions; a commit that is not known, a position ahead of the end, a sample that failed."""
    folder = paused_run(run, groups=[{"id": 0, "name": "a"}, {"id": 1, "name": "b"}])
    for path in (folder.events / "lag").glob("worker=lag/*"):
        path.unlink()
    run.events(
        "lag",
        {
            "at_ns": [FROM + at * EVERY for at in (0, 0, 0, 0, 1, 1, 1, 1)], "moment": "sample", "topic": 0,
            "group": [0, 0, 1, 1] * 2, "partition": [0, 1] * 4, "end": [10, 20] * 2 + [None] * 4,
            "committed": [4, 15, 10, None] + [None] * 4, "position": [12, 18, 1, 2] * 2,
            "error": [None] * 4 + ["timed out"] * 4,
        },
        "lag",
    )  # fmt: skip
    analyse(folder)

    names = ("second", "group", "end", "committed_lag", "position_lag", "worst_committed_lag", "error")
    assert [tuple(row[name] for name in names) for row in rows(folder, "lag", scope="group")] == [
        (0.0, 0, 30, 11, 2, 6, None),
        (0.0, 1, 30, None, 27, None, None),
        (0.2, 0, None, None, None, None, "timed out"),
        (0.2, 1, None, None, None, None, "timed out"),
    ]
    assert [
        tuple(row[name] for name in ("group", "partition", "end", "committed_lag", "position_lag"))
        for row in rows(folder, "lag", scope="partition")[:4]
    ] == [(0, 0, 10, 6, 0), (0, 1, 20, 5, 2), (1, 0, 10, 0, 9), (1, 1, 20, None, 18)]


def test_delivery_is_judged_by_how_it_ended_and_not_by_samples(run: Any) -> None:
    """Samples say other positions and ends; parts of samples alone are not even read."""
    folder = paused_run(run)
    analyse(folder)

    (delivery,) = rows(folder, "delivery", scope="run")
    assert (delivery["delivered_once"], delivery["lost"], delivery["unknown"]) == (2_200, 0, 0)
    for scope in ("group", "partition"):
        seconds = [row["second"] for row in rows(folder, "lag", scope=scope)]
        assert seconds == sorted(seconds)
    bronze = look(folder)
    kept = bronze.only("lag", "moment", ENDS)
    assert [part.path.parent.name for part in kept.parts["lag"]] == ["worker=final", "worker=start"]
    assert bronze.rows("lag") - kept.rows("lag") == (TO - BEGIN) // EVERY
    assert kept.parts.keys() == EVENTS.keys()


@pytest.mark.parametrize("died", [True, False])
def test_a_policy_that_pauses_is_told_by_its_decisions(run: Any, died: bool) -> None:
    """Pauses are counted in the whole run; for how long, in the measure phase."""
    at = [FROM - SECOND, FROM + SECOND, FROM + 3 * SECOND, FROM + 4 * SECOND, TO - SECOND]
    run.events(
        "decisions",
        {"at_ns": at, "policy": "hysteresis", "lag": 9, "reason": ["pause", "resume", "pause", "resume", "pause"]},
    )
    ended = {"exit_code": -9, "ended_ns": TO - 2 * SECOND} if died else {"exit_code": 0, "ended_ns": ENDED}
    folder = paused_run(
        run,
        scenario={
            "load": {"rate": "100/s"}, "consume": {"processing": {}},
            "backpressure": {"hysteresis": {"max_lag": 20, "resume_lag": None, "poll": "200ms"}},
        },
        workers=[{"name": "controller", "role": "controller", "number": 0, **ended}],
    )  # fmt: skip
    analyse(folder)

    (row,) = rows(folder, "backpressure")
    assert (row["policy"], row["limit"], row["resume"], row["poll_ms"]) == ("hysteresis", 20, 10, 200.0)
    assert (row["decisions"], row["pauses"], row["paused_s"]) == (5, 3, 1.0 + 1.0 + 1.0)
    assert (row["outstanding_max"], row["max_second"]) == (301, 8.0)
    assert (row["within_limit"], row["returned"], row["ambiguous"]) == (None, None, None)
    assert row["controller_died_second"] == (18.0 if died else None)
