"""Checks of the pace: whether the load was sent as configured, and the cause if not."""

from typing import Final

from streamgauge.domain.text.numbers import listed, milliseconds, per_second, percent, whole
from streamgauge.verdict.check import About, Check, Status, passed, unknown
from streamgauge.verdict.evidence import FULL_QUEUE_SHARE, Evidence

MOVED_SHARE: Final = 0.10
"""A value is affected if it changes by more than a tenth of itself ..."""
MOVED_MS: Final = 1.0
"""... and by more than this."""
RATE_EXACT: Final = 0.001
RATE_CLOSE: Final = 0.01
RATE_GRAINS: Final = 2
"""Messages that may fall on the other side of the edges of the measure phase."""
RATE_MOMENT_SECONDS: Final = 0.1
"""A schedule delay up to this at the start or end of the measure phase is no missed rate; `schedule` judges delays."""
BARELY_FULL: Final = 0.05
"""As fast as possible means that the queue is full; below this share of the time the system was not the limit."""

_PATHS: Final = {"ack": "ack", "end_to_end": "end-to-end"}
_CORE: Final = ("p50_ms", "p99_ms")
_TAIL: Final = ("p99_9_ms",)

HELD_BACK: Final = "; the policy throttled producers"

BUSY_PER_SECOND: Final = 1_000
"""From this rate, one request per message is worth a warning."""


def is_more(larger: float, smaller: float) -> bool:
    """Whether a value exceeds another by more than a tenth of itself and by more than a millisecond."""
    return larger - smaller > max(MOVED_SHARE * larger, MOVED_MS)


def moved(run: Evidence, percentile: str) -> tuple[str, float, float] | None:
    """The path whose percentile the schedule delay changed most in proportion: words, response and service time in ms.

    Both are percentiles of the same messages, so the schedule delay is their difference. With a policy, the difference
    also contains its throttling; the response time without the schedule delay of admitted messages then replaces the
    service time.
    """
    found = []
    late = None if run.policy is None else (run.schedule_delay or {}).get(percentile) or 0.0
    for path, words in _PATHS.items():
        response = run.latency(f"{path}_response").get(percentile)
        service = run.latency(f"{path}_service").get(percentile)
        if response and late is not None:
            found.append((words, float(response), max(0.0, response - late)))
        elif response and service is not None:
            found.append((words, float(response), float(service)))
    return max(found, key=lambda each: (each[1] - each[2]) / each[1], default=None)


def is_core_moved(run: Evidence) -> bool:
    """Whether the schedule delay affected a median or a p99."""
    return _first_moved(run, _CORE) is not None


def _first_moved(run: Evidence, percentiles: tuple[str, ...]) -> str | None:
    """The first percentile that the schedule delay affected; messages never sent can also change one."""
    late = run.schedule_delay or {}
    for name in percentiles:
        figure = moved(run, name)
        if figure and is_more(figure[1], figure[2]) and (late.get(name) or 0.0) > MOVED_MS:
            return name
    return None


def cause(run: Evidence) -> tuple[About, str, str]:
    """Why messages were not sent on time: what the check is about, evidence, and advice."""
    dead = [worker for worker in run.facts.workers if worker.died and worker.role == "producer"]
    if dead:
        declared = all(worker.declared_dead for worker in dead)
        return "system" if declared else "instrument", "; a producer died", "See the check of workers."
    if stopped := run.stopped("producer", "broker"):
        seen = f"; the scenario stopped {listed(stopped)}"
        return "system", seen, "Messages due meanwhile were sent late, as expected in this scenario."
    if run.is_held_up:
        seen = f"; the client's queue was full {percent(run.full_queue_share)} of the time"
        return "system", seen, "The system is at its capacity; response time includes the wait. Lower load.rate."
    if run.waits_for_reports:
        seen = "; producers waited for the system between messages (load.flush or load.transactions)"
        return "system", seen, "Messages due meanwhile are sent late. Lower load.rate, or add producers."
    return "instrument", "", "The generator did not keep up. Add producers (load.producers) or CPU, or lower load.rate."


