"""Checks of the record: whether the run ended normally, and whether all rows are available."""

from collections.abc import Sequence
from typing import Final

from streamgauge.domain.folder.facts import WorkerFacts
from streamgauge.domain.text.numbers import listed, milliseconds, whole
from streamgauge.verdict.check import Check, Status, passed, unknown
from streamgauge.verdict.evidence import Evidence, Row

RECORD_TIME_MS: Final = 1.0
"""Resolution of record timestamps."""
FEW_NEGATIVE: Final = 0.01

_LEFT: Final = {
    "producer": "Messages that a producer claimed but did not report count in `fate_unknown`.",
    "consumer": "Messages that a consumer received but did not record are received again, or count in `unknown`.",
}
"""Messages of a worker that died before they were reported."""

_FIGURES_REST_ON: Final = ("sent", "received", "transactions")


def ending(run: Evidence) -> Check:
    """Whether the run finished.

    Data: `ending` and `reasons` of run.json.
    Warns when: the run was interrupted; values until then are valid. Also if it finished, but left something behind.
    Fails when: it failed, was killed, or is still active.
    Remedy: fix the cause, see the reasons and the folder's logs, and run again.
    """
    how = run.facts.ending
    reasons = "; ".join(run.facts.reasons)
    if how == "finished" and reasons:
        return Check("ending", "instrument", "warn", f"the run finished; {reasons}", "The figures are valid.")
    if how == "finished":
        return passed("ending", "instrument", "the run finished")
    if how == "interrupted":
        evidence = f"interrupted{': ' + reasons if reasons else ''}"
        return Check("ending", "instrument", "warn", evidence, "Figures until then are valid.")
    if how is None:
        evidence = "run.json has no ending: the run was killed, or is still active"
        return Check("ending", "instrument", "fail", evidence, "Run it again; these figures cover the recorded events.")
    advice = "Fix the cause and run again; see the folder's logs."
    return Check("ending", "instrument", "fail", reasons or "the run failed", advice)


def workers(run: Evidence) -> Check:
    """Whether every worker lived until its work was done, or was killed by the scenario.

    Data: how each process ended, in run.json.
    Warns when: workers died, and the scenario killed them.
    Fails when: a worker died for another reason.
    Remedy: read the worker's log in the run folder. Messages that a producer claimed but did not report count in
    `fate_unknown`. Messages that a consumer received but did not record are received again, or count in `unknown`.
    """
    if not run.facts.workers:
        return unknown("workers", "instrument", "the outcome of the workers is not known", "See the folder's logs.")
    dead = [worker for worker in run.facts.workers if worker.died]
    undeclared = [worker for worker in dead if not worker.declared_dead]
    if undeclared:
        advice = _advice("See the worker's log in the folder.", dead)
        return Check("workers", "instrument", "fail", f"{listed(_how(undeclared))}", advice)
    if dead:
        advice = _advice("The scenario declared this fault.", dead)
        return Check("workers", "system", "warn", f"{listed(_how(dead))}", advice)
    return passed("workers", "instrument", f"all {len(run.facts.workers)} workers exited normally")


def _advice(first: str, dead: list[WorkerFacts]) -> str:
    """Advice, and where messages of dead workers are counted."""
    return " ".join([first, *(text for role, text in _LEFT.items() if any(worker.role == role for worker in dead))])


def _how(dead: list[WorkerFacts]) -> list[str]:
    return [f"{worker.name} died ({worker.error or _code(worker.exit_code or 0)})" for worker in dead]


def _code(exit_code: int) -> str:
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def dropped_rows(run: Evidence) -> Check | None:
    """Whether workers could write all rows.

    Data: the rows that each worker counted as dropped, in run.json.
    Fails when: the count is above 0.
    Remedy: free space on the disk of the run folder.
    """
    if not run.facts.workers:
        return None
    dropped = {worker.name: worker.dropped_rows for worker in run.facts.workers if worker.dropped_rows}
    if not dropped:
        return passed("dropped_rows", "instrument", "every row was written")
    evidence = listed([f"{name} could not write {whole(count)} rows" for name, count in dropped.items()])
    return Check("dropped_rows", "instrument", "fail", evidence, "Free space on the disk of the run folder.")


