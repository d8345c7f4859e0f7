"""KafkaBench's CSV files: a row for each test, topic or partition."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import ForeignError, FoundDefect, Measured, MeasuredLatency
from streamgauge.foreign.results.values import amount, count, known, known_counts, table_rows

COLUMNS: Final = ("Topic", "Prtn", "MsgSize", "Messages", "MinLat", "MaxLat", "AvgLat", "Kbps", "Msgps", "Runtime")
_NAME: Final = re.compile(
    r"^KafkaPerf-(.{1,7})-(summary|topic|partition)-T(\d+)-P(\d+)-R(\d+)-M(\d+)b-S(\d+)-A(-?\d+)-C(true|false)$"
)
_KIB: Final = 1024


def recognises(file: ForeignFile) -> bool:
    """Whether its first line is KafkaBench's header."""
    return _split(file.head().partition("\n")[0]) == COLUMNS


def _split(line: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in line.split(","))


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """A run for each test: a row of a summary, or the rows of the topics or partitions of one; raises ForeignError."""
    file = files[0]
    rows = [_row(place, cells) for place, cells in enumerate(table_rows(file.lines()[1:]), 2) if cells]
    if not rows:
        raise ForeignError("has no row below its header")
    said = _NAME.match(file.stem)
    kind, topics, partitions = (said[2], int(said[3]), int(said[4])) if said else ("topic", 1, 1)
    size = {"summary": 1, "topic": topics, "partition": topics * partitions}[kind]
    if not size or len(rows) % size:
        raise ForeignError(f"has {len(rows)} rows, and a test has {size} by its name: rows are missing")
    tests = [rows[at : at + size] for at in range(0, len(rows), size)]
    return [_test(file, said, kind, test, place if len(tests) > 1 else None) for place, test in enumerate(tests, 1)]


def _row(place: int, cells: Sequence[str]) -> Mapping[str, Any]:
    if len(cells) != len(COLUMNS):
        raise ForeignError(f"line {place} has {len(cells)} cells instead of {len(COLUMNS)}")
    row = dict(zip(COLUMNS, (each.strip() for each in cells), strict=True))
    counted = {name: count(row[name], name) for name in ("MsgSize", "Messages")}
    return row | counted | {name: amount(row[name], name) for name in COLUMNS[4:]}


def _test(
    file: ForeignFile, said: "re.Match[str] | None", kind: str, rows: Sequence[Mapping[str, Any]], place: int | None
) -> Measured:
    messages = sum(row["Messages"] for row in rows)
    topics, partitions = (int(said[3]), int(said[4])) if said else (1, max(1, _digits(rows[0]["Prtn"])))
    parts = len(rows) if kind == "partition" else topics * partitions
    runtime = sum(row["Runtime"] for row in rows)
    seconds = runtime / parts if parts and runtime else None
    mean = sum(row["AvgLat"] * row["Messages"] for row in rows) / messages if messages else None
    path = "latency.end_to_end.service"
    defects = [
        FoundDefect("Runtime", "it is the sum over partitions, and no time of a clock", "recomputed", runtime, seconds),
        FoundDefect("Kbps", "they are KiB/s", "recomputed", sum(row["Kbps"] for row in rows) / len(rows),
                    None if seconds is None else messages * rows[0]["MsgSize"] / seconds / 1e6),
        FoundDefect(path, "the time to make the random bytes of a message is part of its latency", "kept"),
    ]  # fmt: skip
    if kind == "partition":
        what = "one consumer of a topic gives any message to any partition, so these rows are of no partition"
        defects.append(FoundDefect("rows by partition", what, "recomputed", len(rows), "one test"))
    return Measured(
        tool="KafkaBench",
        form=f"CSV by {kind}",
        name="-".join(filter(None, ["kafkabench", _short(file, said), str(place or "")])),
        seconds=seconds,
        throughput=known(
            received_per_second=messages / seconds if seconds else None,
            received_mb_per_second=messages * rows[0]["MsgSize"] / seconds / 1e6 if seconds else None,
        ),
        delivery=known_counts(received=messages),
        latencies=[
            MeasuredLatency(
                name="latency", unit="ms", resolution="whole ms, the fraction cut off", place="end_to_end",
                kind="service", count=messages, mean_ms=mean,
                min_ms=min(row["MinLat"] for row in rows), max_ms=max(row["MaxLat"] for row in rows),
            )
        ],
        scenario={
            "load": {"size": rows[0]["MsgSize"], **({"client": {"acks": int(said[8])}} if said else {})},
            "topic": {"partitions": partitions, **({"replication": int(said[5])} if said else {})},
        },
        settings={"topics": topics, "stream_bytes": int(said[7]), "completions": said[9] == "true"} if said else {},
        broker=said[1] if said else None,
        defects=defects,
        notes=["There are no percentiles in its files"],
    )  # fmt: skip


def _short(file: ForeignFile, said: "re.Match[str] | None") -> str:
    """What sets a test apart, in fewer words than the name of its file."""
    return f"T{int(said[3])}-P{int(said[4])}-{int(said[6])}b" if said else file.stem


def _digits(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else 0