def shortfall(run: Evidence) -> tuple[About, str, str]:
    """Why messages were not sent at all: as `cause`, or the policy, unless the generator was also late."""
    about, seen, advice = cause(run)
    if about == "system" or seen or not run.is_throttled or is_core_moved(run):
        return about, seen, advice
    return "system", HELD_BACK, "This is the effect of the policy. Add consumers, or lower load.rate."


def schedule(run: Evidence) -> Check | None:
    """Whether messages were sent when they were due, as far as it affects a reported percentile.

    If the generator is late and only service time is reported, latency looks better than it is (coordinated omission).
    Time that a policy throttles a message is not schedule delay, which begins when the message is due and admitted.

    Data: the schedule delay, and response and service time of the same messages. A percentile is affected if both
    differ by more than {MOVED_SHARE:.0%} of it and by more than {MOVED_MS:g} ms; with a policy, if the schedule delay
    is as large.
    Warns when: only a p99.9 is affected; or a median or p99 is, and the system or an injected fault is the cause. The
    system is the cause if the client's queue was full {FULL_QUEUE_SHARE:.1%} of the time or more, or if producers wait
    for it between messages (load.flush, load.transactions).
    Fails when: a median or p99 is affected and the generator is the cause.
    Remedy: add producers (load.producers) or CPU, or lower load.rate.
    """
    if not run.has_schedule:
        return None
    late = run.schedule_delay
    if late is None or late.get("p99_ms") is None:
        return unknown("schedule", "instrument", "the schedule delay is not known")
    core, tail = _first_moved(run, _CORE), _first_moved(run, _TAIL)
    evidence = "" if run.policy is None else "after admission: "
    evidence += f"schedule delay p99 {milliseconds(late['p99_ms'])}, max {milliseconds(late.get('max_ms'))}"
    evidence += _difference(run, core or tail or "p99_ms")
    if not core and not tail:
        return passed("schedule", "instrument", evidence)
    about, seen, advice = cause(run)
    status: Status = "fail" if core and about == "instrument" else "warn"
    return Check("schedule", about, status, evidence + seen, advice)


def _difference(run: Evidence, percentile: str) -> str:
    figure = moved(run, percentile)
    if figure is None:
        return ""
    words, response, service = figure
    name = percentile.removesuffix("_ms").replace("_", ".")
    than = "from sent" if run.policy is None else "without it"
    return f"; {words} {name} {milliseconds(response)} from due, {milliseconds(service)} {than}"


def target_rate(run: Evidence) -> Check | None:
    """Whether the load was sent at its target rate.

    Data: messages sent in the measure phase / its length; for a variable load, compared with the messages due in it.
    Differences of up to {RATE_EXACT:.1%} or {RATE_GRAINS} messages are ignored.
    Warns when: the difference is up to {RATE_CLOSE:.0%}, or what a schedule delay of {RATE_MOMENT_SECONDS:g} s at the
    start or end of the phase makes, which is more in a phase of a few seconds; or larger, and the policy throttled
    producers. Unknown if it is larger and the run itself was killed, since the last messages may not have been
    recorded; or if messages without a report could explain it.
    Fails when: it is larger; about the system if full queues, failed sends or an injected fault are the cause.
    Remedy: add producers or CPU, or lower load.rate; see the checks that the evidence names.
    """
    if not run.has_schedule:
        return None
    target, row, seconds = run.target_per_second, run.measured, run.measured_seconds
    if target is None or row is None or seconds is None:
        return unknown("rate", "instrument", "the number of messages sent in the measure phase is not known")
    wanted, sent = target * seconds, row["sent"]
    off = abs(sent - wanted)
    wish = (
        f"{per_second(target)} due on average"
        if run.profile.pace and run.profile.pace.is_shape
        else f"target {per_second(target)}"
    )
    evidence = f"{wish}, sent {per_second(sent / seconds)}"
    if off and wanted:
        evidence += f", {percent(off / wanted)} {'more' if sent > wanted else 'less'}"
    if off <= max(RATE_EXACT * wanted, RATE_GRAINS):
        return passed("rate", "instrument", evidence)
    is_close = off <= max(RATE_CLOSE * wanted, RATE_MOMENT_SECONDS * target)
    if run.facts.ending is None and not is_close:
        evidence += "; the run was killed, and the last messages may not have been recorded"
        return unknown("rate", "instrument", evidence, "Run it again; see the check `ending`.")
    unreported = (run.delivery("measure") or {}).get("fate_unknown") or 0
    if not is_close and sent < wanted <= sent + unreported + RATE_CLOSE * wanted:
        evidence += f"; {whole(unreported)} messages without a report may have been sent"
        return unknown("rate", "instrument", evidence, "See the check `fate_unknown`.")
    about, seen, advice = shortfall(run)
    if ((run.delivery("measure") or {}).get("failed") or 0) >= off / 2:
        about, seen, advice = "system", "; failed sends explain the difference", "See the check of failed sends."
    elif about == "instrument" and is_close and off > RATE_CLOSE * wanted:
        seen = f"; a schedule delay of {milliseconds(1e3 * off / target)} at the start or end of the phase explains it"
        advice = "Measure for longer (phases.measure), so that a short delay matters less."
    status: Status = "warn" if is_close or seen == HELD_BACK else "fail"
    return Check("rate", about, status, evidence + seen, advice)


