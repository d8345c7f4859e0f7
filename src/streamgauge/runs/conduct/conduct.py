"""One run from scenario to run folder: broker, topic, offsets, workers, and the rows that only the parent can write."""

import contextlib
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamgauge.domain import clock
from streamgauge.domain.errors import (
    BadInput,
    BrokerError,
    Fault,
    Interrupted,
    RecordError,
    StreamgaugeError,
)
from streamgauge.domain.folder.cells import PREFIX
from streamgauge.domain.folder.facts import CalibrationFacts, Numbered, RunFacts, RunFolder
from streamgauge.domain.look import Look
from streamgauge.engine.supervise.local import LocalLauncher, memory_folder
from streamgauge.engine.supervise.plan import Begun, Interrupts, Outcome, Plan
from streamgauge.engine.supervise.supervisor import Supervisor
from streamgauge.processes.patience import Progress
from streamgauge.record.calibrations import read_calibrations
from streamgauge.record.facts import give_back, machine, read_facts, versions, write_facts
from streamgauge.record.parts import close_left_open, hold
from streamgauge.runs.conduct.identity import Identity
from streamgauge.runs.conduct.plan import plan_of
from streamgauge.runs.conduct.query import connector_jars, table_folder
from streamgauge.runs.conduct.target import MeasuredCluster, target_of
from streamgauge.runs.conduct.topics import Topics
from streamgauge.runs.conduct.waiting import IN_VAIN, Waiting
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.trust import check_trust
from streamgauge.runs.rows.parent import Stands, ask_stands, record_changes, record_source, record_stands
from streamgauge.runs.rows.recover import own, sweep
from streamgauge.runs.rows.settle import settle, sources_of_jobs
from streamgauge.scenario import shareable
from streamgauge.scenario.model.faults import BROKER
from streamgauge.scenario.profile import profile_of
from streamgauge.verdict.calibration import Calibration, nearest

OpenTarget = Callable[[Request, RunFolder, Interrupts, Progress], contextlib.AbstractContextManager[MeasuredCluster]]


def conduct(
    request: Request,
    interrupts: Interrupts,
    progress: Progress,
    watch: Callable[[Look], None] | None = None,
    over: Callable[[RunFolder, int], None] = lambda *_: None,
    open_target: OpenTarget = target_of,
) -> RunFolder:
    """As `conducted`; from then on anybody may analyse the run."""
    with conducted(request, interrupts, progress, watch, over, open_target) as folder:
        return folder


@contextlib.contextmanager
def conducted(
    request: Request,
    interrupts: Interrupts,
    progress: Progress,
    watch: Callable[[Look], None] | None = None,
    over: Callable[[RunFolder, int], None] = lambda *_: None,
    open_target: OpenTarget = target_of,
) -> Iterator[RunFolder]:
    """Carry a scenario out; yields the folder with its rows and run.json. Raises BadInput before anything starts.

    Nobody else analyses the run before the block has ended. `watch` is shown how the run stands, once in a second.
    `over` is told as soon as nothing is measured any more, with the rows that there are about, unless the user wants to
    wait for nothing.
    """
    check_trust(request.scenario, request.trust)
    _check_faults(request)
    sweep()
    pair = clock.clock_pair()
    run_id = f"{clock.local_stamp(pair.wall_ns)}-{request.scenario.name}"
    folder = make_folder(request.out, run_id)
    identity = Identity(run_id, secrets.randbits(32), f"streamgauge-{run_id}-{secrets.token_hex(3)}")
    with own(folder):
        with hold(folder):
            try:
                # Before a broker is started that would wait for it.
                connector_jars(request.scenario, progress, Waiting(interrupts))
                with open_target(request, folder, interrupts, progress) as target:
                    done = _carry_out(request, identity, pair, folder, target, interrupts, progress, watch, over)
            except Interrupted as error:
                if request.bootstrap:
                    # What it noted of topics that it made is how `streamgauge topics` finds them.
                    _remove_empty(folder)
                    raise
                raise Interrupted(left_in_vain(folder)) from error
            except StreamgaugeError:
                _remove_empty(folder)
                raise
            # The broker is gone, and its data with it: where the disk was full there is room now.
            _conclude(folder, request, done)
        yield folder


