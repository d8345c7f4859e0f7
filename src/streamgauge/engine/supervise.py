"""The supervisor: starts workers, gives the orders, watches, and ends the run in bounded time whatever happens."""

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from streamgauge.domain import clock
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BrokerError, WorkerError
from streamgauge.domain.look import Look, Stage
from streamgauge.domain.runfolder import Ending, Phase, WorkerFacts
from streamgauge.engine.live import Cell, Live, Order, Slot, State
from streamgauge.engine.observe import Observed, Observer
from streamgauge.engine.ports import OpenSink
from streamgauge.engine.sample import Watched
from streamgauge.engine.worker import ConsumerJob, ProducerJob, SamplerJob, WorkerSpec

READY_NS: Final = 90 * NS_PER_SECOND
"""Workers that are not ready by then never will be."""
LEAD_NS: Final = 300 * NS_PER_MS
"""Between the order to go and the start of the load, so that every worker has seen the order."""
FINISH_NS: Final = 60 * NS_PER_SECOND
"""Workers write their last parts and leave; who takes longer is ended."""
ABORT_NS: Final = 10 * NS_PER_SECOND
FLUSH_MARGIN_NS: Final = 5 * NS_PER_SECOND
TICK_SECONDS: Final = 0.02
LOOK_NS: Final = NS_PER_SECOND
"""Between two looks that are shown."""
_START: Final = "from streamgauge.engine.worker import main; main()"


class Ends(Protocol):
    """What the supervisor asks the cluster."""

    def log_ends(self) -> list[int]:
        """Log end offset of each partition of the topic."""
        ...

    def committed(self) -> list[int | None]:
        """Committed offset of the group in each partition."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run consists of."""

    run: Path
    producers: Sequence[ProducerJob]
    consumers: Sequence[ConsumerJob]
    others: Sequence[Watched]
    """Processes to look at that are no workers of this run."""
    partitions: int
    warmup_ns: int
    measure_ns: int
    drain_ns: int
    open_sink: OpenSink


@dataclass(slots=True)
class Interrupts:
    """How often the user asked to end: once is stop, drain and analyse; twice is now."""

    count: int = 0

    def note(self) -> None:
        """The user asked."""
        self.count += 1


@dataclass(slots=True)
class Outcome:
    """How the run went."""

    phases: list[Phase] = field(default_factory=list)
    workers: list[WorkerFacts] = field(default_factory=list)
    load_ended_ns: int | None = None
    drain_ended_ns: int | None = None
    drained: bool | None = None
    ending: Ending = "finished"
    reasons: list[str] = field(default_factory=list)
    cluster_answers: bool = True
    """Whether the cluster could still be asked when the run was over."""
    next_seqs: dict[int, int] = field(default_factory=dict)
    """Of each producer that died: the sequence after the last message that it handed over."""

    def fail(self, reason: str) -> None:
        """The run failed; the first reasons say why."""
        self.ending = "failed"
        if reason not in self.reasons:
            self.reasons.append(reason)


@dataclass(slots=True)
class _Worker:
    name: str
    role: str
    number: int
    index: int
    process: subprocess.Popen[bytes]
    ended_ns: int | None = None

    def facts(self, live: Live) -> WorkerFacts:
        code = self.process.poll()
        return WorkerFacts(
            name=self.name,
            role=self.role,
            number=self.number,
            pid=self.process.pid,
            exit_code=code,
            ended_ns=self.ended_ns,
            error=live.said(self.index),
            dropped_rows=int(live.slots[self.index, Slot.DROPPED]),
        )


