"""The verdict: may these numbers be believed, and what did the measured system do.

Every rule is a pure function from the evidence to a check, or to None where the question does not arise.
"""

from collections.abc import Sequence
from typing import Final

from streamgauge.domain.folder.facts import Ending, RunFacts
from streamgauge.verdict.check import About, Check, Status
from streamgauge.verdict.checks import (
    backpressure,
    clocks,
    connections,
    delivery,
    faults,
    lag,
    machine,
    pace,
    passage,
    processing,
    record,
    window,
)
from streamgauge.verdict.evidence import Evidence, Tables
from streamgauge.verdict.exits import Exit
from streamgauge.verdict.rule import EITHER, INSTRUMENT, SYSTEM, rule

__all__ = ["RULES", "TITLES", "About", "Check", "Status", "checks", "exit_code", "valid"]

RULES: Final = (
    rule("ending", "The run finished", INSTRUMENT, record.ending),
    rule("workers", "Workers lived to the end", EITHER, record.workers),
    rule("dropped_rows", "All rows were written", INSTRUMENT, record.dropped_rows),
    rule("set_aside", "All rows could be read", INSTRUMENT, record.set_aside),
    rule("accounted", "Every message has one row", INSTRUMENT, record.accounted),
    rule("fate_unknown", "Every message was reported", EITHER, record.fate_unknown),
    rule("unrecorded", "Every received message was recorded as sent", EITHER, record.unrecorded),
    rule("clock", "No message was received before it was sent", INSTRUMENT, record.clock),
    rule("record_clock", "Record timestamps are credible", INSTRUMENT, record.record_clock),
    rule("wall_clock", "The wall clock was not adjusted", INSTRUMENT, clocks.wall_clock),
    rule("start", "The load started on time", INSTRUMENT, clocks.start),
    rule("schedule", "Messages were sent on schedule", EITHER, pace.schedule),
    rule("rate", "The target rate was reached", EITHER, pace.target_rate),
    rule("unsent", "Every due message was sent", EITHER, delivery.unsent),
    rule("credit", "Outstanding messages stayed within the credit limit", INSTRUMENT, backpressure.credit),
    rule("controller", "The controller ran to the end", EITHER, backpressure.controller),
    rule("lost_credit", "All credit was returned", SYSTEM, backpressure.lost_credit),
    rule("faults", "Every fault was injected", INSTRUMENT, faults.faults),
    rule("query", "The streaming query stayed up", SYSTEM, passage.query),
    rule("source", "The source topic was read again", INSTRUMENT, passage.source),
    rule("full_queue", "The client's queue had room", EITHER, pace.full_queue),
    rule("linger", "The producer batches messages", SYSTEM, pace.linger),
    rule("connections", "Connections were answered", EITHER, connections.answered),
    rule("connection_rate", "The connection rate was reached", EITHER, connections.connection_rate),
    rule("worker_cpu", "Workers had CPU to spare", INSTRUMENT, machine.worker_cpu),
    rule("machine_cpu", "The machine had CPU to spare", INSTRUMENT, machine.machine_cpu),
    rule("cpu_quota", "No CPU quota stopped a worker", INSTRUMENT, machine.cpu_quota),
    rule("ack_polls", "Delivery reports were served in time", INSTRUMENT, machine.producer_polls),
    rule("receive_polls", "Consumers polled in time", INSTRUMENT, machine.consumer_polls),
    rule("lag_samples", "Lag samples were answered", EITHER, lag.lag_samples),
    rule("lag_sampler", "Sampling lag used little CPU", INSTRUMENT, lag.lag_sampler),
    rule("processing_delay", "Processing took its configured time", EITHER, processing.processing_delay),
    rule("garbage_collection", "Garbage collection did not shape the tail", SYSTEM, machine.garbage_collection),
    rule("start_transient", "The start did not shape the percentiles", INSTRUMENT, window.start_transient),
    rule("samples", "There are enough messages for the percentiles", INSTRUMENT, window.samples),
    *delivery.CLASSES,
    rule("aborted_received", "Aborted messages stayed invisible", SYSTEM, delivery.aborted_received),
    rule("transactions", "Transactions ended as intended", SYSTEM, delivery.transactions),
    rule("resent", "No message was sent again", SYSTEM, delivery.resent),
    rule("corrupt", "Checksums agree", SYSTEM, delivery.corrupt),
    rule("undecided", "The fate of every message is known", INSTRUMENT, delivery.undecided),
    rule("drain", "Consumers reached the log end", SYSTEM, delivery.drain),
)
"""Every check there is, in the order in which they are shown: the record's first."""
TITLES: Final = {each.name: each.title for each in RULES}
"""What each check is called where people read it."""


def checks(facts: RunFacts, tables: Tables) -> list[Check]:
    """The checks that apply to a run; `tables` are rows by name of table, missing ones left out."""
    run = Evidence(facts, tables)
    return [answer for each in RULES if (answer := each.answer(run)) is not None]


def valid(answers: Sequence[Check]) -> bool:
    """Whether the measurement may be believed: no check of the instrument failed."""
    return not any(answer.about == "instrument" and answer.status == "fail" for answer in answers)


def exit_code(ending: Ending | None, *, valid: bool, expectations_passed: bool) -> Exit:
    """The exit code of a run: interrupted, failed, not valid, expectation broken, or done; the first that applies.

    A run without an ending was killed, and so failed.
    """
    if ending == "interrupted":
        return Exit.INTERRUPTED
    if ending != "finished":
        return Exit.FAILED
    if not valid:
        return Exit.NOT_VALID
    return Exit.DONE if expectations_passed else Exit.EXPECTATION_FAILED
