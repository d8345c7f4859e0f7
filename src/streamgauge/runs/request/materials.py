"""What a scenario names outside itself: client settings, files and functions, looked at before anything starts."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput, Fault, WorkerError
from streamgauge.engine.consume.buffer import ARGUMENTS
from streamgauge.engine.produce.compose import Composer
from streamgauge.kafka.carriers.share.settings import share_faults
from streamgauge.kafka.clients.producer import TRANSACTIONAL_ID
from streamgauge.kafka.clients.settings import NO_SETTINGS, Settings, consumer_faults, producer_faults
from streamgauge.processes.functions import JOB_ARGUMENTS, ORACLE_ARGUMENTS, load_function
from streamgauge.record.arrivals import read_arrivals
from streamgauge.runs.conduct.producers import recipe_of
from streamgauge.scenario import Load, Scenario
from streamgauge.scenario.model.pacing.pace import Pace
from streamgauge.scenario.model.pacing.shapes import Replay
from streamgauge.workload.pacing import Int64s


def check_settings(scenario: Scenario, connection: Settings = NO_SETTINGS) -> None:
    """Ask the client about the scenario's settings before anything starts; raises BadInput with all faults."""
    faults = producer_faults("topic.client", scenario.topic.client, connection)
    if load := scenario.load:
        transacted = {TRANSACTIONAL_ID: "check"} if load.transactions else {}
        faults += producer_faults("load.client", load.client, {**connection, **transacted})
    if scenario.consume:
        wrong = share_faults if scenario.consume.share else consumer_faults
        faults += wrong("consume.client", scenario.consume.client, connection)
    if faults:
        raise BadInput(faults)


def read_materials(scenario: Scenario) -> Int64s | None:
    """Look at what a scenario names outside itself, files and functions, before anything starts.

    Returns the arrivals of a replay, None where there is none; raises BadInput with all that cannot be used.
    """
    faults: list[Fault] = []
    arrivals = None
    load = scenario.load
    try:
        arrivals = arrivals_of(scenario)
    except BadInput as error:
        faults += error.faults
    if load and load.is_from_outside:
        try:
            Composer(recipe_of(scenario, load, 0, 0), 1).compose(np.zeros(1, np.int64), None, 0)
        except BadInput as error:
            faults += [Fault(f"load: {fault.where}", fault.what, fault.mend) for fault in error.faults]
        except WorkerError as error:
            faults.append(Fault("load.payload", str(error), "Correct the function, or name another"))
    for where, name, arguments in _functions(scenario):
        try:
            load_function(name, arguments)
        except WorkerError as error:
            faults.append(Fault(where, str(error), "Correct the function, or name another"))
    if faults:
        raise BadInput(faults)
    return arrivals


def arrivals_of(scenario: Scenario) -> Int64s | None:
    """The arrivals of a replay; None where there is none. Raises BadInput where they cannot be read."""
    replay = replayed(scenario.load) if scenario.load else None
    return read_arrivals(Path(replay.file), replay.column) if replay else None


def replayed(load: Load) -> Replay | None:
    """What a load replays; None for one that follows a shape."""
    return load.rate.replay if isinstance(load.rate, Pace) else None


def replayed_rate(scenario: Scenario, arrivals: Int64s | None) -> float | None:
    """Messages a second on average of a replay; None of another load, and where all arrive at once."""
    replay = replayed(scenario.load) if scenario.load else None
    if replay is None or arrivals is None or not len(arrivals) or arrivals[-1] <= arrivals[0]:
        return None
    return float((len(arrivals) - 1) * NS_PER_SECOND * replay.scale / (arrivals[-1] - arrivals[0]))


def _functions(scenario: Scenario) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Functions of the user's: where the scenario names each, its name, and what it is called with."""
    processing = scenario.consume.processing if scenario.consume else None
    if processing and processing.function:
        yield "consume.processing.function", processing.function, ARGUMENTS
    job = scenario.pipeline.job.function if scenario.pipeline else None
    if job:
        yield "pipeline.job.function.call", job.call, JOB_ARGUMENTS
    if job and job.expects:
        yield "pipeline.job.function.expects", job.expects, ORACLE_ARGUMENTS
