"""KafkaBench's tests from the tables of recorded runs, and its files, with ours beside them."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFacts, RunFolder
from streamgauge.report.exports.kafkabench.formulas import BenchTest, PartitionRow, levels
from streamgauge.report.exports.kafkabench.ours import our_lines
from streamgauge.report.exports.kafkabench.written import CSV_HEADER, csv_lines, file_name
from streamgauge.report.files import read_facts, rows_of
from streamgauge.scenario.profile import recorded_profile
from streamgauge.scenario.profile.model import CLOSED
from streamgauge.verdict.evidence import Row

OURS: Final = "Streamgauge"
"""How the names of our files begin, beside those of KafkaBench."""


@dataclass(frozen=True, slots=True)
class ReadTest:
    """A run as KafkaBench sees it, and as we do."""

    run: str
    test: BenchTest
    ours: Mapping[str, Sequence[Row]]
    """Our lines, by the name of the report."""


def read_test(folder: RunFolder) -> ReadTest:
    """The test that a run was.

    Raises BadInput where it was none: KafkaBench sends a number of bytes to each partition, in messages of one size,
    and has no figures before all partitions have been read. AnalysisError where the tables cannot be read.
    """
    facts, where = read_facts(folder), str(folder.root)
    asked = _asked(facts, where)
    latency = [row for row in rows_of(folder, "latency") if row["metric"].startswith("end_to_end_")]
    times = rows_of(folder, "throughput", scope="partition")
    if any(row["scope"] == "partition" and row["count"] for row in latency) and not any(
        row["last_received_ms"] is not None for row in times
    ):
        raise BadInput.single(where, "its tables do not say when messages came", f"Use: {folder.analyse_again}")
    rows = partition_rows(times, latency)
    if silent := asked.topics * asked.partitions - len(rows):
        what = f"nothing was received from {silent} of its partitions; KafkaBench would wait for them without end"
        raise BadInput.single(where, what, "Run it again, or leave it out")
    test = replace(asked, rows=tuple(rows))
    run = folder.root.absolute().name
    names = {topic.id: topic.name for topic in facts.topics}
    return ReadTest(run, test, our_lines(test, latency, names, run))


def _asked(facts: RunFacts, where: str) -> BenchTest:
    """What was to be tested, without rows."""
    profile = recorded_profile(facts.profile, facts.scenario)
    load, stream, partitions = profile.load, profile.bytes_per_partition, profile.partitions
    if load is None or stream is None or partitions is None or not isinstance(load.size, int):
        what = "does not send a number of bytes to each partition, in messages of one size"
        raise BadInput.single(where, what, "Name runs of `streamgauge experiment kafkabench`")
    acks = load.acks or "all"
    return BenchTest(
        bootstrap=facts.broker.bootstrap,
        topics=profile.sent_topics(len(facts.topics)),
        partitions=partitions,
        replicas=profile.replication,
        size=load.size,
        stream=stream,
        acks=-1 if acks == "all" else int(acks),
        completion=load.pace.kind == CLOSED or load.transactional,
        transactional=load.transactional,
        rows=(),
    )


def partition_rows(times: Sequence[Row], latency: Sequence[Row]) -> list[PartitionRow]:
    """What is known of each partition that a message was received from, in order: from rows of the gold tables."""
    ends = {(row["topic"], row["partition"]): row for row in times}
    took = {
        (row["topic"], row["partition"]): row
        for row in latency
        if row["scope"] == "partition" and row["metric"] == "end_to_end_service" and row["count"]
    }
    return [
        PartitionRow(
            topic=place[0],
            partition=place[1],
            count=row["count"],
            min_ns=_ns(row["min_ms"]),
            max_ns=_ns(row["max_ms"]),
            sum_ns=_ns(row["mean_ms"] * row["count"]),
            producer_start_ns=_ns(ends[place]["first_sent_ms"]),
            consumer_stop_ns=_ns(ends[place]["last_received_ms"]),
        )
        for place, row in sorted(took.items())
    ]


def _ns(ms: float) -> int:
    return round(ms * NS_PER_MS)


def append(found: ReadTest, folder: Path) -> list[Path]:
    """Append the lines of a test to its files below `folder`, KafkaBench's and ours; returns the files.

    A file that is new begins with its header. Raises BadInput where one cannot be written.
    """
    written = []
    for level, lines in levels(found.test):
        theirs = folder / file_name(found.test, level)
        _append(theirs, CSV_HEADER, csv_lines(lines))
        ours = folder / file_name(found.test, level, OURS)
        rows = found.ours[level]
        _append(ours, _csv([list(rows[0])]), _csv([list(row.values()) for row in rows]))
        written += [theirs, ours]
    return written


def _append(path: Path, header: str, lines: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(lines if file.tell() else header + lines)
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise BadInput.single(f"--csv {path}", what, "Name another folder") from error


def _csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
