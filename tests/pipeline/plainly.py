"""What the instrument may have added to each message: told in plain Python, one message and one bin after the other."""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.domain.latency.percentiles import Buckets
from streamgauge.pipeline.metrics.aggregates.bounds import UNKNOWN, LowEnds, Widths, low_ends, width_class
from streamgauge.pipeline.metrics.expressions import SINCE_RECORD_TIME

Row = dict[str, Any]
Lane = tuple[int | None, int | None]
BIN_NS = 500_000
SECOND = 2_000
"""Bins."""
ENDS = {"ack": "acked_ns", "end_to_end": "received_ns", "processing": "processed_ns"}


def ended(row: Row) -> int:
    """When a delivery was over: what is processed is over only then."""
    return int(max(time for time in (row["received_ns"], row["processed_ns"]) if time is not None))


def usual(in_flight: Sequence[int], at: int) -> int:
    """The median of the lower quartiles of the three seconds before that of a bin; in the first one, its own."""
    second = at // SECOND
    before = range(max(0, second - 3), second) if second else [0]
    return int(statistics.median(lower_quartile(in_flight[each * SECOND : (each + 1) * SECOND]) for each in before))


def lower_quartile(values: Sequence[int]) -> float:
    """Between the two values that are next to a quarter of the way, in the order of size."""
    ordered, way = sorted(values), (len(values) - 1) / 4
    low = math.floor(way)
    return ordered[low] + (way - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def own(row: Row) -> int | None:
    """How late a message was handed over by its producer's own doing; None where that is not known."""
    begun = [row[name] for name in ("due_ns", "admitted_ns") if row[name] is not None]
    if not begun or row["handed_ns"] is None:
        return None
    return max(0, int(row["handed_ns"] - max(begun) - (row["waited_ns"] or 0)))


@dataclass
class Plainly:
    """One run by its rows of `sent` and `received`, dictionaries with all columns that are asked for."""

    sent: Sequence[Row]
    received: Sequence[Row]
    run: tuple[int, int]
    measure: tuple[int, int]
    consumes: bool = True
    leaves_in_client: bool = False
    """Whether consumers leave messages in the client on purpose."""
    timed_group: int = 0
    throttled: bool = False
    """Whether a policy holds messages back, so that service times count by when they were sent."""
    ahead_ns: int = 0
    """How far the wall clock is ahead."""

    def __post_init__(self) -> None:
        self._alone: dict[bool, dict[Lane, list[tuple[float, float]]]] = {}
        self.begun = [row for row in self.sent if row["sent_ns"] is not None]
        self.timed = [row for row in self.received if row["group"] == self.timed_group]
        self.last = self._bin(self.run[1])
        acked = ((row, row["acked_ns"] if row["error"] is None else None) for row in self.begun)
        self.of_acks = self._delays(acked, [own(row) for row in self.begun])
        delivered = ((row, ended(row)) for row in self.timed if row["sent_ns"] is not None)
        self.of_deliveries = self._delays(delivered, self._together())

    def _bin(self, time: int) -> int:
        last = (self.run[1] - self.run[0]) // BIN_NS
        return int(min(max((time - self.run[0]) // BIN_NS, 0), last))

    def _in_flight(self) -> list[int]:
        """How many were in flight at the end of each bin."""
        times = [(row["sent_ns"], row["acked_ns"]) for row in self.begun if row["acked_ns"] is not None]
        if self.consumes and len(self.received) == len(self.timed) == len(self.begun):
            # Whatever was received: each message once, or as many again as are missing.
            sent, came = (sorted(row[name] for row in rows) for name, rows in self._sides())
            times = list(zip(sent, came, strict=True))
        elif self.consumes:
            times = [(row["sent_ns"], row["received_ns"]) for row in self.timed if row["sent_ns"] is not None]
        change = Counter[int]()
        for begin, end in times:
            change[self._bin(begin)] += 1
            change[self._bin(end)] -= 1
        return list(accumulate(change[at] for at in range(self.last + 1)))

    def _waiting(self) -> list[bool]:
        """Whether a message that waited for the system was still to be sent at the end of each bin."""
        change = Counter[int]()
        for row in self.begun:
            at = self._bin(row["sent_ns"])
            change[max(0, at - math.ceil((row["waited_ns"] or 0) / BIN_NS))] += 1
            change[at] -= 1
        return [waiting > 0 for waiting in accumulate(change[at] for at in range(self.last + 1))]

    def _sides(self) -> Iterable[tuple[str, Sequence[Row]]]:
        return ("sent_ns", self.begun), ("received_ns", self.received)

    def _delays(
        self, ends: Iterable[tuple[Row, int | None]], delays: Sequence[int | None]
    ) -> dict[tuple[int, Lane], int] | None:
        """By bin and partition: how much later messages can have ended because others were sent late."""
        if None in delays:
            return None
        late: dict[int, int] = defaultdict(int)
        waited: dict[int, int] = defaultdict(int)
        for row in self.begun:
            waited[self._bin(row["sent_ns"])] = max(waited[self._bin(row["sent_ns"])], row["waited_ns"] or 0)
        for row, delay in zip(self.begun, delays, strict=True):
            late[self._bin(row["sent_ns"])] = max(late[self._bin(row["sent_ns"])], delay or 0)
        cells: dict[int, dict[Lane, float]] = defaultdict(dict)
        services: dict[Lane, list[tuple[float, float]]] = defaultdict(list)
        for row, end in ends:
            soonest = cells[self._bin(row["sent_ns"])]
            # A corrupt message limits nothing.
            service = math.inf if end is None or row.get("intact") is False else end - row["sent_ns"]
            soonest[lane(row)] = min(service, soonest.get(lane(row), math.inf))
            if service < math.inf:
                services[lane(row)].append((service, service))
        least = {lane: _least(services, lane) for lane in services}
        found, left = {}, dict.fromkeys({lane for each in cells.values() for lane in each}, 0.0)
        in_flight, level = self._in_flight(), 0
        for at, waits in enumerate(self._waiting()):
            if not any(left.values()):
                level = usual(in_flight, at)
            left = {lane: max(each, late[at]) for lane, each in left.items()}
            for each, service in cells[at].items():
                found[at, each] = int(left[each])
                left[each] = min(left[each], late[at] + waited[at] + service - least.get(each, 0.0))
            if not waits and in_flight[at] <= level:
                left = dict.fromkeys(left, 0.0)
        return found

    def _together(self) -> list[int | None]:
        """How late each message was handed over; in a transaction, as late as the latest of it."""
        delays, most = [own(row) for row in self.begun], dict[Any, int]()
        for row, delay in zip(self.begun, delays, strict=True):
            key = row["producer"], row["transaction"]
            most[key] = max(delay or 0, most.get(key, 0))
        return [
            delay if delay is None or row["transaction"] is None else most[row["producer"], row["transaction"]]
            for row, delay in zip(self.begun, delays, strict=True)
        ]

    def delayed(self, row: Row) -> int | None:
        """How much later a message, or its delivery, can have ended because messages were sent late."""
        found = self.of_deliveries if "received_ns" in row else self.of_acks
        return None if found is None else found[self._bin(row["sent_ns"]), lane(row)]

    def handing(self, row: Row) -> int | None:
        """The longest call that handed messages over in its bin; None where that of one of them is not known."""
        same = [each for each in self.begun if self._bin(each["sent_ns"]) == self._bin(row["sent_ns"])]
        took = [None if each["handed_ns"] is None else each["handed_ns"] - each["sent_ns"] for each in same]
        return None if None in took else max(filter(None, took), default=0)

    def waited(self, row: Row) -> int | None:
        """How long a report or a message may have been ready in the client before it was taken."""
        if "received_ns" in row and self.leaves_in_client:
            return 0
        end, ready = (row[name] for name in _TAKEN["received_ns" in row])
        return None if ready is None else int(end - max(ready, row["sent_ns"] or ready))

    def alone(self, row: Row) -> tuple[float, float] | None:
        """A service time, and its part before a report or a message may have been ready, to the microsecond.

        None where nothing ended.
        """
        end = row[_TAKEN["received_ns" in row][0]]
        if end is None or row["sent_ns"] is None or row.get("error") or row.get("intact") is False:
            return None
        took, taken = end - row["sent_ns"], self.waited(row)
        alone = 0 if taken is None else took - taken
        return max(0, took // 1_000 * 1_000), max(0, alone // 1_000 * 1_000)

    def least(self, row: Row) -> float:
        """What the fastest message of its partition needed."""
        key = "received_ns" in row
        if key not in self._alone:
            self._alone[key] = defaultdict(list)
            for each in self.timed if key else self.begun:
                if (told := self.alone(each)) is not None:
                    self._alone[key][lane(each)].append(told)
        return _least(self._alone[key], lane(row))

    def width(self, metric: str, row: Row) -> int | None:
        """How much of a latency of a message the instrument may have added; None where that is not known."""
        if metric == SINCE_RECORD_TIME:
            taken = self.waited(row)
            return None if taken is None else taken + NS_PER_MS
        late = self.delayed(row)
        if late is None and metric.endswith("service"):
            late = self.handing(row)
        taken, value = self.waited(row), self.value(metric, row)
        if late is None or taken is None or value is None:
            return None
        return min(late + taken, max(0, int(value - self.least(row))))

    def value(self, metric: str, row: Row) -> int | None:
        """A latency of a message; None where it has none."""
        if metric == SINCE_RECORD_TIME:
            stamp = row["append_ms"] if row["append_ms"] is not None else row["created_ms"]
            return None if stamp is None else int(row["received_ns"] - (stamp * NS_PER_MS - self.ahead_ns))
        path, kind = metric.rsplit("_", 1)
        begin, end = row["due_ns" if kind == "response" else "sent_ns"], row[ENDS[path]]
        return None if begin is None or end is None or row.get("error") else int(end - begin)

    def once(self) -> list[Row]:
        """Of each message of the timed group its first delivery; what has no stamp is timed by its offset."""
        first: dict[tuple[Any, ...], Row] = {}
        for row in sorted(self.timed, key=lambda row: (row["received_ns"], row["consumer"], row["poll"])):
            stamp = (row["producer"], row["seq"])
            first.setdefault((row["topic"], *(stamp if row["seq"] is not None else (*lane(row), row["offset"]))), row)
        return list(first.values())

    def rows(self, metric: str) -> list[Row]:
        """What a metric is measured on, in the measure phase."""
        rows = self.begun if metric.startswith("ack") else self.once()
        return [row for row in rows if self._is_measured(row, metric)]

    def _is_measured(self, row: Row, metric: str) -> bool:
        by_sent = self.throttled and metric.endswith("service")
        names = ("sent_ns",) if by_sent else ("due_ns", "sent_ns", "received_ns")
        by = [row[name] for name in names if row.get(name) is not None]
        return bool(self.measure[0] <= by[0] < self.measure[1])

    def widths(self, metric: str) -> Widths:
        """Each message by the bucket of its latency and the class of its width."""
        told = [(self.value(metric, row), self.width(metric, row)) for row in self.rows(metric)]
        pairs = [(value, width) for value, width in told if value is not None]
        values, widths = (np.array([pair[side] or 0 for pair in pairs], np.int64) for side in (0, 1))
        is_known = np.array([width is not None for _, width in pairs], np.bool_)
        classes = np.where(is_known, width_class(widths), UNKNOWN)
        return Widths(bucket_of(values), classes, np.ones(len(values), np.int64))

    def ages(self, metric: str) -> Buckets:
        """The ages of messages that were never sent, where they count."""
        if metric == SINCE_RECORD_TIME or metric.endswith("service"):
            return Buckets.merged(np.zeros(0, np.int64), np.zeros(0, np.int64))
        never = [row for row in self.sent if row["error"] == "unsent" and self._is_measured(row, metric)]
        ages = bucket_of(np.array([self.run[1] - row["due_ns"] for row in never], np.int64))
        return Buckets.merged(ages, np.ones_like(ages))

    def low_ends(self, metric: str) -> LowEnds | None:
        """The low ends of a metric; None where the width of a message is not known."""
        widths = self.widths(metric)
        return low_ends(widths, self.ages(metric)) if widths.are_known else None

    def delivered(self, metric: str) -> LowEnds | None:
        """The same of messages that came alone; None where all came."""
        return low_ends(self.widths(metric)) if self.ages(metric).total else None


_TAKEN = {False: ("acked_ns", "polled_ns"), True: ("received_ns", "empty_ns")}


def _least(times: Mapping[Lane, Sequence[tuple[float, float]]], lane: Lane) -> float:
    """What is told of the fastest of a partition, or of all where it has few; 0 where all are few."""
    own, every = times.get(lane, ()), list(chain.from_iterable(times.values()))
    return 0.0 if len(every) < 100 else min(every if len(own) < 100 else own)[1]


def lane(row: Row) -> Lane:
    """The partition that messages are served in the order of."""
    return row["topic"] if row["partition"] is not None else None, row["partition"]
