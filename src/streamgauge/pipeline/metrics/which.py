"""Which latencies a run has, what selects their messages, and why it lacks the others."""

from collections.abc import Iterator, Mapping, Sequence

from streamgauge.domain.tables.latency import METRICS
from streamgauge.pipeline.columns import SENT_TICK
from streamgauge.pipeline.metrics.aggregates.sums import Sums
from streamgauge.pipeline.metrics.expressions import (
    ACK,
    END_TO_END,
    OF_SENDING,
    PROCESSING,
    SCHEDULE_DELAY,
    SINCE_RECORD_TIME,
    THROTTLE,
    tick_of,
)
from streamgauge.pipeline.metrics.latency import Metric
from streamgauge.pipeline.metrics.polls import POLL, POLL_PER_RECORD
from streamgauge.pipeline.metrics.spans import Spans
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.traits import RunTraits
from streamgauge.pipeline.stream import waterfall
from streamgauge.pipeline.stream.stages import WHOLE, Stage
from streamgauge.pipeline.stream.waterfall import Staged
from streamgauge.scenario.profile import CLOSED_LOOP, NOT_HELD_BACK, NOT_PIPED


def sent_metrics(traits: RunTraits) -> list[str]:
    """Metrics that are measured on messages."""
    acks = [ACK[0]] * traits.scheduled + [ACK[1]] if traits.loads and traits.acks else []
    return acks + [SCHEDULE_DELAY] * traits.scheduled + [*THROTTLE] * (traits.scheduled and traits.policy)


def received_metrics(traits: RunTraits) -> list[str]:
    """Metrics that are measured on deliveries."""
    if traits.observes:
        return [SINCE_RECORD_TIME] if traits.stamps else []
    if not traits.consumes:
        return []
    both = (END_TO_END, PROCESSING) if traits.processing else (END_TO_END,)
    return [name for pair in both for name in (pair if traits.scheduled else pair[1:])]


def censored_metrics(traits: RunTraits) -> list[str]:
    """Metrics in which messages that never came count."""
    return [name for name in (*sent_metrics(traits), *received_metrics(traits)) if name not in OF_SENDING]


def known_stages(traits: RunTraits, bronze: Bronze) -> Sequence[Stage]:
    """The stages of a message on its way through a pipeline; none where there are none."""
    if traits.pipeline is None or not traits.loads or not traits.consumes:
        return ()
    return waterfall.known_stages(traits, bronze, why_no_schedule(traits))


def metrics_of(traits: RunTraits, sent: Sums, received: Sums, spans: Mapping[str, Spans]) -> Iterator[Metric]:
    """Every metric, with its moments or with the reason why it is absent."""
    for name in METRICS:
        if name in waterfall.METRICS:
            continue
        if name in spans:
            absent = _absent_span(spans[name], traits)
            yield Metric(name, "received" if name in {POLL, POLL_PER_RECORD} else "sent", spans[name].sums(), absent)
            continue
        if name == SINCE_RECORD_TIME:
            clock = "both" if len(traits.stamps) > 1 else next(iter(traits.stamps), None)
            yield Metric(name, "received", received, _absent_record_time(traits), clock)
            continue
        tick = tick_of(name, throttled=traits.policy)
        by_due = name.endswith("response") or name == SCHEDULE_DELAY or (traits.scheduled and tick != SENT_TICK)
        sums_ = sent if name in {*ACK, *OF_SENDING} else received
        yield Metric(name, "due" if by_due else "sent", sums_, _absent(name, traits), tick=tick)


def stage_metrics(traits: RunTraits, known: Sequence[Stage], staged: Staged | None) -> Iterator[Metric]:
    """The stages of a message on its way through a pipeline, or why there are none."""
    why = {each.name: each.absent for each in known}
    first = next((each.begin for each in known if each.name == WHOLE), None)
    rounding = {each.name: each.rounding(first) for each in known}
    for name in waterfall.METRICS:
        absent = why.get(name) if why else _why_no_stages(traits)
        selected = "due" if traits.scheduled else "sent"
        yield Metric(
            name, selected, staged.sums if staged and not absent else None, absent, rounding=rounding.get(name)
        )


def _why_no_stages(traits: RunTraits) -> str:
    reasons = ((not traits.loads, "the run has no load"), (not traits.consumes, "no consumers"))
    return next((reason for holds, reason in reasons if holds), NOT_PIPED)


def _absent(name: str, traits: RunTraits) -> str | None:
    """Why a run has no such latency; None where it has."""
    reasons = (
        (not traits.loads, "the run has no load"),
        (name not in {*ACK, *OF_SENDING} and not traits.consumes, "no consumers"),
        (name in THROTTLE and not traits.policy, NOT_HELD_BACK),
        (name in {*ACK} and not traits.acks, "acks 0" if traits.acks_0 else "no message was acknowledged"),
        (name in {*PROCESSING} and not traits.processing, "processing is not recorded"),
        (not traits.scheduled and (name.endswith("response") or name in OF_SENDING), why_no_schedule(traits)),
    )
    return next((reason for holds, reason in reasons if holds), None)


def why_no_schedule(traits: RunTraits) -> str:
    """Why messages were not due at any time."""
    return CLOSED_LOOP if traits.closed else "the load has no schedule"


def _absent_span(spans: Spans, traits: RunTraits) -> str | None:
    if spans.metric in {POLL, POLL_PER_RECORD}:
        return None if traits.consumes else "no consumers"
    if not traits.loads:
        return "the run has no load"
    return None if len(spans.took_ns) else "the load does not wait for its reports"


def _absent_record_time(traits: RunTraits) -> str | None:
    if not traits.consumes:
        return "no consumers"
    if traits.loads:
        return "the run sends what it receives: its own stamps say when"
    return None if traits.stamps else "the records do not say when they were made"
