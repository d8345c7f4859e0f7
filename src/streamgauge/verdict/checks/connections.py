"""Checks of connections besides the load: whether they succeeded, and reached their target rate."""

from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.text.numbers import listed, milliseconds, per_second, percent, whole
from streamgauge.verdict.check import About, Check, Status, passed, unknown
from streamgauge.verdict.checks.pace import RATE_CLOSE, RATE_EXACT, RATE_GRAINS
from streamgauge.verdict.evidence import Evidence, Row

ALL_BUSY: Final = 0.9
"""Share of the concurrent operations from which the cluster's response time limits the rate."""


def answered(run: Evidence) -> Check | None:
    """Whether operations on connections succeeded: connections opened, connections held, and metadata requests.

    Data: the counts of the whole run, by kind.
    Fails when: an operation failed; about the instrument if this machine ran out of files, ports or threads.
    Remedy: see the broker's log, its connection limits and its CPU; or lower connections.open.
    """
    if not run.profile.connections:
        return None
    rows = run.matching("connections", scope="run")
    if not rows:
        return unknown("connections", "system", "outcomes of connections are not known")
    failed = [row for row in rows if row["failed"]]
    if not failed:
        evidence = listed([f"{row['kind']} {whole(row['made'])}" for row in rows])
        return passed("connections", "system", f"all succeeded: {evidence}")
    evidence = listed([_failures(row) for row in failed])
    exhausted = sum(row["exhausted"] for row in failed)
    if exhausted:
        seen = f"{evidence}; {whole(exhausted)} because this machine ran out of files, ports or threads"
        advice = "Raise `ulimit -n` or net.ipv4.ip_local_port_range, or lower connections.open and connections.hold."
        return Check("connections", "instrument", "fail", seen, advice)
    advice = "See the broker's log and its limits of connections; the table `connections` shows when."
    return Check("connections", "system", "fail", evidence, advice)


def _failures(row: Row) -> str:
    tried = row["made"] + row["failed"]
    share = percent(row["failed"] / tried)
    return f"{row['kind']} {whole(row['failed'])} of {whole(tried)} failed ({share}), most with {row['error']}"


def connection_rate(run: Evidence) -> Check | None:
    """Whether connections were opened and used at their target rate in the measure phase.

    Data: operations started in the measure phase / its length, for the kind with the largest difference from its target
    rate. Differences of up to {RATE_EXACT:.1%} or {RATE_GRAINS} operations are ignored.
    Warns when: the difference is up to {RATE_CLOSE:.0%}.
    Fails when: it is larger; about the system if, on average, {ALL_BUSY:.0%} or more of the allowed concurrent
    operations waited for a response.
    Remedy: lower connections.open or connections.metadata, raise connections.hold.refresh, or add CPU.
    """
    if not run.profile.connections:
        return None
    rows = [row for row in run.matching("connections", scope="measure") if row["target_per_second"] is not None]
    if not rows:
        return unknown("connection_rate", "instrument", "how many operations began in the measure phase is not known")
    row = max(rows, key=_off_share)
    off, wanted, began = _off(row), _wanted(row), row["made"] + row["failed"]
    seconds = row["duration_ns"] / NS_PER_SECOND
    evidence = f"{row['kind']}: target {per_second(row['target_per_second'])}"
    evidence += f", started {per_second(began / seconds)}" if seconds else ""
    evidence += f"; schedule delay p99 {milliseconds(row['schedule_delay_p99_ms'])}"
    if off <= max(RATE_EXACT * wanted, RATE_GRAINS):
        return passed("connection_rate", "instrument", evidence)
    about, seen, advice = _cause(run, row)
    status: Status = "warn" if off <= RATE_CLOSE * wanted else "fail"
    return Check("connection_rate", about, status, evidence + seen, advice)


def _cause(run: Evidence, row: Row) -> tuple[About, str, str]:
    """Why operations did not start in time: what the check is about, evidence, and advice."""
    if any(worker.died and worker.role == "connector" for worker in run.facts.workers):
        return "instrument", "; the worker died", "See the check of workers."
    under_way, at_once = row["under_way"], row["at_once"]
    if under_way is not None and at_once and under_way >= ALL_BUSY * at_once:
        seen = f"; {under_way:.1f} of {at_once} concurrent operations waited for a response"
        return "system", seen, "The cluster responds too slowly. Check its CPU, or lower the rate."
    return "instrument", "", "The worker did not keep up. Lower the rate (connections), or add CPU."


def _wanted(row: Row) -> float:
    return float(row["target_per_second"] * row["duration_ns"] / NS_PER_SECOND)


def _off(row: Row) -> float:
    return abs(float(row["made"] + row["failed"]) - _wanted(row))


def _off_share(row: Row) -> float:
    """Difference of a kind from its target, without the ignored part."""
    return max(0.0, _off(row) - RATE_GRAINS) / (_wanted(row) or 1.0)
