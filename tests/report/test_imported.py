"""Imported runs in the run folder, in every report, and out again in the formats of other tools."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tests.foreign.results.given import NOTHING_ASKED, all_samples, latency, sample

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import Measured
from streamgauge.foreign.results.reading import read_results
from streamgauge.report.assemble.imports.folder import run_id, write_imported
from streamgauge.report.assemble.imports.imported import NOT_THERE
from streamgauge.report.compare import together
from streamgauge.report.compare.html import comparison_html
from streamgauge.report.compare.latex import comparison_latex
from streamgauge.report.compare.pages import comparison_markdown, comparison_text
from streamgauge.report.compare.variants import GivenRun
from streamgauge.report.exports.exported import FORMS, export
from streamgauge.report.figures import catalogue
from streamgauge.report.pages.belief import IMPORTED
from streamgauge.report.pages.html import to_html
from streamgauge.report.pages.markdown import write_markdown
from streamgauge.report.pages.notebook import notebook
from streamgauge.report.pages.terminal import summary
from streamgauge.report.pages.words import FIGURES
from streamgauge.report.publish import result_of, tables_of
from streamgauge.report.runs import RunRow, run_row, runs_table
from streamgauge.report.site.data import data_script
from streamgauge.report.site.found import FoundRun, groups_of
from streamgauge.report.site.trends import trend_of
from streamgauge.result import Result
from streamgauge.result.schema import json_schema

NOW_NS = 1_780_000_000 * 10**9
families_of: Any = text_string_to_metric_families
VALIDATOR = Draft202012Validator(json_schema())


def written(root: Path, run: Measured, *files: ForeignFile) -> tuple[RunFolder, Result]:
    """The run folder of an imported run."""
    folder = RunFolder(root / run_id(run, NOW_NS))
    return folder, write_imported(folder, run, files, ["streamgauge", "import"], NOW_NS, "1.0")


def imported(root: Path, *files: ForeignFile) -> list[tuple[RunFolder, Result]]:
    return [
        written(root, run, *each.files) for each in read_results(files, NOTHING_ASKED) for run in each.runs
    ]  # fmt: skip


def every_run(root: Path) -> Iterator[tuple[RunFolder, Result]]:
    """All samples, those of tussle together."""
    tussle = [sample(name) for name in all_samples() if name.startswith("tussle/")]
    yield from imported(root, *tussle)
    for name in all_samples():
        if not name.startswith("tussle/"):
            yield from imported(root / name, sample(name))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[RunFolder, Result]]:
    return list(every_run(tmp_path_factory.mktemp("imported")))


def row_of(folder: RunFolder) -> RunRow:
    return run_row(folder.root.name, folder.facts.read_bytes(), folder.result.read_bytes())


def one(runs: list[tuple[RunFolder, Result]], tool: str) -> tuple[RunFolder, Result]:
    return next(each for each in runs if each[1].run.imported == tool)


def test_nobody_judged_them(runs: list[tuple[RunFolder, Result]]) -> None:
    """The document is valid by the schema, the same after reading it again, and no null is without a reason."""
    for folder, result in runs:
        document = json.loads(folder.result.read_bytes())

        assert [error.message for error in VALIDATOR.iter_errors(document)] == [], folder.root
        assert (result.verdict.valid, result.verdict.checks, result.trust) == (None, [], {})
        assert result_of(folder, print) == result
        for section in (result.throughput, result.delivery):
            nulls = [name for name, value in section.model_dump(exclude_unset=True).items() if value is None]
            assert dict(section.reasons) == dict.fromkeys(nulls, NOT_THERE)


def test_what_is_absent_is_null(runs: list[tuple[RunFolder, Result]]) -> None:
    """mqperf has a p95, and neither counts nor a median; a log of e2e-latency has no rate and no time."""
    mqperf, e2e = one(runs, "mqperf")[1], one(runs, "kafka-e2e-latency")[1]
    figures = mqperf.latency.end_to_end.service

    assert figures is not None
    assert (figures.p95_ms, figures.p50_ms, figures.count, figures.censored) == (50, None, None, None)
    assert mqperf.imported is not None
    assert mqperf.imported.latencies[0].points[0].low_ms == 0
    assert mqperf.imported.started is None
    assert (e2e.throughput.received_per_second, e2e.throughput.measured_seconds) == (None, None)
    assert (e2e.resources.host, e2e.timeline, e2e.run.phases) == (None, [], [])


def test_histograms_are_merged_and_kept(runs: list[tuple[RunFolder, Result]]) -> None:
    """Logs come back as they were; percentiles are of all values, and p99.99 needs more of them."""
    folder, result = one(runs, "tussle")
    figures = result.latency.ack.service

    assert figures is not None
    assert (figures.count, figures.p99_9_ms, figures.p99_99_ms) == (5_000, None, None)
    assert figures.reasons["p99_9_ms"] == "needs 10,000 samples, has 5,000"
    again = read_results([ForeignFile(f"{path.stem}.hlog", "", path.read_bytes()) for path in folder.hlog.iterdir()],
                         NOTHING_ASKED)[0].runs[0]  # fmt: skip
    assert latency(again, "latency.ack.service").mean_ms == figures.mean_ms
    source = sample("tussle/send_service_time_100_1000_0.hlog").text().splitlines()
    kept = (folder.hlog / "ack_service.hlog").read_text().splitlines()
    assert [line.rpartition(",")[2] for line in kept if "HIST" in line] == [line.rpartition(",")[2] for line in source]


def test_tables_have_their_schemas(runs: list[tuple[RunFolder, Result]]) -> None:
    for folder, _ in runs:
        for path in folder.tables.glob("*.parquet"):
            assert tuple(pq.read_schema(path).names) == TABLES[path.stem].names


def test_every_report_says_that_they_are_imported(runs: list[tuple[RunFolder, Result]]) -> None:
    for folder, result in runs:
        drawn = catalogue.figures(result, tables_of(folder, print))

        assert all(figure.missing is None for figure in drawn)
        assert IMPORTED in summary(result, folder.root)
        assert IMPORTED in write_markdown(folder, result, FIGURES).read_text()
        assert IMPORTED in notebook(result, folder.root)
        assert IMPORTED in to_html(result, drawn)


def test_they_are_drawn_as_far_as_they_go(runs: list[tuple[RunFolder, Result]]) -> None:
    def names(tool: str) -> set[str]:
        folder, result = one(runs, tool)
        return {figure.name for figure in catalogue.figures(result, tables_of(folder, print))}

    assert {"rates", "latency", "percentiles", "cdf"} <= names("tussle")
    assert {"rates", "latency", "lag"} <= names("SSP_kafka")
    assert "rates" in names("OpenMessaging Benchmark")
    assert names("kafka-e2e-latency") == {"percentiles", "cdf"}


def test_known_defects_are_told(runs: list[tuple[RunFolder, Result]]) -> None:
    folder, result = one(runs, "SSP_kafka")
    shown = " ".join(summary(result, folder.root).split())

    assert "it includes idle time of Go's scheduler" in shown
    assert result.resources.host is None
    assert result.lag is not None
    assert (result.lag.failed, result.lag.committed and result.lag.committed.max) == (None, 198_000)


def test_the_table_of_runs(runs: list[tuple[RunFolder, Result]]) -> None:
    """Service time is shown by its name where there is no response time."""
    rows = [row_of(folder) for folder, _ in runs]

    assert {row.verdict for row in rows} == {IMPORTED}
    assert not any(row.faults for row in rows)
    assert "ack service" in {row.response for row in rows}
    assert IMPORTED in runs_table(rows, width=100)


def test_they_are_compared(runs: list[tuple[RunFolder, Result]]) -> None:
    """By service time, with a warning that nothing judged them."""
    found = together([GivenRun(folder.root.name, result) for folder, result in runs])
    two = one(runs, "SSP_kafka"), one(runs, "tussle")
    pair = together([GivenRun(folder.root.name, result) for folder, result in two])

    assert "nothing has judged them" in " ".join(comparison_text(found).split())
    assert "nothing has judged them" in comparison_markdown(found)
    assert pair.primary is not None
    assert pair.primary.metric.path == "latency.end_to_end.service.p99_ms"
    assert "<html" in comparison_html(pair, "pair")
    assert "\\begin" in comparison_latex(pair, "pair")


def test_they_are_on_the_page_of_all_runs(runs: list[tuple[RunFolder, Result]], tmp_path: Path) -> None:
    found = [FoundRun(folder.root.name, row_of(folder), result) for folder, result in runs]
    groups = groups_of(found)

    assert IMPORTED in data_script(tmp_path, found, groups)
    assert any(trend_of(group) for group in groups)


def test_omb_comes_back_as_it_was(runs: list[tuple[RunFolder, Result]], tmp_path: Path) -> None:
    """All that has a place in a result: settings, rates, percentiles; of periods those that figures show."""
    folder, result = next(each for each in runs if each[1].imported and each[1].imported.source == "omb.json")
    [path] = export(folder, result, "omb", tmp_path)
    before, after = json.loads(sample("omb.json").text()), json.loads(path.read_text())
    ends = ("50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "99999pct", "Avg", "Max")
    names = ("PublishLatency", "PublishDelayLatency", "EndToEndLatency")
    series = [f"{name}{end}" for name in ("publishLatency", "endToEndLatency") for end in ("50pct", "99pct", "Max")]
    wholes = [f"aggregated{name}{end}" for name in names for end in ends]
    settings = ("messageSize", "topics", "partitions", "producersPerTopic", "consumersPerTopic", "driver", "workload")

    for key in (*settings, "publishRate", "publishErrorRate", "consumeRate", "backlog", *series, *wholes):
        assert after[key] == pytest.approx(before[key]), key
    for name in names:
        quantiles = before[f"aggregated{name}Quantiles"]
        quantiles.pop("100.0", None)
        assert quantiles.items() <= after[f"aggregated{name}Quantiles"].items()
    [again] = read_results([ForeignFile("again.json", "", path.read_bytes())], NOTHING_ASKED)
    [first] = read_results([sample("omb.json")], NOTHING_ASKED)
    assert again.runs[0].throughput == first.runs[0].throughput
    for place in ("latency.ack.service", "latency.end_to_end.service"):
        assert list(latency(again.runs[0], place).points) == list(latency(first.runs[0], place).points)


@pytest.mark.parametrize("form", ["hlog", "tussle"])
def test_histograms_come_back_as_they_were(form: str, runs: list[tuple[RunFolder, Result]], tmp_path: Path) -> None:
    folder, result = one(runs, "tussle")
    paths = export(folder, result, form, tmp_path)
    logs = [ForeignFile(path.name, "", path.read_bytes()) for path in paths if path.suffix == ".hlog"]
    [again] = read_results(logs, NOTHING_ASKED)
    [run] = again.runs

    assert len(logs) == 5
    for kind in ("response", "service"):
        for place in ("ack", "end_to_end"):
            before = getattr(getattr(result.latency, place), kind)
            found = latency(run, f"latency.{place}.{kind}")
            assert (found.count, found.mean_ms, found.max_ms) == (before.count, before.mean_ms, before.max_ms)
            assert found.spread is not None
            assert found.spread.at(99)[1] / 1e3 == pytest.approx(before.p99_ms)


def test_metrics_of_tussle_come_back_as_they_were(runs: list[tuple[RunFolder, Result]], tmp_path: Path) -> None:
    folder, result = one([each for each in runs if each[1].imported and "metrics" in each[1].imported.format], "tussle")
    path = next(each for each in export(folder, result, "tussle", tmp_path) if each.name == "metrics.json")
    [again] = read_results([ForeignFile("metrics.json", "", path.read_bytes())], NOTHING_ASKED)
    _, result_again = written(tmp_path, again.runs[0])

    for place in ("ack", "end_to_end"):
        assert getattr(result_again.latency, place) == getattr(result.latency, place)
    assert result_again.latency.poll == result.latency.poll
    assert result_again.throughput.acked_per_second == result.throughput.acked_per_second


def test_openmetrics_is_read_by_its_parser(runs: list[tuple[RunFolder, Result]], tmp_path: Path) -> None:
    for folder, result in runs:
        [path] = export(folder, result, "openmetrics", tmp_path / folder.root.name)
        families = {each.name: each for each in families_of(path.read_text())}

        assert families["streamgauge_run"].samples[0].labels["verdict"] == IMPORTED


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_are_exported(form: str, runs: list[tuple[RunFolder, Result]], tmp_path: Path) -> None:
    """Parquet files have their columns described beside them."""
    folder, result = one(runs, "tussle")
    names = {path.name for path in export(folder, result, form, tmp_path)}

    assert names == {f"{each}.{form}" for each in ("cdf", "percentiles")} | (
        {"schema.json"} if form == "parquet" else set()
    )


def test_what_a_run_has_not_cannot_be_exported(runs: list[tuple[RunFolder, Result]], tmp_path: Path) -> None:
    folder, result = one(runs, "kafka-consumer-perf-test")

    for form in ("hlog", "csv", "parquet"):
        with pytest.raises(BadInput, match="nothing that can be exported"):
            export(folder, result, form, tmp_path)
    assert set(FORMS) >= {"hlog", "csv", "parquet"}


GOLDEN = Path(__file__).parent / "golden" / "format-1"


@pytest.mark.parametrize("form", ["omb", "tussle", "hlog"])
def test_a_run_of_ours_goes_out_and_comes_back(form: str, tmp_path: Path) -> None:
    """The figures that the format can hold; in logs, as finely as HdrHistogram records them."""
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(GOLDEN, folder.root)
    result = result_of(folder, print)
    paths = [
        path for path in export(folder, result, form, tmp_path / "out") if form != "tussle" or "metrics" in path.name
    ]
    found = read_results([ForeignFile(path.name, "", path.read_bytes()) for path in paths], NOTHING_ASKED)
    again = next(
        run for each in found for run in each.runs if any(one.path == "latency.ack.service" for one in run.latencies)
    )
    _, returned = written(tmp_path, again)

    for place in ("ack", "end_to_end"):
        before, after = (getattr(each.latency, place).service for each in (result, returned))
        for name in ("p50", "p75", "p95", "p99", "max", "mean"):
            near = 1 / 256 if form == "hlog" else 1e-12
            assert after.ms(name) == pytest.approx(before.ms(name), rel=near), (place, name)
    assert returned.throughput.acked_per_second == pytest.approx(result.throughput.acked_per_second, rel=1e-6)
