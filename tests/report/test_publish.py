"""Everything that a run folder has for people is written from what is there, also where something is not."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from benchmarks.gold import PRESENT, median_us

from streamgauge.domain.errors import AnalysisError, BadInput, StreamgaugeError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.processes import disk
from streamgauge.report import files
from streamgauge.report.assemble.result import write_result
from streamgauge.report.pages import html
from streamgauge.report.pages.terminal import summary
from streamgauge.report.publish import publish, read_result, result_of
from streamgauge.result.schema import json_schema
from streamgauge.runs.analysis import report

Make = Callable[..., RunFolder]
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")


@pytest.fixture
def told() -> list[str]:
    return []


def names(paths: list[Path], folder: RunFolder) -> set[str]:
    return {str(path.relative_to(folder.root)) for path in paths}


@pytest.mark.slow
def test_the_result_is_shown_before_a_file_is_written(
    make: Make, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for figures, and a full disk hides no result."""
    folder = make()

    def full(*_: object, **__: object) -> list[Path]:
        told.append("written")
        raise OSError("No space left on device")

    monkeypatch.setattr("streamgauge.report.publish.publish", full)
    with pytest.raises(OSError, match="No space"):
        report(folder, told.append, show=lambda _, result: told.append(result.run.name))
    assert told == ["baseline", "written"]


def test_a_run_has_a_report_a_summary_csv_and_logs(make: Make, told: list[str]) -> None:
    """And figures if they are wanted; nothing unfinished stays."""
    folder = make()
    written = names(publish(folder, write_result(folder), told.append), folder)
    assert {"report.html", "summary.md", "csv/latency.csv", "csv/verdict.csv"} <= written
    assert told == ["writing the report"]
    assert not folder.figures.exists()
    pictures = names(publish(folder, write_result(folder), told.append, figures=True), folder) - written
    assert len(pictures) == 66
    assert {"figures/rates.svg", "figures/rates.png", "figures/rates.pdf"} <= pictures
    assert not list(folder.root.rglob("_*"))


def test_terminal_markdown_html_and_json_say_the_same_numbers(make: Make, told: list[str]) -> None:
    """Formatted by the same rules."""
    folder = make()
    result = write_result(folder)
    publish(folder, result, told.append)
    texts = [summary(result), folder.summary.read_text(), folder.report.read_text()]
    assert json.loads(folder.result.read_text()) == result.document()
    for figure in ("10,000/s", "6.00", "18.0", "120,000", "2 of 2 passed"):
        assert [figure in text for text in texts] == [True] * 3, figure


def test_a_table_that_cannot_be_read_is_told_and_left_out(make: Make, told: list[str]) -> None:
    """The rest is there."""
    folder = make()
    result = write_result(folder)
    folder.table("heat").write_bytes(b"PAR1 and no more")
    written = names(publish(folder, result, told.append), folder)
    assert "report.html" in written
    assert any("heat.parquet cannot be read" in text for text in told)
    assert "analyse it again" in folder.report.read_text()


def test_where_tables_are_broken_the_result_is_shown_as_it_was_written(make: Make, told: list[str]) -> None:
    """A truncated folder still has its report."""
    folder = make()
    result = write_result(folder)
    folder.table("throughput").write_bytes(b"")
    assert result_of(folder, told.append) == result
    assert "showing the existing result.json" in told[0]
    folder.result.unlink()
    with pytest.raises(StreamgaugeError, match=r"cannot be read.*streamgauge analyse"):
        result_of(folder, told.append)


def test_tables_of_two_analyses_are_not_mixed(make: Make, told: list[str]) -> None:
    """What an analysis left that was cut off while it replaced them; it is told once, whatever needs them."""
    folder = make()
    result = write_result(folder)
    folder.replacing.touch()
    assert result_of(folder, told.append) == result
    (said,) = told
    why, _, then = said.partition("\n")
    assert why.startswith(f"{folder.tables} cannot be read: an analysis was cut off while it replaced them")
    assert (why.rpartition("; ")[2], then) == ("analyse the run again", "showing the existing result.json")
    written = names(publish(folder, result, told.append), folder)
    assert written == {"report.html", "summary.md"}
    assert told[1:] == ["writing the report", why]
    folder.result.unlink()
    with pytest.raises(BadInput, match="two analyses"):
        result_of(folder, told.append)


