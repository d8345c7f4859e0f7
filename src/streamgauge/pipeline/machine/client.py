"""The tables `wire` and `client`: what clients sent and received, from what they said of themselves."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from streamgauge.pipeline.read.rows import Row, Rows, known, largest, share
from streamgauge.pipeline.read.silver import Span

_ROLES = ("producer", "consumer", "acknowledgements", "tracker-consumer", "tracker-producer")
_COUNTERS = ("messages", "message_bytes", "wire_bytes", "requests", "retries")
_OPTIONAL = ("tx_bytes", "rx_bytes", "tx_requests", "retried_messages")
"""Counters that older versions did not record, or not of every client."""
_US_PER_MS = 1_000


@dataclass(frozen=True, slots=True)
class _Part:
    """What one worker did in one scope."""

    worker: str
    counted: Mapping[str, int | None]
    duration_ns: int | None
    seconds: Sequence[Row]
    """Looks whose means are of a second within the scope."""


def wire(looks: Iterable[Row], span: Span) -> list[Row]:
    """Rows of `wire` from rows of `client`: of each worker, and of all of a role together.

    A worker that was looked at less than twice within the measure phase has no row for it.
    """
    by_worker = _by_worker(looks)
    rows = []
    for role in _ROLES:
        of_role = {worker: looks for (played, worker), looks in by_worker.items() if played == role}
        whole = [_since_it_began(worker, looks) for worker, looks in of_role.items()]
        measured = [part for worker, looks in of_role.items() if (part := _measured(worker, looks, span))]
        for scope, parts in (("run", whole), ("measure", measured)):
            rows += [_row(scope, role, part.worker, [part]) for part in parts]
            rows += [_row(scope, role, None, parts)] if parts else []
    return rows


def client_rows(looks: Iterable[Row], span: Span) -> list[Row]:
    """Rows of `client` from rows of the event of that name; a worker that was looked at once has none."""
    return [
        _between(before, after, span) for of_one in _by_worker(looks).values() for before, after in pairwise(of_one)
    ]


def _by_worker(looks: Iterable[Row]) -> dict[tuple[str, str], Rows]:
    """The looks at each worker of a role, in the order of their times."""
    by_worker: dict[tuple[str, str], Any] = defaultdict(list)
    for look in sorted(looks, key=lambda look: (look["worker"], look["at_ns"])):
        by_worker[look["role"], look["worker"]].append(look)
    return by_worker


def _between(before: Row, after: Row, span: Span) -> Row:
    """What a client did between two looks; a counter that was set back counts from 0."""
    counted = {name: _since(before[name], after[name]) for name in _COUNTERS}
    return {
        "worker": after["worker"],
        "role": after["role"],
        "second": span.second(after["at_ns"]),
        "duration_ns": after["at_ns"] - before["at_ns"],
        **counted,
        "retried_messages": _since(before["retried_messages"], after["retried_messages"]),
        "batch_messages": after["batch_messages"],
        "batch_bytes": after["batch_bytes"],
        "queue_ms": share(after["queue_us"], _US_PER_MS),
        "queue_messages": after["queue_messages"],
        "rtt_ms": share(after["rtt_us"], _US_PER_MS),
        "rtt_p99_ms": share(after["rtt_p99_us"], _US_PER_MS),
        "throttle_ms": after["throttle_ms"],
    }


def _since(before: int | None, after: int | None) -> int | None:
    if before is None or after is None:
        return None
    return after - before if after >= before else after


def _since_it_began(worker: str, looks: Sequence[Row]) -> _Part:
    return _Part(worker, {name: looks[-1][name] for name in (*_COUNTERS, *_OPTIONAL)}, None, looks)


def _measured(worker: str, looks: Sequence[Row], span: Span) -> _Part | None:
    """What happened between the first and the last look within the measure phase."""
    within = span.looks(looks)
    if len(within) < 2:
        return None
    first, last = within[0], within[-1]
    counted = {name: last[name] - first[name] for name in _COUNTERS}
    optional = {name: None if first[name] is None else last[name] - first[name] for name in _OPTIONAL}
    return _Part(worker, {**counted, **optional}, last["at_ns"] - first["at_ns"], within[1:])


def _row(scope: str, role: str, worker: str | None, parts: Sequence[_Part]) -> Row:
    """One row for some workers together; their means are means over all seconds that were looked at."""
    counted = {name: sum(part.counted[name] or 0 for part in parts) for name in _COUNTERS}
    optional = {name: [part.counted[name] for part in parts] for name in _OPTIONAL}
    seconds = [look for part in parts for look in part.seconds]
    return {
        "scope": scope,
        "role": role,
        "worker": worker,
        "duration_ns": max((part.duration_ns for part in parts if part.duration_ns is not None), default=None),
        **counted,
        **{name: None if None in each else sum(each) for name, each in optional.items()},
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