def set_aside(run: Evidence) -> Check:
    """Whether every recorded row could be used.

    Data: the table `set_aside`.
    Warns when: rows of other kinds could not be read.
    Fails when: rows of messages sent or received, or of transactions, could not be read; also if their number is
    unknown, as for a part that could not be closed.
    Remedy: see the table for files and reasons; counts and percentiles lack these rows.
    """
    if "set_aside" not in run.tables:
        return unknown("set_aside", "instrument", "it is not known which rows were unusable")
    rows = run.rows("set_aside")
    if not rows:
        return passed("set_aside", "instrument", "every recorded row was used")
    grave = [row for row in rows if row["kind"] in _FIGURES_REST_ON]
    first = (grave or rows)[0]
    evidence = f"{_amount(rows)} could not be used: {first['source']}: {first['reason']}"
    advice = "The table `set_aside` lists them all; counts and percentiles lack these rows."
    return Check("set_aside", "instrument", "fail" if grave else "warn", evidence, advice)


def _amount(rows: Sequence[Row]) -> str:
    """How many rows from how many places, if known."""
    counts = [row.get("rows") for row in rows]
    known = sum(count for count in counts if count is not None)
    places = "1 place" if len(rows) == 1 else f"{whole(len(rows))} places"
    if None in counts and not known:
        return f"an unknown number of rows from {places}"
    few = "1 row" if known == 1 else f"{whole(known)} rows"
    return f"{'at least ' if None in counts else ''}{few} from {places}"


def unrecorded(run: Evidence) -> Check | None:
    """Whether every received message of this run was recorded as sent.

    Messages that a dead producer claimed but did not report are recorded: see `fate_unknown`.

    Data: the count `unrecorded` of the whole run.
    Warns when: it is above 0, the scenario killed a producer, and the messages it had claimed are unknown.
    Fails when: it is above 0 otherwise.
    Remedy: see `accounted`, `workers` and `set_aside`: rows were lost with a worker or a disk, and counts of sent
    messages are too low.
    """
    if not (run.sends and run.consumes):
        return None
    row = run.delivery("run") or {}
    count = row.get("unrecorded")
    if count is None:
        return unknown("unrecorded", "instrument", "it is not known whether every message was recorded")
    if count == 0:
        return passed("unrecorded", "instrument", "every message received was recorded as sent")
    evidence = f"{whole(count)} messages of this run were received, but not recorded as sent"
    if any(worker.role == "producer" and worker.next_seqs is None for worker in run.killed_on_purpose):
        advice = "The producer that was killed had not reported them; the counts of sent messages lack them."
        return Check("unrecorded", "system", "warn", evidence, advice)
    advice = (
        "Rows were lost with a worker or a disk: counts of sent messages are too low. See `accounted`, `set_aside`."
    )
    return Check("unrecorded", "instrument", "fail", evidence, advice)


def accounted(run: Evidence) -> Check | None:
    """Whether every claimed message has exactly one row: sent, failed, of unknown fate, or never sent.

    A producer counts the messages it claims in memory that survives its death, so no message can be missing unnoticed.

    Data: `next_seqs` of producers in run.json, and the count `unaccounted` of the whole run.
    Fails when: a claimed sequence number has no row or several rows, or there is a row of a message that no producer
    claimed.
    Remedy: see `dropped_rows` and `set_aside`: rows were lost with a disk, and counts of sent messages are wrong.
    """
    if not run.sends:
        return None
    count = (run.delivery("run") or {}).get("unaccounted")
    if count is None:
        advice = "Messages may be missing from every count. Run it again with this version."
        return unknown(
            "accounted", "instrument", f"it is not known whether every message has a row: {_why(run)}", advice
        )
    if count == 0:
        return passed("accounted", "instrument", "every claimed message has exactly one row")
    evidence = f"{whole(count)} claimed messages have no row, or several"
    advice = "Rows were lost with a disk, or written twice: counts of sent messages are wrong. See `set_aside`."
    return Check("accounted", "instrument", "fail", evidence, advice)


def _why(run: Evidence) -> str:
    """Why the number of claimed messages is unknown."""
    producers = [worker for worker in run.facts.workers if worker.role == "producer"]
    silent = [worker.name for worker in producers if worker.next_seqs is None]
    if run.facts.ending is None:
        return "the run was killed before it recorded how many messages were claimed"
    if silent or not producers:
        return f"run.json does not say how many {listed(silent) or 'producers'} claimed"
    return "the run was analysed by an older version"


