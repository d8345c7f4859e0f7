"""The supervisor: starts workers, gives the orders, watches, and ends the run in bounded time whatever happens.

It knows workers by what a launcher gives it, and talks with them through a board: where they run is not its business.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BrokerError, Interrupted, RecordError, WorkerError
from streamgauge.domain.folder.facts import Phase
from streamgauge.domain.look import Look, Stage
from streamgauge.engine.board import Cell, Order, Slot
from streamgauge.engine.observe.looks import Observed, Observer
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.ports.clients import Offsets
from streamgauge.engine.ports.workers import Board, Launcher
from streamgauge.engine.supervise.drain import Draining
from streamgauge.engine.supervise.faults.inject import Injector
from streamgauge.engine.supervise.faults.leading import targets_of_leadership
from streamgauge.engine.supervise.faults.rows import FaultLog
from streamgauge.engine.supervise.faults.targets import counted_by, targets_of, targets_of_links
from streamgauge.engine.supervise.plan import Begun, Interrupts, Outcome, Plan
from streamgauge.engine.supervise.start import SUPERVISOR, Starter, board_of, what_starts
from streamgauge.engine.supervise.workers import Worker, Workers, places_of, reason

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


@dataclass(slots=True)
class Supervisor:
    """Conducts one run. `progress` is told in words what begins, and `watch` is shown a look once in a second.

    `interrupts` is asked at every tick. `begins` is told what is planned just before the order to go is given.
    """

    plan: Plan
    launcher: Launcher
    offsets: Offsets
    interrupts: Interrupts
    progress: Callable[[str], None]
    watch: Callable[[Look], None] | None = None
    begins: Callable[[Begun], None] = lambda _: None
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds
    _board: Board = field(init=False)
    _workers: Workers = field(init=False)
    _observer: Observer | None = None
    _others: Sequence[Watched] = ()
    _look_ns: int = 0
    _outcome: Outcome = field(default_factory=Outcome)
    _injector: Injector = field(default_factory=lambda: Injector((), clock.monotonic_ns, lambda _: None))
    _faults: FaultLog | None = None

    def __post_init__(self) -> None:
        """Make the board; raises WorkerError where there is no room for it."""
        self._board = self.launcher.board(board_of(self.plan))
        self._workers = Workers(self._board)

    def conduct(self) -> Outcome:
        """Run the plan to its end; every worker is gone when this returns, and what they wrote is in the folder."""
        plan, board = self.plan, self._board
        # Until it was sampled, lag is not known.
        board.control[Cell.LAG] = NULL_INT64
        self._observer = plan.observer(board) if self.watch else None
        with contextlib.closing(self.launcher):
            try:
                self._start()
                if self._await_ready():
                    self._run_load()
                    self._drain()
            except (WorkerError, RecordError) as error:
                self._outcome.fail(str(error))
            except Interrupted as error:
                self._outcome.interrupt(str(error))
            except BrokerError as error:
                self._outcome.fail(str(error))
                self._outcome.cluster_answers = False
            finally:
                self._finish()
                self.interrupts.end_load()
        return self._outcome

    def _start(self) -> None:
        """Start the workers, and learn what faults can be done to."""
        plan = self.plan
        self.progress(what_starts(plan))
        # As they are called now: a broker that is started again has another name.
        self._others = plan.others
        Starter(plan, self.launcher, self._workers).start(self._others)
        if plan.faults:
            self._faults = FaultLog(plan.open_sink(plan.run, "faults", SUPERVISOR, {}), self._fail_to_record)
            targets = targets_of(self._workers, plan.brokers)
            targets += targets_of_links(plan.network, [each.fault for each in plan.faults]) if plan.network else []
            targets += targets_of_leadership(plan.faults, plan.roles.administrator, len(plan.brokers))
            counted = counted_by(self._workers)
            self._injector = Injector(targets, self.now_ns, self._faults.note, counted, plan.roles)

    def _fail_to_record(self, what: str) -> None:
        self._outcome.fail(f"{SUPERVISOR}: {what}")

    def _await_ready(self) -> bool:
        """Wait until every worker is ready and every partition has its consumer; False if the user would not wait."""
        limit_ns = self.now_ns() + READY_NS
        while True:
            self._workers.let_join()
            late = self._workers.not_ready()
            if not late and self._workers.are_groups_complete(len(self.plan.read_places), self.plan.read_topics):
                return True
            if dead := self._workers.newly_dead(self.now_ns()):
                raise WorkerError(f"{dead[0].name} ended before it was ready: {reason(dead[0].facts(self._board))}")
            if self.plan.brokers and all(each.has_ended for each in self.plan.brokers):
                raise BrokerError("no broker was left before the load started")
            if self.interrupts.count:
                self._outcome.interrupt("interrupted before the load started")
                return False
            if self.now_ns() > limit_ns:
                what = ", ".join(late) or "the consumer group"
                raise WorkerError(f"{what} was not ready within {READY_NS // NS_PER_SECOND} s")
            self._tick("starting")

    def _tick(self, stage: Stage) -> None:
        """Wait a little; once in a second, show who watches how the run stands."""
        now_ns = self.now_ns()
        self._board.control[Cell.ALIVE_NS] = now_ns
        if now_ns >= self._look_ns:
            self._look_ns = now_ns + LOOK_NS
            self._look(stage)
        self.sleep(TICK_SECONDS)

    def _look(self, stage: Stage) -> None:
        """Show who watches how the run stands."""
        if self._observer and self.watch:
            observed = [
                Observed(each.name, each.role, each.process.pid, each.rows, each.process.poll())
                for each in self._workers.each
            ]
            observed += self._observer.others(self._others)
            self.watch(self._observer.look(stage, observed, self.now_ns()))

    def _run_load(self) -> None:
        """Give the order to go and watch until the load is over."""
        plan = self.plan
        targets = self.offsets.log_ends() if plan.until_drained else []
        self._injector.plan(plan.faults)
        self.interrupts.begin_load()
        start_ns = self._begin()
        measure_ns = start_ns + plan.warmup_ns
        end_ns = measure_ns + plan.measure_ns
        over_ns: int | None = None
        at_most = "at most " if plan.until_drained or plan.is_counted else ""
        self.progress(
            f"warm-up {plan.warmup_ns / NS_PER_SECOND:g} s, measure {at_most}{plan.measure_ns / NS_PER_SECOND:g} s"
        )
        while self.now_ns() < end_ns and not self._must_stop():
            self._injector.turn(measure_ns)
            has_read = self._workers.have_read(plan.until_received, measured=self.now_ns() >= measure_ns)
            if has_read or self._workers.have_sent() or (targets and self._draining().is_through(targets)):
                over_ns = self._workers.last_ns("producer" if plan.producers else "consumer")
                break
            self._tick("warmup" if self.now_ns() < measure_ns else "measure")
        self._injector.release()
        if not plan.producers:
            # Nobody else ends the load of a run that only reads.
            self._board.give(Order.STOP_LOAD)
        over_ns = min(end_ns, over_ns or self.now_ns())
        self._outcome.load_ended_ns = over_ns
        self._outcome.phases = phases(start_ns, measure_ns, over_ns)

    def _begin(self) -> int:
        """Write down what is planned, and give the order to go; returns when the load starts."""
        plan = self.plan
        for _ in range(_BEGINS):
            start_ns = max(self.now_ns() + LEAD_NS, plan.start_at_ns or 0)
            measure_ns = start_ns + plan.warmup_ns
            end_ns = measure_ns + plan.measure_ns
            self.begins(Begun(phases(start_ns, measure_ns, end_ns), self._workers.facts()))
            # A slow disk may have taken most of the lead.
            if self.now_ns() <= start_ns - LEAD_NS // 2:
                break
        if plan.start_at_ns and start_ns > plan.start_at_ns:
            late = (start_ns - plan.start_at_ns) / NS_PER_SECOND
            self.progress(f"warning: the load begins {late:.1f} s after phases.start_at: it was not ready in time")
        self._board.give_times(start_ns, measure_ns, end_ns, plan.drain_ns)
        self._board.give(Order.GO)
        return start_ns

    def _must_stop(self) -> bool:
        """Whether the load cannot or must not go on; then producers are told to stop."""
        workers = self._workers
        self._note_deaths()
        if self.interrupts.count:
            self._outcome.interrupt()
            self._board.give(Order.STOP_LOAD)
            return True
        for role, jobs in (("producer", self.plan.producers), ("consumer", self.plan.consumers)):
            if jobs and not workers.in_order(role) and not workers.are_meant_dead(role):
                self._outcome.fail(f"no {role} is running")
                self._board.give(Order.STOP_LOAD)
                return True
        if workers.has_given_up():
            self._board.give(Order.STOP_LOAD)
            return True
        return False

    def _drain(self) -> None:
        """Let producers flush, then consumers read to the log end, both bounded."""
        plan = self.plan
        self.progress("draining")
        limit_ns = self.now_ns() + plan.drain_ns + FLUSH_MARGIN_NS
        while self.now_ns() < limit_ns and self._goes_on() and not self._workers.are_flushed():
            self._tick("drain")
        self._board.give(Order.STOP_LOAD)
        drain = self._draining()
        through = drain.await_query(self.now_ns() + plan.drain_ns) if plan.query else True
        if plan.awaits_reading:
            is_read = self._workers.is_alive("consumer")
            read = drain.await_read(self.now_ns() + plan.drain_ns) if is_read else not plan.consumers
            self._outcome.drained = read and through
        over_ns = self._outcome.load_ended_ns or self.now_ns()
        self._outcome.drain_ended_ns = self.now_ns()
        self._outcome.phases.append(Phase(name="drain", from_ns=over_ns, to_ns=self._outcome.drain_ended_ns))

    def _draining(self) -> Draining:
        return Draining(self.plan, self.offsets, self._workers, self._goes_on, lambda: self._tick("drain"), self.now_ns)

    def _goes_on(self) -> bool:
        """Whether the drain may go on; notes deaths and the user's second thoughts."""
        self._note_deaths()
        if self.interrupts.count:
            self._outcome.interrupt()
        return self.interrupts.count < 2

    def _finish(self) -> None:
        """End every worker: in order, and by force where that does not help."""
        board, workers, outcome = self._board, self._workers.each, self._outcome
        # Without a cluster there is no position to ask for and no group to leave.
        aborted = self.interrupts.count >= 2 or not outcome.phases or not outcome.cluster_answers
        self._injector.release()
        if self._faults:
            self._faults.close()
        board.give(Order.ABORT if aborted else Order.FINISH)
        patience_ns = UNUSED_NS if self.interrupts.in_vain else ABORT_NS if aborted else FINISH_NS
        limit_ns = self.now_ns() + patience_ns
        while not all(worker.is_over() for worker in workers) and self.now_ns() < limit_ns:
            if self.interrupts.count >= 2 and board.order < Order.ABORT:
                board.give(Order.ABORT)
                limit_ns = min(limit_ns, self.now_ns() + ABORT_NS)
            self._tick("ending")
        for worker in workers:
            self._end(worker)
        self._look("ending")
        if self.plan.query and (rows := self._workers.rows("query")):
            outcome.query_ends = board.positions[rows[0], places_of(self.plan.query)].tolist()
        outcome.workers = self._workers.facts()
        for facts in outcome.workers:
            if facts.died and not facts.declared_dead and outcome.ending == "finished":
                outcome.fail(f"{facts.name} died: {reason(facts)}")

    def _end(self, worker: Worker) -> None:
        """End a worker by force if it did not end by itself, which is told unless it had nothing to do."""
        if not worker.is_over() and not self.interrupts.in_vain:
            self._outcome.reasons.append(f"{worker.name} did not exit and was killed")
        worker.process.end()
        worker.ended_ns = worker.ended_ns or self.now_ns()

    def _note_deaths(self) -> None:
        """A worker that died fails the run, unless the scenario asks for its death; what its cells say is final."""
        for worker in self._workers.newly_dead(self.now_ns()):
            self._board.slots[list(worker.rows), Slot.ENDED] = 1
            worker.is_meant_dead = worker.name in self._injector.killed
            if worker.is_meant_dead:
                continue
            after = "; no credit was granted after that" if worker.role == "controller" else ""
            self._outcome.fail(f"{worker.name} died: {reason(worker.facts(self._board))}{after}")


def phases(start_ns: int, measure_ns: int, over_ns: int) -> list[Phase]:
    """The phases of a load that began at `start_ns` and was over at `over_ns`, maybe before its time."""
    cut_ns = min(measure_ns, over_ns)
    warmup = Phase(name="warmup", from_ns=min(start_ns, cut_ns), to_ns=cut_ns)
    return [warmup, Phase(name="measure", from_ns=cut_ns, to_ns=max(cut_ns, over_ns))]
