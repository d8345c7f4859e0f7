"""One run from scenario to run folder: broker, topic, offsets, workers, and the rows that only the parent can write."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from streamgauge.cli.wiring import Identity, plan_of, start_of
from streamgauge.domain import clock
from streamgauge.domain.blocks import NULL_INT64
from streamgauge.domain.errors import BadInput, BrokerError, Fault, RecordError, StreamgaugeError
from streamgauge.domain.events import UNSENT
from streamgauge.domain.look import Look
from streamgauge.domain.marks import changes
from streamgauge.domain.pacing import Int64s
from streamgauge.domain.runfolder import BrokerFacts, Numbered, RunFacts, RunFolder
from streamgauge.domain.scenario import Scenario, Setting, document
from streamgauge.domain.scenario.faults import BROKER
from streamgauge.domain.secrets import masked
from streamgauge.engine.inject import Mark
from streamgauge.engine.plan import Interrupts, Outcome
from streamgauge.engine.produce import never_sent
from streamgauge.engine.sample import Watched
from streamgauge.engine.schedule import CHUNK, Schedule
from streamgauge.engine.supervise import Supervisor
from streamgauge.engine.worker import ProducerJob
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.embedded import EmbeddedBroker, start_broker
from streamgauge.kafka.java import Java
from streamgauge.kafka.prime import PRIME_SECONDS, prime
from streamgauge.record.facts import machine, versions, write_facts
from streamgauge.record.parts import PartSink

PARENT = "supervisor"
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    scenario: Scenario
    out: Path
    command: Sequence[str]
    """The command line, secrets masked."""
    java: Java
    bootstrap: str | None = None
    connection: Mapping[str, Setting] = field(default_factory=dict)
    keep_broker: bool = False
    allow_reset: bool = False
    arrivals: Int64s | None = None
    """When messages are due, in ns from the first one on, where the load replays them."""

    @property
    def asked_per_second(self) -> float | None:
        """The rate that is asked for on average; None without a load, and where the rate says none."""
        return self.scenario.load.mean_rate if self.scenario.load else None


@dataclass(frozen=True, slots=True)
class _Target:
    """The cluster that is measured."""

    facts: BrokerFacts
    cluster: Cluster
    connection: Mapping[str, Setting]
    watched: Sequence[Watched]
    ended: Callable[[], str | None]
    """Why the cluster is known to be gone."""


def conduct(
    request: Request, interrupts: Interrupts, progress: Progress, watch: Callable[[Look], None] | None = None
) -> RunFolder:
    """Carry a scenario out; returns the folder with its rows and run.json. Raises BadInput before anything starts.

    `watch` is shown how the run stands, once in a second.
    """
    _check_faults(request)
    pair = clock.clock_pair()
    run_id = f"{clock.local_stamp(pair.wall_ns)}-{request.scenario.name}"
    folder = make_folder(request.out, run_id)
    identity = Identity(run_id, secrets.randbits(32), f"streamgauge-{run_id}-{secrets.token_hex(3)}")
    try:
        with _target(request, folder, interrupts, progress) as target:
            topics = _Topics(target.cluster, request.scenario, identity.groups(request.scenario), target.ended)
            topics.prepare(embedded=target.facts.embedded, allow_reset=request.allow_reset)
            facts = _facts(request, identity, target, pair, topics.made)
            write_facts(folder, facts)
            topics.begin()
            _record_lag(folder, topics, "start")
            plan = plan_of(
                request.scenario,
                identity,
                target.connection,
                folder.root,
                target.watched,
                pair=pair,
                arrivals=request.arrivals,
            )
            outcome = Supervisor(plan, topics, interrupts, progress, watch).conduct()
            _record_rest(folder, plan.producers, outcome)
            _record_marks(folder, request.scenario, outcome)
            answers = outcome.cluster_answers and _record_final_lag(folder, topics, outcome)
            if answers and not target.facts.embedded:
                topics.leave(outcome)
            write_facts(folder, _ended(facts, outcome))
    except StreamgaugeError:
        _remove_empty(folder)
        raise
    return folder


def _check_faults(request: Request) -> None:
    """A cluster of the user's is not ours to stop."""
    wrong = [place for place, fault in enumerate(request.scenario.faults) if fault.role == BROKER]
    if request.bootstrap and wrong:
        what = "broker: only an embedded broker can be paused, not one of a cluster that is given"
        raise BadInput([Fault(f"faults.{place}.target", what, "Leave --bootstrap out") for place in wrong])


