"""Gold tables of an experiment beside an oracle in plain Python: its runs counted one by one."""

import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamgauge.arrow import arrow_schema
from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.latency.buckets import bucket_of, upper_edge_ns
from streamgauge.domain.latency.percentiles import PERCENTILES, rank_of
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, RecordedVariant
from streamgauge.experiments.tables import EXPERIMENT_TABLES
from streamgauge.pipeline.many.gold import write_gold
from streamgauge.pipeline.many.histograms import pooled_counts
from streamgauge.pipeline.many.views import NamedRun

pytestmark = pytest.mark.spark

P50 = "latency.end_to_end.response.p50_ms"
P99 = "latency.end_to_end.response.p99_ms"
RATE = "throughput.acked_per_second"
CPU = "resources.cpu.brokers"
SIZES = (64, 256)
Row = dict[str, Any]


def buckets_of(rng: np.random.Generator, count: int) -> list[Row]:
    """A histogram by second, with messages of the warm-up and some that never arrived."""
    rows: list[Row] = []
    for second in range(-1, 3):
        values = (rng.lognormal(15, 1, count)).astype(np.int64)
        index, counts = np.unique(bucket_of(values), return_counts=True)
        plain = {"metric": "end_to_end_response", "second": second, "topic": None, "partition": None}
        plain["measured"] = second >= 0
        rows += [
            {**plain, "censored": False, "bucket": int(b), "count": int(c)} for b, c in zip(index, counts, strict=True)
        ]
        rows.append({**plain, "censored": True, "bucket": 9000, "count": 1})
    # By partition: the same messages once more, not to be counted twice.
    by_partition = {"second": None, "topic": 0, "partition": 0, "measured": True, "censored": False}
    rows.append({"metric": "end_to_end_response", "bucket": 1, "count": 999_999, **by_partition})
    return rows


class Experiment:
    """Three rounds of two sizes; one run is not believed and repeated, one failed without a result.

    The p50 of the run that is not believed is, and those of the third round are not.
    """

    def __init__(self, root: Path) -> None:
        self.folder = ExperimentFolder(root / "sizes")
        self.folder.runs.mkdir(parents=True)
        self.runs: list[RecordedRun] = []
        self.figures: list[Row] = []
        self.buckets: dict[str, list[Row]] = {}
        rng = np.random.default_rng(5)
        for number, variant, outcome in (
            (1, 0, "measured"), (1, 1, "not_believed"), (1, 1, "measured"), (2, 1, "measured"), (2, 0, "failed"),
            (3, 0, "measured"), (3, 1, "measured"),
        ):  # fmt: skip
            self._run(number, variant, outcome, rng)

    def _run(self, number: int, variant: int, outcome: Any, rng: np.random.Generator) -> None:
        name = f"run[{len(self.runs)}]+x"
        run = RecordedRun(round=number, variant=variant, begun="", outcome=outcome, folder=name, seconds=9.5)
        self.runs.append(run)
        folder = self.folder.runs / name
        (folder / "tables").mkdir(parents=True)
        if outcome == "failed":
            return
        trust = "not_believed" if outcome == "not_believed" else "believed"
        figures: dict[str, Row] = {
            P99: {"value": float(rng.uniform(5, 9)) * (variant + 1), "low": 1.0, "high": None, "trust": trust, "x": 1},
            P50: {"value": 2.0, "low": 2.0, "high": 2.0, "trust": "not_believed" if number == 3 else "believed"},
            RATE: {"value": 100.0, "low": 100.0, "high": 100.0, "trust": "believed"},
        }
        used = {"cpu": {"brokers": 2.5 + number}, "processes": [{"cpu": 7}], "is": True}
        text = {"run": {"ending": "finished"}, "trust": figures, "more": [1], "resources": used}
        text["verdict"] = {"used": [P99]}
        (folder / "result.json").write_text(json.dumps(text))
        rows = buckets_of(rng, 300)
        self.buckets[name] = rows
        pq.write_table(
            pa.Table.from_pylist(rows, arrow_schema(TABLES["latency_buckets"])),
            folder / "tables" / "latency_buckets.parquet",
        )
        self.figures += [
            {"variant": f"size={SIZES[variant]}", "round": number, "run": name, "metric": path,
             **{key: each[key] for key in ("value", "low", "high", "trust")}}
            for path, each in figures.items()
        ]  # fmt: skip
        self.figures.append(
            {"variant": f"size={SIZES[variant]}", "round": number, "run": name, "metric": CPU, "value": 2.5 + number,
             "low": None, "high": None, "trust": "not_believed" if outcome == "not_believed" else None}
        )  # fmt: skip

    @property
    def record(self) -> ExperimentRecord:
        variants = [RecordedVariant(name=f"size={size}", settings={"load.size": size}) for size in SIZES]
        return ExperimentRecord(
            id="sizes", name="sizes", created="", command=[], asked={}, variants=variants, order="interleaved", seed=1,
            repeat=3, runs=self.runs,
        )  # fmt: skip

    def table(self, name: str) -> list[Row]:
        return list(pq.read_table(self.folder.tables / f"{name}.parquet").to_pylist())


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    made = Experiment(tmp_path_factory.mktemp("experiments"))
    write_gold(spark, made.folder, made.record)
    return made


