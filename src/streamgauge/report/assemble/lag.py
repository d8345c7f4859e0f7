"""The section `lag` of result.json: how far consumers were behind, as it was sampled and as it is replayed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.report.assemble.nulls import Values, made
from streamgauge.result.model.pressure import GroupLags, LagSection, ReplicationSection
from streamgauge.verdict.checks.lag import controller_changes, measured_looks
from streamgauge.verdict.evidence import Evidence, Row

NOT_SAMPLED: Final = "lag was not sampled"
_NOT_KNOWN: Final = "it was never known for all partitions at once"
_NOT_REPLAYED: Final = "only a run that produces and consumes has outstanding messages"
_QUANTITIES: Final = ("committed", "position", "outstanding", "time_lag")
_SAMPLED: Final = frozenset({"every_ms", "failed_share", "cpu_cores", "committed", "position"})


class _Point(NamedTuple):
    second: float
    value: float
    most: float
    """The most within the interval that ends there."""


def replication(run: Evidence) -> ReplicationSection | None:
    """Replicas and leaders in the measure phase; null where the run did not ask for them."""
    rows = run.rows("partition_replicas")
    if not rows:
        return None
    looks = measured_looks(run)
    is_controller_known = any(row["controller"] is not None for row in looks)
    known = [row for row in looks if row["worst"] is not None]
    worst: Row = max(known, key=lambda row: int(row["worst"]), default={})
    process: Row = next(iter(run.processes("replicas")), {})
    replicas, least = {row["replicas"] for row in rows}, [row["least_in_sync"] for row in rows]
    return ReplicationSection(
        replicas=replicas.pop() if len(replicas) == 1 else None,
        partitions=len(rows),
        under_replicated_partitions=sum(row["under_replicated_seconds"] > 0 for row in rows),
        under_replicated_seconds=max(row["under_replicated_seconds"] for row in rows),
        least_in_sync=None if None in least else min(least),
        leaderless_partitions=sum(row["leaderless_seconds"] > 0 for row in rows),
        leaderless_seconds=max(row["leaderless_seconds"] for row in rows),
        leader_changes=sum(row["leader_changes"] for row in rows),
        controller_changes=len(controller_changes(looks)) if is_controller_known else None,
        most_behind=worst.get("worst"),
        most_behind_node=worst.get("node"),
        most_behind_second=worst.get("second"),
        cpu_cores=process.get("cpu_cores"),
    )


def lag(run: Evidence) -> LagSection | None:
    """Lag of the group that is furthest behind, and of each of several; null where nothing is known of it."""
    samples, replayed = run.matching("lag", scope="group"), run.rows("outstanding")
    if not samples and not replayed:
        return None
    found = dict.fromkeys(row["group"] for row in (*samples, *replayed))
    groups = {group: _of_group(run, group, samples, replayed) for group in found}
    names = {group.id: group.name for group in run.facts.groups}
    out = _sampler(run, samples)
    out |= {name: _worst([each[name] for each in groups.values()]) for name in _QUANTITIES}
    several = groups if len(groups) > 1 else {}
    told = [{"group": names.get(group, str(group)), **each} for group, each in several.items()]
    out["groups"] = [made(GroupLags, each, lambda key: _why(samples, key)) for each in told]
    return made(LagSection, out, lambda key: _why(samples, key))


def _why(samples: Sequence[Row], key: str) -> str:
    if key in _SAMPLED:
        return _NOT_KNOWN if samples else NOT_SAMPLED
    return _NOT_REPLAYED


def _sampler(run: Evidence, samples: Sequence[Row]) -> Values:
    """What was asked of the sampler, how often it answered, and what it cost."""
    first = samples[0]["group"] if samples else None
    asked = [row for row in samples if row["group"] == first]
    failed = sum(row["error"] is not None for row in asked)
    process = next(iter(run.processes("lag")), None)
    return {
        "every_ms": run.profile.lag_every_ns / NS_PER_MS if samples and run.profile.lag_every_ns else None,
        "samples": len(asked),
        "failed": failed,
        "failed_share": failed / len(asked) if asked else None,
        "cpu_cores": process and process["cpu_cores"],
    }


def _of_group(run: Evidence, group: int | None, samples: Sequence[Row], replayed: Sequence[Row]) -> Values:
    mine, rows = ([row for row in each if row["group"] == group] for each in (samples, replayed))
    is_exact = any(row["outstanding_max"] is not None for row in rows)
    outstanding = _figures(run, _points(rows, "outstanding", "outstanding_max"))
    # Where nothing waits, nobody is behind.
    waited = _figures(run, [_Point(row["second"], age := row["time_lag_ms"] or 0.0, age) for row in rows])
    return {
        "committed": _figures(run, _points(mine, "committed_lag")),
        "position": _figures(run, _points(mine, "position_lag")),
        "outstanding": outstanding and {**outstanding, "exact": is_exact},
        "time_lag": waited and {name if name == "max_second" else f"{name}_ms": each for name, each in waited.items()},
    }


def _points(rows: Iterable[Row], name: str, most: str | None = None) -> list[_Point]:
    """The known values of a column; of the most within an interval, where that is not known, the value itself."""
    return [
        _Point(row["second"], row[name], row[name] if most is None or row[most] is None else row[most])
        for row in rows
        if row[name] is not None
    ]


def _figures(run: Evidence, points: Sequence[_Point]) -> Values | None:
    """Figures of the measure phase, and the last value of the run; null where no value is known in it."""
    ends = run.measured_seconds or 0.0
    measured = [point for point in points if 0 <= point.second <= ends]
    if not measured:
        return None
    top = max(measured, key=lambda point: point.most)
    return {
        "max": top.most,
        "max_second": top.second,
        "final": points[-1].value,
        "mean": sum(point.value for point in measured) / len(measured),
    }


def _worst(found: Iterable[Values | None]) -> Values | None:
    """That of the group with the largest maximum."""
    known = [each for each in found if each is not None]
    return max(known, key=lambda each: float(each["max" if "max" in each else "max_ms"]), default=None)


def by_second(run: Evidence) -> Mapping[int, Values]:
    """What is known of lag in each second: its last sample, and the replay at its end; the worst of all groups."""
    found: dict[int, Values] = {}
    groups = {row["group"] for row in run.rows("lag")}
    for group in groups:
        last: dict[int, Row] = {}
        for row in run.matching("lag", scope="group", group=group):
            last[int(row["second"] // 1)] = row
        for second, row in last.items():
            _note(found.setdefault(second, {}), row, "committed_lag", "position_lag")
    edges = [row for row in run.rows("outstanding") if float(row["second"]).is_integer()]
    for row in edges:
        age_ms = {"time_lag_ms": row["time_lag_ms"] or 0.0}
        _note(found.setdefault(int(row["second"]) - 1, {}), age_ms, "time_lag_ms")
    admitted = {int(row["second"]): row["admitted"] for row in edges if row["admitted"] is not None}
    for end, count in admitted.items():
        if end - 1 in admitted:
            found[end - 1]["admitted_per_second"] = float(count - admitted[end - 1])
    return found


def _note(second: Values, row: Mapping[str, Any], *names: str) -> None:
    """Remember the largest of each value; one that is not known leaves it unknown."""
    for name in names:
        known = (second.get(name, row[name]), row[name])
        second[name] = None if None in known else max(known)