def full_queue(run: Evidence) -> Check | None:
    """Whether producers were not blocked by a full client queue, which is the backpressure of the system.

    Data: the producer that was blocked longest, over the measure phase.
    Warns when: the load has a schedule and a producer was blocked {FULL_QUEUE_SHARE:.1%} of the time or more; or the
    load is as fast as possible and it was blocked less than {BARELY_FULL:.0%}, so the generator may have been the
    limit. A producer that waits for delivery reports, as in a closed loop, never fills the queue; `worker_cpu` checks
    whether it was the limit.
    Remedy: lower load.rate and check the broker's CPU and disk; as fast as possible, add producers and check whether
    the rate rises.
    """
    if not run.sends or (not run.has_schedule and not run.is_flat_out):
        return None
    share = run.full_queue_share
    if share is None:
        return unknown("full_queue", "system", "the time blocked by a full queue is not known")
    evidence = f"the client's queue was full and blocked producers {percent(share)} of the time"
    if run.has_schedule and share >= FULL_QUEUE_SHARE:
        advice = "The system is slower than the target rate. Lower load.rate; check the broker's CPU and disk."
        return Check("full_queue", "system", "warn", evidence, advice)
    if run.is_flat_out and share < BARELY_FULL:
        advice = "The generator may have been the bottleneck. Add producers, and see whether the rate rises."
        return Check("full_queue", "instrument", "warn", evidence, advice)
    return passed("full_queue", "system", evidence)


def linger(run: Evidence) -> Check | None:
    """Whether the producer waits to fill batches (`linger.ms`). Otherwise every message is a separate request.

    At 10,000 messages per second that costs the broker a core, and adds a fifth of a second to end-to-end latency.

    Data: `linger.ms` in load.client.
    Warns when: it is 0 and the rate is {BUSY_PER_SECOND:,} messages per second or more, or as fast as possible.
    Remedy: set linger.ms to 1; that is usually faster.
    """
    if run.profile.load is None:
        return None
    wait = run.profile.load.linger_ms
    rate = run.peak_per_second
    busy = rate >= BUSY_PER_SECOND if rate is not None else run.has_schedule or run.is_flat_out
    if wait is None or wait > 0 or not busy:
        return passed(
            "linger", "system", f"linger.ms is {'the default of the client' if wait is None else f'{wait:g}'}"
        )
    seen = f"linger.ms is 0 at {per_second(rate)}" if rate else "linger.ms is 0, as fast as possible"
    advice = "Every message is a separate request, which loads the broker. linger.ms=1 is usually faster."
    return Check("linger", "system", "warn", seen, advice)