def test_each_run_is_a_row_with_the_values_of_its_variant(written: Experiment) -> None:
    found = written.table("runs")
    assert [(each["run"], each["round"], each["outcome"]) for each in found] == [
        (run.folder, run.round, run.outcome) for run in written.runs
    ]
    assert [each["load.size"] for each in found] == [str(SIZES[run.variant]) for run in written.runs]
    assert {each["experiment"] for each in found} == {"sizes"}


def test_each_figure_of_a_finished_run_is_a_row(written: Experiment) -> None:
    found = written.table("metrics")
    plain = [{key: value for key, value in each.items() if key not in {"experiment", "load.size"}} for each in found]
    by = lambda each: (each["run"], each["metric"])  # noqa: E731 - a key for both
    assert sorted(plain, key=by) == sorted(written.figures, key=by)


def counting(written: Experiment) -> Mapping[tuple[str, str, int], float]:
    """The last believed figure of each round."""
    return {
        (each["variant"], each["metric"], each["round"]): each["value"]
        for each in written.figures
        if each["trust"] != "not_believed"
    }


def test_variants_have_median_and_range_of_the_runs_that_count(written: Experiment) -> None:
    values = defaultdict(list)
    for (variant, metric, _), value in counting(written).items():
        values[variant, metric].append(value)
    found = {(each["variant"], each["metric"]): each for each in written.table("variants")}
    assert found.keys() == values.keys()
    without_one = {("size=256", P99), ("size=64", P50), ("size=256", P50), ("size=256", CPU)}
    for key, each in found.items():
        mine = values[key]
        assert (each["runs"], each["least"], each["most"]) == (len(mine), min(mine), max(mine))
        assert each["median"] == pytest.approx(statistics.median(mine))
        assert each["left_out"] == (1 if key in without_one else 0)


@pytest.mark.parametrize(
    ("size", "metric", "runs"),
    [
        pytest.param(64, P99, (0, 5), id="all that finished"),
        pytest.param(256, P99, (2, 3, 6), id="without the run that is not believed"),
        pytest.param(64, P50, (0,), id="without those whose p50 is not believed"),
        pytest.param(256, P50, (2, 3), id="of a run that was repeated the last"),
    ],
)
def test_percentiles_of_a_variant_are_those_of_all_messages_of_the_runs_that_count(
    written: Experiment, size: int, metric: str, runs: Sequence[int]
) -> None:
    [found] = [each for each in written.table("variants") if (each["load.size"], each["metric"]) == (str(size), metric)]
    assert found["runs"] == len(runs)
    rows = [row for place in runs for row in written.buckets[f"run[{place}]+x"]]
    measured = [row for row in rows if row["measured"] and row["second"] is not None]
    messages = sum(row["count"] for row in measured)
    values = sorted(row["bucket"] for row in measured if not row["censored"] for _ in range(row["count"]))
    bucket = values[rank_of(PERCENTILES[metric.removesuffix("_ms").rpartition(".")[2]], messages) - 1]
    assert found["messages"] == messages
    assert found["pooled"] == pytest.approx(int(upper_edge_ns(np.array([bucket]))[0]) / 1e6)


def test_what_is_no_percentile_has_no_messages(written: Experiment) -> None:
    rates = [each for each in written.table("variants") if each["metric"] == RATE]
    assert [(each["messages"], each["pooled"]) for each in rates] == [(None, None)] * 2