def fate_unknown(run: Evidence) -> Check | None:
    """Whether every claimed message is known to be acknowledged, failed or never sent.

    A producer that dies leaves messages without a delivery report: they may have been sent, and may be in the log.
    Those received were sent, and count as received although not acknowledged; the others count as `unknown`.

    Data: the counts `fate_unknown` and `fate_unknown_received` of the whole run.
    Warns when: `fate_unknown` is above 0, and the scenario killed every producer that died.
    Fails when: it is above 0 otherwise: rates and counts of sent and acknowledged messages may be too low by that
    number.
    Remedy: see `workers` for how the producer ended; read `sent` and `acked` as lower bounds.
    """
    if not run.sends:
        return None
    row = run.delivery("run") or {}
    count, received = row.get("fate_unknown"), row.get("fate_unknown_received")
    if count is None:
        return unknown("fate_unknown", "instrument", "the number of messages without a delivery report is not known")
    if count == 0:
        return passed("fate_unknown", "instrument", "every claimed message has a delivery report")
    dead = [worker for worker in run.facts.workers if worker.role == "producer" and worker.died]
    evidence = f"{whole(count)} messages were claimed{_by(dead)} and have no report"
    if received is not None:
        evidence += f": {whole(received)} of them were received"
    if dead and all(worker.declared_dead for worker in dead):
        advice = "The scenario declared this fault. `sent` and `acked` may be too low by so many."
        return Check("fate_unknown", "system", "warn", evidence, advice)
    advice = "Rates and counts of sent and acknowledged messages may be too low by so many. See `workers`."
    return Check("fate_unknown", "instrument", "fail", evidence, advice)


def _by(dead: list[WorkerFacts]) -> str:
    """The producers that died, and how."""
    if not dead:
        return ""
    killed = f"{'was' if len(dead) == 1 else 'were'} killed"
    how = killed if all((worker.exit_code or 0) < 0 for worker in dead) else "died"
    return f" by {listed([worker.name for worker in dead])}, which {how},"


def clock(run: Evidence) -> Check | None:
    """Whether no message was received before it was sent.

    Data: received rows with a negative end-to-end service time.
    Fails when: the count is above 0: the workers' clocks disagree.
    Remedy: run all workers on one host.
    """
    if not (run.sends and run.consumes):
        return None
    row = run.delivery("run")
    if row is None or row.get("negative_latencies") is None:
        return unknown("clock", "instrument", "it is not known whether latencies are negative")
    count = row["negative_latencies"]
    if count == 0:
        return passed("clock", "instrument", "no message was received before it was sent")
    evidence = f"{whole(count)} of {whole(row.get('received'))} messages were received before they were sent"
    return Check("clock", "instrument", "fail", evidence, "The clocks disagree. Run all workers on one host.")


def record_clock(run: Evidence) -> Check | None:
    """Whether the latency since the record timestamp is reliable, in runs that only consume.

    Record timestamps have a resolution of {RECORD_TIME_MS:g} ms, and come from the clock of the broker or of a
    producer. The offset between that clock and this host's is unknown, unless the broker is embedded.

    Data: the latency since_record_time, and its number of negative values.
    Warns when: a value is negative, or the median is less than {RECORD_TIME_MS:g} ms.
    Fails when: {FEW_NEGATIVE:.0%} or more of the values are negative.
    Remedy: synchronize the clocks of the hosts with one server, and read the latency with that error.
    """
    row = run.latency("since_record_time")
    if run.sends or not row.get("count"):
        return None
    negative, count, median = row.get("negative") or 0, row["count"], row["p50_ms"]
    if negative:
        evidence = f"{whole(negative)} of {whole(count)} messages were received before their record timestamp"
        advice = "The clocks differ by at least that much: synchronize them, or run on the broker's host."
        status: Status = "fail" if negative >= FEW_NEGATIVE * count else "warn"
        return Check(
            "record_clock", "instrument", status, f"{evidence}, by up to {milliseconds(-row['min_ms'])}", advice
        )
    if median < RECORD_TIME_MS:
        evidence = (
            f"the median is {milliseconds(median)}, and record timestamps have a resolution of {RECORD_TIME_MS:g} ms"
        )
        return Check("record_clock", "instrument", "warn", evidence, "The latency is below its error.")
    if not run.facts.broker.embedded:
        missing = "the clock offset between the hosts is not known"
        return unknown(
            "record_clock", "instrument", missing, "The latency includes the clock offset between the hosts."
        )
    return passed(
        "record_clock", "instrument", f"one host; record timestamps have a resolution of {RECORD_TIME_MS:g} ms"
    )
