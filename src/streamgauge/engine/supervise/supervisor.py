"""The supervisor: starts workers, gives the orders, watches, and ends the run in bounded time whatever happens."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BrokerError, Interrupted, RecordError, WorkerError
from streamgauge.domain.folder.cells import describe
from streamgauge.domain.folder.facts import Phase
from streamgauge.domain.look import Look, Stage
from streamgauge.domain.text.numbers import listed
from streamgauge.engine.control import Controlled
from streamgauge.engine.live import ALIVE_AT, Cell, Live, Order, Slot, State
from streamgauge.engine.observe.lag import Sampled
from streamgauge.engine.observe.looks import Observed, Observer
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.ports.rows import Sink
from streamgauge.engine.supervise.crew import (
    Worker,
    name_of,
    places_of,
    reason,
    target_of_other,
    targets_of_query,
)
from streamgauge.engine.supervise.drain import Draining, Ends, rows_by_group
from streamgauge.engine.supervise.inject import Injector, Mark, Target, block_of
from streamgauge.engine.supervise.plan import Begun, Interrupts, LagPlan, Outcome, Plan
from streamgauge.engine.worker.main import TOLD_TO_ALL, WorkerSpec
from streamgauge.engine.worker.roles import ConsumerJob, ControllerJob, Job, LagJob, ProducerJob, SamplerJob

READY_NS: Final = 90 * NS_PER_SECOND
"""Workers that are not ready by then never will be."""
LEAD_NS: Final = 300 * NS_PER_MS
"""Between the order to go and the start of the load, so that every worker has seen the order."""
FINISH_NS: Final = 60 * NS_PER_SECOND
"""Workers write their last parts and leave; who takes longer is ended."""
ABORT_NS: Final = 10 * NS_PER_SECOND
UNUSED_NS: Final = 4 * NS_PER_SECOND
"""The same for workers that have nothing to write, as the user ended the run before its load began."""
FLUSH_MARGIN_NS: Final = 5 * NS_PER_SECOND
_BEGINS: Final = 3
"""How often it is tried to write down what is planned before it begins."""
TICK_SECONDS: Final = 0.02
LOOK_NS: Final = NS_PER_SECOND
"""Between two looks that are shown."""
SUPERVISOR: Final = "supervisor"
_START: Final = "from streamgauge.engine.worker.main import main; main()"


@dataclass(slots=True)
class Supervisor:
    """Conducts one run. `progress` is told in words what begins, and `watch` is shown a look once in a second.

    `interrupts` is asked at every tick. `begins` is told what is planned just before the order to go is given.
    """

    plan: Plan
    ends: Ends
    interrupts: Interrupts
    progress: Callable[[str], None]
    watch: Callable[[Look], None] | None = None
    begins: Callable[[Begun], None] = lambda _: None
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _observer: Observer | None = None
    _look_ns: int = 0
    _workers: list[Worker] = field(default_factory=list)
    _outcome: Outcome = field(default_factory=Outcome)
    _injector: Injector = field(default_factory=lambda: Injector((), clock.monotonic_ns, lambda _: None))
    _marks: Sink | None = None

    def conduct(self) -> Outcome:
        """Run the plan to its end; every worker is gone when this returns, and what they wrote is in the folder."""
        plan = self.plan
        clients = sum(len(job.members) for job in plan.producers) + sum(len(job.members) for job in plan.consumers)
        watching = sum(part is not None for part in (plan.query, plan.lookups, plan.lag, plan.backpressure))
        groups = 2 + max((member.group for job in plan.consumers for member in job.members), default=0)
        live = Live.create(clients + len(plan.connectors) + watching + 1, plan.places, groups, plan.cells)
        # Until it was sampled, lag is not known.
        live.control[Cell.LAG] = NULL_INT64
        self._observer = Observer(live, plan.warmup_ns, plan.backpressure) if self.watch else None
        with contextlib.closing(live):
            try:
                self._start(live)
                if self._await_ready(live):
                    self._run_load(live)
                    self._drain(live)
            except (WorkerError, RecordError) as error:
                self._outcome.fail(str(error))
            except Interrupted as error:
                self._outcome.interrupt(str(error))
            except BrokerError as error:
                self._outcome.fail(str(error))
                self._outcome.cluster_answers = False
            finally:
                self._finish(live)
                self.interrupts.end_load()
        return self._outcome

    def _describe(self, live: Live) -> None:
        """Say in the file of the cells, for after a death of everything, whose they are and where claims stand."""
        next_seqs_at = {
            number: live.place_of(row, Slot.NEXT_SEQ)
            for worker in self._workers
            if worker.role == "producer"
            for number, row in zip(worker.numbers, worker.rows, strict=True)
        }
        live.describe(describe(str(self.plan.run.absolute()), ALIVE_AT, next_seqs_at))

    def _start(self, live: Live) -> None:
        plan = self.plan
        jobs: list[tuple[str, Job]] = [("producer", job) for job in plan.producers]
        jobs += [("consumer", job) for job in plan.consumers]
        jobs += [("connector", job) for job in plan.connectors]
        jobs += [("query", plan.query)] if plan.query else []
        jobs += [("lookup", plan.lookups)] if plan.lookups else []
        self.progress(_what_starts(plan))
        for role, job in jobs:
            self._spawn(live, role, job)
        self._describe(live)
        groups = tuple(tuple(rows) for _, rows in sorted(rows_by_group(self._workers).items()))
        query = tuple(row for worker in self._workers if worker.role == "query" for row in worker.rows)
        if plan.lag:
            self._spawn(live, "lag", self._lag_job(plan.lag, groups, query))
        if plan.backpressure:
            producers = {
                number: row
                for worker in self._workers
                if worker.role == "producer"
                for number, row in zip(worker.numbers, worker.rows, strict=True)
            }
            self._spawn(
                live,
                "controller",
                ControllerJob(Controlled(plan.backpressure, producers, (query,) if query else groups)),
            )
        self._injector = self._injector_of(live, plan)
        watched = [Watched(each.name, each.role, each.process.pid, each.rows) for each in self._workers]
        watched.append(Watched(SUPERVISOR, SUPERVISOR, os.getpid()))
        self._spawn(live, "sampler", SamplerJob((*watched, *plan.others)))

    def _lag_job(self, asked: LagPlan, groups: tuple[tuple[int, ...], ...], query: tuple[int, ...]) -> LagJob:
        groups = groups if asked.groups else ()
        reads = (tuple(self.plan.read_places),) * len(groups)
        if self.plan.query:
            groups, reads = (*groups, query), (*reads, tuple(places_of(self.plan.query)))
        sampled = Sampled(groups, reads, len(asked.groups), asked.partitions, asked.every_ns)
        return LagJob(asked.open_offsets, asked.client, asked.groups, sampled, asked.timeout_seconds)

    def _injector_of(self, live: Live, plan: Plan) -> Injector:
        """Who carries out the faults of the scenario, on the processes of this run."""
        targets = [
            Target(each.name, each.role, each.numbers, each.process.send_signal, each.is_over) for each in self._workers
        ]
        targets += [target_of_other(live, each, plan.revive) for each in plan.others]
        targets += [each for w in self._workers if w.role == "query" for each in targets_of_query(live, w.rows[0])]
        if plan.faults:
            self._marks = plan.open_sink(plan.run, "faults", SUPERVISOR, {})
        return Injector(targets, self.now_ns, self._note_mark)

    def _note_mark(self, mark: Mark) -> None:
        """Write down a fault as soon as it is done: whoever ends the supervisor must not hide what it did."""
        if self._marks is None:
            return
        try:
            self._marks.append(block_of([mark]), 1)
        except RecordError as error:
            self._outcome.fail(f"{SUPERVISOR}: a fault was not recorded: {error}")

    def _close_marks(self) -> None:
        """Nothing more is done to the run; what cannot be written stays in the open part."""
        sink, self._marks = self._marks, None
        if sink is None:
            return
        try:
            sink.close()
        except RecordError as error:
            self._outcome.fail(f"{SUPERVISOR}: {error}")

    def _spawn(self, live: Live, role: str, job: Job) -> None:
        plan = self.plan
        numbers = tuple(member.number for member in job.members) if isinstance(job, ProducerJob | ConsumerJob) else (0,)
        first = sum(len(worker.rows) for worker in self._workers)
        rows = tuple(range(first, first + len(numbers)))
        name = name_of(role, numbers)
        spec = WorkerSpec(name, rows, plan.run, plan.open_sink, job, os.getpid(), live.descriptor, live.shape)
        with (plan.run / "logs" / f"{name}.log").open("wb") as log, not_for_children():
            process = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(live.descriptor,),
            )
        self._workers.append(Worker(name, role, numbers, rows, job, process))
        if process.stdin:
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(pickle.dumps(spec))

    def _await_ready(self, live: Live) -> bool:
        """Wait until every worker is ready and every partition has its consumer; False if the user would not wait."""
        limit_ns = self.now_ns() + READY_NS
        while True:
            states = [worker.state(live) for worker in self._workers]
            if all(state >= State.READY for state in states) and self._are_groups_complete(live):
                return True
            if dead := self._newly_dead():
                raise WorkerError(f"{dead[0].name} ended before it was ready: {reason(dead[0].facts(live))}")
            if self.interrupts.count:
                self._outcome.ending = "interrupted"
                self._outcome.reasons.append("interrupted before the load began")
                return False
            if self.now_ns() > limit_ns:
                late = [w.name for w, state in zip(self._workers, states, strict=True) if state < State.READY]
                what = ", ".join(late) or "the consumer group"
                raise WorkerError(f"{what} did not get ready within {READY_NS // NS_PER_SECOND} s")
            self._tick(live, "starting")

    def _tick(self, live: Live, stage: Stage) -> None:
        """Wait a little; once in a second, show who watches how the run stands."""
        now_ns = self.now_ns()
        live.control[Cell.ALIVE_NS] = now_ns
        if now_ns >= self._look_ns:
            self._look_ns = now_ns + LOOK_NS
            self._look(stage)
        self.sleep(TICK_SECONDS)

    def _look(self, stage: Stage) -> None:
        """Show who watches how the run stands."""
        if self._observer and self.watch:
            observed = [Observed(w.name, w.role, w.process.pid, w.rows, w.process) for w in self._workers]
            observed += [Observed(other.name, other.role, other.pid) for other in self.plan.others]
            self.watch(self._observer.look(stage, observed, self.now_ns()))

    def _are_groups_complete(self, live: Live) -> bool:
        return all(
            is_group_complete([int(live.slots[row, Slot.ASSIGNED]) for row in rows], len(self.plan.read_places))
            for rows in rows_by_group(self._workers).values()
        )

    def _run_load(self, live: Live) -> None:
        """Give the order to go and watch until the load is over."""
        plan = self.plan
        targets = self.ends.log_ends() if plan.until_drained else []
        self._injector.plan(plan.faults)
        self.interrupts.begin_load()
        start_ns = self._begin(live)
        measure_ns = start_ns + plan.warmup_ns
        end_ns = measure_ns + plan.measure_ns
        over_ns: int | None = None
        at_most = "at most " if plan.until_drained or plan.is_counted else ""
        self.progress(
            f"warm-up {plan.warmup_ns / NS_PER_SECOND:g} s, measure {at_most}{plan.measure_ns / NS_PER_SECOND:g} s"
        )
        while self.now_ns() < end_ns and not self._must_stop(live):
            self._injector.turn(measure_ns)
            if self._is_sent(live) or (targets and self._draining(live).is_through(targets)):
                over_ns = self._last_ns(live)
                break
            self._tick(live, "warmup" if self.now_ns() < measure_ns else "measure")
        self._injector.release()
        if not plan.producers:
            # Nobody else ends the load of a run that only reads.
            live.give(Order.STOP_LOAD)
        over_ns = min(end_ns, over_ns or self.now_ns())
        self._outcome.load_ended_ns = over_ns
        self._outcome.phases = phases(start_ns, measure_ns, over_ns)

    def _begin(self, live: Live) -> int:
        """Write down what is planned, and give the order to go; returns when the load starts."""
        plan = self.plan
        for _ in range(_BEGINS):
            start_ns = max(self.now_ns() + LEAD_NS, plan.start_at_ns or 0)
            measure_ns = start_ns + plan.warmup_ns
            end_ns = measure_ns + plan.measure_ns
            planned = phases(start_ns, measure_ns, end_ns)
            self.begins(Begun(planned, [worker.facts(live) for worker in self._workers]))
            # A slow disk may have taken most of the lead.
            if self.now_ns() <= start_ns - LEAD_NS // 2:
                break
        if plan.start_at_ns and start_ns > plan.start_at_ns:
            late = (start_ns - plan.start_at_ns) / NS_PER_SECOND
            self.progress(f"warning: the load begins {late:.1f} s after phases.start_at: it was not ready before")
        live.give_times(start_ns, measure_ns, end_ns, plan.drain_ns)
        live.give(Order.GO)
        return start_ns

    def _must_stop(self, live: Live) -> bool:
        """Whether the load cannot or must not go on."""
        self._note_deaths(live)
        if self.interrupts.count:
            self._outcome.ending = "interrupted"
            live.give(Order.STOP_LOAD)
            return True
        for role, jobs in (("producer", self.plan.producers), ("consumer", self.plan.consumers)):
            if jobs and not self._in_order(role) and not self._are_meant_dead(role):
                self._outcome.fail(f"no {role} is left")
                live.give(Order.STOP_LOAD)
                return True
        # A worker that gave up by itself (a full disk, say) will not be the only one.
        if any(worker.process.poll() not in (None, 0) and live.said(worker.rows[0]) for worker in self._workers):
            live.give(Order.STOP_LOAD)
            return True
        return False

    def _drain(self, live: Live) -> None:
        """Let producers flush, then consumers read to the log end, both bounded."""
        plan = self.plan
        self.progress("draining")
        limit_ns = self.now_ns() + plan.drain_ns + FLUSH_MARGIN_NS
        while self.now_ns() < limit_ns and self._goes_on(live) and not self._is_flushed(live):
            self._tick(live, "drain")
        live.give(Order.STOP_LOAD)
        drain = self._draining(live)
        through = drain.await_query(self.now_ns() + plan.drain_ns) if plan.query else True
        if plan.producers and (plan.consumers or plan.query):
            read = drain.await_read(self.now_ns() + plan.drain_ns) if self._alive("consumer") else not plan.consumers
            self._outcome.drained = read and through
        over_ns = self._outcome.load_ended_ns or self.now_ns()
        self._outcome.drain_ended_ns = self.now_ns()
        self._outcome.phases.append(Phase(name="drain", from_ns=over_ns, to_ns=self._outcome.drain_ended_ns))

    def _draining(self, live: Live) -> Draining:
        return Draining(
            self.plan,
            self.ends,
            live,
            self._workers,
            lambda: self._goes_on(live),
            lambda: self._tick(live, "drain"),
            self.now_ns,
        )

    def _goes_on(self, live: Live) -> bool:
        """Whether the drain may go on; notes deaths and the user's second thoughts."""
        self._note_deaths(live)
        if self.interrupts.count:
            self._outcome.ending = "interrupted"
        return self.interrupts.count < 2

    def _is_flushed(self, live: Live) -> bool:
        """Whether every producer that lives has a report of all it sent, or has no more to do."""
        producers = [worker for worker in self._workers if worker.role == "producer"]
        return all(w.process.poll() is not None or w.state(live) >= State.FLUSHED for w in producers)

    def _is_sent(self, live: Live) -> bool:
        """Whether every producer that did not die has sent all that it was to send, before the time was over."""
        producers = self._in_order("producer")
        return bool(producers) and all(live.slots[list(worker.rows), Slot.OVER_NS].all() for worker in producers)

    def _last_ns(self, live: Live) -> int | None:
        """When the last message was sent or, where nobody sends, received; None where there was none."""
        role = "producer" if self.plan.producers else "consumer"
        rows = [row for worker in self._workers if worker.role == role for row in worker.rows]
        return int(live.slots[rows, Slot.OVER_NS].max()) or None

    def _finish(self, live: Live) -> None:
        """End every worker: in order, and by force where that does not help."""
        # Without a cluster there is no position to ask for and no group to leave.
        aborted = self.interrupts.count >= 2 or not self._outcome.phases or not self._outcome.cluster_answers
        self._injector.release()
        self._close_marks()
        live.give(Order.ABORT if aborted else Order.FINISH)
        patience_ns = UNUSED_NS if self.interrupts.in_vain else ABORT_NS if aborted else FINISH_NS
        limit_ns = self.now_ns() + patience_ns
        while any(worker.process.poll() is None for worker in self._workers) and self.now_ns() < limit_ns:
            if self.interrupts.count >= 2 and live.order < Order.ABORT:
                live.give(Order.ABORT)
                limit_ns = min(limit_ns, self.now_ns() + ABORT_NS)
            self._tick(live, "ending")
        for worker in self._workers:
            self._end(worker)
        self._look("ending")
        if self.plan.query:
            row = next((worker.rows[0] for worker in self._workers if worker.role == "query"), None)
            self._outcome.query_ends = None if row is None else live.positions[row, places_of(self.plan.query)].tolist()
        self._outcome.workers = [worker.facts(live) for worker in self._workers]
        for worker, facts in zip(self._workers, self._outcome.workers, strict=True):
            if facts.died and not facts.declared_dead and self._outcome.ending == "finished":
                self._outcome.fail(f"{worker.name} died: {reason(facts)}")

    def _end(self, worker: Worker) -> None:
        """End a worker by force if it did not end by itself, which is told unless it had nothing to do."""
        if worker.process.poll() is None:
            worker.process.kill()
            if not self.interrupts.in_vain:
                self._outcome.reasons.append(f"{worker.name} did not end by itself and was killed")
        worker.process.wait()
        worker.ended_ns = worker.ended_ns or self.now_ns()

    def _note_deaths(self, live: Live) -> None:
        """A worker that died fails the run, unless the scenario asks for its death; what its cells say is final."""
        for worker in self._newly_dead():
            live.slots[list(worker.rows), Slot.ENDED] = 1
            worker.is_meant_dead = worker.name in self._injector.killed
            if worker.is_meant_dead:
                continue
            after = "; from then on nothing more was granted" if worker.role == "controller" else ""
            self._outcome.fail(f"{worker.name} died: {reason(worker.facts(live))}{after}")

    def _are_meant_dead(self, role: str) -> bool:
        """Whether the scenario asks for the death of every worker of a role that did not end in order."""
        return all(
            worker.is_meant_dead for worker in self._workers if worker.role == role and worker.process.poll() != 0
        )

    def _newly_dead(self) -> list[Worker]:
        """Workers found dead for the first time."""
        dead = [worker for worker in self._workers if worker.ended_ns is None and worker.process.poll() is not None]
        for worker in dead:
            worker.ended_ns = self.now_ns()
        return [worker for worker in dead if worker.process.poll() != 0]

    def _in_order(self, role: str) -> list[Worker]:
        """Workers of a role that live, or ended because they had done all that they were to do."""
        return [worker for worker in self._workers if worker.role == role and worker.process.poll() in (None, 0)]

    def _alive(self, role: str) -> list[Worker]:
        return [worker for worker in self._workers if worker.role == role and worker.process.poll() is None]


@contextlib.contextmanager
def not_for_children() -> Iterator[None]:
    """Let processes that are started meanwhile not hear what a terminal tells everyone: it is the parent's to decide.

    They inherit what is blocked, so that there is no moment before they could say so themselves.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TOLD_TO_ALL)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _what_starts(plan: Plan) -> str:
    """How many clients of each kind begin, in words."""
    counts = {
        "producer": sum(len(job.members) for job in plan.producers),
        "consumer": sum(len(job.members) for job in plan.consumers),
        "connector": len(plan.connectors),
    }
    begun = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count]
    begun += [f"the query {plan.query.spec.job} ({plan.query.spec.engine})"] if plan.query else []
    return f"starting {listed(begun)}"


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
