"""One run from scenario to run folder: broker, topic, offsets, workers, and the rows that only the parent can write."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamgauge.cli.piping import connector_jars, table_folder
from streamgauge.cli.prepared import Topics
from streamgauge.cli.rows import record_final_lag, record_lag, record_marks, record_rest, record_source
from streamgauge.cli.wiring import Identity, plan_of
from streamgauge.domain import clock
from streamgauge.domain.errors import BadInput, Fault, StreamgaugeError
from streamgauge.domain.look import Look
from streamgauge.domain.pacing import Int64s
from streamgauge.domain.runfolder import BrokerFacts, Numbered, RunFacts, RunFolder
from streamgauge.domain.scenario import Scenario, Setting, document
from streamgauge.domain.scenario.faults import BROKER
from streamgauge.domain.secrets import masked
from streamgauge.engine.plan import Interrupts, Outcome
from streamgauge.engine.sample import Watched
from streamgauge.engine.supervise import Supervisor
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.embedded import EmbeddedBroker, start_broker
from streamgauge.kafka.java import Java
from streamgauge.kafka.prime import PRIME_SECONDS, prime
from streamgauge.record.facts import machine, versions, write_facts

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
    broker: EmbeddedBroker | None = None
    """Where it is ours."""

    def revive(self) -> int:
        """Start the broker again; its process id."""
        assert self.broker
        self.broker.restart()
        return self.broker.pid


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
        # Before a broker is started that would wait for it.
        connector_jars(request.scenario, progress)
        with _target(request, folder, interrupts, progress) as target:
            table = table_folder(request.scenario, folder.root)
            topics = Topics(target.cluster, request.scenario, identity.groups(request.scenario), target.ended, table)
            topics.prepare(embedded=target.facts.embedded, allow_reset=request.allow_reset)
            facts = _facts(request, identity, target, pair, topics.made)
            write_facts(folder, facts)
            topics.begin()
            record_lag(folder, topics, "start")
            plan = plan_of(
                request.scenario,
                identity,
                target.connection,
                folder.root,
                target.watched,
                pair=pair,
                revive=target.revive if target.broker else None,
                starts=topics.starts,
                arrivals=request.arrivals,
            )
            outcome = Supervisor(plan, topics, interrupts, progress, watch).conduct()
            topics.query_ends = outcome.query_ends
            record_rest(folder, plan.producers, outcome)
            record_marks(folder, request.scenario, outcome)
            answers = outcome.cluster_answers and record_final_lag(folder, topics, outcome)
            if answers and plan.query:
                record_source(folder, request.scenario, plan.query.spec, topics, identity.tag, outcome)
            if answers and not target.facts.embedded:
                topics.leave(outcome)
            names = target.broker.names if target.broker else []
            write_facts(folder, _ended(facts, outcome, names))
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
    return _Target(facts, cluster, connection, watched, lambda: _how_ended(broker), broker)


def _how_ended(broker: EmbeddedBroker) -> str | None:
    return None if broker.alive else f"{broker.name} ended with exit code {broker.exit_code}"


def _facts(
    request: Request, identity: Identity, target: _Target, pair: clock.ClockPair, made: Mapping[str, str | None]
) -> RunFacts:
    scenario = request.scenario
    names = [*identity.groups(scenario), *([identity.query] if scenario.pipeline else [])]
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
        groups=[Numbered(id=number, name=name) for number, name in enumerate(names)],
    )


def _without_secrets(scenario: dict[str, Any]) -> dict[str, Any]:
    """A scenario as it may be written down: passwords and keys of its client settings masked."""
    for part in ("load", "consume"):
        if isinstance(scenario[part], dict):
            scenario[part]["client"] = masked(scenario[part]["client"])
    return scenario


def _ended(facts: RunFacts, outcome: Outcome, brokers: Sequence[str]) -> RunFacts:
    return facts.model_copy(
        update={
            "broker": facts.broker.model_copy(update={"processes": list(brokers)}),
            "workers": outcome.workers,
            "phases": outcome.phases,
            "load_ended_ns": outcome.load_ended_ns,
            "drain_ended_ns": outcome.drain_ended_ns,
            "drained": outcome.drained,
            "ending": outcome.ending,
            "reasons": outcome.reasons,
        }
    )
