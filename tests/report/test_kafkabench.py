"""KafkaBench's reports: by its formulas, to the byte, and from the tables of a run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from tests.report.conftest import latency, throughput
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.exports.kafkabench.formulas import BenchTest, PartitionRow, levels, partition_lines
from streamgauge.report.exports.kafkabench.read import OURS, append, read_test
from streamgauge.report.exports.kafkabench.written import CSV_HEADER, console, csv_lines, file_name
from streamgauge.report.figures.compare.clusters import clusters

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Make = Callable[..., RunFolder]

GOLDEN = Path(__file__).parent / "golden" / "kafkabench"
MS, S = 1_000_000, 1_000_000_000

# Two topics of two partitions, 1,000 bytes to each in messages of 64 bytes: 16 for each partition, which are 1,024
# bytes. Of topic 0 the times are 3.3 s and 3.2 s, of topic 1 0.5 s and 0.4 s.
TEST = BenchTest(
    bootstrap="pkc-ep9mm.example:9092,other:9092",
    topics=2,
    partitions=2,
    replicas=3,
    size=64,
    stream=1_000,
    acks=1,
    completion=True,
    transactional=False,
    rows=(
        PartitionRow(0, 0, 16, 105_999_999, 897 * MS, 4_600_000_015, 10 * S, 13_300_000_000),
        PartitionRow(0, 1, 16, 95 * MS, 688_500_000, 4_135_999_999, 10 * S, 13_200_000_000),
        PartitionRow(1, 0, 16, 1 * MS, 2_999_999, 32 * MS, 7 * S, 7_500_000_000),
        # A clock that went back makes a latency negative; it is cut towards zero, too.
        PartitionRow(1, 1, 16, -1_500_000, 3 * MS, 16 * MS, 7 * S, 7_400_000_000),
    ),
)


@pytest.mark.parametrize("level", ["summary", "topic", "partition"])
def test_files_are_those_of_kafkabench_to_the_byte(level: str) -> None:
    """The golden files were made by hand from its formulas."""
    name = file_name(TEST, level)

    assert name == f"KafkaPerf-pkc-ep9-{level}-T02-P02-R03-M000064b-S000001000-A01-Ctrue.csv"
    assert CSV_HEADER + csv_lines(dict(levels(TEST))[level]) == (GOLDEN / name).read_text()


def test_the_name_of_a_file_says_what_was_tested() -> None:
    test = replace(TEST, bootstrap="a:1", acks=-1, completion=False, stream=1 << 27, size=2048, partitions=128)

    assert file_name(test, "topic") == "KafkaPerf-a:1-topic-T02-P128-R03-M002048b-S134217728-A-1-Cfalse.csv"


@pytest.mark.parametrize("by_partition", [False, True])
def test_the_table_of_a_test(*, by_partition: bool) -> None:
    name = "partitions.txt" if by_partition else "topics.txt"

    assert "\n".join(console(TEST, 1, by_partition=by_partition)) + "\n" == (GOLDEN / name).read_text()


def test_the_example_of_its_readme() -> None:
    """16 messages of 64 bytes in 3.3 s are 4.8 a second, and 0.3 KiB/s."""
    row = PartitionRow(0, 0, 16, 105 * MS, 897 * MS, 287 * 16 * MS, 0, 3_300_000_000)
    test = replace(TEST, topics=1, partitions=1, stream=1024, rows=(row,))

    assert (
        csv_lines(partition_lines(test))
        == "  0,   0,     64,     16,    105,    897,    287,     0.3,     4.8,     3.3\n"
    )


def bench(facts: Row, tables: Tables) -> None:
    """The run that has the rows of TEST."""
    facts["broker"]["bootstrap"] = TEST.bootstrap
    facts["scenario"] |= {
        "topic": {"name": "t", "count": 2, "partitions": 2, "replication": 3},
        "load": {"rate": "closed", "producers": "per-partition", "size": 64, "client": {"acks": 1}},
        "phases": {"warmup": "0s", "measure": {"bytes_per_partition": 1000}},
    }
    facts["topics"] = [{"id": number, "name": f"t-{number + 1}", "partitions": 2} for number in range(2)]
    for name in ("throughput", "latency"):
        tables[name] = [row for row in tables[name] if row["scope"] != "partition"]
    for row in TEST.rows:
        place = {"topic": row.topic, "partition": row.partition}
        ends = {"first_sent_ms": row.producer_start_ns / MS, "last_received_ms": row.consumer_stop_ns / MS}
        tables["throughput"].append({**throughput("partition", None, 10), **place, **ends})
        took = {"min_ms": row.min_ns / MS, "max_ms": row.max_ns / MS, "mean_ms": row.sum_ns / row.count / MS}
        tables["latency"].append(
            {**latency("end_to_end_service", 700.0, "partition", count=row.count), **place, **took}
        )
    for topic, p99 in ((0, 800.0), (1, 3.0)):
        tables["latency"].append({**latency("end_to_end_service", p99, "topic"), "topic": topic})


def never_received(_facts: Row, tables: Tables) -> None:
    for row in tables["latency"]:
        if (row.get("topic"), row.get("partition")) == (1, 0):
            row["count"] = 0


def of_an_older_version(_facts: Row, tables: Tables) -> None:
    for row in tables["throughput"]:
        row.update(first_sent_ms=None, last_received_ms=None)


def test_a_recorded_run_is_a_test(make: Make) -> None:
    """What is told in ms with all digits is the same in whole nanoseconds."""
    assert read_test(make(bench)).test == TEST


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ((), "does not send a number of bytes to each partition"),
        ((bench, never_received), "nothing was received from 1 of its partitions"),
        ((bench, of_an_older_version), "its tables do not say when messages came"),
    ],
)
def test_a_run_that_is_no_test_is_refused(make: Make, changes: tuple[Any, ...], expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        read_test(make(*changes))


def test_files_are_appended_to_and_have_one_header(make: Make, tmp_path: Path) -> None:
    """Ours stand beside those of KafkaBench."""
    found = read_test(make(bench))
    files = {path.name: path for _ in range(2) for path in append(found, tmp_path / "results")}

    assert len(files) == 6
    for name in GOLDEN.glob("*.csv"):
        header, *lines = name.read_text().splitlines(keepends=True)
        assert files[name.name].read_text() == "".join([header, *lines, *lines])
    ours = files[file_name(TEST, "topic", OURS)].read_text().splitlines()
    assert len(ours) == 5
    first = dict(zip(ours[0].split(","), ours[1].split(","), strict=True))
    # From 10.0 s to 13.3 s, of which KafkaBench takes the mean of 3.3 s and 3.2 s.
    assert (first["topic"], first["wall_seconds"], first["received_per_second"]) == ("t-1", "3.3", "9.7")
    assert first["end_to_end_service_p99_ms"] == str(latency("", 800.0)["p99_ms"])


def test_runs_are_shown_as_tests_and_iterations_are_counted(make: Make) -> None:
    runs = [str(make(bench).root) for _ in range(2)]
    shown = CliRunner().invoke(app, ["kafkabench", *runs], catch_exceptions=False).stdout

    first, second = (GOLDEN / "topics.txt").read_text(), (GOLDEN / "topics.txt").read_text().replace("1 ", "2 ", 1)
    assert first in shown
    assert second in shown
    # From 7 s, when the producers of topic 1 started, to 13.3 s.
    assert "64 messages in 6.30 s of wall time: 10/s" in shown
    found = json.loads(CliRunner().invoke(app, ["kafkabench", runs[0], "--json"], catch_exceptions=False).stdout)
    assert found[0]["kafkabench"]["summary"][0]["count"] == 64
    assert found[0]["streamgauge"]["partition"][3]["topic"] == "t-2"


def test_clusters_are_drawn_beside_each_other() -> None:
    """Iterations together: smallest, mean of all messages, largest; rates are means."""
    slow = replace(TEST.rows[0], max_ns=2 * S, sum_ns=16 * 300 * MS, consumer_stop_ns=14 * S)
    one = [replace(TEST, topics=1, partitions=1, rows=(row,)) for row in (TEST.rows[0], slow)]
    two = replace(TEST, topics=1, rows=TEST.rows[:2])
    figure, other = clusters([("old", two), *(("new", each) for each in one), ("new", TEST)])

    assert (figure.name, other.name) == ("kafkabench-T01-M000064b", "kafkabench-T02-M000064b")
    assert {(row["partitions"], row["series"]) for row in figure.data[figure.name]} == {(1, "new"), (2, "old")}
    found = {row["statistic"]: row["value"] for row in figure.data[figure.name] if row["series"] == "new"}
    assert found == {"min": 106.0, "mean": 293.8, "max": 2000.0}
    rates = {row["rate"]: row["per_second"] for row in figure.data[f"{figure.name}-rates"] if row["series"] == "new"}
    assert rates == {"KiB/s": 0.27, "messages/s": 4.424}
    # What is below 0 has no place on a logarithmic scale.
    assert [row["statistic"] for row in other.data[other.name]] == ["mean", "max"]
    assert "<svg" in vl_convert.vegalite_to_svg(figure.whole_spec())


def test_charts_are_files(make: Make, tmp_path: Path) -> None:
    asked = ["kafkabench", str(make(bench).root), "--figures", str(tmp_path / "drawn")]
    shown = CliRunner().invoke(app, asked, catch_exceptions=False).stdout

    assert [path.suffix for path in sorted((tmp_path / "drawn").iterdir())] == [".pdf", ".png", ".svg"]
    assert shown.count("written: ") == 3


def test_files_that_cannot_be_written_are_told(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be written"):
        append(read_test(make(bench)), tmp_path / "file")