@pytest.mark.parametrize("name", ["result.json", "report.html", "summary.md", "csv/verdict.csv"])
@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_told_with_the_way_to_go_on(
    make: Make, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Also where it is one that others do without: a report lacks no file unnoticed. What was there stays."""
    folder = make()
    publish(folder, write_result(folder), lambda _: None)
    path, sync = folder.root / name, disk.sync
    before = path.read_bytes()

    def full(unfinished: Path) -> None:
        if unfinished.name == f"_{path.name}":
            raise OSError(28, "No space left on device")
        sync(unfinished)

    monkeypatch.setattr(disk, "sync", full)
    with pytest.raises(AnalysisError) as raised:
        publish(folder, result_of(folder, lambda _: None), lambda _: None)
    assert str(raised.value) == (
        f"{path} cannot be written: No space left on device; then write the report again: "
        f"streamgauge report {folder.root}"
    )
    assert path.read_bytes() == before
    assert not list(folder.root.rglob("_*"))


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that loses its power leaves the old one or the new one, and never an empty one."""
    done: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: done.append("sync"))
    monkeypatch.setattr(Path, "replace", lambda _, to: done.append(to.name))
    with files.whole(tmp_path / "a") as unfinished:
        unfinished.touch()
    assert done == ["sync", "a"]


def test_a_folder_of_a_newer_format_is_shown_as_far_as_it_is_known(make: Make, told: list[str]) -> None:
    """By its result.json, if that is known; the reason is told."""
    folder = make()
    result = write_result(folder)
    facts = json.loads(folder.facts.read_text()) | {"format": 99}
    folder.facts.write_text(json.dumps(facts))
    assert result_of(folder, told.append) == result
    assert "format 99 is newer than this version reads (2)" in told[0]


def change_result(**changes: Any) -> Callable[[RunFolder], object]:
    return lambda folder: folder.result.write_text(json.dumps(json.loads(folder.result.read_text()) | changes))


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda folder: folder.result.unlink(), "this run has not been analysed. Use: streamgauge analyse"),
        (
            lambda folder: (folder.result.unlink(), folder.facts.unlink()),
            "not a run folder: it has no run.json",
        ),
        (lambda folder: folder.result.write_text("{"), "cannot be read: Expecting property name"),
        (lambda folder: folder.result.write_bytes(b"\xff\xfe\x00"), "cannot be read"),
        (lambda folder: folder.result.write_text("[]"), "is not a result of streamgauge"),
        (lambda folder: folder.result.write_text('{"format": 1}'), "is not a result of streamgauge"),
        (change_result(format=3), "format 3 is newer than this version reads (2)"),
        (change_result(format="1"), "is not a result of streamgauge"),
        (change_result(latency=None), "is not a result of streamgauge"),
    ],
)
def test_without_tables_a_bad_result_is_one_clear_message(make: Make, break_it: Any, message: str) -> None:
    """Where, what, how to mend it."""
    folder = make()
    write_result(folder)
    shutil.rmtree(folder.tables)
    break_it(folder)
    with pytest.raises(BadInput) as caught:
        result_of(folder, lambda _: None)
    assert message in str(caught.value)
    assert str(folder.root) in str(caught.value)


@pytest.mark.parametrize("made_by", sorted(path.parent.name for path in GOLDEN.glob("*/run.json")))
@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.slow
def test_what_an_older_version_left_is_still_reported(
    tmp_path: Path, made_by: str, tables: bool, told: list[str]
) -> None:
    """From its tables, and from its result.json alone; the result keeps today's schema."""
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(GOLDEN / made_by, folder.root)
    before = read_result(folder.result)
    if not tables:
        shutil.rmtree(folder.tables)
    result = result_of(folder, told.append)
    jsonschema.validate(result.document(), json_schema())
    assert result.throughput == before.throughput
    assert result.delivery.delivered_once == 1000
    written = names(publish(folder, result, told.append), folder)
    assert {"report.html", "summary.md"} <= written
    assert ("csv/latency.csv" in written) == tables
    assert "analysed by an older version" in folder.report.read_text()
    assert "1,000 delivered once" in summary(result)


def test_the_benchmark_of_reports_knows_every_metric() -> None:
    """A new one would end it before it has measured anything."""
    assert all(median_us(metric) > 0 for metric in PRESENT)
