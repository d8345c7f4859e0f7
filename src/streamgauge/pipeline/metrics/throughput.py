"""The table `throughput`: how many messages passed each stage, each count by the clock of its own event."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.pipeline.columns import (
    CONSUMER,
    DELIVERY_TICKS,
    GROUP,
    IS_STAMPED,
    MESSAGE_TICKS,
    PRODUCER,
    SENT_TICK,
    TOPIC,
)
from streamgauge.pipeline.metrics.aggregates.sums import Sums, sums
from streamgauge.pipeline.read.rows import Row, share
from streamgauge.pipeline.read.silver import (
    ABORTED,
    ACKED,
    FAILED,
    NEVER_SENT,
    SHIFT_SECONDS,
    UNDECIDED,
    Span,
    is_measured,
    place_of,
)
from streamgauge.pipeline.read.traits import RunTraits

MESSAGE_TOTALS: Mapping[str, str] = {
    "messages": "count(*)",
    "due": "count(due_ns)",
    "sent": "count(sent_ns)",
    "bytes": "sum(if(sent_ns is null, 0, size_bytes))",
}
DELIVERY_TOTALS: Mapping[str, str] = {
    "received": "count(*)",
    "arrived": f"count(if(counts and {IS_STAMPED}, true, null))",
    "done": "count(done_tick)",
    "processed": "count(if(processed, done_tick, null))",
    "bytes": "sum(size_bytes)",
    "checked": "count(intact)",
    "negative": "count(if(received_ns < sent_ns, true, null))",
    "first_sent": "min(if(timed, sent_ns, null))",
    "last_received": "max(if(timed, received_ns, null))",
}


@dataclass(frozen=True, slots=True)
class _Counter:
    """Where a count is found: a column of the sums, the clock that it goes by, and the reports it is restricted to."""

    column: str
    tick: str
    reports: tuple[int, ...] = ()


OF_MESSAGES: Mapping[str, _Counter] = {
    "due": _Counter("due", "at_selected"),
    "sent": _Counter("sent", "at_sent_tick"),
    "acked": _Counter("messages", "at_settled_tick", (ACKED, ABORTED, UNDECIDED)),
    "failed": _Counter("messages", "at_settled_tick", (FAILED,)),
    "unsent": _Counter("messages", "at_selected", (NEVER_SENT,)),
    "sent_bytes": _Counter("bytes", "at_sent_tick"),
}
OF_DELIVERIES: Mapping[str, _Counter] = {
    "received": _Counter("received", "at_received_tick"),
    "processed": _Counter("processed", "at_done_tick"),
    "received_bytes": _Counter("bytes", "at_received_tick"),
}
NAMES = (*OF_MESSAGES, *OF_DELIVERIES)


def message_sums(messages: DataFrame, values: Mapping[str, str], *, by_topic: bool = False) -> DataFrame:
    """The sums of messages, by producer and delivery report; `by_topic` tells topics apart, too."""
    labels = (PRODUCER, "report", *([TOPIC] if by_topic else []))
    return sums(messages, MESSAGE_TICKS, labels, MESSAGE_TOTALS, values)


def delivery_sums(
    deliveries: DataFrame, values: Mapping[str, str], *, by_sent: bool = False, by: Sequence[str] = ()
) -> DataFrame:
    """The sums of deliveries, by group and what else they are `by`; `by_sent` also by when they were sent."""
    ticks = (*DELIVERY_TICKS, SENT_TICK) if by_sent else DELIVERY_TICKS
    return sums(deliveries, ticks, (GROUP, *by), DELIVERY_TOTALS, values)


def throughput(
    messages: Sums, deliveries: Sums, span: Span, traits: RunTraits, changes: Mapping[int, int] | None = None
) -> list[Row]:
    """Rows of `throughput`; `changes` are those of the backlog where not every message is processed once."""
    windows = (messages.windows, deliveries.windows)
    places = (messages.places, deliveries.places)
    run = _counts(*windows, lambda _, tick: np.where(tick < 0, -1, 0)).get(0, {})
    measure = _counts(*windows, lambda _, tick: np.where(is_measured(tick), 0, -1)).get(0, {})
    partitions = _counts(*places, lambda rows, tick: np.where(is_measured(tick), rows.column("place"), -1))
    rows = [
        _row("run", run, duration_ns=span.run_ns),
        _row("measure", measure, duration_ns=span.measure_ns),
        *_windows(messages.windows, deliveries.windows, span, traits, changes),
    ]
    ends_of_places = {
        "first_sent_ms": _ends(deliveries.places, span, "first_sent", np.minimum),
        "last_received_ms": _ends(deliveries.places, span, "last_received", np.maximum),
    }
    for place, counts in sorted(partitions.items()):
        ends = {name: found.get(place) for name, found in ends_of_places.items()}
        rows.append(_row("partition", counts, duration_ns=span.measure_ns) | place_of(place) | ends)
    rows += _topics(partitions, span.measure_ns)
    rows += _groups(messages.windows, deliveries.windows, traits.groups, span.measure_ns)
    return rows


def by_topic(messages: Sums, deliveries: Sums, span: Span) -> list[Row]:
    """Rows of `topics`, from sums that tell topics apart: each topic in each second in which it had a message."""
    found = _counts(messages.windows, deliveries.windows, _second_of(TOPIC))
    return [
        {**_place_in_time(key, TOPIC, span), **{name: counts.get(name, 0) for name in _OF_TOPICS}}
        for key, counts in sorted(found.items())
        # What is due or was never sent has a second of its own, and is no throughput.
        if any(counts.get(name) for name in _OF_TOPICS)
    ]


def by_worker(messages: Sums, deliveries: Sums, span: Span) -> list[Row]:
    """Rows of `workers`: each producer and, from sums that tell them apart, each consumer in each of its seconds."""
    rows = []
    for role, source, label, counters, names in (
        ("producer", messages, PRODUCER, OF_MESSAGES, ("sent", "sent_bytes")),
        ("consumer", deliveries, CONSUMER, OF_DELIVERIES, ("received", "received_bytes")),
    ):
        found: dict[int, dict[str, int]] = {}
        _count(found, source.windows, {name: counters[name] for name in names}, _second_of(label))
        rows += [
            {"role": role, **_place_in_time(key, "number", span)}
            | {"messages": counts.get(names[0], 0), "bytes": counts.get(names[1], 0)}
            for key, counts in sorted(found.items())
            if counts.get(names[0])
        ]
    return rows


_OF_TOPICS = ("sent", "acked", "failed", "received", "sent_bytes", "received_bytes")
_SECOND_BITS = 24
_SECOND = (1 << _SECOND_BITS) - 1


def _second_of(label: str) -> Callable[[Sums, Int64s], Int64s]:
    """A key of a label and a second in one integer; negative where there is no second."""
    return lambda rows, tick: np.where(tick < 0, -1, rows.column(label) << _SECOND_BITS | tick >> 1)


def _place_in_time(key: int, label: str, span: Span) -> Row:
    second = (key & _SECOND) - SHIFT_SECONDS
    return {"second": second, label: key >> _SECOND_BITS, "duration_ns": span.window_ns(second)}


def arrivals(deliveries: Sums, traits: RunTraits) -> list[dict[int, int]]:
    """Of each group, how many messages it received in each second, those that came again not counted.

    Nothing where groups are not to receive all that is sent.
    """
    windows = deliveries.windows
    found = []
    for group in () if traits.outstanding_of is None else traits.groups:
        mine = windows.where(windows.column("group") == group)
        counted = mine.total_by(mine.column("at_received_tick") >> 1, "arrived")
        found.append({at - SHIFT_SECONDS: count for at, count in counted.items()})
    return found


def sent_rate(messages: Sums, span: Span) -> float | None:
    """Messages handed to the client in the measure phase, by its length in seconds; None where it has none."""
    ticks = messages.windows.column("at_sent_tick")
    count = messages.windows.where(is_measured(ticks)).total("sent")
    return share(count * NS_PER_SECOND, span.measure_ns)


def _ends(places: Sums, span: Span, name: str, how: np.ufunc) -> dict[int, float]:
    """The first or last time of each place, of messages of the measure phase, in ms from its start."""
    key = np.where(is_measured(places.column("at_selected")), places.column("place"), -1)
    return {at: (ns - span.measure.from_ns) / NS_PER_MS for at, ns in places.total_by(key, name, how).items()}


def _topics(partitions: Mapping[int, Mapping[str, int]], measure_ns: int) -> list[Row]:
    """A row for each of several topics: all of its partitions."""
    topics: dict[int, Counter[str]] = {}
    for place, counts in sorted(partitions.items()):
        topics.setdefault(place_of(place)[TOPIC], Counter()).update(counts)
    several = topics if len(topics) > 1 else {}
    return [
        _row("topic", counts, duration_ns=measure_ns) | {"topic": topic} for topic, counts in sorted(several.items())
    ]


def _groups(messages: Sums, deliveries: Sums, groups: Sequence[int], measure_ns: int) -> list[Row]:
    """A row for each of several groups: its deliveries, beside all messages."""
    rows = []
    for group in groups if len(groups) > 1 else ():
        mine = deliveries.where(deliveries.column("group") == group)
        counts = _counts(messages, mine, lambda _, tick: np.where(is_measured(tick), 0, -1)).get(0, {})
        rows.append(_row("group", counts, duration_ns=measure_ns) | {"group": group})
    return rows


def _row(scope: str, counts: Mapping[str, int], *, duration_ns: int) -> Row:
    return {"scope": scope, "duration_ns": duration_ns, **{name: counts.get(name, 0) for name in NAMES}}


def _windows(
    messages: Sums, deliveries: Sums, span: Span, traits: RunTraits, changes: Mapping[int, int] | None
) -> Iterable[Row]:
    """One row for every second of the run, quiet ones included."""
    found = _counts(messages, deliveries, lambda _, tick: tick >> 1)
    begin = int((span.from_ns - span.measure.from_ns) // NS_PER_SECOND)
    end = -int((span.measure.from_ns - span.to_ns) // NS_PER_SECOND)
    seconds = sorted({*range(begin, end), *(at - SHIFT_SECONDS for at in found)})
    backlog, group = 0, traits.outstanding_of
    if changes is None and group is not None:
        changes = _backlog_changes(messages, deliveries, group, hides_aborted=traits.read_committed)
    for second in seconds:
        backlog += (changes or {}).get(second + SHIFT_SECONDS, 0)
        row = _row("window", found.get(second + SHIFT_SECONDS, {}), duration_ns=span.window_ns(second))
        yield row | {"second": second, "outstanding": None if group is None else backlog}


def _backlog_changes(messages: Sums, deliveries: Sums, group: int, *, hides_aborted: bool) -> Mapping[int, int]:
    """By how much the backlog of a group grew in each second, where each message that it is to receive came once."""
    sent = messages.where(messages.column("report") != ABORTED) if hides_aborted else messages
    mine = deliveries.where(deliveries.column("group") == group)
    changes = Counter(sent.total_by(sent.column("at_sent_tick") >> 1, "sent"))
    changes.subtract(mine.total_by(mine.column("at_done_tick") >> 1, "done"))
    return changes


def _counts(messages: Sums, deliveries: Sums, key: Callable[[Sums, Int64s], Int64s]) -> dict[int, dict[str, int]]:
    """Every count, for each key that the tick of its own event has; negative keys are left out."""
    found: dict[int, dict[str, int]] = {}
    _count(found, messages, OF_MESSAGES, key)
    _count(found, deliveries, OF_DELIVERIES, key)
    return found


def _count(
    found: dict[int, dict[str, int]],
    source: Sums,
    counters: Mapping[str, _Counter],
    key: Callable[[Sums, Int64s], Int64s],
) -> None:
    """Adds some counts to those that were found, for each key."""
    for name, counter in counters.items():
        rows = source.where(np.isin(source.column("report"), counter.reports)) if counter.reports else source
        for at, total in rows.total_by(key(rows, rows.column(counter.tick)), counter.column).items():
            found.setdefault(at, {})[name] = total
