"""KafkaBench's figures, by its formulas: pure functions over a row for each partition of each topic.

Source: `main.go` and `report.go` of github.com/thebigcorporation/KafkaBench at 724ea52. Times are whole nanoseconds,
and quotients of them are cut, as Go cuts integers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from streamgauge.domain.clock import NS_PER_SECOND


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """What is known of one partition."""

    topic: int
    """From 0 on, as partitions are."""
    partition: int
    count: int
    """Messages received."""
    min_ns: int
    """Latency from the send of a message to its receipt."""
    max_ns: int
    sum_ns: int
    producer_start_ns: int
    consumer_stop_ns: int
    """Both on the same clock, from any zero."""

    @property
    def time_ns(self) -> int:
        """From the start of its producer to the stop of its consumer."""
        return self.consumer_stop_ns - self.producer_start_ns


@dataclass(frozen=True, slots=True)
class BenchTest:
    """One test: a combination of topics, partitions and message size, sent once."""

    bootstrap: str
    """Addresses of the cluster, separated by commas."""
    topics: int
    partitions: int
    """Of each topic."""
    replicas: int
    size: int
    """Bytes of a message."""
    stream: int
    """Bytes to send to each partition."""
    acks: int
    """-1 for all."""
    completion: bool
    """Whether each message waits for its delivery report."""
    transactional: bool
    """Whether each message is a transaction."""
    rows: tuple[PartitionRow, ...]
    """In the order of topics and their partitions; each partition has one."""


@dataclass(frozen=True, slots=True)
class BenchLine:
    """One line of its reports."""

    topic: int
    """Number of the topic; of a whole test, how many there are."""
    partition: int
    """Number of the partition; of a topic or a test, how many a topic has."""
    size: int
    count: int
    min_ns: int
    max_ns: int
    mean_ns: int
    kib_per_second: float
    per_second: float
    runtime_ns: int
    """Sum over the partitions: no wall time."""


def partition_lines(test: BenchTest) -> list[BenchLine]:
    """A line for each partition."""
    return [_line(test, row.topic, row.partition, [row]) for row in test.rows]


def topic_lines(test: BenchTest) -> list[BenchLine]:
    """A line for each topic."""
    found = groupby(test.rows, lambda row: row.topic)
    return [_line(test, topic, test.partitions, list(rows)) for topic, rows in found]


def whole_line(test: BenchTest) -> BenchLine:
    """The line of the whole test."""
    return _line(test, test.topics, test.partitions, test.rows)


def _line(test: BenchTest, topic: int, partition: int, rows: Sequence[PartitionRow]) -> BenchLine:
    """Rates divide by the mean of the partitions' times; bytes are those that were to be sent."""
    count, runtime_ns = sum(row.count for row in rows), sum(row.time_ns for row in rows)
    seconds = cut(runtime_ns, len(rows)) / NS_PER_SECOND
    return BenchLine(
        topic=topic,
        partition=partition,
        size=test.size,
        count=count,
        min_ns=min(row.min_ns for row in rows),
        max_ns=max(row.max_ns for row in rows),
        mean_ns=cut(sum(row.sum_ns for row in rows), count),
        kib_per_second=test.stream * len(rows) / seconds / 1024,
        per_second=count / seconds,
        runtime_ns=runtime_ns,
    )


def cut(dividend: int, divisor: int) -> int:
    """The quotient without its fraction, towards zero."""
    whole = abs(dividend) // divisor
    return whole if dividend >= 0 else -whole


def levels(test: BenchTest) -> Iterator[tuple[str, list[BenchLine]]]:
    """The lines of each of its reports, by the name of the report."""
    yield "summary", [whole_line(test)]
    yield "topic", topic_lines(test)
    yield "partition", partition_lines(test)