def test_without_histograms_no_percentile_is_that_of_all_messages(spark: SparkSession, tmp_path: Path) -> None:
    """What the runs say of themselves is kept."""
    made = Experiment(tmp_path)
    for path in made.folder.runs.glob("*/tables/latency_buckets.parquet"):
        path.unlink()

    write_gold(spark, made.folder, made.record)

    variants = made.table("variants")
    assert {(each["messages"], each["pooled"]) for each in variants} == {(None, None)}
    assert all(each["median"] is not None for each in variants)


def test_a_histogram_of_other_columns_has_no_messages(tmp_path: Path) -> None:
    """And one that is damaged is named."""
    made = Experiment(tmp_path)
    runs = [NamedRun(str(run.folder), RunFolder(made.folder.runs / str(run.folder))) for run in made.runs]
    tables = [table for run in runs if (table := run.folder.table("latency_buckets")).exists()]
    pools = {run.name: {"end_to_end_response": [number]} for number, run in enumerate(runs)}
    pq.write_table(pa.table({"metric": ["x"]}), tables[0])
    counts = pooled_counts(runs, pools)
    assert sorted(counts.column("pool").unique().to_pylist()) == [
        number for number, run in enumerate(runs) if run.folder.table("latency_buckets") in tables[1:]
    ]

    tables[1].write_bytes(b"PAR1")
    with pytest.raises(AnalysisError, match=rf"^{re.escape(str(tables[1]))} cannot be read: "):
        pooled_counts(runs, pools)


def test_histograms_of_any_number_of_runs_are_added_up(tmp_path: Path) -> None:
    """Also of more than are held at once; a run may be in several pools, and in none."""
    made = Experiment(tmp_path)
    folder = RunFolder(made.folder.runs / "run[0]+x")
    runs = [NamedRun(f"run-{number}", folder) for number in range(120)]
    pools = {run.name: {"end_to_end_response": [0, number % 2]} for number, run in enumerate(runs[1:])}

    found = pooled_counts(runs, pools)

    one: Counter[tuple[int, bool]] = Counter()
    for row in made.buckets["run[0]+x"]:
        if row["measured"] and row["second"] is not None and row["metric"] == "end_to_end_response":
            one[row["bucket"], row["censored"]] += row["count"]
    times = {0: 119 + 60, 1: 59}
    expected = {(pool, *key): count * often for pool, often in times.items() for key, count in one.items()}
    assert {(each["pool"], each["bucket"], each["censored"]): each["count"] for each in found.to_pylist()} == expected
    assert pooled_counts(runs, {}).num_rows == 0


@pytest.mark.parametrize("text", ["{", "{}", '{"run": {"ending": "finished"}}'])
def test_a_result_that_says_nothing_has_no_figures(spark: SparkSession, tmp_path: Path, text: str) -> None:
    """One that was cut off, or is of an older version."""
    made = Experiment(tmp_path)
    made.folder.runs.joinpath("run[0]+x", "result.json").write_text(text)

    write_gold(spark, made.folder, made.record)

    assert {each["run"] for each in made.table("metrics")} == {f"run[{place}]+x" for place in (1, 2, 3, 5, 6)}
    assert len(made.table("runs")) == len(made.runs)


def test_pairs_have_both_values_of_a_round(written: Experiment) -> None:
    values = counting(written)
    expected = {
        (number, metric): (values["size=64", metric, number], values["size=256", metric, number])
        for metric, rounds in ((P99, (1, 3)), (RATE, (1, 3)), (CPU, (1, 3)), (P50, (1,)))
        for number in rounds
    }
    found = written.table("pairs")
    assert {(each["round"], each["metric"]): (each["one_value"], each["other_value"]) for each in found} == expected
    assert all(each["ratio"] == pytest.approx(each["other_value"] / each["one_value"]) for each in found)
    assert {(each["one"], each["other"]) for each in found} == {("size=64", "size=256")}


def test_tables_have_the_columns_that_are_documented(written: Experiment) -> None:
    for name, schema in EXPERIMENT_TABLES.items():
        table = pq.read_schema(written.folder.tables / f"{name}.parquet")
        settings = [] if name == "pairs" else ["load.size"]
        assert table.names == [*schema.names, *settings]
