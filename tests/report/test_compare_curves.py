"""Curves of variants over each other: tails from the messages of all runs, and latency over rate."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.conftest import Row, Tables, but, changed

from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.domain.latency.percentiles import PERCENTILES, Buckets, Moments, percentile_ns, summarise
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord, RecordedRun, RecordedVariant
from streamgauge.report.assemble.result import write_result
from streamgauge.report.compare import Together, together
from streamgauge.report.compare.answers import together_of
from streamgauge.report.compare.figures import comparison_figures, latency_over_rate, rate_lines
from streamgauge.report.compare.variants import Alike, GivenRun
from streamgauge.report.figures.compare import LabelledRun
from streamgauge.report.figures.compare.tails import VariantTail, tails
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.result import Result
from streamgauge.result.reading import result_of
from streamgauge.runs.experiment.judge import answered
from streamgauge.runs.results.given import given_runs

MS = 1_000_000
P50, P99 = (f"latency.end_to_end.response.{name}_ms" for name in ("p50", "p99"))
RECEIVED = "throughput.received_per_second"
Folders = Callable[..., Path]
Loaded = Callable[..., Result]


def bucketed(*ms: float) -> Buckets:
    found = bucket_of(np.array([round(each * MS) for each in ms]))
    return Buckets.merged(found, np.ones(len(ms), np.int64))


def row_of(metric: str, second: int | None, ms: float, count: int, **more: Any) -> Row:
    row: Row = {"metric": metric, "second": second, "measured": True, "censored": False, "count": count}
    return row | {"bucket": int(bucket_of(np.array([round(ms * MS)]))[0])} | more


@pytest.fixture
def standing(healthy_result: dict[str, Any]) -> LabelledRun:
    return LabelledRun("v", result_of(healthy_result))


@pytest.fixture
def folder(tmp_path: Path) -> Folders:
    """A maker of analysed runs whose end-to-end response time is that of these rows: `folder("a/1", 512, rows)`."""

    def make(name: str, size: int, rows: Sequence[Row] | None) -> Path:
        def loaded(facts: Row, tables: Tables) -> None:
            facts["id"] = name.replace("/", "-")
            facts["scenario"]["load"]["size"] = size
            if rows is not None:
                tables["latency_buckets"] = list(rows)

        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_result(changed(tmp_path / name, loaded))
        return tmp_path / name

    return make


def drawn(found: Together, name: str) -> Figure:
    return next(each for each in comparison_figures(found) if each.name == name)


def shown(figure: Figure, series: str) -> dict[float, float]:
    """Percentiles in ms of a variant."""
    return {row["percent"]: row["ms"] for row in figure.data["tails"] if row["series"] == series}


def test_a_tail_has_the_percentiles_of_result_json(standing: LabelledRun) -> None:
    """By nearest rank over the same buckets, as far as ten messages are beyond."""
    rng = np.random.default_rng(7)
    arrived = bucketed(*rng.lognormal(1, 1.2, 60_000))
    latency = summarise(arrived, Moments(60_000, None, None, 0.0, 0.0), "due")
    found = shown(tails([VariantTail(standing, arrived, runs=1, of_runs=1)]), "v")
    for name, rank in PERCENTILES.items():
        ns = latency.percentiles_ns[name]
        assert (rank / 100 in found) == (ns is not None), name
        assert ns is None or found[rank / 100] == pytest.approx(ns / MS, rel=5e-4)
    assert max(found) == pytest.approx(100 * (1 - 10 / 60_000), abs=0.01)
    assert list(found.values()) == sorted(found.values())


def test_the_axis_is_stretched_towards_the_tail_and_that_of_latency_is_logarithmic(standing: LabelledRun) -> None:
    figure = tails([VariantTail(standing, bucketed(*range(1, 20_001)), runs=1, of_runs=1)])
    [line] = figure.spec()["layer"]
    assert line["encoding"]["x"]["field"] == "one_in"
    assert {line["encoding"][axis]["scale"]["type"] for axis in "xy"} == {"log"}
    one_in = {row["percent"]: row["one_in"] for row in figure.data["tails"]}
    assert {each: one_in[each] for each in (50, 90, 99, 99.9)} == {50: 2, 90: 10, 99: 100, 99.9: 1000}


def test_messages_that_never_arrived_make_a_band(standing: LabelledRun) -> None:
    """Their age is the least; a percentile that may be infinite is drawn up to twice what is known."""
    arrived, ages = bucketed(*[1.0] * 950), bucketed(*[40.0] * 50)
    figure = tails([VariantTail(standing, arrived, ages, 1, 1)])
    rows = {row["percent"]: row for row in figure.data["tails"]}
    assert (rows[95]["ms"], rows[95]["top"]) == (pytest.approx(1, rel=0.01), None)
    assert rows[97.5]["ms"] == pytest.approx(40, rel=0.01)
    assert rows[97.5]["top"] == pytest.approx(80, rel=0.01)
    assert "never arrived" in figure.about
    assert [layer["mark"]["type"] for layer in figure.spec()["layer"]] == ["area", "line"]


def test_runs_of_a_variant_are_merged_by_their_messages(folder: Folders, tmp_path: Path) -> None:
    """Only those of the measure phase, by window, of the latency that is drawn; percentiles are not averaged."""
    metric = "end_to_end_response"
    others = [
        row_of(metric, -1, 900.0, 10**6, measured=False),
        row_of(metric, None, 900.0, 10**6, topic=0, partition=1),
        row_of("ack_response", 1, 900.0, 10**6),
    ]
    folder("runs/1", 512, [row_of(metric, 1, 1.0, 900), row_of(metric, 2, 5.0, 60), *others])
    folder("runs/2", 512, [row_of(metric, 1, 1.0, 9_000), row_of(metric, 3, 80.0, 40)])
    folder("runs/3", 64, [row_of(metric, 1, 2.0, 10_000)])
    figure = drawn(together(given_runs([tmp_path / "runs"])), "tails")
    found = shown(figure, "size=512")
    everything = bucketed(*[1.0] * 9_900, *[5.0] * 60, *[80.0] * 40)
    for percent, rank in ((50, 50_00), (99, 99_00), (99.5, 99_50)):
        assert found[percent] == pytest.approx((percentile_ns(everything, rank, 10_000, None) or 0) / MS, rel=5e-4)
    assert list(shown(figure, "size=64").values()) == pytest.approx([2.0] * len(shown(figure, "size=64")), rel=0.01)
    assert "tables" not in figure.about


def test_runs_of_an_experiment_are_merged_by_its_record(folder: Folders, tmp_path: Path) -> None:
    """A run that has no result moves none of the others to another folder."""
    for number, ms in ((0, 1.0), (1, 2.0), (3, 2.0), (4, 1.0)):
        size = 512 if ms == 1 else 64
        folder(f"runs/{number}", size, [row_of("end_to_end_response", 1, ms, 10_000)])
    order = enumerate((0, 1, 0, 1, 0))
    runs = [
        RecordedRun(round=number // 2 + 1, variant=variant, begun="", outcome="measured", folder=str(number))
        for number, variant in order
    ]
    record = ExperimentRecord(
        id="x", name="x", created="", command=[], asked={}, order="interleaved", seed=1, repeat=3, runs=runs,
        variants=[RecordedVariant(name=name, settings={}) for name in ("size=512", "size=64")],
    )  # fmt: skip
    found = answered(ExperimentFolder(tmp_path), record)
    assert found is not None
    assert found.variants[0].without_result == 1
    figure = drawn(found, "tails")
    for series, ms in (("size=512", 1.0), ("size=64", 2.0)):
        assert list(shown(figure, series).values()) == pytest.approx([ms] * len(shown(figure, series)), rel=0.01)
    assert "tables" not in figure.about


def test_a_variant_without_tables_is_drawn_from_its_typical_run(folder: Folders, tmp_path: Path) -> None:
    """And one of which some runs have none, from the others; both are said."""
    rows = [row_of("end_to_end_response", 1, 1.0, 10_000)]
    for number in range(3):
        folder(f"runs/{number}", 512, rows if number else None)
        folder(f"runs/{number + 3}", 64, None)
    (tmp_path / "runs" / "2" / "tables" / "latency_buckets.parquet").write_bytes(b"PAR1")
    figure = drawn(together(given_runs([tmp_path / "runs"])), "tails")
    assert "Only 1 of 3 runs of size=512 have tables." in figure.about
    assert "No run of size=64 has tables: its typical run is drawn." in figure.about
    typical = given_runs([tmp_path / "runs" / "3"])[0].result.latency.end_to_end.response
    assert typical is not None
    assert shown(figure, "size=64") == {
        rank / 100: pytest.approx(ms, rel=5e-4) for name, rank in PERCENTILES.items() if (ms := typical.ms(name))
    }


def test_runs_that_do_not_count_are_in_no_tail(folder: Folders, tmp_path: Path) -> None:
    """A run whose deciding figure is not believed takes no part in the medians either."""
    for number, ms in enumerate((1.0, 1.0, 500.0)):
        folder(f"runs/{number}", 512, [row_of("end_to_end_response", 1, ms, 10_000)])
        folder(f"runs/{number + 3}", 64, [row_of("end_to_end_response", 1, 1.0, 10_000)])
    runs = given_runs([tmp_path / "runs"])
    document = runs[2].result.document()
    document["trust"][P99] |= {"trust": "not_believed"}
    runs[2] = GivenRun(runs[2].given, result_of(document), runs[2].folder)
    assert max(shown(drawn(together(runs), "tails"), "size=512").values()) < 2


def test_a_variant_without_messages_has_no_tail(standing: LabelledRun) -> None:
    none = {f"latency.{path}.{kind}": None for path in ("ack", "end_to_end") for kind in ("response", "service")}
    assert tails([VariantTail(but(standing, none))]).missing == "none of the runs has a latency"


@pytest.fixture
def loaded(healthy_result: dict[str, Any]) -> Loaded:
    """A maker of runs of a rate: `loaded(1_000, 5.0, received=…, settings={key of load: value})`."""

    def make(
        rate: int, p99: float, received: float | None = None, settings: Row | None = None, number: int = 0
    ) -> Result:
        document = deepcopy(healthy_result)
        document["run"] |= {"id": f"run-{rate}-{p99}-{number}", "created": f"2026-01-01T00:00:{number:02}Z"}
        document["run"]["scenario"]["load"] |= {"rate": f"{rate}/s"} | (settings or {})
        document["throughput"]["target_per_second"] = rate
        for path, value in ((P50, p99 / 2), (P99, p99), (RECEIVED, received or rate)):
            document["trust"][path] |= {"value": value, "low": value, "high": value, "trust": "believed"}
        return result_of(document)

    return make


def test_latency_stands_over_the_rate_received_with_the_interval_or_the_range(loaded: Loaded) -> None:
    """A line for each codec and percentile, in the order of the target: an overloaded system receives less."""
    runs = [
        GivenRun("runs", loaded(rate, p99 * by * (1 + 0.01 * number), received, {"keys": keys}, number))
        for keys, by in (("none", 1.0), ("random", 2.0))
        for rate, p99, received, count in ((1_000, 4.0, 1_000, 6), (8_000, 8.0, 8_000, 3), (9_000, 90.0, 7_000, 1))
        for number in range(count)
    ]
    figure: Any = latency_over_rate(together(runs))
    rows = [row for row in figure.data["latency-over-rate"] if row["series"] == "keys=random p99"]
    assert [(row["rate"], row["order"], row["ms"], row["low"], row["high"]) for row in rows] == [
        (1_000, 1_000, pytest.approx(8.2), 8.0, pytest.approx(8.4)),
        (8_000, 8_000, pytest.approx(16.16), 16.0, pytest.approx(16.32)),
        (7_000, 9_000, 180.0, 180.0, 180.0),
    ]
    assert list(dict.fromkeys(row["series"] for row in figure.data["latency-over-rate"])) == [
        "keys=none p50", "keys=random p50", "keys=none p99", "keys=random p99",
    ]  # fmt: skip
    assert "95 %" in figure.about
    names = [each.name for each in comparison_figures(together(runs))]
    assert names[:4] == ["runs", "tails", "latency-over-rate", "ratios"]


def test_variants_of_one_rate_have_no_latency_over_it(loaded: Loaded) -> None:
    """What is received differs a little in every run."""
    runs = [loaded(1_000, 5.0, received, {"keys": keys}) for keys, received in (("none", 1_000), ("random", 1_010))]
    found = together([GivenRun("runs", run) for run in runs])
    assert latency_over_rate(found) is None
    assert "latency-over-rate" not in [each.name for each in comparison_figures(found)]


def test_variants_that_received_more_than_others_have_it(loaded: Loaded) -> None:
    """As where each sends as fast as it can; each is a line of its own."""
    runs = [loaded(10**6, 5.0, received, {"keys": keys}) for keys, received in (("none", 1_000), ("random", 2_000))]
    figure: Any = latency_over_rate(together([GivenRun("runs", run) for run in runs]))
    assert {(row["series"], row["rate"]) for row in figure.data["latency-over-rate"] if "p99" in row["series"]} == {
        ("keys=none p99", 1_000), ("keys=random p99", 2_000),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "rates", "keys", "lines"),
    [
        (["a"] * 2, [1, 2], [None, None], ["", ""]),
        (["a"] * 4, [1, 2, 1, 2], ["none", "none", "random", "random"], ["keys=none"] * 2 + ["keys=random"] * 2),
        (["a", "a", "b", "b"], [1, 2, 1, 2], [None] * 4, ["a", "a", "b", "b"]),
        (["a", "b"], [1, 1], [None] * 2, ["a", "b"]),
    ],
    ids=["the rate alone", "a grid", "before and after", "one rate"],
)
def test_what_differs_in_its_rate_alone_is_one_line(
    loaded: Loaded, given: list[str], rates: list[int], keys: list[str | None], lines: list[str]
) -> None:
    runs = [
        GivenRun(folder, loaded(rate, 5.0, None, {"keys": key} if key else {}, number))
        for number, (folder, rate, key) in enumerate(zip(given, rates, keys, strict=True))
    ]
    assert rate_lines(together(runs).variants) == lines


def test_variants_that_differ_in_too_much_or_have_no_run_are_lines_of_their_own(loaded: Loaded) -> None:
    many = [{f"x{letter}": number for letter in "abcd"} for number in range(2)]
    named = [Alike(f"v{number}", (loaded(number + 1, 5.0, None, many[number]),)) for number in range(2)]
    assert rate_lines(named) == ["v0", "v1"]
    swept = [Alike(f"rate={rate}", (loaded(rate, 5.0),)) for rate in (1, 2)]
    assert rate_lines([*swept, Alike("lost", (), without_result=1)]) == ["", "", "lost"]
    found = together_of([*swept, Alike("lost", (), without_result=1)], varied=["load.rate"])
    assert latency_over_rate(found) is None
