"""What we say of a test of KafkaBench: wall time, rates by it, and percentiles, from the due time and from the send."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.report.exports.kafkabench.formulas import BenchLine, BenchTest, PartitionRow, levels
from streamgauge.verdict.evidence import Row

_FIGURES: Final = ("p50_ms", "p99_ms", "p99_9_ms", "max_ms")
_KINDS: Final = ("response", "service")


def our_lines(test: BenchTest, latency: Sequence[Row], names: Mapping[int, str], run: str) -> dict[str, list[Row]]:
    """Our lines of each report, by its name; `latency` are the rows of the gold table, `names` those of topics."""
    return {level: [_line(test, level, line, latency, names, run) for line in lines] for level, lines in levels(test)}


def _line(
    test: BenchTest, level: str, line: BenchLine, latency: Sequence[Row], names: Mapping[int, str], run: str
) -> Row:
    topic = None if level == "summary" else line.topic
    partition = line.partition if level == "partition" else None
    rows = [row for row in test.rows if topic in {None, row.topic} and partition in {None, row.partition}]
    seconds = _wall_ns(rows) / NS_PER_SECOND
    about: Row = {
        "run": run,
        "topic": None if topic is None else names.get(topic, str(topic)),
        "partition": partition,
        "size_bytes": test.size,
        "messages": line.count,
        "wall_seconds": round(seconds, 6),
        "received_per_second": round(line.count / seconds, 1),
        "received_mb_per_second": round(line.count * test.size / seconds / 1e6, 6),
    }
    # A single topic has no rows of its own.
    scope = "measure" if topic is None or (partition is None and test.topics == 1) else level
    return {**about, **dict(_latencies(latency, scope, topic, partition))}


def _wall_ns(rows: Sequence[PartitionRow]) -> int:
    """From the first send to the last receipt."""
    return max(row.consumer_stop_ns for row in rows) - min(row.producer_start_ns for row in rows)


def _latencies(
    latency: Sequence[Row], scope: str, topic: int | None, partition: int | None
) -> Iterator[tuple[str, float | None]]:
    place = (None, None) if scope == "measure" else (topic, partition)
    for kind in _KINDS:
        wanted = (f"end_to_end_{kind}", scope, *place)
        row = next((r for r in latency if (r["metric"], r["scope"], r["topic"], r["partition"]) == wanted), {})
        yield from ((f"end_to_end_{kind}_{name}", row.get(name)) for name in _FIGURES)
