"""The check of CPU quotas: what a container may not use stops all its threads at once."""

from typing import Final

from streamgauge.domain.figures import percent, whole
from streamgauge.domain.verdict.check import Check, passed, unknown
from streamgauge.domain.verdict.evidence import Evidence

STOPPED_LEAST: Final = 0.01
"""What is due while threads are stopped is late by tens of milliseconds: from one message in a hundred on, a p99 is
made of it."""
STOPPED_MOST: Final = 0.10
"""From here on a quota sets the pace on at least one core, however many others had none of it; the share of stolen time
that makes a run invalid is the same."""


def stopped(share: float, periods_share: float | None, cores: int | None) -> tuple[float, float]:
    """The share of the time that threads were stopped: at least, and at most.

    `share` is what the kernel counts, by time: it adds up what was stopped on several cores at once, so a core was
    stopped for one part in `cores` of it at least. No thread was stopped outside the periods in which the quota was
    used up, which take `periods_share` of the time.
    """
    most = min(1.0, share, 1.0 if periods_share is None else periods_share)
    return min(most, share / cores) if cores else 0.0, most


def cpu_quota(run: Evidence) -> Check | None:
    """Whether a CPU quota stopped workers, and an embedded broker with them, while the run was measured.

    A container with a CPU limit (`docker run --cpus`, `limits.cpu` of Kubernetes) may use so much in each period,
    mostly of 100 ms. Once that is used up, all its threads are stopped until the next period, while the machine may be
    idle. In the figures it looks as if the broker had stood still. The kernel adds up what was stopped on several cores
    at once, so how long threads were stopped is known between two bounds: the sum by the number of cores, and the sum,
    or the length of the periods concerned if that is less.

    Looks at: what the kernel counts (`cpu.stat`) of the cgroups that the workers are in, at every level, over the
    measure phase.
    Warns when: threads were stopped at all.
    Fails when: they were stopped for {STOPPED_LEAST:.0%} of the time or more by the lower bound, or for
    {STOPPED_MOST:.0%} or more by the upper one; also with a load as fast as possible, whose rate is then the quota's.
    To do: give the container whole cores (`docker run --cpuset-cpus`) or a larger limit, or lower load.rate.
    """
    host = next(iter(run.processes("host")), {})
    share = host.get("throttled_share")
    if share is None:
        # Nothing else than Linux has cgroups.
        missing = "whether a CPU quota stopped the workers is not known"
        return unknown("cpu_quota", "instrument", missing) if run.facts.machine.get("system") == "Linux" else None
    quota = run.facts.machine.get("cpu_quota_cores")
    named = "a CPU quota" if quota is None else f"the CPU quota of {quota:.3g} core{'' if quota == 1 else 's'}"
    if share == 0:
        return passed("cpu_quota", "instrument", "no CPU quota" if quota is None else f"{named} stopped nothing")
    least, most = stopped(share, host.get("throttled_periods_share"), run.facts.machine.get("usable_cores"))
    seen = percent(most) if least == most else f"{percent(least)} to {percent(most)}"
    evidence = f"{named} stopped threads for {seen} of the time, in {whole(host.get('throttled_periods'))} periods"
    if least < STOPPED_LEAST and most < STOPPED_MOST:
        advice = "The highest percentiles may be the quota's. Raise the CPU limit of the container, or lower load.rate."
        return Check("cpu_quota", "instrument", "warn", evidence, advice)
    advice = (
        "Latency and rate may be the quota's. Give the container whole cores or a larger limit, or lower load.rate."
    )
    return Check("cpu_quota", "instrument", "fail", evidence, advice)
