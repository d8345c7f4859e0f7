"""Checks of lag and replicas: whether samplers received answers, what they saw, and how much CPU they used."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from streamgauge.domain.text.numbers import listed, percent, plural, whole
from streamgauge.verdict.check import Check, passed, unknown
from streamgauge.verdict.evidence import Evidence, Row

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

    Data: leaders and in-sync replicas of the measure phase, in the tables `partition_replicas` and `replication`; the
    controller, and how far brokers were behind, in the table `followers`. Only of runs that ask for replicas.
    Warns when: a partition lacked a replica or a leader at some time.
    Remedy: compare with the faults of the scenario; see the log of the broker that fell behind or was down.
    """
    rows = run.rows("partition_replicas")
    if not rows:
        reason = "the replicas of the partitions were not recorded"
        return unknown("replicas_in_sync", "system", reason) if asked_for_replicas(run) else None
    changes, replicas = "".join(f"; {each}" for each in _changes(run, rows)), run.profile.replication
    # A partition that lacks its only replica has no leader.
    lacks = _LACKS if replicas > 1 else _LACKS[1:]
    if lacked := [words for what, column in lacks if (words := _lacked(rows, what, column))]:
        advice = "Compare with the faults of the scenario; see the log of the broker that fell behind or was down."
        return Check("replicas_in_sync", "system", "warn", ", ".join(lacked) + changes, advice)
    count = f"{replicas} replicas of each partition" if replicas > 1 else "each partition has one replica"
    return passed("replicas_in_sync", "system", count + changes)


def asked_for_replicas(run: Evidence) -> bool:
    """Whether the run asked for replicas: all do that have several, and those that had a worker for it."""
    return run.profile.replication > 1 or any(worker.role == _REPLICAS for worker in run.facts.workers)


_LACKS: Final = (("a replica", "under_replicated_seconds"), ("a leader", "leaderless_seconds"))


def _lacked(rows: Sequence[Row], what: str, column: str) -> str:
    """How many partitions lacked something, and for how long; empty where none did."""
    lacking = [row[column] for row in rows if row[column] > 0]
    return f"{len(lacking)} of {len(rows)} partitions lacked {what}, for up to {max(lacking):.1f} s" if lacking else ""


def _changes(run: Evidence, partitions: Sequence[Row]) -> Iterator[str]:
    """What else was seen of replicas, leaders, controller and followers in the measure phase, in words."""
    lacking = [row["least_in_sync"] for row in partitions if row["under_replicated_seconds"] > 0]
    if (least := min(lacking, default=None)) is not None and run.profile.replication > 1:
        yield f"the smallest in-sync replica set had {least} {plural(least, 'replica')}"
    if moved := sum(row["leader_changes"] for row in partitions):
        yield f"{moved} {plural(moved, 'leader change')}"
    looks = measured_looks(run)
    if changed := len(controller_changes(looks)):
        yield f"{changed} {plural(changed, 'controller change')}"
    if lacks := max((row["worst"] or 0 for row in looks), default=0):
        yield f"a broker was up to {whole(lacks)} messages of a partition behind"
    if (silent := _longest_silence(run)) > 0:
        yield f"the cluster did not answer for up to {silent:.1f} s"


def _longest_silence(run: Evidence) -> float:
    """The longest time of the measure phase in which the cluster did not tell of replicas, in seconds."""
    ends = run.measured_seconds or 0.0
    looks = [*run.rows("replication"), {"second": ends}]
    silences = [(before["second"], after["second"]) for before, after in pairwise(looks) if not before["answered"]]
    return max((min(to, ends) - max(from_, 0.0) for from_, to in silences), default=0.0)


def measured_looks(run: Evidence) -> list[Row]:
    """The rows of the table `followers` in the measure phase."""
    return [row for row in run.rows("followers") if 0 <= row["second"] <= (run.measured_seconds or 0.0)]


def controller_changes(looks: Iterable[Row]) -> list[tuple[Row, Row]]:
    """The rows of `followers` between which another node became the active controller; what nobody told is passed."""
    told = [row for row in looks if row["controller"] is not None]
    return [(before, after) for before, after in pairwise(told) if before["controller"] != after["controller"]]


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
    if not asked_for_replicas(run):
        return None
    cores = next((row["cpu_cores"] for row in run.processes(_REPLICAS) if row.get("cpu_cores") is not None), None)
    if cores is None:
        return unknown("replica_sampler", "instrument", "the cost of asking for replicas is not known")
    evidence = f"asking for replicas used {percent(cores)} of a core"
    if cores <= SAMPLER_CORES:
        return passed("replica_sampler", "instrument", evidence)
    return Check("replica_sampler", "instrument", "warn", evidence, "Use fewer partitions, or more cores.")
