"""KafkaBench's files and its table on a terminal: names, columns and roundings are its own."""

from collections.abc import Iterable, Iterator
from typing import Final

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.report.exports.kafkabench.formulas import (
    BenchLine,
    BenchTest,
    cut,
    partition_lines,
    topic_lines,
    whole_line,
)

CSV_HEADER: Final = "Topic, Prtn, MsgSize, Messages, MinLat, MaxLat, AvgLat, Kbps, Msgps, Runtime\n"
_NAMED: Final = 7
"""Characters of the cluster's address in the name of a file."""
_HEADER: Final = " Topic Prtn MsgSize Messages MinLat  MaxLat  AvgLat     Kb/s    Msg/s   Runtime"
_WIDTH: Final = 82


def file_name(test: BenchTest, level: str, program: str = "KafkaPerf") -> str:
    """The name of the file for a level of a test: `summary`, `topic` or `partition`."""
    first = test.bootstrap.partition(",")[0][:_NAMED].replace("/", "_")
    return (
        f"{program}-{first}-{level}-T{test.topics:02d}-P{test.partitions:02d}-R{test.replicas:02d}"
        f"-M{test.size:06d}b-S{test.stream:09d}-A{test.acks:02d}-C{str(test.completion).lower()}.csv"
    )


def csv_lines(lines: Iterable[BenchLine]) -> str:
    """Lines of a file, without its header."""
    return "".join(f"{', '.join(_cells(line))}\n" for line in lines)


def _cells(line: BenchLine) -> Iterator[str]:
    """Latencies are whole milliseconds, cut; rates and seconds have one decimal."""
    yield from (f"{number:3d}" for number in (line.topic, line.partition))
    yield from (f"{number:6d}" for number in (line.size, line.count))
    yield from (f"{cut(ns, NS_PER_MS):6d}" for ns in (line.min_ns, line.max_ns, line.mean_ns))
    yield from (f"{n:7.1f}" for n in (line.kib_per_second, line.per_second, line.runtime_ns / NS_PER_SECOND))


def console(test: BenchTest, iteration: int, *, by_partition: bool) -> Iterator[str]:
    """The lines of a test on a terminal: a title, its topics and the whole; `by_partition` adds each partition."""
    title = (
        f"Iteration: {iteration}  Stream: {test.stream}  Topics: {test.topics}  Partitions: {test.partitions}  "
        f"MsgSize: {test.size}  Acks: {test.acks}  Replicas: {test.replicas}  "
        f"Completions: {str(test.completion).lower()}  EoS: {str(test.transactional).lower()}"
    )
    dashes, equals = "-" * _WIDTH, "=" * _WIDTH
    yield from (title, "-" * len(title), "", _HEADER, dashes)
    partitions = partition_lines(test) if by_partition else []
    for line in topic_lines(test):
        mine = [each for each in partitions if each.topic == line.topic]
        yield from map(_console, mine)
        yield from [dashes] * bool(mine)
        yield _console(line)
        yield from [dashes, ""] * bool(mine)
    yield from ("Test Summary:", equals, _HEADER, dashes, _console(whole_line(test)), equals)


def _console(line: BenchLine) -> str:
    topic, partition, *others = _cells(line)
    return f"  {topic}  {partition}   {'  '.join(others)}s"
