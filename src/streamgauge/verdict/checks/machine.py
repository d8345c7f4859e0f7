"""Checks of the machine: whether workers and host had enough CPU, and whether pauses affected the results."""

from typing import Final

from streamgauge.domain.text.numbers import listed, milliseconds, percent, plural, whole
from streamgauge.verdict import during
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.checks.pace import MOVED_MS, MOVED_SHARE, is_core_moved
from streamgauge.verdict.evidence import ARRIVING, Evidence, Row, largest

ONE_CORE: Final = 0.95
"""CPU of a worker from which its single Python thread may have no headroom."""
IN_POLL_SHARE: Final = 0.10
"""A consumer that spends less of its time in poll hardly ever waits for messages."""
IDLE_SHARE: Final = 0.05
OTHERS_SHARE: Final = 0.20
"""Share of the CPU used; the kernel's network processing uses some that belongs to no process."""
STEAL_WARN: Final = 0.02
STEAL_FAIL: Final = 0.10
GAPS_WARN: Final = 0.01
"""Share of the time from which gaps between polls can affect a p99."""
GAPS_FAIL: Final = 0.05
PAUSES_SHARE: Final = 0.01
TAIL_SHARE: Final = 0.5
"""A pause of half a p99.9 dominates that percentile."""
STOPPED_LEAST: Final = 0.01
"""Messages due while threads are stopped are late by tens of milliseconds: from one in a hundred, they determine the
p99."""
STOPPED_MOST: Final = 0.10
"""From this share a quota limits the rate on at least one core, even if other cores were not throttled; the same share
of steal time makes a run invalid."""

_SEEN_BY: Final = {
    "producer": ("ack_response", "ack_service"),
    "consumer": ("end_to_end_response", "end_to_end_service"),
}


def worker_cpu(run: Evidence) -> Check | None:
    """Whether every worker had enough CPU; its single Python thread can use one core.

    A load as fast as possible is meant to use all CPU, and the check passes. Consumers with processing are checked by
    `processing_delay` instead.

    Data: CPU of each producer and consumer process over the measure phase.
    Warns when: a worker used {ONE_CORE} cores or more, and no result was affected.
    Fails when: such a producer changed a median or p99 by its own delay, or sends in a closed loop, where it then
    limits the rate; or a group received less than {ARRIVING:.0%} of the acknowledged messages, and such a consumer
    spent less than {IN_POLL_SHARE:.0%} of its time in poll.
    Remedy: add workers of this role (load.producers, consume.consumers, with a process for each) or cores, or lower
    load.rate.
    """
    if not (run.sends or run.consumes):
        return None
    workers = [*run.processes("producer"), *([] if run.profile.processing else run.processes("consumer"))]
    known = [row for row in workers if row.get("cpu_cores") is not None]
    if not known:
        return unknown("worker_cpu", "instrument", "the CPU time of the workers is not known")
    # As fast as possible means: with all the CPU there is.
    busy = [row for row in known if row["cpu_cores"] >= ONE_CORE and not run.is_flat_out]
    if not busy:
        busiest = max(known, key=lambda row: float(row["cpu_cores"]))
        return passed("worker_cpu", "instrument", f"busiest worker: {_cores(busiest)}")
    evidence = listed([_cores(row) for row in busy])
    starved = [str(row["process"]) for row in busy if _is_starved(run, row)]
    if not starved:
        return Check("worker_cpu", "instrument", "warn", evidence, "No figure is affected, but there is no headroom.")
    advice = "Add workers of this role (load.producers, consume.consumers) or cores, or lower load.rate."
    return Check("worker_cpu", "instrument", "fail", f"{evidence}; {listed(starved)} did not keep up", advice)


def _cores(row: Row) -> str:
    return f"{row['process']} {row['cpu_cores']:.2f} cores"


def _is_starved(run: Evidence, row: Row) -> bool:
    """Whether a busy worker was late by its own fault: a producer on its schedule, a consumer behind the producers."""
    if row["role"] == "producer":
        return not run.has_schedule or (
            not run.is_held_up and not run.stopped("producer", "broker") and is_core_moved(run)
        )
    received = run.received_share
    if received is None or received >= ARRIVING or run.stopped("consumer"):
        return False
    polls = [run.one("polls", consumer=number) or {} for number in run.numbers(str(row["process"]))]
    return all((share := each.get("in_poll_share")) is None or share < IN_POLL_SHARE for each in polls)


