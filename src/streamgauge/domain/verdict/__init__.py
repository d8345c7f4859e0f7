"""The verdict: may these numbers be believed, and what did the measured system do.

Every rule is a pure function from the evidence to a check, or to None where the question does not arise.
"""

from collections.abc import Sequence

from streamgauge.domain.runfolder import Ending, RunFacts
from streamgauge.domain.verdict import delivery, machine, pace, record, window
from streamgauge.domain.verdict.check import About, Check, Status
from streamgauge.domain.verdict.evidence import Evidence, Tables

__all__ = ["About", "Check", "Status", "checks", "exit_code", "valid"]

DONE = 0
FAILED = 1
EXPECTATION_BROKEN = 3
NOT_VALID = 4
INTERRUPTED = 130


def checks(facts: RunFacts, tables: Tables) -> list[Check]:
    """The checks that apply to a run, the record's first; `tables` are rows by name of table, missing ones left out."""
    run = Evidence(facts, tables)
    answers = [
        record.ending(run),
        record.workers(run),
        record.dropped_rows(run),
        record.set_aside(run),
        record.unrecorded(run),
        record.clock(run),
        pace.schedule(run),
        pace.asked_rate(run),
        delivery.unsent(run),
        pace.full_queue(run),
        pace.linger(run),
        machine.worker_cpu(run),
        machine.machine_cpu(run),
        machine.producer_polls(run),
        machine.consumer_polls(run),
        machine.garbage_collection(run),
        window.start_transient(run),
        window.samples(run),
        *delivery.classes(run),
        delivery.corrupt(run),
        delivery.undecided(run),
        delivery.drain(run),
    ]
    return [answer for answer in answers if answer is not None]


def valid(answers: Sequence[Check]) -> bool:
    """Whether the measurement may be believed: no check of the instrument failed."""
    return not any(answer.about == "instrument" and answer.status == "fail" for answer in answers)


def exit_code(ending: Ending | None, *, valid: bool, expectations_held: bool) -> int:
    """The exit code of a run: interrupted, failed, not valid, expectation broken, or done; the first that applies.

    A run without an ending was killed, and so failed.
    """
    if ending == "interrupted":
        return INTERRUPTED
    if ending != "finished":
        return FAILED
    if not valid:
        return NOT_VALID
    return DONE if expectations_held else EXPECTATION_BROKEN
