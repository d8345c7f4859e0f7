"""What lag must come to, as formulas: the backlog of an overload, the overshoot of hysteresis, the bound of credit.

Throughout, `rate` is what is sent and `capacity` what busy consumers process, both in messages a second; times are in
seconds, lags in messages. What is outstanding is sent and not processed. Committed lag is what is sent and not
committed: what is outstanding, and what was processed since the last commit, which is `capacity x commit` at most.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from streamgauge.control.simulation import TICK_NS, LagModel
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.text.numbers import significant, whole
from streamgauge.scenario.model.backpressure import Hysteresis

_SLICE_NS: Final = 100 * NS_PER_MS
"""Rates of a load that changes are looked at in slices of so long."""


def backlog(stretches: Iterable[tuple[float, float, float]]) -> list[float]:
    """What is outstanding at the end of each stretch of (seconds, rate, capacity), without any policy.

    It grows by `rate - capacity` a second, and never falls below nothing. Within a stretch it is a straight line, so
    that its peak is at an end of one.
    """
    found, left = [], 0.0
    for seconds, rate, capacity in stretches:
        left = max(0.0, left + (rate - capacity) * seconds)
        found.append(left)
    return found


def hysteresis_outstanding(max_lag: float, rate: float, capacity: float, reaction: float) -> float:
    """The most that is outstanding with hysteresis.

    Some sample is the last that says go on: committed lag, and so what is outstanding, was at most `max_lag` then. The
    next sample is taken one interval later, is looked at within one poll, and is heeded when producers look. In this
    `reaction` (the sum of the three), `rate x reaction` are sent and `capacity x reaction` processed:

        peak <= max_lag + (rate - capacity) x reaction

    Late commits do not raise it. They make lag look larger than what is outstanding is, so that the pause comes sooner.
    """
    return max_lag + max(0.0, rate - capacity) * reaction


def hysteresis_lag(max_lag: float, rate: float, capacity: float, reaction: float, commit: float) -> float:
    """The largest committed lag with hysteresis.

    As `hysteresis_outstanding`, but what is processed since that last sample counts only when it is committed. At worst
    a commit came just before the sample, and what was processed in the last `min(commit, reaction)` is not seen:

        peak <= max_lag + (rate - capacity) x reaction + capacity x min(commit, reaction)
    """
    return hysteresis_outstanding(max_lag, rate, capacity, reaction) + capacity * min(commit, reaction)


def starving_resume(capacity: float, delay: float) -> float:
    """The resume threshold below which hysteresis lets consumers run dry.

    That lag fell below the threshold is known only after `delay` at worst: a commit, a sample, a poll, and the way of
    the first messages. Busy consumers process `capacity x delay` meanwhile. If no more than that was left, they wait.
    """
    return capacity * delay


def idle_share(max_lag: float, resume_lag: float, rate: float, capacity: float, reaction: float, delay: float) -> float:
    """Share of the time that consumers stand still under hysteresis, where sources lose what they may not send.

    One cycle, with ages of what is known as they are given: producers stop when `up = max_lag + (rate - capacity) x
    reaction` are outstanding. Consumers process them, and producers go on when `down = resume_lag - capacity x delay`
    are left; below nothing, consumers stood still for `-down / capacity`. Then it rises again:

        idle = max(0, -down) / capacity
        cycle = (up - max(0, down)) x (1 / capacity + 1 / (rate - capacity)) + idle

    Where sources keep their messages instead, each pause is followed by all of them at once, and no cycle is like the
    one before.
    """
    if rate <= capacity:
        return 0.0
    up = max(0.0, hysteresis_outstanding(max_lag, rate, capacity, reaction))
    down = resume_lag - capacity * delay
    idle = max(0.0, -down) / capacity
    moving = max(0.0, up - max(0.0, down)) * (1 / capacity + 1 / (rate - capacity))
    return idle / (moving + idle) if idle else 0.0


def busy_limit(slots: float, capacity: float, round_trip: float) -> float:
    """The credit limit that keeps all slots busy, where messages are dealt out evenly.

    By Little's law: each slot holds one message; and while a message that was processed is seen, granted, sent and
    fetched, which is `round_trip`, consumers process `capacity x round_trip` others, which have to be there.
    """
    return slots + capacity * round_trip


def credit_utilisation(limit: float, slots: float, capacity: float, round_trip: float) -> float:
    """Share of the time that slots are busy under credit, where messages are dealt out evenly.

    Below `busy_limit`, every message goes round in `slots / capacity + round_trip`, and `limit` of them do. Where the
    limit is hardly more than the slots, and messages take different times, it is less: they wait behind each other.
    """
    return min(1.0, limit / busy_limit(slots, capacity, round_trip))


def drawn_utilisation(limit: float, slots: float, together: float = 1.0) -> float:
    """Share of the time that slots are busy under credit, where each has a queue of its own that is drawn at random.

    A closed network: `jobs = limit / together` (messages that are drawn together go together) before `slots` stations
    that are all alike. With exponential processing times every way to share the jobs out among the stations is equally
    likely (product form), and of these, `jobs / (jobs + slots - 1)` leave a given station something to do. Processing
    times that vary less, and messages of one draw that come one by one, leave it more.
    """
    jobs = limit / together
    return jobs / (jobs + slots - 1)


class Law(NamedTuple):
    """What a figure of the summary must come to."""

    figure: str
    """Its name in `Summary`."""
    relation: str
    """`at most`, `at least` or `about`."""
    value: float
    says: str
    """The formula with its numbers."""


@dataclass(frozen=True, slots=True)
class _Slice:
    seconds: float
    rate: float
    capacity: float


def laws(model: LagModel) -> list[Law]:
    """What theory says of a model."""
    slices = _slices(model)
    if model.policy is None:
        return _without_policy(model, slices)
    if model.policy.hysteresis:
        return _with_hysteresis(model, model.policy.hysteresis, slices)
    assert model.policy.credit
    return _with_credit(model, model.policy.credit.limit, slices)


def _slices(model: LagModel) -> list[_Slice]:
    due = model.due(_SLICE_NS).tolist()
    seconds = _SLICE_NS / NS_PER_SECOND
    begins = range(-model.warmup_ns, model.measure_ns, _SLICE_NS)
    return [
        _Slice(seconds, (after - before) / seconds, model.capacity(begin_ns))
        for begin_ns, before, after in zip(begins, due, due[1:], strict=False)
    ]


def _without_policy(model: LagModel, slices: Sequence[_Slice]) -> list[Law]:
    first = model.warmup_ns // _SLICE_NS
    peak = max(backlog((each.seconds, each.rate, each.capacity) for each in slices)[first:])
    says = "messages beyond the capacity accumulate"
    return [Law("peak_outstanding", "about", peak, says)]


def _with_hysteresis(model: LagModel, policy: Hysteresis, slices: Sequence[_Slice]) -> list[Law]:
    poll, sampling, commit = (each / NS_PER_SECOND for each in (policy.poll, model.sampling_ns or 0, _commit(model)))
    reaction = sampling + poll + TICK_NS / NS_PER_SECOND
    worst = max(slices, key=lambda each: each.rate - each.capacity)
    rate, capacity = worst.rate, worst.capacity
    if model.held == "keep":
        # What was held comes at once when a pause is over, as fast as producers can.
        first = _bounds("first_", policy.max_lag, rate, capacity, reaction, commit)
        return [*first, *_bounds("", policy.max_lag, model.fastest, capacity, reaction, commit)]
    bounds = _bounds("", policy.max_lag, rate, capacity, reaction, commit)
    if rate <= capacity:
        return bounds
    delay = commit + sampling + poll + model.transit_ns / NS_PER_SECOND
    below = "below" if policy.resume < starving_resume(capacity, delay) else "not below"
    says = f"resume at {whole(policy.resume)}, {below} {whole(capacity)} x {significant(delay)} s"
    # On average, what is known is half as old as it may be. At worst, the pause comes early and the resumption late.
    unseen_half = policy.max_lag - capacity * commit / 2
    mean = idle_share(unseen_half, policy.resume, rate, capacity, reaction / 2, delay / 2)
    worst_share = idle_share(policy.max_lag - capacity * commit, policy.resume, rate, capacity, 0.0, delay)
    return [
        *bounds,
        Law("utilisation", "about", 1 - mean, "on average over the phases of the clocks"),
        Law("utilisation", "at least", 1 - worst_share, says),
    ]


def _bounds(which: str, max_lag: int, rate: float, capacity: float, reaction: float, commit: float) -> list[Law]:
    """The most that is outstanding, and the largest committed lag, of some peak."""
    reacts = f"{whole(max_lag)} + ({whole(rate)} - {whole(capacity)}) x {significant(reaction)} s"
    unseen = f"{whole(capacity)} x {significant(min(commit, reaction))} s"
    outstanding = hysteresis_outstanding(max_lag, rate, capacity, reaction)
    lag = hysteresis_lag(max_lag, rate, capacity, reaction, commit)
    return [
        Law(f"{which}peak_outstanding", "at most", outstanding, reacts),
        Law(f"{which}peak_lag", "at most", lag, f"the same + {unseen}"),
    ]


def _with_credit(model: LagModel, limit: int, slices: Sequence[_Slice]) -> list[Law]:
    assert model.policy
    bound = Law("peak_outstanding", "at most", limit, "the limit, exactly")
    if min(each.rate - each.capacity for each in slices) <= 0:
        return [bound]
    capacity = max(each.capacity for each in slices)
    # A message waits for half a poll on average until it is seen that it was processed.
    trip = (max(model.policy.poll_ns, TICK_NS) / 2 + model.transit_ns) / NS_PER_SECOND
    if model.sticky is None:
        share = credit_utilisation(limit, model.slots, capacity, trip)
        says = f"{whole(model.slots)} + {whole(capacity)} x {significant(trip)} s keep all slots busy"
        return [bound, Law("utilisation", "about", share, says)]
    together = _together(model, capacity)
    share = drawn_utilisation(max(1.0, limit - capacity * trip), model.slots, together)
    return [bound, Law("utilisation", "at least", share, f"{significant(together)} messages per choice of partition")]


def _together(model: LagModel, capacity: float) -> float:
    """Messages of one draw of a producer that sends its share of what consumers can take."""
    assert model.sticky
    if model.sticky.messages:
        return model.sticky.messages
    share = capacity / model.producers * (model.sticky.lasts_ns or 0) / NS_PER_SECOND
    return max(1.0, share)


def _commit(model: LagModel) -> int:
    return model.measure_ns if model.commit_ns is None else model.commit_ns