def machine_cpu(run: Evidence) -> Check:
    """Whether the machine had spare CPU, and the hypervisor took little of it (steal time).

    Data: idle and steal time of all cores over the measure phase, and CPU used by processes outside the run.
    Warns when: steal time was {STEAL_WARN:.0%} or more; or idle time was less than {IDLE_SHARE:.0%}, and the load was
    not as fast as possible or other processes used {OTHERS_SHARE:.0%} or more of the CPU used.
    Fails when: steal time was {STEAL_FAIL:.0%} or more.
    Remedy: use a dedicated machine, stop other processes, lower load.rate, or use a broker on another host.
    """
    host = next(iter(run.processes("host")), None)
    if host is None or host.get("idle_share") is None:
        return unknown("machine_cpu", "instrument", "the CPU time of the machine is not known")
    idle, steal = host["idle_share"], host.get("steal_share")
    others = _cores_of_others(run, host)
    evidence = f"machine idle {percent(idle)} of the time"
    evidence += "" if steal is None else f", steal time {percent(steal)}"
    evidence += "" if others is None else f", other processes used {others:.2f} cores"
    if steal is not None and steal >= STEAL_WARN:
        advice = "Steal time may affect tails and rates. Measure again on a dedicated machine."
        return Check("machine_cpu", "instrument", "fail" if steal >= STEAL_FAIL else "warn", evidence, advice)
    if idle >= IDLE_SHARE:
        return passed("machine_cpu", "instrument", evidence)
    if others is not None and others >= OTHERS_SHARE * host["cpu_cores"]:
        advice = "Other processes took CPU from workers and broker: stop them, and measure again."
        return Check("machine_cpu", "instrument", "warn", evidence, advice)
    if not run.is_flat_out:
        advice = "Workers and broker compete for CPU. Lower load.rate, or use a broker on another host."
        return Check("machine_cpu", "instrument", "warn", evidence, advice)
    return passed("machine_cpu", "instrument", evidence)


def _cores_of_others(run: Evidence, host: Row) -> float | None:
    """CPU used by the machine outside the processes of the run, including the kernel's own work."""
    if host.get("cpu_cores") is None:
        return None
    ours = [row for row in run.matching("resources", scope="measure") if row["role"] != "host"]
    return max(0.0, float(host["cpu_cores"]) - sum(row.get("cpu_cores") or 0.0 for row in ours))


def producer_polls(run: Evidence) -> Check | None:
    """Whether producers polled often enough that acknowledgement latency was not affected.

    A delivery report is served, and its time recorded, at the next poll.

    Data: the longest gap between two polls in each second. A gap is long if it exceeds {MOVED_SHARE:.0%} of the p99 and
    {MOVED_MS:g} ms. The worst producer counts, without seconds in which the scenario stopped it.
    Warns when: long gaps take {GAPS_WARN:.0%} of the time or more.
    Fails when: they take {GAPS_FAIL:.0%} or more, unless the load is as fast as possible: the rate is valid then.
    Remedy: give the producers more CPU, or add producers; to measure latency, set load.rate instead of `max`.
    """
    return _poll_gaps(run, "producer", "ack_polls", "ack") if run.sends else None


def consumer_polls(run: Evidence) -> Check | None:
    """Whether consumers polled often enough that end-to-end latency was not affected.

    Consumers with processing or a rate limit cause gaps intentionally, and are not checked.

    Data: the longest gap between two polls in each second. A gap is long if it exceeds {MOVED_SHARE:.0%} of the p99 and
    {MOVED_MS:g} ms. The worst consumer counts, without seconds in which the scenario stopped it.
    Warns when: long gaps take {GAPS_WARN:.0%} of the time or more.
    Fails when: they take {GAPS_FAIL:.0%} or more, unless the load is as fast as possible: the rate is valid then.
    Remedy: give the consumers more CPU, or add consumers; to measure latency, set load.rate instead of `max`.
    """
    if not (run.sends and run.consumes) or run.is_held_back:
        return None
    return _poll_gaps(run, "consumer", "receive_polls", "end-to-end")


def _poll_gaps(run: Evidence, role: str, name: str, path: str) -> Check | None:
    """Whether the share of the time in long gaps between polls can affect a p99.

    Messages that arrive during a gap are noticed at its end. A gap is long above a tenth of the p99 and above 1 ms.
    Each sample has the longest gap of one second only; the worst worker counts. Seconds in which the scenario stopped a
    worker are not the instrument's fault.
    """
    p99 = next((value for metric in _SEEN_BY[role] if (value := run.latency(metric).get("p99_ms"))), None)
    looks = [row for row in run.matching("resources", scope="interval", role=role) if _is_measured(run, row)]
    looks = [row for row in looks if not run.is_stopped(row)]
    if p99 is None or not looks:
        return unknown(name, "instrument", f"the gaps between the polls of a {role} are not known")
    limit_ms = max(MOVED_SHARE * p99, MOVED_MS)
    share = max(_long_share([row for row in looks if row["process"] == worker], limit_ms) for worker in _names(looks))
    longest = milliseconds(largest(looks, "poll_gap_ms"))
    evidence = f"gaps above {milliseconds(limit_ms)} take {percent(share)} of the time, the longest {longest}"
    if share < GAPS_WARN:
        return passed(name, "instrument", evidence)
    long = [(row["second"] - 1, row["second"]) for row in looks if (row.get("poll_gap_ms") or 0.0) > limit_ms]
    evidence += f"; {within}" if (within := during.of_stretches(run, long)) else ""
    if run.is_flat_out:
        # Who asks for all that fits asks for the rate, which stands; workers without CPU to spare are the point of it.
        advice = f"The rate stands. {path.capitalize()} latency includes these gaps: set load.rate to measure it."
        return Check(name, "instrument", "warn", evidence, advice)
    advice = f"{path.capitalize()} latency includes these gaps. Give the {role}s more CPU, or add {role}s."
    return Check(name, "instrument", "fail" if share >= GAPS_FAIL else "warn", evidence, advice)