@dataclass(slots=True)
class Supervisor:
    """Conducts one run. `progress` is told in words what begins, and `watch` is shown a look once in a second.

    `interrupts` is asked at every tick.
    """

    plan: Plan
    ends: Ends
    interrupts: Interrupts
    progress: Callable[[str], None]
    watch: Callable[[Look], None] | None = None
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _observer: Observer | None = None
    _look_ns: int = 0
    _workers: list[_Worker] = field(default_factory=list)
    _outcome: Outcome = field(default_factory=Outcome)

    def conduct(self) -> Outcome:
        """Run the plan to its end; every worker is gone when this returns, and what they wrote is in the folder."""
        plan = self.plan
        live = Live.create(len(plan.producers) + len(plan.consumers) + 1, plan.partitions)
        self._observer = Observer(live, plan.warmup_ns) if self.watch else None
        with contextlib.closing(live):
            try:
                self._start(live)
                if self._await_ready(live):
                    self._run_load(live)
                    self._drain(live)
            except WorkerError as error:
                self._outcome.fail(str(error))
            except BrokerError as error:
                self._outcome.fail(str(error))
                self._outcome.cluster_answers = False
            finally:
                self._finish(live)
        return self._outcome

    def _start(self, live: Live) -> None:
        plan = self.plan
        jobs: list[tuple[str, ProducerJob | ConsumerJob]] = [("producer", job) for job in plan.producers]
        jobs += [("consumer", job) for job in plan.consumers]
        self.progress(f"starting {len(plan.producers)} producers and {len(plan.consumers)} consumers")
        for index, (role, job) in enumerate(jobs):
            number = index if role == "producer" else index - len(plan.producers)
            self._spawn(live, role, number, index, job)
        watched = [Watched(each.name, each.role, each.process.pid, each.index) for each in self._workers]
        watched.append(Watched("supervisor", "supervisor", os.getpid()))
        self._spawn(live, "sampler", 0, len(jobs), SamplerJob((*watched, *plan.others)))

    def _spawn(
        self, live: Live, role: str, number: int, index: int, job: ProducerJob | ConsumerJob | SamplerJob
    ) -> None:
        plan, name = self.plan, f"{role}-{number}"
        spec = WorkerSpec(name, index, plan.run, plan.open_sink, job, os.getpid(), live.descriptor, live.shape)
        with (plan.run / "logs" / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(live.descriptor,),
            )
        self._workers.append(_Worker(name, role, number, index, process))
        if process.stdin:
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(pickle.dumps(spec))

    def _await_ready(self, live: Live) -> bool:
        """Wait until every worker is ready and every partition has its consumer; False if the user would not wait."""
        limit_ns = self.now_ns() + READY_NS
        while True:
            states = [live.state(worker.index) for worker in self._workers]
            if all(state >= State.READY for state in states) and self._is_group_complete(live):
                return True
            if dead := self._newly_dead():
                raise WorkerError(f"{dead[0].name} ended before it was ready: {_reason(dead[0].facts(live))}")
            if self.interrupts.count:
                self._outcome.ending = "interrupted"
                self._outcome.reasons.append("interrupted before the load began")
                return False
            if self.now_ns() > limit_ns:
                late = [w.name for w, state in zip(self._workers, states, strict=True) if state < State.READY]
                what = ", ".join(late) or "the consumer group"
                raise WorkerError(f"{what} did not get ready within {READY_NS // NS_PER_SECOND} s")
            self._tick("starting")

    def _tick(self, stage: Stage) -> None:
        """Wait a little; once in a second, show who watches how the run stands."""
        if self.now_ns() >= self._look_ns:
            self._look_ns = self.now_ns() + LOOK_NS
            self._look(stage)
        self.sleep(TICK_SECONDS)

    def _look(self, stage: Stage) -> None:
        """Show who watches how the run stands."""
        if self._observer and self.watch:
            observed = [Observed(w.name, w.role, w.process.pid, w.index, w.process) for w in self._workers]
            observed += [Observed(other.name, other.role, other.pid) for other in self.plan.others]
            self.watch(self._observer.look(stage, observed, self.now_ns()))

    def _is_group_complete(self, live: Live) -> bool:
        assigned = [int(live.slots[w.index, Slot.ASSIGNED]) for w in self._workers if w.role == "consumer"]
        return is_group_complete(assigned, self.plan.partitions)

    def _run_load(self, live: Live) -> None:
        """Give the order to go and watch until the load is over."""
        plan = self.plan
        start_ns = self.now_ns() + LEAD_NS
        measure_ns = start_ns + plan.warmup_ns
        end_ns = measure_ns + plan.measure_ns
        live.control[Cell.START_NS] = start_ns
        live.control[Cell.LOAD_END_NS] = end_ns
        live.control[Cell.DRAIN_NS] = plan.drain_ns
        targets = [] if plan.producers else self.ends.log_ends()
        live.give(Order.GO)
        self.progress(f"warm-up {plan.warmup_ns / NS_PER_SECOND:g} s, measure {plan.measure_ns / NS_PER_SECOND:g} s")
        while self.now_ns() < end_ns and not self._must_stop(live):
            if targets and self._is_read(live, targets):
                break
            self._tick("warmup" if self.now_ns() < measure_ns else "measure")
        if not plan.producers:
            # Nobody else ends the load of a run that only reads.
            live.give(Order.STOP_LOAD)
        over_ns = min(end_ns, self.now_ns())
        self._outcome.load_ended_ns = over_ns
        self._outcome.phases = phases(start_ns, measure_ns, over_ns)

    def _must_stop(self, live: Live) -> bool:
        """Whether the load cannot or must not go on."""
        for worker in self._newly_dead():
            self._outcome.fail(f"{worker.name} died: {_reason(worker.facts(live))}")
        if self.interrupts.count:
            self._outcome.ending = "interrupted"
            live.give(Order.STOP_LOAD)
            return True
        for role, jobs in (("producer", self.plan.producers), ("consumer", self.plan.consumers)):
            if jobs and not self._alive(role):
                self._outcome.fail(f"no {role} is left")
                live.give(Order.STOP_LOAD)
                return True
        # A worker that gave up by itself (a full disk, say) will not be the only one.
        if any(worker.process.poll() not in (None, 0) and live.said(worker.index) for worker in self._workers):
            live.give(Order.STOP_LOAD)
            return True
        return False

    def _drain(self, live: Live) -> None:
        """Let producers flush, then consumers read to the log end, both bounded."""
        plan = self.plan
        self.progress("draining")
        limit_ns = self.now_ns() + plan.drain_ns + FLUSH_MARGIN_NS
        while self.now_ns() < limit_ns and self._goes_on(live) and not self._is_flushed(live):
            self._tick("drain")
        live.give(Order.STOP_LOAD)
        if plan.producers and plan.consumers and self._alive("consumer"):
            self._outcome.drained = self._await_read(live, self.now_ns() + plan.drain_ns)
        over_ns = self._outcome.load_ended_ns or self.now_ns()
        self._outcome.drain_ended_ns = self.now_ns()
        self._outcome.phases.append(Phase(name="drain", from_ns=over_ns, to_ns=self._outcome.drain_ended_ns))

    def _await_read(self, live: Live, limit_ns: int) -> bool:
        targets = self.ends.log_ends()
        while not (read := self._is_read(live, targets)) and self.now_ns() < limit_ns and self._goes_on(live):
            self._tick("drain")
        return read

    def _goes_on(self, live: Live) -> bool:
        """Whether the drain may go on; notes deaths and the user's second thoughts."""
        for worker in self._newly_dead():
            self._outcome.fail(f"{worker.name} died: {_reason(worker.facts(live))}")
        if self.interrupts.count:
            self._outcome.ending = "interrupted"
        return self.interrupts.count < 2

    def _is_flushed(self, live: Live) -> bool:
        """Whether every producer that lives knows the fate of all it sent, or has no more to do."""
        producers = [worker for worker in self._workers if worker.role == "producer"]
        return all(w.process.poll() is not None or live.state(w.index) >= State.FLUSHED for w in producers)

    def _is_read(self, live: Live, targets: Sequence[int]) -> bool:
        """Whether the group has read every partition up to its target."""
        alive = [w.index for w in self._workers if w.role == "consumer" and w.process.poll() is None]
        if not alive:
            return True
        positions = live.positions[alive].max(axis=0)
        behind = np.flatnonzero(positions < np.asarray(targets))
        if not len(behind):
            return True
        # What nobody alive has touched may be empty, or read by somebody who died: the commits tell.
        if len(np.flatnonzero(positions[behind])):
            return False
        committed = self.ends.committed()
        return all((committed[place] or 0) >= targets[place] for place in behind.tolist())

    def _finish(self, live: Live) -> None:
        """End every worker: in order, and by force where that does not help."""
        # Without a cluster there is no position to ask for and no group to leave.
        aborted = self.interrupts.count >= 2 or not self._outcome.phases or not self._outcome.cluster_answers
        live.give(Order.ABORT if aborted else Order.FINISH)
        limit_ns = self.now_ns() + (ABORT_NS if aborted else FINISH_NS)
        while any(worker.process.poll() is None for worker in self._workers) and self.now_ns() < limit_ns:
            if self.interrupts.count >= 2 and live.order < Order.ABORT:
                live.give(Order.ABORT)
                limit_ns = min(limit_ns, self.now_ns() + ABORT_NS)
            self._tick("ending")
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.process.kill()
                self._outcome.reasons.append(f"{worker.name} did not end by itself and was killed")
            worker.process.wait()
            worker.ended_ns = worker.ended_ns or self.now_ns()
        self._look("ending")
        self._outcome.workers = [worker.facts(live) for worker in self._workers]
        for worker, facts in zip(self._workers, self._outcome.workers, strict=True):
            if facts.died and self._outcome.ending == "finished":
                self._outcome.fail(f"{worker.name} died: {_reason(facts)}")
            if facts.died and worker.role == "producer":
                self._outcome.next_seqs[worker.number] = int(live.slots[worker.index, Slot.MESSAGES])

    def _newly_dead(self) -> list[_Worker]:
        """Workers found dead for the first time."""
        dead = [worker for worker in self._workers if worker.ended_ns is None and worker.process.poll() is not None]
        for worker in dead:
            worker.ended_ns = self.now_ns()
        return [worker for worker in dead if worker.process.poll() != 0]

    def _alive(self, role: str) -> list[_Worker]:
        return [worker for worker in self._workers if worker.role == role and worker.process.poll() is None]


def is_group_complete(assigned: Sequence[int], partitions: int) -> bool:
    """Whether a group with these numbers of partitions has all of them, and no member waits that could have one."""
    if not assigned:
        return True
    return sum(assigned) == partitions and sum(count > 0 for count in assigned) == min(len(assigned), partitions)


def phases(start_ns: int, measure_ns: int, over_ns: int) -> list[Phase]:
    """The phases of a load that began at `start_ns` and was over at `over_ns`, maybe before its time."""
    cut_ns = min(measure_ns, over_ns)
    warmup = Phase(name="warmup", from_ns=min(start_ns, cut_ns), to_ns=cut_ns)
    return [warmup, Phase(name="measure", from_ns=cut_ns, to_ns=max(cut_ns, over_ns))]


def _reason(facts: WorkerFacts) -> str:
    if facts.error:
        return facts.error
    code = facts.exit_code or 0
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}; see logs/{facts.name}.log"