@dataclass(frozen=True, slots=True)
class _Done:
    """A run that was carried out, and what is still to be written of it."""

    facts: RunFacts
    plan: Plan
    outcome: Outcome
    topics: Topics
    final: Stands | None
    """Where every partition stood at the end; None where the cluster could not be asked."""


def _carry_out(
    request: Request,
    identity: Identity,
    pair: clock.ClockPair,
    folder: RunFolder,
    target: MeasuredCluster,
    interrupts: Interrupts,
    progress: Progress,
    watch: Callable[[Look], None] | None,
    over: Callable[[RunFolder, int], None],
) -> _Done:
    """Do on a cluster what has to be done while there is one. Raises before the load, and never after its begin."""
    scenario = request.scenario
    table = table_folder(scenario, folder.root)
    topics = Topics(target.cluster, scenario, identity.groups(scenario), target.ended, table)
    topics.prepare(embedded=target.facts.embedded, allow_reset=request.allow_reset, fresh=target.is_shared)
    facts = _facts(request, identity, target, pair, topics.made)
    write_facts(folder, facts, reserve=True)
    try:
        topics.begin()
        record_stands(folder, topics, ask_stands(topics, topics.starts), "start")
    except StreamgaugeError as error:
        with contextlib.suppress(RecordError):
            reasons = [request.without_secrets(str(error))]
            write_facts(folder, facts.model_copy(update={"ending": "failed", "reasons": reasons}))
        raise
    plan = plan_of(
        scenario,
        identity,
        target.connection,
        folder.root,
        [target.broker] if target.broker else [],
        pair=pair,
        starts=topics.starts,
        arrivals=request.arrivals,
        open_producer=target.open_producer,
        open_reader=target.open_reader,
    )
    cells = memory_folder() / f"{PREFIX}{secrets.token_hex(8)}"
    facts = facts.model_copy(update={"cells": str(cells)})

    def note(begun: Begun) -> None:
        planned = {"phases": list(begun.phases), "workers": list(begun.workers)}
        write_facts(folder, facts.model_copy(update=planned), reserve=True)

    with _removed_in_vain(cells, interrupts):
        outcome = Supervisor(plan, LocalLauncher(cells), topics, interrupts, progress, watch, begins=note).conduct()
    if not interrupts.at_once:
        over(folder, _rows(outcome))
    final = _ask_final(topics, outcome) if outcome.cluster_answers else None
    if final and plan.query:
        record_source(folder, scenario, plan.query.spec, topics, identity.tag, outcome)
    if final and not target.facts.embedded:
        topics.leave(outcome)
    names = target.broker.names if target.broker else []
    broker = facts.broker.model_copy(update={"processes": list(names)})
    try:
        target.keep_logs(folder)
    except RecordError as error:
        outcome.fail(str(error))
    return _Done(facts.model_copy(update={"broker": broker}), plan, outcome, topics, final)


@contextlib.contextmanager
def _removed_in_vain(cells: Path, interrupts: Interrupts) -> Iterator[None]:
    """Remove the file of shared cells if the block fails before the load: run.json does not name it yet."""
    try:
        yield
    except BaseException:
        if not interrupts.load_began:
            cells.unlink(missing_ok=True)
        raise


def _rows(outcome: Outcome) -> int:
    """How many rows a run has, about: what was sent was mostly received."""
    return 2 * sum(sum(worker.next_seqs or ()) for worker in outcome.workers)


def _ask_final(topics: Topics, outcome: Outcome) -> Stands | None:
    """The offsets without which no message can be called lost; a cluster that is gone cannot tell them."""
    try:
        return ask_stands(topics, topics.starts if outcome.query_ends is None else outcome.query_ends)
    except BrokerError as error:
        outcome.fail(f"log ends at the end of the run are not known: {error}")
    except Interrupted as error:
        outcome.interrupt(f"log ends at the end of the run are not known: {error}")
    return None


def _conclude(folder: RunFolder, request: Request, done: _Done) -> None:
    """Write what only the supervisor knows: rows where that is possible, and how the run ended in any case."""
    outcome = done.outcome

    def lag() -> None:
        if done.final:
            record_stands(folder, done.topics, done.final, "final")

    def fates() -> None:
        close_left_open(folder)
        settle(folder, _ended(done.facts, outcome, request), sources_of_jobs(done.plan.producers))

    for record in (lag, lambda: record_changes(folder, request.scenario, outcome.phases), fates):
        try:
            record()
        except RecordError as error:
            outcome.fail(f"supervisor: {error}; recorded events are kept: {folder.analyse_again}")
    write_facts(folder, _ended(done.facts, outcome, request))
    if done.facts.cells:
        Path(done.facts.cells).unlink(missing_ok=True)