def _names(rows: list[Row]) -> set[str]:
    return {str(row["process"]) for row in rows}


def _long_share(looks: list[Row], limit_ms: float) -> float:
    long_ms = sum(gap for row in looks if (gap := row.get("poll_gap_ms") or 0.0) > limit_ms)
    return min(1.0, long_ms / 1000 / len(looks))


def _is_measured(run: Evidence, row: Row) -> bool:
    return row.get("second") is not None and 0 < row["second"] <= (run.measured_seconds or 0)


def garbage_collection(run: Evidence) -> Check | None:
    """Whether garbage collection pauses of the broker are too short to dominate the tail latency.

    Data: pauses of embedded brokers in the measure phase.
    Warns when: they take {PAUSES_SHARE:.0%} of the time or more, or the longest is {TAIL_SHARE:.0%} of the p99.9 or
    more.
    Remedy: check the broker's heap, or attribute the tail to garbage collection.
    """
    if not run.facts.broker.processes:
        return None
    if "gc" not in run.tables or run.measured_seconds is None:
        return unknown("garbage_collection", "system", "the GC pauses of the broker are not known")
    pauses = run.pauses_ms()
    share = sum(pauses) / 1000 / run.measured_seconds
    longest = max(pauses, default=0.0)
    evidence = f"pauses: {whole(len(pauses))}, {percent(share)} of the time, the longest {milliseconds(longest)}"
    tails = [run.latency(metric).get("p99_9_ms") for metric in ("end_to_end_response", "ack_response", "ack_service")]
    tail = next((value for value in tails if value is not None), None)
    if tail is not None and longest >= TAIL_SHARE * tail:
        evidence += f", against a p99.9 of {milliseconds(tail)}"
    elif share < PAUSES_SHARE:
        return passed("garbage_collection", "system", evidence)
    return Check("garbage_collection", "system", "warn", evidence, "GC pauses cause the tail: check the broker's heap.")


def stopped(share: float, periods_share: float | None, cores: int | None) -> tuple[float, float]:
    """Lower and upper bound of the share of the time that threads were stopped.

    `share` is the kernel's total / elapsed time. It is summed over cores that were stopped at the same time, so a core
    was stopped for at least one part in `cores` of it. Threads are only stopped in periods in which the quota was used
    up, which take `periods_share` of the time.
    """
    most = min(1.0, share, 1.0 if periods_share is None else periods_share)
    return min(most, share / cores) if cores else 0.0, most


def cpu_quota(run: Evidence) -> Check | None:
    """Whether workers, and an embedded broker with them, ran without being throttled by a CPU quota.

    A container with a CPU limit (`docker run --cpus`, `limits.cpu` of Kubernetes) has a CPU quota for each period,
    usually of 100 ms. When it is used up, all its threads are stopped until the next period, even if the machine is
    idle. In the results this looks as if the broker had stalled. The kernel's counter is summed over cores that were
    stopped at the same time, so the time that threads were stopped is known within two bounds: at least the counter /
    number of cores, and at most the counter or the length of the periods in which the quota was used up.

    Data: the kernel's counters (`cpu.stat`) of the workers' cgroups, at every level, over the measure phase.
    Warns when: threads were stopped at all.
    Fails when: they were stopped for {STOPPED_LEAST:.0%} of the time or more by the lower bound, or for
    {STOPPED_MOST:.0%} or more by the upper bound; also with a load as fast as possible, whose rate the quota then
    limits.
    Remedy: give the container whole cores (`docker run --cpuset-cpus`) or a larger limit, or lower load.rate.
    """
    host = next(iter(run.processes("host")), {})
    share = host.get("throttled_share")
    if share is None:
        # Nothing else than Linux has cgroups.
        missing = "it is not known whether a CPU quota throttled the workers"
        return unknown("cpu_quota", "instrument", missing) if run.facts.machine.get("system") == "Linux" else None
    quota = run.facts.machine.get("cpu_quota_cores")
    named = "a CPU quota" if quota is None else f"the CPU quota of {quota:.3g} {plural(quota, 'core')}"
    if share == 0:
        return passed("cpu_quota", "instrument", "no CPU quota" if quota is None else f"{named} throttled nothing")
    least, most = stopped(share, host.get("throttled_periods_share"), run.facts.machine.get("usable_cores"))
    seen = percent(most) if least == most else f"{percent(least)} to {percent(most)}"
    evidence = f"{named} throttled threads for {seen} of the time, in {whole(host.get('throttled_periods'))} periods"
    if least < STOPPED_LEAST and most < STOPPED_MOST:
        advice = (
            "Throttling may affect the highest percentiles. Raise the CPU limit of the container, or lower load.rate."
        )
        return Check("cpu_quota", "instrument", "warn", evidence, advice)
    advice = (
        "Throttling affects latency and rate. Give the container whole cores or a larger limit, or lower load.rate."
    )
    return Check("cpu_quota", "instrument", "fail", evidence, advice)
