"""The runs of a calibration: workers, rows and analysis are those of every run, only the cluster is a model."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from streamgauge.domain import clock
from streamgauge.domain.errors import CtrlC, Interrupted, RunFailed
from streamgauge.domain.folder.facts import BrokerFacts, RunFolder
from streamgauge.engine.supervise.cells import PREFIX
from streamgauge.engine.supervise.local import memory_folder, named_memory
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.modelled.broker import ModelledBroker
from streamgauge.modelled.memory import Shape
from streamgauge.processes.disk import reserve
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.patience import Progress
from streamgauge.processes.scratch import CALIBRATION, Scratch
from streamgauge.record.facts import machine, read_facts, versions
from streamgauge.runs.analysis import answered
from streamgauge.runs.conduct.conduct import conduct
from streamgauge.runs.conduct.producers import sending_of
from streamgauge.runs.conduct.target import MeasuredCluster
from streamgauge.runs.interrupts import noted
from streamgauge.runs.machine import archives
from streamgauge.runs.machine.calibrate.compared import Compared, PlantedLoad, measured, planted
from streamgauge.runs.machine.calibrate.planned import SIZE_BYTES, Planned
from streamgauge.runs.request.request import Request
from streamgauge.runs.rows.recover import alone
from streamgauge.verdict.calibration import Calibration, machine_of

Beside = Callable[[Path], contextlib.AbstractContextManager[object]]
"""What happens beside one run; it is given a folder on the disk that takes the rows."""


def calibrate(
    plans: Sequence[Planned], java: Java, progress: Progress, beside: Sequence[Beside] = ()
) -> list[Compared]:
    """Carry the runs out, and then analyse them, so that Spark disturbs none; nothing of them is left.

    What is to happen `beside` each of them may be given. Raises Interrupted on Ctrl-C, RunFailed where a run or its
    analysis fails.
    """
    disturbances = beside or [_in_peace] * len(plans)
    archives.make_way()
    with Scratch(CALIBRATION) as scratch, noted(interrupts := Interrupts(), progress):
        try:
            done = []
            for plan, disturbance in zip(plans, disturbances, strict=True):
                with disturbance(scratch.path):
                    done.append(_run(plan, scratch.path, java, interrupts, progress))
            interrupts.breaks = True
            return [_compared(plan, folder, taken, progress) for plan, (folder, taken) in zip(plans, done, strict=True)]
        except (Interrupted, CtrlC, KeyboardInterrupt) as error:
            raise Interrupted("interrupted; nothing was kept") from error


def _in_peace(_folder: Path) -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext()


def _run(
    plan: Planned, out: Path, java: Java, asked: Interrupts, progress: Progress
) -> tuple[RunFolder, Sequence[int]]:
    """One run: its folder, and how many messages of each producer arrived."""
    progress(f"{plan.rate:,} messages a second")
    request = Request(scenario=plan.scenario, out=out, command=["streamgauge", "calibrate"], java=java)
    taken: list[int] = []

    @contextlib.contextmanager
    def target(*_: object) -> Iterator[MeasuredCluster]:
        with _broker(plan) as broker:
            facts = BrokerFacts(embedded=False, bootstrap="a modelled broker in memory", modelled=True)
            yield MeasuredCluster(
                facts,
                broker,
                connection={},
                ended=lambda: None,
                open_producer=broker.open_producer,
                open_reader=broker.open_reader,
            )
            taken.extend(broker.taken(producer) for producer in range(len(plan.models)))

    # Each run knows of its own what was asked before its load and during it.
    interrupts = Interrupts(count=asked.count)
    with noted(interrupts, progress):
        folder = conduct(request, interrupts, progress, open_target=target)
    facts = read_facts(folder)
    if asked.count or interrupts.count:
        raise CtrlC
    if facts.ending != "finished":
        raise RunFailed(f"{request.scenario.name}: {'; '.join(facts.reasons)}")
    return folder, taken


@contextlib.contextmanager
def _broker(plan: Planned) -> Iterator[ModelledBroker]:
    """A modelled broker whose memory goes with the block; of one that was killed, the next run removes it."""
    shape = Shape(memory_folder() / f"{PREFIX}{secrets.token_hex(8)}", plan.models, slot_bytes=SIZE_BYTES)
    try:
        with named_memory(shape.file) as descriptor:
            reserve(descriptor, shape.size)
            # Who sweeps leaves a file alone that somebody holds.
            held = os.dup(descriptor)
    except OSError as error:
        raise RunFailed(f"{shape.file}: {shape.size:,} bytes of memory cannot be had: {error.strerror}") from error
    try:
        yield ModelledBroker(shape)
    finally:
        shape.file.unlink(missing_ok=True)
        os.close(held)


def _compared(plan: Planned, folder: RunFolder, taken: Sequence[int], progress: Progress) -> Compared:
    """What was planted in a run beside what its analysis says."""
    scenario = plan.scenario
    with alone(folder):
        facts, result = answered(folder, progress)
    measure, load = facts.phase("measure"), scenario.load
    assert measure
    assert load
    assert facts.drain_ended_ns
    loads = []
    for producer, (count, model) in enumerate(zip(taken, plan.models, strict=True)):
        pacer = sending_of(scenario, load, producer, None).pacer
        assert pacer
        loads.append(PlantedLoad(facts.phases[0].from_ns + pacer.due_ns(0, count), model))
    truth = planted(loads, measure.from_ns, measure.to_ns, facts.drain_ended_ns)
    checks = (each for each in result.verdict.checks if each.about == "instrument" and each.status == "fail")
    failed = tuple(check.name for check in checks)
    return Compared(plan.rate, truth, measured(result), result.delivery.unsent or 0, result.verdict.state, failed)


def kept_as(found: Sequence[Compared]) -> list[Calibration]:
    """What is kept of a calibration that was made just now, on this machine."""
    facts, version, wall_ns = machine_of(machine()), versions()["streamgauge"], clock.clock_pair().wall_ns
    return [Calibration(facts, version, each.rate, wall_ns, each.errors_ms, tuple(each.miscounted)) for each in found]