def make_folder(out: Path, run_id: str) -> RunFolder:
    """A new run folder below `out`; a second run within the same second gets a number."""
    for attempt in range(1, 1000):
        root = out / (run_id if attempt == 1 else f"{run_id}-{attempt}")
        try:
            root.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise BadInput.single(
                f"--out {out}", f"cannot be written: {error.strerror}", "Name another folder"
            ) from error
        folder = RunFolder(root)
        folder.logs.mkdir()
        folder.events.mkdir()
        return folder
    raise BadInput.single(f"--out {out}", "holds a thousand runs of this second", "Name another folder")


def _remove_empty(folder: RunFolder) -> None:
    """Where nothing was recorded nothing is left, not even a folder; logs that say why stay."""
    for path in (folder.logs, folder.events, folder.root):
        with contextlib.suppress(OSError):
            path.rmdir()


@contextlib.contextmanager
def _target(request: Request, folder: RunFolder, interrupts: Interrupts, progress: Progress) -> Iterator[_Target]:
    """The given cluster, or an embedded broker, primed, that ends with the block."""
    if request.bootstrap:
        cluster = Cluster(request.bootstrap, request.connection)
        cluster.reachable()
        facts = BrokerFacts(embedded=False, bootstrap=request.bootstrap, version=cluster.version())
        yield _Target(facts, cluster, {**request.connection, "bootstrap.servers": request.bootstrap}, (), lambda: None)
        return
    with start_broker(
        # Beside the rows, on a disk: the system's temporary folder may be memory, and would make a broker look fast.
        data=folder.root / "broker",
        logs=folder.logs,
        java=request.java,
        detached=request.keep_broker,
        progress=progress,
    ) as broker:
        target = _embedded(broker)
        progress(f"priming it for {PRIME_SECONDS:g} s")
        prime(target.cluster, stopped=lambda: interrupts.count > 0)
        yield target
        if request.keep_broker:
            progress(f"broker kept at {broker.bootstrap}; end it with `streamgauge broker stop`")


def _embedded(broker: EmbeddedBroker) -> _Target:
    facts = BrokerFacts(embedded=True, bootstrap=broker.bootstrap, version=broker.version, processes=[broker.name])
    watched = (Watched(broker.name, "broker", broker.pid),)
    connection = {"bootstrap.servers": broker.bootstrap}
    cluster = Cluster(broker.bootstrap, {})
    return _Target(facts, cluster, connection, watched, lambda: _how_ended(broker))


def _how_ended(broker: EmbeddedBroker) -> str | None:
    return None if broker.alive else f"{broker.name} ended with exit code {broker.exit_code}"


