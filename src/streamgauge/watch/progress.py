"""How a run goes while it runs: from two looks at it to rates, latencies of the last second, and warnings."""

from dataclasses import dataclass, replace
from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.look import Held, Look, Stage, live_percentile_ms
from streamgauge.domain.text.numbers import milliseconds, per_second, percent, whole


@dataclass(frozen=True, slots=True)
class RunProgress:
    """What happened between two looks, and how far the run is. Rates are messages a second, None where unknown."""

    stage: Stage
    seconds: float
    """Since the stage's own beginning; below zero never."""
    seconds_of: float | None
    """How long the stage is planned to be."""
    target_rate: float | None
    sent: float | None
    acked: float | None
    received: float | None
    outstanding: int | None
    failed: int
    ack_ms: tuple[float | None, float | None]
    """p50 and p99 of the time between the looks."""
    end_to_end_ms: tuple[float | None, float | None]
    cores: dict[str, float]
    """Cores used, by role."""
    idle: float | None
    warnings: tuple[str, ...] = ()
    rising: int = 0
    """Looks in a row at which more was outstanding than before."""
    lag: int | None = None
    """Committed lag, as it was last sampled."""
    held: Held | None = None
    """How producers are held back; None where nothing does."""


BEHIND_SECONDS: Final = 0.1
BLOCKED_SHARE: Final = 0.2
IDLE_SHARE: Final = 0.05
RISING_LOOKS: Final = 3


def progress(target_rate: float | None, before: Look | None, now: Look, last: RunProgress | None) -> RunProgress:
    """How the run goes: `before` is the look before this one, `last` what was said then."""
    seconds = (now.at_ns - before.at_ns) / NS_PER_SECOND if before else 0.0
    earlier = before if before and seconds > 0 else None
    roles = {worker.role for worker in now.workers}
    grew = last is not None and (now.outstanding or 0) > (last.outstanding or 0)
    rising = (last.rising + 1 if last and grew else 0) if now.stage in {"warmup", "measure"} else 0
    begun_ns, until_ns = _stage_span(now)
    idle = None
    if earlier and now.idle_ns is not None and earlier.idle_ns is not None:
        idle = (now.idle_ns - earlier.idle_ns) / (now.at_ns - earlier.at_ns) / now.cores

    def rate(name: str, role: str) -> float | None:
        if role not in roles or earlier is None:
            return None
        return float(getattr(now, name) - getattr(earlier, name)) / seconds

    said = RunProgress(
        stage=now.stage,
        seconds=0.0 if begun_ns is None else max(0.0, (now.at_ns - begun_ns) / NS_PER_SECOND),
        seconds_of=None if begun_ns is None or until_ns is None else (until_ns - begun_ns) / NS_PER_SECOND,
        target_rate=target_rate if now.stage in {"warmup", "measure"} else None,
        sent=rate("sent", "producer"),
        acked=rate("acked", "producer"),
        received=rate("received", "consumer"),
        outstanding=now.outstanding,
        failed=now.failed,
        ack_ms=_percentiles(earlier.ack if earlier else None, now.ack),
        end_to_end_ms=_percentiles(earlier.end_to_end if earlier else None, now.end_to_end),
        cores=_cores(earlier, now, seconds),
        idle=idle,
        rising=rising,
        lag=now.lag,
        held=now.held,
    )
    return _with_warnings(said, target_rate, earlier, now, seconds)


def _stage_span(look: Look) -> tuple[int | None, int | None]:
    """When the stage began, and when it is planned to end."""
    spans = {
        "warmup": (look.start_ns, look.measure_ns),
        "measure": (look.measure_ns, look.end_ns),
        "drain": (look.end_ns, None),
    }
    return spans.get(look.stage, (None, None))


def _percentiles(before: Int64s | None, now: Int64s) -> tuple[float | None, float | None]:
    counts = now if before is None else now - before
    return live_percentile_ms(counts, 0.5), live_percentile_ms(counts, 0.99)


