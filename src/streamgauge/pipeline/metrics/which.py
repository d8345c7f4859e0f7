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
from streamgauge.pipeline.metrics.polls import POLL
from streamgauge.pipeline.metrics.spans import Spans
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.knowledge import Knowledge
from streamgauge.pipeline.stream import waterfall
from streamgauge.pipeline.stream.stages import WHOLE, Stage
from streamgauge.pipeline.stream.waterfall import Staged
from streamgauge.scenario.profile import CLOSED_LOOP, NOT_HELD_BACK, NOT_PIPED


def sent_metrics(knows: Knowledge) -> list[str]:
    """Metrics that are measured on messages."""
    acks = [ACK[0]] * knows.scheduled + [ACK[1]] if knows.loads and knows.acks else []
    return acks + [SCHEDULE_DELAY] * knows.scheduled + [*THROTTLE] * (knows.scheduled and knows.policy)


def received_metrics(knows: Knowledge) -> list[str]:
    """Metrics that are measured on deliveries."""
    if knows.observes:
        return [SINCE_RECORD_TIME] if knows.stamps else []
    if not knows.consumes:
        return []
    both = (END_TO_END, PROCESSING) if knows.processing else (END_TO_END,)
    return [name for pair in both for name in (pair if knows.scheduled else pair[1:])]


def censored_metrics(knows: Knowledge) -> list[str]:
    """Metrics in which messages that never came count."""
    return [name for name in (*sent_metrics(knows), *received_metrics(knows)) if name not in OF_SENDING]


def known_stages(knows: Knowledge, bronze: Bronze) -> Sequence[Stage]:
    """The stages of a message on its way through a pipeline; none where there are none."""
    if knows.passage is None or not knows.loads or not knows.consumes:
        return ()
    return waterfall.known_stages(knows, bronze, why_no_schedule(knows))


def metrics_of(knows: Knowledge, sent: Sums, received: Sums, spans: Mapping[str, Spans]) -> Iterator[Metric]:
    """Every metric, with its moments or with the reason why it is absent."""
    for name in METRICS:
        if name in waterfall.METRICS:
            continue
        if name in spans:
            absent = _absent_span(spans[name], knows)
            yield Metric(name, "received" if name == POLL else "sent", spans[name].sums(), absent)
            continue
        if name == SINCE_RECORD_TIME:
            clock = "both" if len(knows.stamps) > 1 else next(iter(knows.stamps), None)
            yield Metric(name, "received", received, _absent_record_time(knows), clock)
            continue
        tick = tick_of(name, throttled=knows.policy)
        by_due = name.endswith("response") or name == SCHEDULE_DELAY or (knows.scheduled and tick != SENT_TICK)
        sums_ = sent if name in {*ACK, *OF_SENDING} else received
        yield Metric(name, "due" if by_due else "sent", sums_, _absent(name, knows), tick=tick)


def stage_metrics(knows: Knowledge, known: Sequence[Stage], staged: Staged | None) -> Iterator[Metric]:
    """The stages of a message on its way through a pipeline, or why there are none."""
    why = {each.name: each.absent for each in known}
    first = next((each.begin for each in known if each.name == WHOLE), None)
    rounding = {each.name: each.rounding(first) for each in known}
    for name in waterfall.METRICS:
        absent = why.get(name) if why else _why_no_stages(knows)
        selected = "due" if knows.scheduled else "sent"
        yield Metric(
            name, selected, staged.sums if staged and not absent else None, absent, rounding=rounding.get(name)
        )


def _why_no_stages(knows: Knowledge) -> str:
    reasons = ((not knows.loads, "the run has no load"), (not knows.consumes, "no consumers"))
    return next((reason for holds, reason in reasons if holds), NOT_PIPED)


def _absent(name: str, knows: Knowledge) -> str | None:
    """Why a run has no such latency; None where it has."""
    reasons = (
        (not knows.loads, "the run has no load"),
        (name not in {*ACK, *OF_SENDING} and not knows.consumes, "no consumers"),
        (name in THROTTLE and not knows.policy, NOT_HELD_BACK),
        (name in {*ACK} and not knows.acks, "acks 0" if knows.acks_0 else "no message was acknowledged"),
        (name in {*PROCESSING} and not knows.processing, "processing is not recorded"),
        (not knows.scheduled and (name.endswith("response") or name in OF_SENDING), why_no_schedule(knows)),
    )
    return next((reason for holds, reason in reasons if holds), None)


def why_no_schedule(knows: Knowledge) -> str:
    """Why messages were not due at any time."""
    return CLOSED_LOOP if knows.closed else "the load has no schedule"


def _absent_span(spans: Spans, knows: Knowledge) -> str | None:
    if spans.metric == POLL:
        return None if knows.consumes else "no consumers"
    if not knows.loads:
        return "the run has no load"
    return None if len(spans.took_ns) else "the load does not wait for its reports"


def _absent_record_time(knows: Knowledge) -> str | None:
    if not knows.consumes:
        return "no consumers"
    if knows.loads:
        return "the run sends what it receives: its own stamps say when"
    return None if knows.stamps else "the records do not say when they were made"
