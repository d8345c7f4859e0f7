"""The tables of replication: partitions that lacked replicas or a leader, and how far brokers were behind."""

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from streamgauge.delivery.outages import FaultSpan
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import Span

_Place = tuple[int, int]


@dataclass(slots=True)
class _Known:
    """What is known of one partition at a moment, and what came together in the measure phase."""

    leader: int | None = None
    led_by: int | None = None
    """The last leader: one that is without any for a while, and then has the same again, has not changed it."""
    in_sync: int = 0
    replicas: int = 0
    since_ns: int = 0
    """Up to here its times are counted."""
    seconds: dict[str, float] = field(default_factory=lambda: {"under_replicated": 0.0, "leaderless": 0.0})
    changes: int = 0
    least: int | None = None

    @property
    def lacks(self) -> Mapping[str, bool]:
        """Whether it lacks replicas that are in sync, and a leader."""
        return {"under_replicated": self.in_sync < self.replicas, "leaderless": self.leader is None}

    def count(self, to_ns: int, span: Span) -> None:
        """Count the time since the last look for what is lacking; only of the measure phase."""
        from_ns, end_ns = max(self.since_ns, span.measure.from_ns), min(to_ns, span.measure.to_ns)
        if end_ns > from_ns:
            for what, is_lacking in self.lacks.items():
                self.seconds[what] += is_lacking * (end_ns - from_ns) / NS_PER_SECOND
            self.least = self.in_sync if self.least is None else min(self.least, self.in_sync)
        self.since_ns = to_ns


def replication_tables(events: Iterable[Row], followers: Iterable[Row], span: Span) -> dict[str, list[Row]]:
    """The tables `replication` and `partition_replicas` from the rows of `replicas`; empty where there are none.

    A change counts from the look that saw it. What a look that failed did not see counts as what was seen before. The
    rows of `followers` tell who controlled the cluster.
    """
    controllers = sorted({(row["at_ns"], row["controller"]) for row in followers}, key=itemgetter(0))
    known: dict[_Place, _Known] = {}
    rows: list[Row] = []
    for at_ns, looked in groupby(sorted(events, key=itemgetter("at_ns")), key=itemgetter("at_ns")):
        moved, answered, took_ms = 0, True, None
        for row in looked:
            if row["error"] is not None:
                answered = False
                continue
            took_ms = (row["answered_ns"] - at_ns) / 1e6
            moved += _changed(known, row, at_ns, span)
        told = {"leaders_moved": moved, "answered": answered, "took_ms": took_ms}
        rows.append(_at(at_ns, known, span) | told | {"controller": _controller(controllers, at_ns)})
    for each in known.values():
        each.count(span.to_ns, span)
    return {"replication": rows, "partition_replicas": [_total(place, known[place]) for place in sorted(known)]}


def _changed(known: dict[_Place, _Known], row: Row, at_ns: int, span: Span) -> bool:
    """Take in what was seen of a partition; whether another node leads it than before."""
    each = known.setdefault((row["topic"], row["partition"]), _Known(since_ns=at_ns))
    each.count(at_ns, span)
    each.leader, each.in_sync, each.replicas = row["leader"], row["in_sync"], row["replicas"]
    if each.leader is None:
        return False
    moved = each.led_by not in {None, each.leader}
    each.led_by = each.leader
    each.changes += moved and span.measure.from_ns <= at_ns < span.measure.to_ns
    return moved


def _at(at_ns: int, known: Mapping[_Place, _Known], span: Span) -> Row:
    lacking = [each.lacks for each in known.values()]
    return {
        "second": span.second(at_ns),
        "under_replicated": sum(each["under_replicated"] for each in lacking),
        "leaderless": sum(each["leaderless"] for each in lacking),
        "least_in_sync": min((each.in_sync for each in known.values()), default=None),
    }


def _controller(looks: Sequence[tuple[int, int | None]], at_ns: int) -> int | None:
    """Who controlled the cluster by the last look until then; None if that look was not told."""
    until = bisect(looks, at_ns, key=itemgetter(0))
    return looks[until - 1][1] if until else None


def _total(place: _Place, known: _Known) -> Row:
    found: dict[str, Any] = {"topic": place[0], "partition": place[1], "replicas": known.replicas}
    found |= {f"{what}_seconds": seconds for what, seconds in known.seconds.items()}
    return found | {"least_in_sync": known.least, "leader_changes": known.changes}


def next_leaders(events: Iterable[Row], spans: Sequence[FaultSpan]) -> dict[tuple[int, int, int], float]:
    """By fault, topic and partition: seconds from the begin of the fault until a look saw that another broker leads.

    `events` are the rows of `replicas`. The same leader counts where a look saw none before it. A partition without a
    change within the span of the fault is left out.
    """
    looks: dict[_Place, list[tuple[int, int | None]]] = {}
    for row in sorted((row for row in events if row["error"] is None), key=itemgetter("at_ns")):
        looks.setdefault((row["topic"], row["partition"]), []).append((row["at_ns"], row["leader"]))
    found = {}
    for number, span in enumerate(spans):
        for place, seen in looks.items():
            led_ns = _next_leader_ns(seen, span)
            if led_ns is not None:
                found[(number, *place)] = (led_ns - span.begin_ns) / NS_PER_SECOND
    return found


def _next_leader_ns(seen: Sequence[tuple[int, int | None]], span: FaultSpan) -> int | None:
    first_ns, _ = seen[0]
    if first_ns > span.begin_ns:
        return None
    changes = (at_ns for (_, led_by), (at_ns, leader) in pairwise(seen) if leader not in {None, led_by})
    return next((at_ns for at_ns in changes if span.begin_ns < at_ns <= span.until_ns), None)


def tables_of(replicas: Iterable[Row], followers: Sequence[Row], span: Span) -> dict[str, list[Row]]:
    """All tables of replication, from the rows of `replicas` and `followers`."""
    return {**replication_tables(replicas, followers, span), "followers": follower_rows(followers, span)}


def follower_rows(events: Iterable[Row], span: Span) -> list[Row]:
    """Rows of the table `followers` from the event of that name, in the order of their times."""
    names = ("node", "behind", "worst", "topic", "partition", "controller")
    return [
        {
            "second": span.second(row["at_ns"]),
            **{name: row[name] for name in names},
            "took_ms": None if row["answered_ns"] is None else (row["answered_ns"] - row["at_ns"]) / NS_PER_MS,
        }
        for row in sorted(events, key=lambda row: (row["at_ns"], -1 if row["node"] is None else row["node"]))
    ]