def _cores(before: Look | None, now: Look, seconds: float) -> dict[str, float]:
    """Cores used between two looks, by role."""
    if before is None:
        return {}
    used: dict[str, float] = {}
    earlier = {worker.name: worker.cpu_ns for worker in before.workers}
    for worker in now.workers:
        was = earlier.get(worker.name)
        if worker.cpu_ns is not None and was is not None:
            used[worker.role] = used.get(worker.role, 0.0) + (worker.cpu_ns - was) / NS_PER_SECOND / seconds
    return used


def _with_warnings(
    said: RunProgress, target_rate: float | None, before: Look | None, now: Look, seconds: float
) -> RunProgress:
    """The same with what somebody who waits should know now."""
    found = [f"{worker.name} has died" for worker in now.workers if not worker.alive and now.stage != "ending"]
    if now.failed:
        found.append(f"failed messages: {whole(now.failed)}")
    if said.stage in {"warmup", "measure"} and before is not None:
        found += [*_of_producers(target_rate, before, now, seconds), *_of_consumers(said), *_of_machine(said)]
    return replace(said, warnings=tuple(found))


def _of_producers(target_rate: float | None, before: Look, now: Look, seconds: float) -> list[str]:
    producers = sum(worker.role == "producer" for worker in now.workers)
    blocked_ns = now.total("producer", "blocked_ns") - before.total("producer", "blocked_ns")
    found = []
    if producers and blocked_ns / producers / NS_PER_SECOND > BLOCKED_SHARE * seconds and target_rate is not None:
        share = blocked_ns / producers / NS_PER_SECOND / seconds
        found.append(f"the client's queue was full {percent(min(1.0, share))} of the time: the system is too slow")
    if target_rate is not None and now.is_constant and now.start_ns is not None and now.end_ns is not None:
        due = target_rate * (min(now.at_ns, now.end_ns) - now.start_ns) / NS_PER_SECOND
        # A policy that holds messages back does what it is there for.
        if due - now.sent > target_rate * BEHIND_SECONDS and now.held is None:
            found.append(f"producers are {whole(due - now.sent)} messages behind schedule")
    return found


def _of_consumers(said: RunProgress) -> list[str]:
    if said.rising < RISING_LOOKS or not said.outstanding or said.outstanding < (said.received or 0):
        return []
    return [f"consumers fall behind: {whole(said.outstanding)} messages outstanding"]


def _of_machine(said: RunProgress) -> list[str]:
    if said.idle is None or said.idle >= IDLE_SHARE or said.target_rate is None:
        return []
    return [f"the machine is {percent(max(0.0, said.idle))} idle: CPU may be the bottleneck"]


def in_one_line(said: RunProgress) -> str:
    """The progress as a line of a log."""
    parts = [_how_far(said)]
    rates = {"sent": said.sent, "acked": said.acked, "received": said.received}
    parts += [f"{name} {per_second(max(0.0, rate))}" for name, rate in rates.items() if rate is not None]
    path, figures = ("end-to-end", said.end_to_end_ms) if said.end_to_end_ms[1] is not None else ("ack", said.ack_ms)
    if figures[1] is not None:
        parts.append(f"{path} p99 {milliseconds(figures[1])}")
    if said.outstanding is not None:
        parts.append(f"outstanding {whole(said.outstanding)}")
    if said.lag is not None:
        parts.append(f"committed lag {whole(said.lag)}")
    if said.held is not None:
        parts.append(held_in_words(said.held))
    if said.failed:
        parts.append(f"failed {whole(said.failed)}")
    return "  ".join(parts)


def held_in_words(held: Held) -> str:
    """Whether producers are paused, or how much credit is in use."""
    if held.in_use is not None:
        return f"credit {whole(held.in_use)} of {whole(held.limit)} in use"
    return f"producers {'paused' if held.paused else 'not paused'}, pause above {whole(held.limit)}"


def _how_far(said: RunProgress) -> str:
    if said.seconds_of is None:
        return f"{said.stage} {said.seconds:.0f} s" if said.seconds else said.stage
    return f"{said.stage} {min(said.seconds, said.seconds_of):.0f}/{said.seconds_of:.0f} s"