@dataclass(slots=True)
class _Topics:
    """The topics of the run and the groups that read them, as the supervisor asks for them.

    Offsets of all topics stand in one list, in the order of the places: number of the topic x partitions + partition.
    """

    cluster: Cluster
    scenario: Scenario
    groups: Sequence[str]
    ended: Callable[[], str | None]
    """Why nothing can be asked any more; None while something can."""
    made: dict[str, str | None] = field(default_factory=dict)
    """The topics that this run made, and what the cluster calls each."""

    def prepare(self, *, embedded: bool, allow_reset: bool) -> None:
        """Make the topics, or check those that are there; delete only what the user allowed to be deleted."""
        faults: list[Fault] = []
        for name in self.scenario.topic_names:
            try:
                self._prepare(name, embedded=embedded, allow_reset=allow_reset)
            except BadInput as error:
                faults += error.faults
        if faults:
            raise BadInput(faults)

    def _prepare(self, name: str, *, embedded: bool, allow_reset: bool) -> None:
        topic = self.scenario.topic
        found = self.cluster.partitions_of(name)
        if found is not None and topic.reset:
            if not (embedded or allow_reset):
                what = f"topic {name} exists and would be deleted"
                raise BadInput.single("topic.reset", what, "Say --allow-reset if that is what you want")
            self.cluster.delete_topic(name)
            found = None
        if found is None and self.scenario.load is None and self.scenario.consume:
            raise BadInput.single(
                "topic.name", f"topic {name} does not exist and nothing is sent to it", "Name another"
            )
        if found is None:
            self.cluster.create_topic(name, topic.partitions, topic.replication, topic.configs)
            self.made[name] = self.cluster.topic_id(name)
        elif self.scenario.backpressure and self.scenario.backpressure.credit:
            what = f"topic {name} exists; credit counts offsets, and needs a topic that the run makes"
            raise BadInput.single("topic.name", what, "Name another, or write `topic: {reset: true}`")
        elif found != topic.partitions:
            what = f"topic {name} exists with {found} partitions, not {topic.partitions}"
            raise BadInput.single("topic.partitions", what, f"Set topic.partitions={found}, or name another topic")

    def begin(self) -> None:
        """Commit where each group starts: the audit counts from there."""
        if not self.groups:
            return
        start = start_of(self.scenario)
        for name in self.scenario.topic_names:
            offsets = self._starts(name, start)
            for group in self.groups:
                self.cluster.set_committed(group, name, offsets)

    def _starts(self, name: str, start: str | int) -> list[int]:
        if isinstance(start, int):
            return self.cluster.offsets_at(name, start)
        return self.cluster.log_starts(name) if start == "earliest" else self.cluster.log_ends(name)

    def leave(self, outcome: Outcome) -> None:
        """Remove the groups, which were made for this run only."""
        for group in self.groups:
            try:
                self.cluster.delete_group(group)
            except BrokerError as error:
                outcome.reasons.append(f"group {group} was not removed: {error}")

    def log_starts(self) -> list[int]:
        """Log start offset of each place."""
        self._check()
        return [offset for name in self.scenario.topic_names for offset in self.cluster.log_starts(name)]

    def log_ends(self) -> list[int]:
        """Log end offset of each place."""
        self._check()
        return [offset for name in self.scenario.topic_names for offset in self.cluster.log_ends(name)]

    def committed(self, group: int) -> list[int | None]:
        """Committed offset of a group in each place."""
        self._check()
        return [
            offset for name in self.scenario.topic_names for offset in self.cluster.committed(self.groups[group], name)
        ]

    def _check(self) -> None:
        """Do not wait for an answer that cannot come."""
        if reason := self.ended():
            raise BrokerError(reason)


def _record_lag(folder: RunFolder, topics: _Topics, moment: str) -> None:
    """Log starts, log ends and commits of every partition, as one row each for each group."""
    starts, ends = topics.log_starts(), topics.log_ends()
    partitions = topics.scenario.topic.partitions
    places = np.arange(len(ends), dtype=np.int32)
    with contextlib.closing(PartSink(folder, "lag", f"{PARENT}-{moment}", {}, len(ends))) as sink:
        for group in range(len(topics.groups)) if topics.groups else (None,):
            committed = [None] * len(ends) if group is None else topics.committed(group)
            sink.append(
                {
                    "at_ns": clock.monotonic_ns(),
                    "moment": moment,
                    "topic": places // partitions,
                    "group": group,
                    "consumer": None,
                    "partition": places % partitions,
                    "start": np.array(starts, np.int64),
                    "committed": np.array([NULL_INT64 if each is None else each for each in committed], np.int64),
                    "position": None,
                    "end": np.array(ends, np.int64),
                    "error": None,
                },
                len(ends),
            )


