"""What settings promise of a fault, beside what happened: which timeout limits which of its effects, in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from streamgauge.domain.text.numbers import significant
from streamgauge.scenario.profile import TIMEOUTS_MS
from streamgauge.verdict.evidence import Evidence

_MS_PER_S: Final = 1_000.0
BROKERS: Final = ("broker", "controller", "node")
"""Words in the names of targets that are nodes, or ways to them."""


Affected = Literal["unwritable", "unreadable"]
"""What a fault may make of a partition."""


class FaultEffect(NamedTuple):
    """Something that a fault did: what, for how long, and to whom."""

    what: Affected
    seconds: float | None
    """None where it is not known."""
    of: str
    """What it happened to, like `partition 3`."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The timeouts of a run in milliseconds, by the names of their settings; those that nobody set by default."""

    set_ms: Mapping[str, float]
    replicated: bool
    """Whether another replica can take over from a leader."""

    def seconds(self, name: str) -> float:
        """A timeout in seconds."""
        return self.set_ms.get(name, TIMEOUTS_MS[name]) / _MS_PER_S

    def is_default(self, name: str) -> bool:
        """Whether nobody set it."""
        return name not in self.set_ms


class Promise(NamedTuple):
    """A timeout that bounds an effect of a fault, and whether the effect stayed within it."""

    setting: str
    allows_s: float
    took_s: float
    kept: bool
    limit: str
    """What the setting allows, in words."""
    text: str
    """What happened, and the limit."""


def timeouts_of(run: Evidence) -> Timeouts:
    """The timeouts that a run's scenario sets, for brokers, producers and consumers."""
    return Timeouts(run.profile.timeouts_ms or {}, run.profile.replication > 1)


def promises(target: str, effects: Sequence[FaultEffect], timeouts: Timeouts) -> list[Promise]:
    """Each effect beside the timeouts that bound it; nothing of effects that are not known."""
    return [
        _promise(effect, effect.seconds, setting, timeouts)
        for effect in effects
        if effect.seconds
        for setting in _bounds(target, effect.what, timeouts)
    ]


def _bounds(target: str, what: Affected, timeouts: Timeouts) -> Iterator[str]:
    """The settings whose time is what an effect may take when a target fails.

    The controller fences a broker that is silent for broker.session.timeout.ms, and the leaders move: what a broker's
    fault keeps from being written or read comes back then, where there is another replica. A follower that falls behind
    leaves the in-sync replicas after replica.lag.time.max.ms, and acks=all waits for it until then. A request to a
    broker that is silent fails after request.timeout.ms, and a message after message.timeout.ms. The partitions of a
    consumer that is silent go to others after session.timeout.ms, or max.poll.interval.ms where only its loop stopped.
    """
    hits_brokers = any(word in target for word in BROKERS)
    if what == "unwritable":
        if hits_brokers and timeouts.replicated:
            yield from ("broker.session.timeout.ms", "replica.lag.time.max.ms")
        if hits_brokers:
            yield from ("request.timeout.ms", "message.timeout.ms")
    else:
        if hits_brokers and timeouts.replicated:
            yield "broker.session.timeout.ms"
        if "consumer" in target:
            yield from ("session.timeout.ms", "max.poll.interval.ms")


def _promise(effect: FaultEffect, took_s: float, setting: str, timeouts: Timeouts) -> Promise:
    allows_s = timeouts.seconds(setting)
    kept = took_s <= allows_s
    default = " by default" if timeouts.is_default(setting) else ""
    verb = "allows" if kept else "allows only"
    limit = f"{setting} {verb} {significant(allows_s)} s{default}"
    text = f"{effect.of} was {effect.what} for {significant(took_s)} s; {limit}"
    return Promise(setting, allows_s, took_s, kept, limit, text)
