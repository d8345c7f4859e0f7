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

__all__ = ["RULES", "About", "Check", "Status", "checks", "exit_code", "valid"]

RULES: Final = (
    rule("ending", INSTRUMENT, record.ending),
    rule("workers", EITHER, record.workers),
    rule("dropped_rows", INSTRUMENT, record.dropped_rows),
    rule("set_aside", INSTRUMENT, record.set_aside),
    rule("accounted", INSTRUMENT, record.accounted),
    rule("fate_unknown", EITHER, record.fate_unknown),
    rule("unrecorded", EITHER, record.unrecorded),
    rule("clock", INSTRUMENT, record.clock),
    rule("record_clock", INSTRUMENT, record.record_clock),
    rule("wall_clock", INSTRUMENT, clocks.wall_clock),
    rule("start", INSTRUMENT, clocks.start),
    rule("schedule", EITHER, pace.schedule),
    rule("rate", EITHER, pace.target_rate),
    rule("unsent", EITHER, delivery.unsent),
    rule("credit", INSTRUMENT, backpressure.credit),
    rule("controller", EITHER, backpressure.controller),
    rule("lost_credit", SYSTEM, backpressure.lost_credit),
    rule("faults", INSTRUMENT, faults.faults),
    rule("query", SYSTEM, passage.query),
    rule("source", INSTRUMENT, passage.source),
    rule("full_queue", EITHER, pace.full_queue),
    rule("linger", SYSTEM, pace.linger),
    rule("connections", EITHER, connections.answered),
    rule("connection_rate", EITHER, connections.connection_rate),
    rule("worker_cpu", INSTRUMENT, machine.worker_cpu),
    rule("machine_cpu", INSTRUMENT, machine.machine_cpu),
    rule("cpu_quota", INSTRUMENT, machine.cpu_quota),
    rule("ack_polls", INSTRUMENT, machine.producer_polls),
    rule("receive_polls", INSTRUMENT, machine.consumer_polls),
    rule("lag_samples", EITHER, lag.lag_samples),
    rule("lag_sampler", INSTRUMENT, lag.lag_sampler),
    rule("processing_delay", EITHER, processing.processing_delay),
    rule("garbage_collection", SYSTEM, machine.garbage_collection),
    rule("start_transient", INSTRUMENT, window.start_transient),
    rule("samples", INSTRUMENT, window.samples),
    *delivery.CLASSES,
    rule("aborted_received", SYSTEM, delivery.aborted_received),
    rule("transactions", SYSTEM, delivery.transactions),
    rule("resent", SYSTEM, delivery.resent),
    rule("corrupt", SYSTEM, delivery.corrupt),
    rule("undecided", INSTRUMENT, delivery.undecided),
    rule("drain", SYSTEM, delivery.drain),
)
"""Every check there is, in the order in which they are shown: the record's first."""


def checks(facts: RunFacts, tables: Tables) -> list[Check]:
    """The checks that apply to a run; `tables` are rows by name of table, missing ones left out."""
    run = Evidence(facts, tables)
    return [answer for each in RULES if (answer := each.answer(run)) is not None]


def valid(answers: Sequence[Check]) -> bool:
    """Whether the measurement may be believed: no check of the instrument failed."""
    return not any(answer.about == "instrument" and answer.status == "fail" for answer in answers)


def exit_code(ending: Ending | None, *, valid: bool, expectations_held: bool) -> Exit:
    """The exit code of a run: interrupted, failed, not valid, expectation broken, or done; the first that applies.

    A run without an ending was killed, and so failed.
    """
    if ending == "interrupted":
        return Exit.INTERRUPTED
    if ending != "finished":
        return Exit.FAILED
    if not valid:
        return Exit.NOT_VALID
    return Exit.DONE if expectations_held else Exit.EXPECTATION_BROKEN
