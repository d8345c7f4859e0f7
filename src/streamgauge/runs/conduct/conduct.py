"""One run from scenario to run folder: broker, topic, offsets, workers, and the rows that only the parent can write."""

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from streamgauge.domain.errors import BrokerError, Interrupted, RecordError, StreamgaugeError
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.domain.look import Look
from streamgauge.engine.supervise.cells import PREFIX
from streamgauge.engine.supervise.local import LocalLauncher, memory_folder
from streamgauge.engine.supervise.plan import Begun, Interrupts, Outcome, Plan
from streamgauge.engine.supervise.supervisor import Supervisor
from streamgauge.processes.patience import Progress
from streamgauge.record.facts import write_facts
from streamgauge.record.parts import close_left_open, hold
from streamgauge.runs.conduct import facts as run_facts
from streamgauge.runs.conduct.folder import left_in_vain, make_folder, remove_empty
from streamgauge.runs.conduct.plan import plan_of
from streamgauge.runs.conduct.prepare import Prepared, prepare_run
from streamgauge.runs.conduct.query import connector_jars, table_folder
from streamgauge.runs.conduct.target import MeasuredCluster, WantedCluster, target_of
from streamgauge.runs.conduct.topics import Topics
from streamgauge.runs.conduct.waiting import Waiting
from streamgauge.runs.request.request import Request
from streamgauge.runs.rows.log import record_log, record_source, spans_of
from streamgauge.runs.rows.parent import Stands, ask_stands, record_changes, record_stands
from streamgauge.runs.rows.recover import own, sweep
from streamgauge.runs.rows.settle import settle, sources_of_jobs
from streamgauge.scenario import Scenario

Watch = Callable[[Look], None]
AfterLoad = Callable[[RunFolder, int], None]
OpenTarget = Callable[
    [WantedCluster, RunFolder, Interrupts, Progress], contextlib.AbstractContextManager[MeasuredCluster]
]

_OF_WORKERS: Final = (
    # The first rows that are written would load these two.
    "numpy.ma",
    "pyarrow.compute",
    "streamgauge.engine.worker.roles",
    "streamgauge.kafka.clients.producer",
    "streamgauge.kafka.clients.reader",
    "streamgauge.kafka.offsets",
    "streamgauge.record.corpus",
    "streamgauge.record.parts",
)
"""Modules that most workers need, beside those of the engine."""


def conduct(
    request: Request,
    interrupts: Interrupts,
    progress: Progress,
    watch: Watch | None = None,
    over: AfterLoad = lambda *_: None,
    open_target: OpenTarget = target_of,
) -> RunFolder:
    """As `conducted`, of a run that is prepared here; from then on anybody may analyse it."""
    with conducted(prepare_run(request), interrupts, progress, watch, over, open_target) as folder:
        return folder


@contextlib.contextmanager
def conducted(
    run: Prepared,
    interrupts: Interrupts,
    progress: Progress,
    watch: Watch | None = None,
    over: AfterLoad = lambda *_: None,
    open_target: OpenTarget = target_of,
) -> Iterator[RunFolder]:
    """Carry a scenario out; yields the folder with its rows and run.json. Raises BadInput before the load starts.

    Nobody else analyses the run before the block has ended. `watch` is shown how the run stands, once in a second.
    `over` is told as soon as nothing is measured any more, with the rows that there are about, unless the user wants to
    wait for nothing.
    """
    sweep()
    folder = make_folder(run.out, run.identity.id)
    with own(folder):
        with hold(folder):
            try:
                # Before a broker is started that would wait for it.
                connector_jars(run.scenario, progress, Waiting(interrupts))
                codecs = _codecs(run.scenario, progress)
                cells = memory_folder() / f"{PREFIX}{secrets.token_hex(8)}"
                with (
                    _loading(cells) as launcher,
                    open_target(run.cluster, folder, interrupts, progress) as target,
                    contextlib.closing(_topics_of(run, folder, target)) as topics,
                ):
                    begun = _begin(run, folder, target, topics, codecs, cells)
                    outcome = _load(begun, launcher, interrupts, progress, watch)
                    if not interrupts.at_once:
                        over(folder, _rows(outcome))
                    done = _ask_last(begun, target, outcome, progress)
            except Interrupted as error:
                if run.cluster.bootstrap:
                    # What it noted of topics that it made is how `streamgauge topics` finds them.
                    remove_empty(folder)
                    raise
                raise Interrupted(left_in_vain(folder)) from error
            except StreamgaugeError:
                remove_empty(folder)
                raise
            # The broker is gone, and its data with it: where the disk was full there is room now.
            _conclude(done)
        yield folder


@dataclass(frozen=True, slots=True)
class _Begun:
    """A run whose load may start: its topics are there, and its plan is made."""

    run: Prepared
    folder: RunFolder
    facts: RunFacts
    plan: Plan
    topics: Topics
    cells: Path
    """The file of the shared cells, which run.json names from the begin of the load on."""
    before: Stands
    """Where every partition stood before the load."""


@dataclass(frozen=True, slots=True)
class _Done:
    """A run whose load is over, and what is still to be written of it."""

    begun: _Begun
    facts: RunFacts
    outcome: Outcome
    final: Stands | None
    """Where every partition stood at the end; None where the cluster could not be asked."""


def _codecs(scenario: Scenario, progress: Progress) -> dict[str, Any] | None:
    """What codecs make of batches of the load, where that is asked for: on a machine that does nothing else yet."""
    if not (scenario.load and scenario.load.codecs):
        return None
    from streamgauge.runs.sample import codec_report

    progress("compressing batches with every codec")
    return codec_report(scenario)


