"""From a scenario to its profile: the only place that interprets one for those who look at a run."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.query import Setting
from streamgauge.domain.text.secrets import masked
from streamgauge.scenario.advice import LINGER, number_of
from streamgauge.scenario.model.acknowledge import Acknowledge
from streamgauge.scenario.model.backpressure import Backpressure, Credit, Hysteresis
from streamgauge.scenario.model.consume import Commit, Consume
from streamgauge.scenario.model.environment.faults.schedule import occurrences
from streamgauge.scenario.model.jobs import AGGREGATE
from streamgauge.scenario.model.load import Load
from streamgauge.scenario.model.pacing import pace
from streamgauge.scenario.model.pacing.processing import Processing
from streamgauge.scenario.model.pipeline import Pipeline
from streamgauge.scenario.model.scenario import Measure, Scenario
from streamgauge.scenario.parse import understood
from streamgauge.scenario.profile.model import (
    CONSTANT,
    UNKNOWN,
    AcknowledgeProfile,
    ConnectionsProfile,
    ConsumeProfile,
    Delay,
    LoadProfile,
    PaceProfile,
    PaceSegment,
    PipelineProfile,
    PolicyProfile,
    ProcessingProfile,
    Profile,
)
from streamgauge.scenario.profile.shapes import Rates, rates_of

_NOTHING = {"name": "unnamed", "load": "off", "consume": "off", "lag": "off"}
"""A part that is not in a run.json was not there in the run, whatever the default is today."""
TIMEOUTS_MS: Final = {
    "broker.session.timeout.ms": 9_000.0,
    "replica.lag.time.max.ms": 30_000.0,
    "message.timeout.ms": 300_000.0,
    "request.timeout.ms": 30_000.0,
    "session.timeout.ms": 45_000.0,
    "max.poll.interval.ms": 300_000.0,
}
"""Timeouts of the broker 4.x and of librdkafka 2.x, and their defaults."""
_ALIASES: Final = {"delivery.timeout.ms": "message.timeout.ms"}
_SILENCES: Final = ("session.timeout.ms", "max.poll.interval.ms")
"""How long a consumer may be silent."""
_COMMIT_INTERVAL: Final = "auto.commit.interval.ms"
_COMMIT_INTERVAL_MS: Final = 5_000.0
"""The default of librdkafka 2.x."""


def profile_of(scenario: Scenario, brokers: Mapping[str, Setting] | None = None) -> Profile:
    """What a scenario means, without its secrets; `brokers` are settings of brokers that it did not start."""
    connections = scenario.connections.work if scenario.connections else ()
    measure = scenario.phases.measure
    return Profile(
        load=_load(scenario, scenario.load) if scenario.load else None,
        consume=_consume(scenario, scenario.consume) if scenario.consume else None,
        pipeline=_pipeline(scenario.pipeline) if scenario.pipeline else None,
        backpressure=_policy(scenario.backpressure) if scenario.backpressure else None,
        connections=tuple(
            ConnectionsProfile(
                kind=work.kind.value, per_second=float(work.per_second), held=work.held, at_once=work.at_once
            )
            for work in connections
        ),
        partitions=scenario.topic.partitions,
        replication=scenario.topic.replication,
        lag_every_ns=scenario.lag.every if scenario.lag else None,
        fault_count=len(occurrences(scenario.faults, scenario.phases.measure_ns, scenario.seed)),
        timeouts_ms=_timeouts_ms(scenario, scenario.cluster.configs if brokers is None else brokers),
        bytes_per_partition=measure.bytes_per_partition if isinstance(measure, Measure) else None,
        start_at=scenario.phases.start_at,
        verify_every=scenario.verify_every,
        reads_log=scenario.reads_log,
        judge_by=scenario.judge_by,
        expect=masked(scenario.expect),
    )


def recorded_profile(profile: object, scenario: Mapping[str, Any]) -> Profile:
    """The profile that a run.json has; made from its scenario where it was written without, or says another thing.

    What this version does not understand of such a scenario is left out, and claims nothing: a pace counts as a shape
    that is not known, a job as one of which no loss can be told.
    """
    given = {key: value for key, value in scenario.items() if value is not None}
    try:
        known = Profile.model_validate(profile)
    except ValidationError:
        meant, wrong = understood(given, _NOTHING)
    else:
        return known if known.timeouts_ms is not None else _filled(known, profile_of(understood(given, _NOTHING)[0]))
    # Runs of format 1 do not tell how much of the log was read again, or whether it was.
    made = profile_of(meant).model_copy(update={"reads_log": False})
    if made.load and "load.rate" in wrong:
        rate = PaceProfile(kind=UNKNOWN, words=_words(scenario["load"]["rate"]), per_second=None, segments=(), then=())
        made = made.model_copy(update={"load": made.load.model_copy(update={"pace": rate})})
    if made.pipeline:
        lost: dict[str, Any] = {"job": UNKNOWN, "does": AGGREGATE} if "pipeline.job" in wrong else {}
        lost |= {"engine": UNKNOWN, "every_ns": None} if "pipeline.engine" in wrong else {}
        made = made.model_copy(update={"pipeline": made.pipeline.model_copy(update=lost)})
    return made


def _filled(known: Profile, made: Profile) -> Profile:
    """A profile of an earlier version, with what that did not write, as this version makes it of the scenario."""
    changes: dict[str, Any] = {name: getattr(made, name) for name in ("timeouts_ms", "bytes_per_partition")}
    if known.load and made.load:
        later = {name: getattr(made.load, name) for name in ("processes", "batch")}
        changes["load"] = known.load.model_copy(update=later)
    if known.consume and made.consume:
        later = {name: getattr(made.consume, name) for name in ("groups", "processes")}
        changes["consume"] = known.consume.model_copy(update=later)
    return known.model_copy(update=changes)


def _timeouts_ms(scenario: Scenario, brokers: Mapping[str, Setting]) -> dict[str, float]:
    """The timeouts that are set, those of producers as the client is given them."""
    found: dict[str, float] = {}
    clients = [part.client for part in (scenario.load, scenario.consume) if part]
    for settings in (brokers, *clients):
        for name in settings:
            known = _ALIASES.get(name, name)
            if known in TIMEOUTS_MS and (number := number_of(settings, (name,))) is not None:
                found[known] = number
    if scenario.load and (limited := scenario.load.message_timeout_ms(scenario.phases.drain)) is not None:
        # The drain limits it.
        found["message.timeout.ms"] = float(limited)
    return found


def _load(scenario: Scenario, load: Load) -> LoadProfile:
    written = masked(load.model_dump(mode="json", include={"rate", "size"}))
    return LoadProfile(
        producers=scenario.producers,
        pace=_pace(load.rate, _words(written["rate"])),
        size=load.size if isinstance(load.size, int) else _words(written["size"]),
        flushes=load.flush is not None,
        transactional=load.transactions is not None,
        resend=load.resend,
        acks=load.acks,
        linger_ms=number_of(load.client, LINGER),
        message_timeout_ms=load.message_timeout_ms(scenario.phases.drain),
        processes=load.processes or scenario.producers,
        batch=load.mean_batch,
    )


def _pace(rate: pace.Pacing, words: str) -> PaceProfile:
    plain = rate if isinstance(rate, str) else CONSTANT
    kind, shape = rate.chosen if isinstance(rate, pace.Pace) else (plain, None)
    once, again = (tuple(map(_segment, rates)) for rates in rates_of(shape))
    return PaceProfile(kind=kind, words=words, per_second=pace.mean_rate(rate), segments=once, then=again)


def _segment(rates: Rates) -> PaceSegment:
    return PaceSegment(from_per_second=float(rates.begin), to_per_second=float(rates.end), for_ns=rates.for_ns)


def _consume(scenario: Scenario, consume: Consume) -> ConsumeProfile:
    carrier = consume.carrier
    return ConsumeProfile(
        consumers=scenario.consumers,
        groups=consume.groups,
        processes=consume.processes or scenario.consumers * consume.groups,
        per_second=None if isinstance(consume.rate, str) else consume.rate,
        partitions=consume.partitions,
        read_committed=_isolation(consume) == "read_committed",
        longest_silence_ms=_silence_ms(consume),
        commit_every_ms=_commit_every_ms(consume),
        processing=_processing(consume.processing, redelivers=carrier is not None) if consume.processing else None,
        acknowledge=_acknowledge(consume, carrier) if carrier else None,
    )


def _silence_ms(consume: Consume) -> float:
    if consume.share and consume.share.session:
        return consume.share.session / NS_PER_MS
    return min(number_of(consume.client, (each,)) or TIMEOUTS_MS[each] for each in _SILENCES)


def _commit_every_ms(consume: Consume) -> float | None:
    if consume.share or consume.markers:
        return None
    if isinstance(consume.commit, Commit):
        return None if consume.commit.interval is None else consume.commit.interval / NS_PER_MS
    every_ms = number_of(consume.client, (_COMMIT_INTERVAL,)) if consume.commit == "auto" else 0
    return (_COMMIT_INTERVAL_MS if every_ms is None else every_ms) or None


def _isolation(consume: Consume) -> Any:
    return consume.share.isolation if consume.share else consume.client.get("isolation.level", "read_committed")


def _acknowledge(consume: Consume, carrier: Acknowledge) -> AcknowledgeProfile:
    given, (name, _) = consume.processing, carrier.chosen
    markers, retry, share = carrier.markers, carrier.retry, carrier.share
    timeout_ns = markers.timeout if markers else share.lock if share else None
    return AcknowledgeProfile(
        carrier=name,
        timeout_ms=None if timeout_ns is None else timeout_ns / NS_PER_MS,
        delays_ms=tuple(delay / NS_PER_MS for delay in retry.delays) if retry else (),
        limit=carrier.most,
        fail=given.fail if given else 0.0,
        poison=given.poison if given else 0.0,
        is_expected=given is None or not (given.skip or (given.overrun and timeout_ns) or given.function),
        dead_letters=carrier.has_dead_letters,
    )


def _processing(processing: Processing, *, redelivers: bool) -> ProcessingProfile:
    following = [(0, processing.delay, processing.jitter)]
    following += [(change.at, change.delay, change.jitter) for change in processing.changes]
    delays = () if processing.function else following
    return ProcessingProfile(
        function=processing.function is not None,
        delays=tuple(
            Delay(from_ns=at_ns, delay_ns=delay_ns, jitter_ns=jitter_ns, exponential=processing.exponential)
            for at_ns, delay_ns, jitter_ns in delays
        ),
        drops=bool(processing.skip or (not redelivers and (processing.fail or processing.poison))),
        slots={"loop": 1, "partitions": None, "slots": processing.slots}[processing.order],
    )


def _pipeline(pipeline: Pipeline) -> PipelineProfile:
    batches = pipeline.engine.micro_batch
    return PipelineProfile(
        job=pipeline.job.name,
        does=pipeline.job.does,
        engine=pipeline.engine.name,
        every_ns=batches.every if batches else None,
        table=pipeline.table is not None,
    )


def _policy(backpressure: Backpressure) -> PolicyProfile:
    name, policy = backpressure.chosen
    limit = policy.limit if isinstance(policy, Credit) else policy.max_lag
    resume = policy.resume if isinstance(policy, Hysteresis) else None
    return PolicyProfile(name=name, limit=limit, resume=resume, poll_ms=policy.poll / NS_PER_MS)


def _words(value: object) -> str:
    """A value that is plain, or one thing out of several, in short: `ramp from 1k/s to 10k/s over 60s`."""
    if not isinstance(value, Mapping):
        return str(value)
    return ", ".join(f"{kind} {_said(about)}" for kind, about in value.items())


def _said(about: object) -> str:
    """What is said about a thing in a few words; of a list, how long it is."""
    if isinstance(about, Mapping):
        return " ".join(f"{key} {_said(value)}" for key, value in about.items() if value not in (None, False))
    return f"of {len(about)}" if isinstance(about, list) else str(about)
