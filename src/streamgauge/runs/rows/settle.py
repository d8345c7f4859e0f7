"""What became of the messages that producers could not write down themselves: rows of `sent` that others owe.

A producer that dies leaves messages that it had claimed and that have no report, and a schedule that nobody carries
out any more. Everybody who ends a run, or finds one that ended by itself, writes those rows; doing so again changes
nothing.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.domain.events import FATE_UNKNOWN, UNSENT
from streamgauge.domain.folder.facts import RunFacts, RunFolder, WorkerFacts
from streamgauge.engine.produce.loop import Sending, Times, schedule_of
from streamgauge.engine.produce.schedule import CHUNK, Schedule
from streamgauge.engine.produce.sent import never_sent
from streamgauge.engine.worker.roles import ProducerJob
from streamgauge.record.claims import Gaps, gaps, left_by, recorded_rows
from streamgauge.record.parts import PartSink
from streamgauge.runs.conduct.producers import sending_of, topics_of
from streamgauge.runs.request.materials import replayed
from streamgauge.scenario import Scenario
from streamgauge.workload.pacing import Int64s


@dataclass(frozen=True, slots=True)
class MessageSource:
    """What one producer was to send."""

    topics: Sequence[int]
    """Numbers of the topics that its messages go to in turn."""
    sending: Sending


def sources_of_jobs(jobs: Sequence[ProducerJob]) -> dict[int, MessageSource]:
    """What each producer of a plan was to send."""
    return {
        member.number: MessageSource(member.recipe.topics, member.sending) for job in jobs for member in job.members
    }


def sources_of_scenario(scenario: Scenario, arrivals: Int64s | None) -> dict[int, MessageSource]:
    """The same from the scenario alone; without the `arrivals` of a replay, its due times are not known."""
    load = scenario.load
    if load is None:
        return {}
    is_known = arrivals is not None or replayed(load) is None
    return {
        number: MessageSource(
            topics_of(number, scenario.producers, len(scenario.sent_topics)),
            sending_of(scenario, load, number, arrivals) if is_known else Sending(),
        )
        for number in range(scenario.producers)
    }


def settle(folder: RunFolder, facts: RunFacts, sources: Mapping[int, MessageSource]) -> None:
    """Write a row for each message that was claimed, or was due, and has none.

    Raises RecordError where rows cannot be read or written.
    """
    for worker in facts.workers:
        if worker.role == "producer" and worker.next_seqs is not None:
            _settle(folder, facts, worker, dict(zip(worker.numbers, worker.next_seqs, strict=True)), sources)


def _settle(
    folder: RunFolder,
    facts: RunFacts,
    worker: WorkerFacts,
    next_seqs: Mapping[int, int],
    sources: Mapping[int, MessageSource],
) -> None:
    # Of a run that did not finish, producers may have been told to end before they had written what they never sent.
    is_cut_short = worker.exit_code != 0 or facts.ending != "finished"
    known = {number: sources[number] for number in next_seqs if number in sources}
    rests = {
        number: _rest(facts, source, next_seqs[number]) if is_cut_short else [] for number, source in known.items()
    }
    wanted = sum(next_seqs.values()) + sum(len(due_ns) for rest in rests.values() for due_ns in rest)
    # The footers say so many rows, and none can be twice: nothing is owed, or it was written before.
    if recorded_rows(folder, worker.name, next_seqs) == wanted:
        return
    for number, gap in gaps(folder, worker.name, next_seqs).items():
        if source := known.get(number):
            _write(folder, number, source.topics, _owed(facts, source, next_seqs[number], gap, rests[number]))


Owed = tuple[Int64s, Int64s | None, str]
"""Sequences, due times, error."""


def _rest(facts: RunFacts, source: MessageSource, next_seq: int) -> list[Int64s]:
    """Due times, in blocks, of what was due from message `next_seq` on until the load was over."""
    schedule, end_seq = _schedule(facts, source)
    rest: list[Int64s] = []
    first = next_seq
    while schedule and len(due_ns := schedule.due_from(first, min(CHUNK, max(0, end_seq - first)))):
        rest.append(due_ns)
        first += len(due_ns)
    return rest


def _owed(facts: RunFacts, source: MessageSource, next_seq: int, gap: Gaps, rest: Sequence[Int64s]) -> Iterator[Owed]:
    """The rows that are missing, in blocks: what was claimed, and the `rest` that was due and never sent."""
    schedule, _ = _schedule(facts, source)
    for seqs in _chunks(gap.missing):
        yield seqs, None if schedule is None else _due_ns(schedule, seqs), FATE_UNKNOWN
    first = next_seq
    for due_ns in rest:
        seqs = np.arange(first, first + len(due_ns), dtype=np.int64)
        new = ~np.isin(seqs, gap.beyond)
        yield seqs[new], due_ns[new], UNSENT
        first += len(due_ns)


def _schedule(facts: RunFacts, source: MessageSource) -> tuple[Schedule | None, int]:
    """The schedule of a producer until its load was over, and the message before which that was by their number."""
    if source.sending.pacer is None or not facts.phases or facts.load_ended_ns is None:
        return None, 0
    measured = facts.phase("measure") or facts.phases[0]
    times = Times(facts.phases[0].from_ns, measured.from_ns, facts.load_ended_ns, 0)
    return schedule_of(source.sending, source.sending.pacer, times)


def _chunks(seqs: Int64s) -> Iterator[Int64s]:
    """Rising sequences in blocks that lie within so many of each other."""
    if len(seqs):
        yield from np.split(seqs, np.flatnonzero(np.diff(seqs // CHUNK)) + 1)


def _due_ns(schedule: Schedule, seqs: Int64s) -> Int64s:
    first, last = int(seqs[0]), int(seqs[-1])
    due_ns: Int64s = (schedule.start_ns + schedule.pacer.due_ns(first, last - first + 1))[seqs - first]
    return due_ns


def _write(folder: RunFolder, producer: int, topics: Sequence[int], owed: Iterator[Owed]) -> None:
    numbers = np.array(topics, np.int32)
    constants = dict.fromkeys(("transaction", "admitted_ns", "handed_ns", "waited_ns")) | {"producer": producer}
    with contextlib.closing(PartSink(folder, "sent", left_by(producer), constants)) as sink:
        for seqs, due_ns, error in owed:
            rows = never_sent(seqs, due_ns, [error] * len(seqs))
            sink.append({**rows, "topic": numbers[seqs % len(numbers)]}, len(seqs))
