"""What run.json says of a run: what is known when its load begins, and how it ended."""

from collections.abc import Callable, Mapping
from typing import Any

from streamgauge.domain import clock
from streamgauge.domain.folder.facts import BrokerFacts, CalibrationFacts, Numbered, RunFacts
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.record.calibrations import read_calibrations
from streamgauge.record.facts import machine, versions
from streamgauge.runs.conduct.prepare import Prepared
from streamgauge.runs.request.materials import replayed_rate
from streamgauge.scenario import shareable
from streamgauge.scenario.profile import profile_of
from streamgauge.verdict.calibration import Calibration, nearest, rate_of


def begun(
    run: Prepared,
    broker: BrokerFacts,
    made: Mapping[str, str | None],
    codecs: Mapping[str, Any] | None,
    settings: Mapping[str, str] | None = None,
) -> RunFacts:
    """The facts before the load.

    `made` are the topics that the run made, and what the cluster calls each; `codecs` what codecs made of the load;
    `settings` those of brokers that the run did not start.
    """
    scenario, identity = run.scenario, run.identity
    names = [*identity.groups(scenario), *([identity.query] if scenario.pipeline else [])]
    profile, here, used = profile_of(scenario, settings), machine(), versions()
    rate = rate_of(profile.pace) or replayed_rate(scenario, run.arrivals)
    # A calibration is not judged by an earlier one.
    kept = [] if broker.modelled else read_calibrations()
    known = nearest(kept, here, used["streamgauge"], rate, run.pair.wall_ns)
    return RunFacts(
        id=identity.id,
        name=scenario.name,
        tag=identity.tag,
        created=clock.utc_text(run.pair.wall_ns),
        wall_ns=run.pair.wall_ns,
        monotonic_ns=run.pair.monotonic_ns,
        command=list(run.command),
        scenario=shareable(scenario),
        profile=profile.model_dump(mode="json"),
        versions={**used, "java": run.cluster.java.version},
        machine=here,
        broker=broker,
        codecs=None if codecs is None else dict(codecs),
        calibration=_calibration(known) if known else None,
        topics=[
            Numbered(id=number, name=name, partitions=scenario.topic.partitions, uuid=made.get(name))
            for number, name in enumerate(scenario.topic_names)
        ],
        beside={name: uuid for name, uuid in made.items() if name not in scenario.topic_names},
        groups=[Numbered(id=number, name=name) for number, name in enumerate(names)],
    )


def ended(facts: RunFacts, outcome: Outcome, hide: Callable[[str], str]) -> RunFacts:
    """The facts of a run that is over; `hide` masks secrets in what workers and clients said."""
    pair = clock.clock_pair()
    workers = [worker.model_copy(update={"error": worker.error and hide(worker.error)}) for worker in outcome.workers]
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
            "reasons": [hide(reason) for reason in outcome.reasons],
        }
    )


def _calibration(known: Calibration) -> CalibrationFacts:
    return CalibrationFacts(rate=known.rate, wall_ns=known.wall_ns, errors_ms=dict(known.errors_ms))