def _check_faults(request: Request) -> None:
    """A cluster of the user's is not ours to stop."""
    wrong = [place for place, fault in enumerate(request.scenario.faults) if fault.role == BROKER]
    if request.bootstrap and wrong:
        what = "broker: only an embedded broker can be paused, not a cluster of --bootstrap"
        raise BadInput([Fault(f"faults.{place}.target", what, "Leave --bootstrap out") for place in wrong])


def make_folder(out: Path, run_id: str) -> RunFolder:
    """A new run folder below `out`; a second run within the same second gets a number.

    Raises BadInput if it cannot be created, or if there are 1,000 already.
    """
    for attempt in range(1, 1001):
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
    raise BadInput.single(f"--out {out}", "contains 1,000 runs with this timestamp", "Name another folder")


def left_in_vain(folder: RunFolder) -> str:
    """Remove a run that was interrupted before its load, but for what knows topics of a cluster; what is left."""
    if folder.facts.exists():
        facts = read_facts(folder)
        if not facts.broker.embedded and any(topic.uuid for topic in facts.topics):
            give_back(folder)
            return f"{IN_VAIN}; {folder.root} is kept, so that `streamgauge topics` finds the topics that it created"
    shutil.rmtree(folder.root, ignore_errors=True)
    return f"{IN_VAIN}, and nothing was kept"


def _remove_empty(folder: RunFolder) -> None:
    """Where nothing was recorded nothing is left, not even a folder; logs that say why stay."""
    with contextlib.suppress(OSError):
        give_back(folder)
    for path in (folder.logs, folder.events, folder.root):
        with contextlib.suppress(OSError):
            path.rmdir()


def _facts(
    request: Request, identity: Identity, target: MeasuredCluster, pair: clock.ClockPair, made: Mapping[str, str | None]
) -> RunFacts:
    scenario = request.scenario
    names = [*identity.groups(scenario), *([identity.query] if scenario.pipeline else [])]
    profile, here, used = profile_of(scenario), machine(), versions()
    rate = profile.pace.per_second if profile.pace else None
    # A calibration is not judged by an earlier one.
    kept = [] if target.facts.modelled else read_calibrations()
    known = nearest(kept, here, used["streamgauge"], rate, pair.wall_ns)
    return RunFacts(
        id=identity.id,
        name=scenario.name,
        tag=identity.tag,
        created=clock.utc_text(pair.wall_ns),
        wall_ns=pair.wall_ns,
        monotonic_ns=pair.monotonic_ns,
        command=list(request.command),
        scenario=shareable(scenario),
        profile=profile.model_dump(mode="json"),
        versions={**used, "java": request.java.version},
        machine=here,
        broker=target.facts,
        calibration=_calibration(known) if known else None,
        topics=[
            Numbered(id=number, name=name, partitions=scenario.topic.partitions, uuid=made.get(name))
            for number, name in enumerate(scenario.topic_names)
        ],
        groups=[Numbered(id=number, name=name) for number, name in enumerate(names)],
    )


def _calibration(known: Calibration) -> CalibrationFacts:
    return CalibrationFacts(rate=known.rate, wall_ns=known.wall_ns, errors_ms=dict(known.errors_ms))


def _ended(facts: RunFacts, outcome: Outcome, request: Request) -> RunFacts:
    pair = clock.clock_pair()
    workers = [
        worker.model_copy(update={"error": worker.error and request.without_secrets(worker.error)})
        for worker in outcome.workers
    ]
    return facts.model_copy(
        update={
            "ended_wall_ns": pair.wall_ns,
            "ended_monotonic_ns": pair.monotonic_ns,
            "workers": workers,
            "phases": outcome.phases,
            "load_ended_ns": outcome.load_ended_ns,
            "drain_ended_ns": outcome.drain_ended_ns,
            "drained": outcome.drained,
            "cells": None,
            "ending": outcome.ending,
            "reasons": [request.without_secrets(reason) for reason in outcome.reasons],
        }
    )
