"""The table `throughput`: how many messages passed each stage, each count by the clock of its own event."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.histogram import Int64s
from streamgauge.pipeline.silver import ACKED, FAILED, NEVER_SENT, SHIFT_SECONDS, TOPIC_BITS, Span
from streamgauge.pipeline.sums import Sums, sums

Row = dict[str, Any]
MESSAGE_TOTALS: Mapping[str, str] = {
    "messages": "count(*)",
    "due": "count(due_ns)",
    "sent": "count(sent_ns)",
    "bytes": "sum(if(sent_ns is null, 0, size_bytes))",
}
DELIVERY_TOTALS: Mapping[str, str] = {
    "received": "count(*)",
    "processed": "count(at_processed_tick)",
    "bytes": "sum(size_bytes)",
    "checked": "count(intact)",
    "negative": "count(if(received_ns < sent_ns, true, null))",
}
MESSAGE_TICKS = ("selected", "sent_tick", "settled_tick")
DELIVERY_TICKS = ("selected", "received_tick", "processed_tick")


@dataclass(frozen=True, slots=True)
class _Counter:
    """Where a count is found: a column of the sums, the clock that it goes by, and the fate it is restricted to."""

    column: str
    tick: str
    fate: int | None = None


OF_MESSAGES: Mapping[str, _Counter] = {
    "due": _Counter("due", "at_selected"),
    "sent": _Counter("sent", "at_sent_tick"),
    "acked": _Counter("messages", "at_settled_tick", ACKED),
    "failed": _Counter("messages", "at_settled_tick", FAILED),
    "unsent": _Counter("messages", "at_selected", NEVER_SENT),
    "sent_bytes": _Counter("bytes", "at_sent_tick"),
}
OF_DELIVERIES: Mapping[str, _Counter] = {
    "received": _Counter("received", "at_received_tick"),
    "processed": _Counter("processed", "at_processed_tick"),
    "received_bytes": _Counter("bytes", "at_received_tick"),
}
NAMES = (*OF_MESSAGES, *OF_DELIVERIES)


def message_sums(messages: DataFrame, values: Mapping[str, str]) -> DataFrame:
    """The sums of messages, by producer and fate."""
    return sums(messages, MESSAGE_TICKS, ("producer", "fate"), MESSAGE_TOTALS, values)


def delivery_sums(deliveries: DataFrame, values: Mapping[str, str]) -> DataFrame:
    """The sums of deliveries, by group."""
    return sums(deliveries, DELIVERY_TICKS, ("group",), DELIVERY_TOTALS, values)


def throughput(messages: Sums, deliveries: Sums, span: Span, *, outstanding_of: int | None) -> list[Row]:
    """Rows of `throughput`; `outstanding_of` is the group whose backlog is told, None where there cannot be one."""
    measure_ns = span.measure.to_ns - span.measure.from_ns
    windows = (messages.windows, deliveries.windows)
    places = (messages.places, deliveries.places)
    run = _counts(*windows, lambda _, tick: np.where(tick < 0, -1, 0)).get(0, {})
    measure = _counts(*windows, lambda _, tick: np.where(_odd(tick), 0, -1)).get(0, {})
    partitions = _counts(*places, lambda rows, tick: np.where(_odd(tick), rows.column("place"), -1))
    rows = [
        _row("run", run, duration_ns=span.to_ns - span.from_ns),
        _row("measure", measure, duration_ns=measure_ns),
        *_windows(messages.windows, deliveries.windows, span, outstanding_of),
    ]
    for place, counts in sorted(partitions.items()):
        where = {"topic": place >> TOPIC_BITS, "partition": place & (1 << TOPIC_BITS) - 1}
        rows.append(_row("partition", counts, duration_ns=measure_ns) | where)
    return rows


def _odd(tick: Int64s) -> Any:
    return (tick >= 0) & (tick & 1 == 1)


def _row(scope: str, counts: Mapping[str, int], *, duration_ns: int) -> Row:
    nowhere = {"second": None, "topic": None, "partition": None, "outstanding": None}
    return {"scope": scope, **nowhere, "duration_ns": duration_ns, **{name: counts.get(name, 0) for name in NAMES}}


def _windows(messages: Sums, deliveries: Sums, span: Span, outstanding_of: int | None) -> Iterable[Row]:
    """One row for every second of the run, quiet ones included."""
    found = _counts(messages, deliveries, lambda _, tick: tick >> 1)
    begin = int((span.from_ns - span.measure.from_ns) // NS_PER_SECOND)
    end = -int((span.measure.from_ns - span.to_ns) // NS_PER_SECOND)
    seconds = sorted({*range(begin, end), *(at - SHIFT_SECONDS for at in found)})
    backlog = 0
    mine = deliveries if outstanding_of is None else deliveries.where(deliveries.column("group") == outstanding_of)
    processed = mine.total_by(mine.column("at_processed_tick") >> 1, "processed")
    for second in seconds:
        counts = found.get(second + SHIFT_SECONDS, {})
        backlog += counts.get("sent", 0) - processed.get(second + SHIFT_SECONDS, 0)
        row = _row("window", counts, duration_ns=span.window_ns(second))
        yield row | {"second": second, "outstanding": None if outstanding_of is None else backlog}


def _counts(messages: Sums, deliveries: Sums, key: Callable[[Sums, Int64s], Int64s]) -> dict[int, dict[str, int]]:
    """Every count, for each key that the tick of its own event has; negative keys are left out."""
    found: dict[int, dict[str, int]] = {}
    for source, counters in ((messages, OF_MESSAGES), (deliveries, OF_DELIVERIES)):
        for name, counter in counters.items():
            rows = source if counter.fate is None else source.where(source.column("fate") == counter.fate)
            keys = key(rows, rows.column(counter.tick))
            for at, total in rows.total_by(keys, counter.column).items():
                found.setdefault(at, {})[name] = total
    return found
