"""Checks of lag and replicas: whether samplers received answers, what they saw, and how much CPU they used."""

from typing import Final

from streamgauge.domain.text.numbers import listed, percent, plural, whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence

FAILED_SHARE: Final = 0.01
SAMPLER_CORES: Final = 0.05
_ROLE: Final = "lag"
_REPLICAS: Final = "replicas"


def lag_samples(run: Evidence) -> Check | None:
    """Whether the cluster answered the offset requests of lag samples.

    Data: samples of the whole run in the table `lag`, and those with an error.
    Warns when: {FAILED_SHARE:.0%} or more of the samples failed; about the system if the scenario stopped the broker.
    Remedy: see the errors in the table `lag`; sample less often (lag.every).
    """
    if run.profile.lag_every_ns is None or not (run.sends or run.consumes):
        return None
    rows = run.matching("lag", scope="group")
    if not rows:
        return unknown("lag_samples", "instrument", "the lag is not known")
    failed = [row for row in rows if row["error"] is not None]
    evidence = f"{whole(len(failed))} of {whole(len(rows))} samples failed"
    if len(failed) < FAILED_SHARE * len(rows) or not failed:
        return passed("lag_samples", "instrument", evidence)
    evidence += f": {listed(sorted({str(row['error']) for row in failed})[:2])}"
    if stopped := run.stopped("broker"):
        advice = "The scenario declared this fault; lag is unknown while the broker was paused."
        return Check("lag_samples", "system", "warn", f"{evidence}; the scenario stopped {listed(stopped)}", advice)
    return Check("lag_samples", "instrument", "warn", evidence, "Sample less often (lag.every); see the broker's log.")


def replicas_in_sync(run: Evidence) -> Check | None:
    """Whether every partition had a leader and all its replicas in sync.

    Data: leaders and in-sync replicas of the measure phase, in the table `partition_replicas`; and how far brokers were
    behind, in the table `followers`.
    Warns when: a partition lacked a replica or a leader at some time.
    Remedy: compare with the faults of the scenario; see the log of the broker that fell behind or was down.
    """
    if run.profile.replication == 1:
        return None
    rows = run.rows("partition_replicas")
    if not rows:
        return unknown("replicas_in_sync", "system", "the replicas of the partitions were not recorded")
    lacking = [row for row in rows if row["under_replicated_seconds"] > 0]
    moved = sum(row["leader_changes"] for row in rows)
    changes = f"; {moved} {plural(moved, 'leader change')}" if moved else ""
    if lacks := max((row["worst"] or 0 for row in run.rows("followers")), default=0):
        changes += f"; a broker was up to {whole(lacks)} messages of a partition behind"
    if not lacking:
        return passed("replicas_in_sync", "system", f"{run.profile.replication} replicas of each partition{changes}")
    longest = max(row["under_replicated_seconds"] for row in lacking)
    alone = max(row["leaderless_seconds"] for row in rows)
    leaderless = f", one had no leader for {alone:.1f} s" if alone else ""
    seen = f"{len(lacking)} of {len(rows)} partitions lacked a replica, for up to {longest:.1f} s{leaderless}{changes}"
    advice = "Compare with the faults of the scenario; see the log of the broker that fell behind."
    return Check("replicas_in_sync", "system", "warn", seen, advice)


def lag_sampler(run: Evidence) -> Check | None:
    """Whether lag sampling used so little CPU that it does not affect the results.

    Data: CPU of the sampling process over the measure phase.
    Warns when: it used more than {SAMPLER_CORES:.0%} of a core.
    Remedy: sample less often (lag.every), or not at all.
    """
    if run.profile.lag_every_ns is None or not (run.sends or run.consumes):
        return None
    cores = next((row["cpu_cores"] for row in run.processes(_ROLE) if row.get("cpu_cores") is not None), None)
    if cores is None:
        return unknown("lag_sampler", "instrument", "the cost of lag sampling is not known")
    evidence = f"lag sampling used {percent(cores)} of a core"
    if cores <= SAMPLER_CORES:
        return passed("lag_sampler", "instrument", evidence)
    return Check("lag_sampler", "instrument", "warn", evidence, "Sample less often (lag.every).")


def replica_sampler(run: Evidence) -> Check | None:
    """Whether asking for replicas used so little CPU that it does not affect the results.

    Data: CPU of the process that asks for leaders, in-sync replicas and followers, over the measure phase.
    Warns when: it used more than {SAMPLER_CORES:.0%} of a core.
    Remedy: use fewer partitions, or more cores.
    """
    if run.profile.replication == 1:
        return None
    cores = next((row["cpu_cores"] for row in run.processes(_REPLICAS) if row.get("cpu_cores") is not None), None)
    if cores is None:
        return unknown("replica_sampler", "instrument", "the cost of asking for replicas is not known")
    evidence = f"asking for replicas used {percent(cores)} of a core"
    if cores <= SAMPLER_CORES:
        return passed("replica_sampler", "instrument", evidence)
    return Check("replica_sampler", "instrument", "warn", evidence, "Use fewer partitions, or more cores.")