@contextlib.contextmanager
def _loading(cells: Path) -> Iterator[LocalLauncher]:
    """A launcher that loads what workers need while the broker starts and topics are made."""
    with contextlib.closing(LocalLauncher(cells, _OF_WORKERS)) as launcher:
        launcher.load()
        yield launcher


def _topics_of(run: Prepared, folder: RunFolder, target: MeasuredCluster) -> Topics:
    """The topics and groups of a run, none of which is there yet."""
    scenario, identity = run.scenario, run.identity
    table = table_folder(scenario, folder.root)
    groups = identity.groups(scenario)
    return Topics(target.cluster, scenario, groups, target.ended, table, trackers=identity.trackers)


def _begin(
    run: Prepared,
    folder: RunFolder,
    target: MeasuredCluster,
    topics: Topics,
    codecs: Mapping[str, Any] | None,
    cells: Path,
) -> _Begun:
    """Make topics and groups on the cluster, and the plan; write run.json. Raises where the load cannot start."""
    identity = run.identity
    with topics.noting():
        topics.prepare(embedded=target.facts.embedded, allow_reset=run.allow_reset, fresh=target.is_shared)
        run = replace(run, scenario=topics.scenario)
        facts = run_facts.begun(run, target.facts, topics.made, codecs, target.settings_of_brokers)
        write_facts(folder, facts, reserve=True)
    try:
        topics.begin()
        before = ask_stands(topics, topics.starts)
        record_stands(folder, topics, before, "start")
    except StreamgaugeError as error:
        with contextlib.suppress(RecordError):
            reasons = [run.hide(str(error))]
            write_facts(folder, facts.model_copy(update={"ending": "failed", "reasons": reasons}))
        raise
    plan = plan_of(
        run.scenario,
        identity,
        target.connection,
        folder.root,
        target.nodes,
        pair=run.pair,
        network=target.broker.network if target.broker else None,
        bootstraps=target.broker.bootstraps if target.broker else None,
        starts=topics.starts,
        arrivals=run.arrivals,
        open_producer=target.open_producer,
        open_reader=target.open_reader,
    )
    return _Begun(run, folder, facts.model_copy(update={"cells": str(cells)}), plan, topics, cells, before)


def _load(
    begun: _Begun, launcher: LocalLauncher, interrupts: Interrupts, progress: Progress, watch: Watch | None
) -> Outcome:
    """Carry the plan out; raises only before the load begins."""
    facts, topics, cells = begun.facts, begun.topics, begun.cells

    def note(planned: Begun) -> None:
        update = {"phases": list(planned.phases), "workers": list(planned.workers)}
        write_facts(begun.folder, facts.model_copy(update=update), reserve=True)

    with _removed_in_vain(cells, interrupts):
        return Supervisor(begun.plan, launcher, topics, interrupts, progress, watch, begins=note).conduct()


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


def _ask_last(begun: _Begun, target: MeasuredCluster, outcome: Outcome, progress: Progress) -> _Done:
    """Learn from the cluster what only it knows, and leave it. Never raises: what goes wrong is noted."""
    run, topics, query = begun.run, begun.topics, begun.plan.query
    final = _ask_final(topics, outcome) if outcome.cluster_answers else None
    if final and query:
        record_source(begun.folder, run.scenario, query.spec, topics, run.identity.tag, outcome)
    elif final and run.scenario.reads_log:
        spans = spans_of(run.scenario, begun.before, final)
        connection = {**target.connection, "client.id": f"{run.identity.id}-log"}
        record_log(begun.folder, topics, connection, spans, run.identity.tag, outcome, progress)
    if final and not target.facts.embedded:
        topics.leave(outcome)
    for lost in target.broker.lost() if target.broker else []:
        outcome.fail(lost)
    names = target.broker.names if target.broker else []
    broker = begun.facts.broker.model_copy(update={"processes": list(names)})
    try:
        target.keep_logs(begun.folder)
    except RecordError as error:
        outcome.fail(str(error))
    return _Done(begun, begun.facts.model_copy(update={"broker": broker}), outcome, final)


def _ask_final(topics: Topics, outcome: Outcome) -> Stands | None:
    """The offsets without which no message can be called lost; a cluster that is gone cannot tell them."""
    try:
        return ask_stands(topics, topics.starts if outcome.query_ends is None else outcome.query_ends)
    except BrokerError as error:
        outcome.fail(f"log ends at the end of the run are not known: {error}")
    except Interrupted as error:
        outcome.interrupt(f"log ends at the end of the run are not known: {error}")
    return None


def _conclude(done: _Done) -> None:
    """Write what only the supervisor knows: rows where that is possible, and how the run ended in any case."""
    begun, outcome = done.begun, done.outcome
    folder, run = begun.folder, begun.run

    def lag() -> None:
        if done.final:
            record_stands(folder, begun.topics, done.final, "final")

    def unreported() -> None:
        close_left_open(folder)
        settle(folder, run_facts.ended(done.facts, outcome, run.hide), sources_of_jobs(begun.plan.producers))

    for record in (lag, lambda: record_changes(folder, run.scenario, outcome.phases), unreported):
        try:
            record()
        except RecordError as error:
            outcome.fail(f"supervisor: {error}; recorded events are kept: {folder.analyse_again}")
    write_facts(folder, run_facts.ended(done.facts, outcome, run.hide))
    begun.cells.unlink(missing_ok=True)
