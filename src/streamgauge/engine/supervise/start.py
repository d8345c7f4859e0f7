"""How the workers of a plan are started: those that carry the load, then those that watch them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.control.credit import Credits
from streamgauge.control.hysteresis import LagHysteresis
from streamgauge.domain.text.numbers import listed, plural
from streamgauge.engine.control import Controlled
from streamgauge.engine.observe.lag import SampledGroups
from streamgauge.engine.observe.sample import Watched
from streamgauge.engine.ports.workers import BoardSpec, Job, Launcher, WorkerSpec
from streamgauge.engine.supervise.plan import LagPlan, Plan
from streamgauge.engine.supervise.workers import Worker, Workers, name_of, places_of
from streamgauge.engine.worker.observers import ControllerJob, LagJob, SamplerJob, TrackerJob
from streamgauge.engine.worker.roles import ConsumerJob, ProducerJob
from streamgauge.scenario.model.backpressure import Backpressure

SUPERVISOR: Final = "supervisor"


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts the workers of a plan; each gets the next rows of the board."""

    plan: Plan
    launcher: Launcher
    workers: Workers

    def start(self, others: Sequence[Watched]) -> None:
        """Start all of them; `others` are processes to look at that are no workers."""
        plan, workers = self.plan, self.workers
        for role, job in load_jobs(plan):
            self._start(role, job)
        groups = tuple(tuple(rows) for _, rows in sorted(workers.rows_by_group().items()))
        query = tuple(workers.rows("query"))
        if plan.lag:
            self._start("lag", self._lag_job(plan.lag, groups, query))
        if plan.replicas:
            self._start("replicas", plan.replicas)
        if plan.backpressure:
            controlled = controlled_by(plan.backpressure, producer_rows(plan), (query,) if query else groups)
            self._start("controller", ControllerJob(plan.backpressure.chosen[0], controlled))
        watched = [Watched(each.name, each.role, each.process.pid, each.rows) for each in workers.each]
        watched.append(Watched(SUPERVISOR, SUPERVISOR, os.getpid()))
        self._start("sampler", SamplerJob((*watched, *others)))

    def _start(self, role: str, job: Job) -> None:
        plan = self.plan
        numbers = numbers_of(job)
        first = sum(len(worker.rows) for worker in self.workers.each)
        rows = tuple(range(first, first + len(numbers)))
        name = name_of(role, numbers)
        process = self.launcher.start(WorkerSpec(name, rows, plan.run, plan.open_sink, job))
        self.workers.each.append(Worker(name, role, numbers, rows, job, process))

    def _lag_job(self, asked: LagPlan, groups: tuple[tuple[int, ...], ...], query: tuple[int, ...]) -> LagJob:
        groups = groups if asked.groups else ()
        reads = (tuple(self.plan.read_places),) * len(groups)
        if self.plan.query:
            groups, reads = (*groups, query), (*reads, tuple(places_of(self.plan.query)))
        sampled = SampledGroups(groups, reads, len(asked.groups), asked.partitions, asked.every_ns)
        return LagJob(asked.open_offsets, asked.client, asked.groups, sampled, asked.timeout_seconds)


def controlled_by(
    policy: Backpressure, producers: Mapping[int, int], groups: tuple[tuple[int, ...], ...]
) -> Controlled:
    """Whom a policy holds back, and by whose progress; rows of producers by their numbers, of consumers by group."""
    state: LagHysteresis | Credits
    if policy.hysteresis:
        state = LagHysteresis(policy.hysteresis.max_lag, policy.hysteresis.resume)
    else:
        assert policy.credit
        state = Credits.none(policy.credit.limit, len(producers))
    return Controlled(state, policy.poll_ns, producers, groups)


def load_jobs(plan: Plan) -> list[tuple[str, Job]]:
    """The role and the job of each worker that carries the load; producers come first."""
    jobs: list[tuple[str, Job]] = [("producer", job) for job in plan.producers]
    jobs += [("consumer", job) for job in plan.consumers]
    jobs += [("tracker", job) for job in plan.trackers]
    jobs += [("connector", job) for job in plan.connectors]
    jobs += [("query", plan.query)] if plan.query else []
    return jobs + ([("lookup", plan.lookups)] if plan.lookups else [])


def numbers_of(job: Job) -> tuple[int, ...]:
    """The numbers of the clients of a worker."""
    if isinstance(job, ProducerJob | ConsumerJob):
        return tuple(member.number for member in job.members)
    return (job.number if isinstance(job, TrackerJob) else 0,)


def producer_rows(plan: Plan) -> dict[int, int]:
    """The row of each producer, by its number."""
    members = [member for job in plan.producers for member in job.members]
    return {member.number: row for row, member in enumerate(members)}


def board_of(plan: Plan) -> BoardSpec:
    """The board that a plan needs."""
    clients = sum(len(job.members) for job in plan.producers) + sum(len(job.members) for job in plan.consumers)
    watching = sum(part is not None for part in (plan.query, plan.lookups, plan.lag, plan.replicas, plan.backpressure))
    groups = 2 + max((member.group for job in plan.consumers for member in job.members), default=0)
    beside = len(plan.trackers) + len(plan.connectors) + watching + 1
    return BoardSpec(plan.run, clients + beside, plan.places, groups, producer_rows(plan))


def what_starts(plan: Plan) -> str:
    """How many clients of each kind begin, in words."""
    counts = {
        "producer": sum(len(job.members) for job in plan.producers),
        "consumer": sum(len(job.members) for job in plan.consumers),
        "tracker": len(plan.trackers),
        "connector": len(plan.connectors),
    }
    begun = [f"{count} {plural(count, what)}" for what, count in counts.items() if count]
    begun += [f"the query {plan.query.spec.job} ({plan.query.spec.engine})"] if plan.query else []
    return f"starting {listed(begun)}"