def _record_marks(folder: RunFolder, scenario: Scenario, outcome: Outcome) -> None:
    """What was done to the run: faults that were injected, and what the scenario changes by itself."""
    measure = next((phase for phase in outcome.phases if phase.name == "measure"), None)
    marks = list(outcome.marks)
    if measure:
        found = changes(scenario, measure.to_ns - measure.from_ns)
        marks += [Mark(*each._replace(at_ns=measure.from_ns + each.at_ns)) for each in found]
    if not marks:
        return
    marks.sort(key=lambda mark: mark.at_ns)
    at_ns, *texts = zip(*marks, strict=True)
    columns: dict[str, Any] = {"at_ns": np.array(at_ns, np.int64)}
    columns |= {name: list(values) for name, values in zip(Mark._fields[1:], texts, strict=True)}
    with contextlib.closing(PartSink(folder, "faults", PARENT, {}, len(marks))) as sink:
        sink.append(columns, len(marks))


def _record_final_lag(folder: RunFolder, topics: _Topics, outcome: Outcome) -> bool:
    """The rows without which no message can be called lost; a cluster that is gone cannot give them."""
    try:
        _record_lag(folder, topics, "final")
    except (BrokerError, RecordError) as error:
        outcome.fail(f"log ends at the end of the run are not known: {error}")
        return False
    return True


def _record_rest(folder: RunFolder, jobs: Sequence[ProducerJob], outcome: Outcome) -> None:
    """The messages that a producer which died would have sent: due, and never sent."""
    members = {member.number: member for job in jobs for member in job.members}
    for number, next_seq in outcome.next_seqs.items():
        pacer, topics = members[number].sending.pacer, np.array(members[number].recipe.topics, np.int32)
        if pacer is None or not outcome.phases or outcome.load_ended_ns is None:
            continue
        schedule = Schedule(pacer, outcome.phases[0].from_ns, outcome.load_ended_ns)
        constants = {"producer": number, "transaction": None, "admitted_ns": None}
        with contextlib.closing(PartSink(folder, "sent", f"{PARENT}-{number}", constants)) as sink:
            for first, due_ns in _after(schedule, next_seq, outcome.load_ended_ns):
                seqs = np.arange(first, first + len(due_ns), dtype=np.int64)
                rows = never_sent(seqs, due_ns, [UNSENT] * len(seqs))
                sink.append({**rows, "topic": topics[seqs % len(topics)]}, len(seqs))


def _after(schedule: Schedule, next_seq: int, ended_ns: int) -> Iterator[tuple[int, Int64s]]:
    """Sequence and due times, in blocks, of what was due from message `next_seq` on."""
    first = 0
    while len(due_ns := schedule.due(ended_ns, CHUNK)):
        skipped = min(max(0, next_seq - first), len(due_ns))
        if skipped < len(due_ns):
            yield first + skipped, due_ns[skipped:]
        first += len(due_ns)
        schedule.advance(len(due_ns))


def _facts(
    request: Request, identity: Identity, target: _Target, pair: clock.ClockPair, made: Mapping[str, str | None]
) -> RunFacts:
    scenario = request.scenario
    return RunFacts(
        id=identity.id,
        name=scenario.name,
        tag=identity.tag,
        created=clock.utc_text(pair.wall_ns),
        wall_ns=pair.wall_ns,
        monotonic_ns=pair.monotonic_ns,
        command=list(request.command),
        scenario=_without_secrets(document(scenario)),
        versions={**versions(), "java": request.java.version},
        machine=machine(),
        broker=target.facts,
        topics=[
            Numbered(id=number, name=name, partitions=scenario.topic.partitions, uuid=made.get(name))
            for number, name in enumerate(scenario.topic_names)
        ],
        groups=[Numbered(id=number, name=name) for number, name in enumerate(identity.groups(scenario))],
    )


def _without_secrets(scenario: dict[str, Any]) -> dict[str, Any]:
    """A scenario as it may be written down: passwords and keys of its client settings masked."""
    for part in ("load", "consume"):
        if isinstance(scenario[part], dict):
            scenario[part]["client"] = masked(scenario[part]["client"])
    return scenario


def _ended(facts: RunFacts, outcome: Outcome) -> RunFacts:
    return facts.model_copy(
        update={
            "workers": outcome.workers,
            "phases": outcome.phases,
            "load_ended_ns": outcome.load_ended_ns,
            "drain_ended_ns": outcome.drain_ended_ns,
            "drained": outcome.drained,
            "ending": outcome.ending,
            "reasons": outcome.reasons,
        }
    )
