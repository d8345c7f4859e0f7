"""Runs whose end nobody could report: a producer that was killed, and a run that was killed as a whole."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession
from tests.pipeline.test_run import M0, M1, PHASES, SECOND, TIMES, Ints, Messages, Row, Writer, row, rows

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.folder.facts import RunFacts
from streamgauge.pipeline.pressure.backpressure import backpressure_rows
from streamgauge.pipeline.pressure.lives import Grid
from streamgauge.pipeline.pressure.outstanding import Outstanding
from streamgauge.pipeline.read.bronze import look
from streamgauge.pipeline.read.silver import Span
from streamgauge.pipeline.read.traits import span_of, traits_of
from streamgauge.pipeline.run import analyse

REPORTED, TAKEN_UP, CAME = 600, 1_000, 150
"""Of the messages that a producer took up the first were reported; of the others the first came."""
DEAD: Row = {"name": "producer-0", "role": "producer", "number": 0, "exit_code": -9, "declared_dead": True}


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """The pipeline uses the session of the suite."""
    return spark


def written(run: Writer, *, scheduled: bool, consumed: bool = True) -> Messages:
    """The rows of a run whose producer was killed."""
    messages = Messages(TAKEN_UP)
    if not scheduled:
        messages.due = np.full(TAKEN_UP, -1)
    # Those that did not come are not in the log.
    messages.partition[REPORTED + CAME :] = -1
    columns = {name: _cut(values, slice(0, REPORTED)) for name, values in messages.sent_columns().items()}
    run.events("sent", columns | ({} if scheduled else {"due_ns": None}), "producer-0")
    unreported: Ints = messages.seq[REPORTED:]
    due = messages.due[REPORTED:] if scheduled else None
    silent: Row = {"topic": 0, "producer": 0, "seq": unreported, "due_ns": due, "error": "fate_unknown"}
    run.events("sent", silent, "supervisor-producer-0")
    if consumed:
        columns = messages.received_columns(messages.seq[: REPORTED + CAME])
        run.events("received", columns | ({} if scheduled else {"due_ns": None}), "consumer-0")
        messages.lag(run, np.array([(messages.partition == number).sum() for number in range(3)]))
    return messages


def _cut(values: Any, piece: slice) -> Any:
    return values[piece] if isinstance(values, np.ndarray) else values


@pytest.mark.spark
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("scheduled", [True, False], ids=["rate", "max"])
def test_no_message_of_a_killed_producer_is_missing(run: Writer, scheduled: bool) -> None:
    """Every message that it took up is in a class; without a schedule the stamps of those that came say when."""
    messages = written(run, scheduled=scheduled)
    rate = "1k/s" if scheduled else "max"
    folder = run.facts(
        workers=[DEAD | {"next_seqs": [TAKEN_UP]}], scenario={"load": {"rate": rate}, "consume": {}}, **TIMES
    )
    analyse(folder)

    delivery = row(folder, "delivery", scope="run")
    wanted: Row = {"sent": 750, "acked": 600, "failed": 0, "unsent": 0, "fate_unknown": 400, "unaccounted": 0}
    wanted |= {"received": 750, "delivered_once": 600, "lost": 0, "undelivered": 0, "unrecorded": 0, "unknown": 250}
    wanted |= {"unacked_received": 150, "fate_unknown_received": 150}
    assert {name: delivery[name] for name in wanted} == wanted
    by_due = messages.due if scheduled else messages.sent
    measured = (by_due >= M0) & (by_due < M1)
    if not scheduled:
        measured[REPORTED + CAME :] = False
    delivery = row(folder, "delivery", scope="measure")
    assert delivery["fate_unknown"] == measured[REPORTED:].sum()
    assert delivery["fate_unknown_received"] == measured[REPORTED : REPORTED + CAME].sum()
    assert delivery["unknown"] == measured[REPORTED + CAME :].sum()
    assert delivery["unaccounted"] is None
    counted = row(folder, "throughput", scope="run")
    assert (counted["sent"], counted["acked"], counted["failed"]) == (750, 600, 0)
    assert counted["sent_bytes"] == counted["received_bytes"] == 75_000
    windows = rows(folder, "throughput", scope="window")
    assert windows[-1]["outstanding"] == rows(folder, "outstanding")[-1]["outstanding"] == 0
    assert rows(folder, "outstanding")[-1]["backlog"] == (0 if scheduled else None)
    for metric in ("ack_service", "end_to_end_service"):
        assert row(folder, "latency", metric=metric, scope="measure")["censored"] == 0
    came = Counter((each["class"], each["group"]) for each in rows(folder, "problems"))
    assert came == {("fate_unknown", None): 400, ("unknown", 0): 250, ("unacked_received", 0): 150}
    checks = {each["name"]: (each["about"], each["status"]) for each in rows(folder, "verdict")}
    assert checks["accounted"] == ("instrument", "pass")
    assert (checks["fate_unknown"], checks["failed"]) == (("system", "warn"), ("system", "pass"))
    assert (checks["unrecorded"], checks["undecided"][1]) == (("instrument", "pass"), "unknown")


@pytest.mark.spark
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("workers", "wanted"),
    [
        ([DEAD | {"next_seqs": [TAKEN_UP + 3]}], 3),
        ([DEAD | {"next_seqs": [TAKEN_UP - 3]}], 3),
        ([DEAD | {"members": [0, 1], "next_seqs": [TAKEN_UP, 5]}], 5),
        ([DEAD], None),
        ([DEAD | {"next_seqs": [TAKEN_UP]}, DEAD | {"name": "producer-1", "number": 1}], None),
        ([DEAD | {"members": [0, 1], "next_seqs": [TAKEN_UP]}], None),
        ([], None),
    ],
)  # fmt: skip
def test_rows_are_counted_against_what_producers_took_up(run: Writer, workers: list[Row], wanted: int | None) -> None:
    """Where no consumers, too; nothing is known of received ones then."""
    written(run, scheduled=True, consumed=False)
    folder = run.facts(workers=workers, groups=[], scenario={"load": {"rate": "1k/s"}}, **TIMES)
    analyse(folder)
    delivery = row(folder, "delivery", scope="run")
    names = ("sent", "fate_unknown", "fate_unknown_received", "unknown", "unaccounted")
    assert tuple(delivery[name] for name in names) == (600, 400, None, None, wanted)


@pytest.mark.parametrize(
    ("errors", "unsettled"),
    [
        ([None, None], False),
        ([None, "unsent"], False),
        ([None, "fate_unknown"], True),
        # The footers say no more than what the smallest and the largest are.
        (["_QUEUE_FULL", "unsent"], True),
    ],
)  # fmt: skip
def test_footers_tell_whether_messages_may_be_of_unknown_fate(
    run: Writer, errors: list[str | None], unsettled: bool
) -> None:
    """Then nothing is concluded from how many were sent and acknowledged."""
    sent_ns = [M0 if error is None else None for error in errors]
    run.events("sent", {"topic": 0, "producer": 0, "seq": [0, 1], "sent_ns": sent_ns, "error": errors})
    facts = RunFacts.model_validate_json(run.facts().facts.read_text(encoding="utf-8"))
    known = traits_of(facts, look(run.folder))
    assert (known.unsettled, known.all_acked) == (unsettled, not unsettled)


@pytest.mark.parametrize(
    ("most", "unreported", "wanted"),
    [(4, 6, True), (4, 7, None), (10, 0, True), (10, 1, None), (11, 0, False), (11, 9, False)],
)  # fmt: skip
def test_a_bound_is_not_proved_where_messages_of_unknown_fate_may_break_it(
    run: Writer, most: int, unreported: int, wanted: bool | None
) -> None:
    """Of the 10 that may be outstanding, they may have been some, at any time; other errors are in the replay."""
    scenario = {"load": {"rate": "1k/s"}, "consume": {}, "backpressure": {"credit": {"limit": 10, "poll": "1ms"}}}
    folder = run.facts(scenario=scenario)
    facts = RunFacts.model_validate_json(folder.facts.read_text(encoding="utf-8"))
    once, never = np.array([most]), np.array([0])
    groups = {0: Outstanding(once, never, once, once, never)}
    span = Span(0, SECOND, MeasureSpan(0, SECOND))
    failed = {"fate_unknown": unreported, "_MSG_TIMED_OUT": 2}
    decisions = look(folder).columns("decisions")

    (found,) = backpressure_rows(facts, decisions, failed, Grid(0, SECOND, 1), groups, span)

    assert (found["within_limit"], found["ambiguous"]) == (wanted, unreported + 2)


def spanned(run: Writer, last_ns: int | None, **facts: Any) -> MeasureSpan:
    """The measure phase of a run that was killed, or not, and recorded something last."""
    if last_ns is not None:
        columns: Row = {"consumer": 0, "poll": [0], "started_ns": 99 * SECOND, "returned_ns": last_ns, "count": 0}
        run.events("polls", columns)
    folder = run.facts(**facts)
    known = RunFacts.model_validate_json(folder.facts.read_text(encoding="utf-8"))
    span = span_of(known, look(folder))
    assert span.to_ns >= span.from_ns == 98 * SECOND
    return span.measure


@pytest.mark.parametrize(
    ("last_ns", "to_ns"),
    [
        (M0 + 2 * SECOND, M0 + 2 * SECOND + 1),
        (M1 - 1, M1),
        (M1 + SECOND, M1),
        # In the warm-up, and before anything was recorded: nothing was measured.
        (99 * SECOND + 1, M0),
        (None, M0),
    ],
)  # fmt: skip
def test_the_measure_phase_of_a_run_that_was_killed_ends_with_its_last_row(
    run: Writer, last_ns: int | None, to_ns: int
) -> None:
    assert spanned(run, last_ns, ending=None, phases=PHASES) == MeasureSpan(M0, to_ns)


@pytest.mark.parametrize("ending", ["finished", "interrupted", "failed"])
def test_the_phases_of_a_run_that_ended_are_what_it_says(run: Writer, ending: str) -> None:
    assert spanned(run, M0 + SECOND, ending=ending, phases=PHASES) == MeasureSpan(M0, M1)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("seconds", [-1, 2], ids=["warm-up", "measure"])
def test_a_run_that_was_killed_is_answered_from_what_is_there(run: Writer, seconds: int) -> None:
    """Its rate is of the time that it had, and blames nobody; killed in the warm-up, it has none."""
    messages = Messages(6_500)
    there = slice(0, int(np.searchsorted(messages.sent, M0 + seconds * SECOND)))
    run.events("sent", {name: _cut(values, there) for name, values in messages.sent_columns().items()})
    run.events("received", messages.received_columns(messages.seq[there]))
    folder = run.facts(ending=None, phases=PHASES)
    analyse(folder)

    measured = row(folder, "throughput", scope="measure")
    found = {each["name"]: each for each in rows(folder, "verdict")}
    rate, check = found["rate"], found["accounted"]
    if seconds < 0:
        assert (measured["sent"], measured["duration_ns"], rate["status"]) == (0, 0, "unknown")
        return
    # What was received last came later than what was sent last.
    assert measured["sent"] == 2_000
    assert 2 * SECOND <= measured["duration_ns"] < 2.2 * SECOND
    assert rate["status"] in {"warn", "unknown"}
    assert row(folder, "delivery", scope="run")["unaccounted"] is None
    assert (check["status"], "killed" in check["evidence"]) == ("unknown", True)
