"""The table `wire`: what clients sent and received, from what they said of themselves."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.pipeline.read.rows import Row, known, largest, share
from streamgauge.pipeline.read.silver import Span

_ROLES = ("producer", "consumer")
_COUNTERS = ("messages", "message_bytes", "wire_bytes", "requests", "retries")
_US_PER_MS = 1_000


@dataclass(frozen=True, slots=True)
class _Part:
    """What one worker did in one scope."""

    worker: str
    counted: Mapping[str, int]
    duration_ns: int | None
    seconds: Sequence[Row]
    """Looks whose means are of a second within the scope."""


def wire(looks: Iterable[Row], span: Span) -> list[Row]:
    """Rows of `wire` from rows of `client`: of each worker, and of all of a role together.

    A worker that was looked at less than twice within the measure phase has no row for it.
    """
    by_worker: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for look in sorted(looks, key=lambda look: (look["worker"], look["at_ns"])):
        by_worker[look["role"], look["worker"]].append(look)
    rows = []
    for role in _ROLES:
        of_role = {worker: looks for (played, worker), looks in by_worker.items() if played == role}
        whole = [_since_it_began(worker, looks) for worker, looks in of_role.items()]
        measured = [part for worker, looks in of_role.items() if (part := _measured(worker, looks, span))]
        for scope, parts in (("run", whole), ("measure", measured)):
            rows += [_row(scope, role, part.worker, [part]) for part in parts]
            rows += [_row(scope, role, None, parts)] if parts else []
    return rows


def _since_it_began(worker: str, looks: Sequence[Row]) -> _Part:
    return _Part(worker, {name: looks[-1][name] for name in _COUNTERS}, None, looks)


def _measured(worker: str, looks: Sequence[Row], span: Span) -> _Part | None:
    """What happened between the first and the last look within the measure phase."""
    within = span.looks(looks)
    if len(within) < 2:
        return None
    first, last = within[0], within[-1]
    counted = {name: last[name] - first[name] for name in _COUNTERS}
    return _Part(worker, counted, last["at_ns"] - first["at_ns"], within[1:])


def _row(scope: str, role: str, worker: str | None, parts: Sequence[_Part]) -> Row:
    """One row for some workers together; their means are means over all seconds that were looked at."""
    counted = {name: sum(part.counted[name] for part in parts) for name in _COUNTERS}
    seconds = [look for part in parts for look in part.seconds]
    return {
        "scope": scope,
        "role": role,
        "worker": worker,
        "duration_ns": max((part.duration_ns for part in parts if part.duration_ns is not None), default=None),
        **counted,
        "ratio": share(counted["message_bytes"], counted["wire_bytes"]),
        "messages_per_request": share(counted["messages"], counted["requests"]),
        "batch_messages": _mean(seconds, "batch_messages"),
        "batch_bytes": _mean(seconds, "batch_bytes"),
        "queue_ms": share(_mean(seconds, "queue_us"), _US_PER_MS),
        "rtt_ms": share(_mean(seconds, "rtt_us"), _US_PER_MS),
        "rtt_p99_ms": share(largest(seconds, "rtt_p99_us"), _US_PER_MS),
        "throttle_ms": max((look["throttle_ms"] for look in seconds), default=0),
    }


def _mean(looks: Iterable[Row], name: str) -> float | None:
    values = known(looks, name)
    return sum(values) / len(values) if values else None
