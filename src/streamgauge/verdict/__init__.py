"""The verdict: whether the measurement is valid, and what the measured system did.

Every rule is a pure function from the evidence to a check, or to None if it does not apply.
"""

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
    pipeline,
    processing,
    record,
    window,
)
from streamgauge.verdict.evidence import Evidence, Tables
from streamgauge.verdict.exits import Exit
from streamgauge.verdict.rule import EITHER, INSTRUMENT, SYSTEM, rule

__all__ = ["RULES", "TITLES", "About", "Check", "Status", "checks", "exit_code"]

RULES: Final = (
    rule("ending", "Run finished", INSTRUMENT, record.ending),
    rule("workers", "Workers alive", EITHER, record.workers),
    rule("dropped_rows", "No rows dropped", INSTRUMENT, record.dropped_rows),
    rule("set_aside", "Recorded rows usable", INSTRUMENT, record.set_aside),
    rule("accounted", "Messages accounted for", INSTRUMENT, record.accounted),
    rule("fate_unknown", "Delivery reports complete", EITHER, record.fate_unknown),
    rule("unrecorded", "Sent messages recorded", EITHER, record.unrecorded),
    rule("clock", "No negative latencies", INSTRUMENT, record.clock),
    rule("record_clock", "Record timestamps comparable", INSTRUMENT, record.record_clock),
    rule("wall_clock", "Wall clock stable", INSTRUMENT, clocks.wall_clock),
    rule("start", "Started on time", INSTRUMENT, clocks.start),
    rule("schedule", "Schedule kept", EITHER, pace.schedule),
    rule("rate", "Target rate reached", EITHER, pace.target_rate),
    rule("unsent", "All due messages sent", EITHER, delivery.unsent),
    rule("credit", "Credit limit respected", INSTRUMENT, backpressure.credit),
    rule("controller", "Controller alive", EITHER, backpressure.controller),
    rule("lost_credit", "No credit lost", SYSTEM, backpressure.lost_credit),
    rule("faults", "Faults injected", INSTRUMENT, faults.faults),
    rule("query", "Pipeline alive", SYSTEM, pipeline.query),
    rule("source", "Pipeline stages known", INSTRUMENT, pipeline.source),
    rule("full_queue", "Client queue not full", EITHER, pace.full_queue),
    rule("linger", "linger.ms above zero", SYSTEM, pace.linger),
    rule("connections", "Connections succeeded", EITHER, connections.answered),
    rule("connection_rate", "Connection rate reached", EITHER, connections.connection_rate),
    rule("worker_cpu", "Worker CPU sufficient", INSTRUMENT, machine.worker_cpu),
    rule("machine_cpu", "Machine CPU sufficient", INSTRUMENT, machine.machine_cpu),
    rule("cpu_quota", "No CPU throttling", INSTRUMENT, machine.cpu_quota),
    rule("ack_polls", "Producers polled in time", INSTRUMENT, machine.producer_polls),
    rule("receive_polls", "Consumers polled in time", INSTRUMENT, machine.consumer_polls),
    rule("lag_samples", "Lag samples complete", EITHER, lag.lag_samples),
    rule("replicas_in_sync", "All replicas in sync", SYSTEM, lag.replicas_in_sync),
    rule("replica_sampler", "Replica sampling CPU low", INSTRUMENT, lag.replica_sampler),
    rule("lag_sampler", "Lag sampling CPU low", INSTRUMENT, lag.lag_sampler),
    rule("processing_delay", "Processing delays accurate", EITHER, processing.processing_delay),
    rule("garbage_collection", "GC pauses short", SYSTEM, machine.garbage_collection),
    rule("start_transient", "Warmed up", INSTRUMENT, window.start_transient),
    rule("samples", "Enough samples", INSTRUMENT, window.samples),
    *delivery.CLASSES,
    rule("aborted_received", "No aborted messages received", SYSTEM, delivery.aborted_received),
    rule("received_early", "Nothing received before its commit", SYSTEM, delivery.received_early),
    rule("transactions", "Transaction outcomes known", SYSTEM, delivery.transactions),
    rule("resent", "No messages resent", SYSTEM, delivery.resent),
    rule("corrupt", "Checksums correct", SYSTEM, delivery.corrupt),
    rule("undecided", "Delivery outcomes known", INSTRUMENT, delivery.undecided),
    rule("drain", "Drained in time", SYSTEM, delivery.drain),
)
"""Every check, in the order of display: those of the recorded events first."""
TITLES: Final = {each.name: each.title for each in RULES}


def checks(facts: RunFacts, tables: Tables) -> list[Check]:
    """The checks that apply to a run; `tables` are rows by name of table, missing ones left out."""
    run = Evidence(facts, tables)
    return [answer for each in RULES if (answer := each.answer(run)) is not None]


def exit_code(ending: Ending | None, *, valid: bool, expectations_passed: bool) -> Exit:
    """The exit code of a run: interrupted, failed, not valid, expectation failed, or done; the first that applies.

    A run without an ending was killed, and so failed.
    """
    if ending == "interrupted":
        return Exit.INTERRUPTED
    if ending != "finished":
        return Exit.FAILED
    if not valid:
        return Exit.NOT_VALID
    return Exit.DONE if expectations_passed else Exit.EXPECTATION_FAILED
