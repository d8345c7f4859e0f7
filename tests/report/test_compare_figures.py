"""Figures that compare runs, and the benchmark that measures what they compare."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import vl_convert
from benchmarks import references
from tests.report.conftest import but, changed, told, walk

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.numbers import significant
from streamgauge.record.facts import versions
from streamgauge.report.figures import catalogue
from streamgauge.report.figures.compare import (
    LabelledRun,
    acks,
    baseline_timeline,
    burst_summary,
    burst_timeline,
    codecs,
    compare,
    compression,
    engines,
    lag_timeline,
    pauses,
    payloads,
    ratios,
    sizes,
)
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.report.figures.drawing.theme import color_of
from streamgauge.result.model.pipeline import PipelineSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.reading import result_of
from streamgauge.runs.request.scenario_file import load_scenario

Row = dict[str, Any]
Make = Callable[..., RunFolder]
Run = Callable[..., LabelledRun]

OFFLINE: list[Row] = [
    {"payload": "random", "codec": "zstd", "ratio": 1.0},
    {"payload": "json", "codec": "lz4", "ratio": 14.65},
    {"payload": "json", "codec": "zstd", "ratio": None},
]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Row:
    """The result of a healthy run with a warm-up, not to be changed."""
    warm = {"name": "warmup", "from_ns": -(10**9), "to_ns": 0}
    return told(changed(tmp_path_factory.mktemp("good") / "run", lambda facts, _: facts["phases"].insert(0, warm)))


@pytest.fixture
def run(good: Row) -> Run:
    """A maker of runs: `run(label, load, ack={"p99": ...})`; what is not given is that of a good run."""

    def made(label: str, load: Row | None = None, **latencies: Mapping[str, float | None] | None) -> LabelledRun:
        result = deepcopy(good)
        result["run"]["scenario"]["load"] |= load or {}
        del result["run"]["profile"]
        for path, figures in latencies.items():
            for kind in ("response", "service"):
                if figures is None:
                    result["latency"][path][kind] = None
                else:
                    result["latency"][path][kind] |= {f"{name}_ms": value for name, value in figures.items()}
        return LabelledRun(label, result_of(result))

    return made


def bursty(run: Run, label: str, outstanding: Sequence[float | None], measured: float = 24.0) -> LabelledRun:
    """A run with bursts of 3 s in every 12 s; outstanding messages are those at the ends of the seconds from 0 on."""
    rate = {"burst": {"base": "5k/s", "burst": "15k/s", "for": "3s", "every": "12s"}}
    made = run(label, {"rate": rate})
    second = made.result.timeline[5].model_dump()
    seconds = [{**second, "second": at, "outstanding": value} for at, value in enumerate(outstanding, start=0)]
    return but(made, {"timeline": seconds, "throughput.measured_seconds": measured})


def by_codec(run: Run) -> list[LabelledRun]:
    return [run(codec, {"client": {"compression.type": codec}}) for codec in ("none", "zstd")]


def collected(run: Run, label: str, count: int, total: float) -> LabelledRun:
    seen = {"pauses": count, "total_ms": total, "longest_ms": total or None}
    return but(run(label), {"resources.garbage_collection": seen})


def by_size(run: Run) -> list[LabelledRun]:
    return [run(str(size), {"size": size}) for size in (4096, 64)]


@pytest.mark.slow
def test_every_figure_is_drawn_from_data_that_are_all_there(run: Run) -> None:
    """Each dataset is named in the chart, has the same columns in every row, and Vega-Lite draws something of it."""
    figures = [
        baseline_timeline(by_codec(run)),
        baseline_timeline(by_codec(run)[:1]),
        lag_timeline(by_codec(run)),
        pauses([collected(run, "a", 3, 12.5), collected(run, "b", 0, 0.0)]),
        codecs(by_codec(run)),
        payloads(by_codec(run)),
        acks(by_codec(run)),
        sizes(by_size(run)),
        compression(OFFLINE),
        burst_timeline([bursty(run, label, range(24)) for label in ("one", "two")]),
        burst_summary([bursty(run, "one", range(24))]),
    ]
    for figure in figures:
        assert figure.missing is None, figure.name
        assert figure.title
        assert figure.about
        named = {node["name"] for node in walk(figure.spec()) if isinstance(node, dict) and set(node) == {"name"}}
        assert named == set(figure.data), figure.name
        for rows in figure.data.values():
            assert len({tuple(row) for row in rows}) == 1
        scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec()))
        assert '"marktype": "line"' in scene or '"marktype": "rect"' in scene
        json.dumps(figure.whole_spec(), allow_nan=False)


def test_panels_are_saved_as_pictures(run: Run, tmp_path: Path) -> None:
    """Whatever runs are called."""
    runs = [bursty(run, label, range(24)) for label in ("it's", 'so "called"')]
    written = catalogue.save([burst_timeline(runs)], tmp_path)
    assert [path.name for path in written] == [f"burst-timeline.{kind}" for kind in ("svg", "png", "pdf")]
    drawn = written[0].read_text()
    assert drawn.count(f'stroke="{color_of("p99")}"') == len(runs)
    assert "so &quot;called&quot;" in drawn


def test_codecs_are_compared_by_their_tails_and_rates(run: Run) -> None:
    """Response time, four significant digits, under the labels that were given."""
    figure = codecs([run("none", ack={"p99": 11.13456}, end_to_end={"p99": 17.85}), run("zstd", ack={"p99": None})])
    assert figure.data["codecs"] == [
        {"codec": "none", "series": "ack p99", "value": 11.13, "top": 11.13, "shown": "11.1"},
        {"codec": "none", "series": "end-to-end p99", "value": 17.85, "top": 17.85, "shown": "17.9"},
        {"codec": "zstd", "series": "end-to-end p99", "value": 6.0, "top": 6.0, "shown": "6.00"},
    ]
    assert [row["rate"] for row in figure.data["codecs_sent"]] == [10_000, 10_000]
    assert "response time" in figure.about
    assert ">" not in figure.about


@pytest.mark.parametrize(("high", "top"), [(20.0, 20.0), (None, 12.0)])
def test_a_percentile_that_is_censored_is_marked(run: Run, high: float | None, top: float) -> None:
    """By `>`, and by a pale part up to where it may be; an infinite one is drawn up to twice its begin."""
    results = [run("a"), run("b", end_to_end={"p99": 6.0, "p99_hi": high})]
    for figure, name in ((codecs(results), "codecs"), (acks(results), "acks"), (sizes(results), "sizes_p99")):
        marked = [row for row in figure.data[name] if row["shown"].startswith("> ")]
        assert [(row["value"], row["top"], row["shown"]) for row in marked] == [(6.0, top, "> 6.00")]
        assert "never arrived" in figure.about
        assert "datum.top > datum.value" in json.dumps(figure.spec())


def test_a_run_without_a_schedule_makes_all_be_compared_by_service_time(run: Run) -> None:
    """Kinds are not mixed; acknowledgements that no run has do not count."""
    results = [run("10k/s", ack=None), run("max", ack=None)]
    assert "response time" in codecs(results).about
    results[1] = but(results[1], {"latency.end_to_end.response.p50_ms": None})
    results[0] = but(results[0], {"latency.end_to_end.service.p99_ms": 3.25})
    figure = codecs(results)
    assert "service time" in figure.about
    assert [row["value"] for row in figure.data["codecs"]] == [3.25, 6.0]


def test_acknowledgements_are_compared_by_percentiles(run: Run) -> None:
    """What is null, like p99.9 of few messages, is left out, and what is zero, which the scale does not have."""
    rows = acks([run("0", end_to_end={"p50": 0.0, "p95": 7.45, "p99": 13.86, "p99_9": None})]).data["acks"]
    assert [(row["acks"], row["series"], row["value"]) for row in rows] == [
        ("0", "p95", 7.45),
        ("0", "p99", 13.86),
    ]


def test_sizes_are_placed_by_their_bytes(run: Run) -> None:
    """Those that are drawn have no place."""
    results = [*by_size(run), run("drawn", {"size": {"uniform": {"from": 1, "to": 9}}})]
    results[0] = but(results[0], {"throughput.sent_mb_per_second": None})
    figure = sizes(results)
    assert [(row["run"], row["bytes"], row["rate"]) for row in figure.data["sizes_rate"]] == [("64", 64, 5.12)]
    assert [(row["run"], row["bytes"]) for row in figure.data["sizes_p99"]] == [("4096", 4096), ("64", 64)]


def test_compression_without_a_broker_is_read_from_the_report_of_it() -> None:
    """Whole batches by codec; what is not compressed, and what is not known, is left out."""
    codecs_found = [{"codec": "none", "batch_ratio": 1.0}, {"codec": "zstd", "batch_ratio": 22.873}]
    assert ratios([{"payload": "json", "codecs": codecs_found}]) == [
        {"payload": "json", "codec": "zstd", "ratio": 22.873}
    ]
    rows = compression(OFFLINE).data["compression"]
    assert [(row["payload"], row["series"], row["shown"]) for row in rows] == [
        ("random", "zstd", "1.00"),
        ("json", "lz4", "14.7"),
    ]


def test_the_timeline_has_rates_and_tail_of_each_second(run: Run) -> None:
    """And the phases that are not measured."""
    figure = baseline_timeline([run("bench")])
    assert [row["s"] for row in figure.data["baseline"]] == list(range(-2, 10))
    assert figure.data["baseline"][4] == {
        "run": "bench", "s": 2, "sent": 10_000, "received": 10_000, "outstanding": 40, "p99": 6.0
    }  # fmt: skip
    assert figure.data["baseline_phases"] == [{"run": "bench", "from": -1.0, "to": 0.0, "phase": "warmup"}]


def test_panels_are_as_many_as_can_be_read(run: Run) -> None:
    """The figure says what it leaves out."""
    figure = baseline_timeline([run(str(number)) for number in range(6)])
    assert {row["run"] for row in figure.data["baseline"]} == {"0", "1", "2", "3"}
    assert figure.about.endswith("The first 4 of 6 runs are shown.")


def warmed_up(run: Run, label: str, seconds: int) -> LabelledRun:
    """A run with a warm-up of so many seconds."""
    made = run(label, {"rate": {"burst": {"base": "5k/s", "burst": "15k/s", "for": "2s", "every": "5s"}}})
    [warm, *phases] = [phase.model_dump() for phase in made.result.run.phases]
    second = made.result.timeline[5].model_dump()
    rows = [{**second, "second": at} for at in range(-seconds, 10)]
    return but(made, {"run.phases": [{**warm, "from_ns": -seconds * 10**9}, *phases], "timeline": rows})


@pytest.mark.parametrize("draw", [baseline_timeline, lag_timeline, burst_timeline])
def test_the_measure_phase_begins_at_one_place_in_all_panels(run: Run, draw: Callable[..., Figure]) -> None:
    """However long each run warmed up: where a line is at a second in one panel, it is in every other."""
    figure = draw([warmed_up(run, "short", 2), warmed_up(run, "long", 20)])
    scales = [node for node in walk(figure.spec()) if isinstance(node, dict) and node.get("type") == "quantitative"]
    domains = [x["scale"].get("domain") for x in scales if x.get("field") in {"s", "from"}]
    assert len(domains) >= 4
    assert all(each == domains[0] for each in domains)
    assert domains[0][0] == -20
    assert domains[0][1] in {9, 10}


def test_lag_stands_beside_the_rates_of_each_second(run: Run) -> None:
    figure = lag_timeline(by_codec(run))
    first = figure.data["lag"][0]
    assert list(first) == ["run", "s", "sent", "received", "outstanding"]
    assert [row["outstanding"] for row in figure.data["lag"] if row["run"] == "zstd"] == [
        row.outstanding for row in by_codec(run)[1].result.timeline
    ]
    assert [panel["title"] for panel in figure.spec()["vconcat"]] == ["none", "zstd"]


def test_pauses_are_compared_by_their_total_and_number(run: Run) -> None:
    unknown = but(run("cluster"), {"resources.garbage_collection": None})
    figure = pauses([collected(run, "a", 3, 12.5), collected(run, "b", 0, 0.0), unknown])
    assert [(row["run"], row["value"], row["shown"]) for row in figure.data["pauses"]] == [
        ("a", 12.5, "12.5 ms"), ("b", 0.0, "0 ms"),
    ]  # fmt: skip
    assert [(row["run"], row["count"]) for row in figure.data["pauses_count"]] == [("a", 3), ("b", 0)]
    assert pauses([unknown]).missing == "no run has pauses; those of embedded brokers are known"


@pytest.mark.parametrize(
    "report", [{}, [1], [{"payload": "json"}], [{"payload": "x", "codecs": [{"codec": "lz4", "batch_ratio": 0}]}]]
)
def test_what_has_no_ratios_is_no_report_of_them(report: Any) -> None:
    if report == {}:
        assert ratios(report) == []
        return
    with pytest.raises((TypeError, LookupError, ValueError)):
        ratios(report)


def test_bursts_are_shaded_until_the_end_of_the_measure_phase(run: Run) -> None:
    """From the scenario; a phase that ends some microseconds late holds no further burst."""
    late = bursty(run, "late", range(24), measured=24.00001)
    cut = bursty(run, "cut", range(14), measured=14.0)
    spans = burst_timeline([late, cut]).data["burst_spans"]
    assert [(row["run"], row["from"], row["to"]) for row in spans] == [
        ("late", 0.0, 3.0),
        ("late", 12.0, 15.0),
        ("cut", 0.0, 3.0),
        ("cut", 12.0, 14.0),
    ]


def test_bursts_are_summed_up_by_peaks_and_troughs(run: Run) -> None:
    """The peak of a burst may come in the second after it; the trough is the least of the rest of its period."""
    first = [10, 20, 90, 100, 500, 7, 8, 8, 8, 8, 8, 8]
    second = [10, 20, 300, 50, 9, 13, None, 40, 40, 40, 40, 40]
    rows = burst_summary([bursty(run, "x", [*first, *second, 900])]).data["burst_summary"]
    assert [(row["run"], row["series"], row["value"], row["shown"]) for row in rows] == [
        ("x", "mean of peaks", 200.0, "200"),
        ("x", "highest peak", 500.0, "500"),
        ("x", "mean of troughs", 8.0, "8"),
    ]


def test_a_burst_that_is_cut_short_has_no_peak(run: Run) -> None:
    """It would make the mean too low; the highest peak counts it all the same."""
    rows = burst_summary([bursty(run, "x", [100] * 12 + [900, 900], measured=14.0)]).data["burst_summary"]
    assert [row["value"] for row in rows] == [100.0, 900.0, 100.0]


def no_latency(run: Run) -> list[LabelledRun]:
    return [run("a", ack=None, end_to_end=None)]


def no_seconds(run: Run) -> list[LabelledRun]:
    return [bursty(run, "a", [])]


def no_burst(run: Run) -> list[LabelledRun]:
    return [run("a")]


def too_short(run: Run) -> list[LabelledRun]:
    return [bursty(run, "a", [1, 2], measured=2.0)]


def nothing_of_one_size(run: Run) -> list[LabelledRun]:
    return [run("a", {"size": {"uniform": {"from": 1, "to": 9}}})]


@pytest.mark.parametrize(
    ("draw", "results", "missing"),
    [
        (codecs, no_latency, "none of the runs has such a latency"),
        (payloads, no_latency, "none of the runs has such a latency"),
        (acks, no_latency, "none of the runs has such a latency"),
        (sizes, nothing_of_one_size, "none of the runs has messages of one size"),
        (baseline_timeline, no_seconds, "there is no data"),
        (burst_timeline, no_seconds, "there is no data"),
        (burst_timeline, no_burst, "none of the runs has bursts"),
        (burst_summary, no_burst, "there are no bursts"),
        (burst_summary, too_short, "there are no bursts"),
    ],
)
def test_a_figure_that_cannot_be_drawn_says_why(
    run: Run,
    draw: Callable[[Sequence[LabelledRun]], Figure],
    results: Callable[[Run], list[LabelledRun]],
    missing: str,
) -> None:
    """And has no chart."""
    figure = draw(results(run))
    assert figure.missing == missing
    assert figure.chart is None


def test_bursts_of_a_run_that_nobody_reads_have_no_panel_of_what_is_outstanding(run: Run) -> None:
    """What a run does not have is left out."""
    made = bursty(run, "x", [None] * 24)
    assert "outstanding" not in json.dumps(burst_timeline([made]).spec())


@pytest.mark.parametrize(
    "draw", [compare, baseline_timeline, codecs, payloads, acks, sizes, burst_timeline, burst_summary, compression]
)
def test_no_result_is_a_fault(draw: Callable[[Sequence[Any]], object]) -> None:
    """Said in words."""
    with pytest.raises(ValueError, match=r"there is no (result|ratio) to compare; give at least one"):
        draw([])


def test_two_results_of_one_name_are_a_fault(run: Run) -> None:
    """Their bars would stand on each other."""
    with pytest.raises(ValueError, match="more than one result is called a; give each its own label"):
        compare([run("a"), run("b"), run("a")])


def test_runs_are_compared_by_what_they_differ_in(run: Run) -> None:
    """Other words of the scenario do not count; runs that differ in more are another set."""
    of_codec = by_codec(run)
    other = {"run.scenario.about": "another", "run.scenario.topic": {"name": "other", "partitions": 12}}
    of_codec[1] = but(of_codec[1], other)
    elsewhere = run("elsewhere", {"client": {"compression.type": "gzip"}, "rate": "8k/s"})
    again = [run(f"again {number}", {"rate": "5k/s"}) for number in range(3)]
    figures = compare([*again, *of_codec, elsewhere, run("0", {"client": {"acks": 0}, "size": 100}), *by_size(run)])
    assert list(figures) == ["baseline-timeline", "lag-timeline", "codecs", "sizes", "pauses"]
    # What differs from `none` and `zstd` in the codec alone: those that do not name one.
    assert {row["codec"] for row in figures["codecs"].data["codecs"]} == {"none", "zstd"}
    assert {row["run"] for row in figures["sizes"].data["sizes_p99"]} == {"64", "4096"}


def test_bursts_have_figures_of_their_own(run: Run) -> None:
    """A timeline of the others; nothing where there is no other."""
    burst = bursty(run, "burst", range(24))
    assert list(compare([burst])) == ["pauses", "burst-timeline", "burst-summary"]
    assert list(compare([burst, run("bench")], OFFLINE)) == [
        "baseline-timeline",
        "lag-timeline",
        "pauses",
        "burst-timeline",
        "burst-summary",
        "compression",
    ]


def test_a_figure_that_cannot_be_drawn_is_left_out_of_a_comparison(run: Run) -> None:
    """Every figure that is given has a chart."""
    assert list(compare([but(bursty(run, "a", []), {"resources.garbage_collection": None})])) == []


def test_a_run_that_sends_nothing_is_compared_with_none(run: Run) -> None:
    """It has no load to differ in."""
    silent = but(run("silent"), {"run.scenario.load": "off"})
    assert list(compare([silent, run("b")])) == ["baseline-timeline", "lag-timeline", "pauses"]


# benchmarks/references.py


def test_every_row_has_its_published_figures() -> None:
    """And every published row is measured; nobody else has credit."""
    rows = [each.row for group in references.GROUPS.values() for each in group.rows]
    assert len(rows) == len(set(rows)) == 28
    assert {known.row for known in references.PUBLISHED} == set(rows) - {"credit-5000"}


def test_every_row_is_a_scenario_that_is_shipped() -> None:
    """With settings that it knows."""
    for group in references.GROUPS.values():
        for each in group.rows:
            settings = [*each.settings, "phases.measure=5s", "topic.name=x", "topic.reset=false"]
            assert load_scenario(each.scenario, settings).topic.partitions == 12


def test_rows_are_chosen_by_their_names_or_by_their_group() -> None:
    """In the order of the tables."""
    chosen = references.chosen(["bursts", "comp-zstd", "bench"])
    assert {name: [each.row for each in group.rows] for name, group in chosen.items()} == {
        "baseline": ["bench"],
        "codecs": ["comp-zstd"],
        "bursts": ["bursty-light", "bursty-heavy", "bursty-overload"],
    }
    assert references.chosen([]) == references.GROUPS
    with pytest.raises(ValueError, match="unknown row or group lz5; known are baseline, codecs"):
        references.chosen(["bench", "lz5"])


P99 = "latency.end_to_end.service.p99_ms"


def reading(value: float, low: float | None = None, high: float | None = None, **known: Any) -> references.Reading:
    """A figure that is believed, unless told otherwise."""
    return references.Reading(value, low, high, **{"trust": "believed", "least": False, **known})


def test_a_table_has_what_was_measured_beside_what_was_published() -> None:
    """The median of the rounds and the ends of what each can have been; committed lag beside committed lag."""
    rounds = [
        references.Measured(
            row,
            number + 1,
            "valid",
            (),
            {
                **dict.fromkeys(references.RATES, reading(10_000.0)),
                P99: reading(p99, p99 - 1, p99 + 0.5, trust="bounded"),
                "latency.end_to_end.response.p99_ms": reading(p99, least=True),
                "lag.committed.max": reading(7_000.0),
                "lag.outstanding.max": reading(40.0, 40.0, 530.0),
            },
        )
        for row in ("bench", "acks-0")
        for number, p99 in enumerate((7.0, 5.0, 6.0) if row == "bench" else (999.0,))
    ]
    head, rule, service, response, *published = references.table(references.chosen(["bench"])["baseline"], rounds)
    assert head.startswith("| row | system | sent/s |")
    assert {line.count("|") for line in (head, rule, service, response, *published)} == {13}
    rate = "10,000"
    assert service.startswith(f"| bench | Streamgauge, service time | {rate} | {rate} | - | - | - | - |")
    assert service.endswith("| 6.00 (4.00 to 7.50) | - | 7,000 | 40 (40 to 530) |")
    assert "| > 6.00 (5.00 to 7.00) |" in response
    assert published[0] == (
        "| bench | SSP_kafka, M2 | 9,924 | 9,925 | 3.32 | 15.96 | 3.89 | 7.90 | 30.77 | 97.2 | 9,990 |  |"
    )


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        ([reading(3.0)], "3.00"),
        ([reading(3.0, 2.0, 4.0), reading(5.0), reading(4.0)], "4.00 (2.00 to 5.00)"),
        ([reading(3.0), reading(5.0), reading(90.0, trust="not_believed")], "4.00 (3.00 to 5.00; 2 of 3 rounds)"),
        ([reading(3.0), None], "3.00 (1 of 2 rounds)"),
        ([reading(3.0), *2 * [reading(9.0, trust="not_believed")]], "not believed in 2 of 3"),
        ([None, None], "-"),
        ([], "-"),
    ],
)
def test_only_figures_that_are_believed_or_bounded_take_part(
    rounds: list[references.Reading | None], told: str
) -> None:
    """Of how many rounds a figure is, is told where it is not of all."""
    assert references.spread(rounds, significant) == told


def test_a_figure_that_is_not_believed_says_why(run: Run) -> None:
    """Each reason once, of the figures that the tables show."""
    result = run("x").result
    assert references.doubts([references.measured("bench", 0, result)]) == []
    late = FigureTrust(value=6.0, low=1.0, high=9.0, trust="not_believed", because=["late", "no core"])
    other = late.model_copy(update={"because": ["lost rows"]})
    p95 = P99.replace("p99", "p95")
    result = result.model_copy(update={"trust": {p95: late, P99: late, "delivery.lost": other}})
    told = f"- bench, round 2: {p95}, {P99}: late; no core"
    assert references.doubts([references.measured("bench", 1, result)]) == [told]


def test_ratios_stand_beside_those_that_were_published() -> None:
    """Each codec twice."""
    lines = references.ratio_table([{"payload": "json", "codec": "zstd", "ratio": 9.876}])
    assert "| json | - | 8.88 | - | 14.65 | - | 18.08 | 9.88 | 22.87 |" in lines
    assert references.ratio_table([]) == []


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch, run: Run) -> list[list[str]]:
    """Nothing but the names of what is run on it."""
    asked: list[list[str]] = []

    @contextmanager
    def ran(scenario: str, bootstrap: str, *settings: str) -> Iterator[SimpleNamespace]:
        asked.append([scenario, bootstrap, *settings])
        yield SimpleNamespace(folder=None)

    @contextmanager
    def of_name(name: str) -> Iterator[Any]:
        yield name

    def answered(_folder: object) -> Any:
        p99 = float(len(asked))
        result = run("x", end_to_end={"p99": p99}).result
        trust = FigureTrust(value=p99, low=p99, high=p99, trust="believed", because=[])
        return result.model_copy(update={"trust": {P99: trust}})

    monkeypatch.setattr(references, "broker", _running)
    monkeypatch.setattr(references, "warm_page_cache", lambda _: None)
    monkeypatch.setattr(references, "topic", lambda *_: of_name("t"))
    monkeypatch.setattr(references, "run", ran)
    monkeypatch.setattr(references, "analysed", answered)
    monkeypatch.setattr(references, "offline", lambda: OFFLINE)
    return asked


@contextmanager
def _running() -> Iterator[SimpleNamespace]:
    yield SimpleNamespace(bootstrap="b:9")


@pytest.mark.slow
def test_rounds_are_measured_in_turn_kept_printed_and_drawn(
    broker: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And can be printed and drawn again without a broker."""
    out, figures = tmp_path / "out", tmp_path / "figures"
    out.mkdir()
    (out / "bench.7.json").write_text("of another time")
    kept = tmp_path / "results" / "kept.jsonl"
    where = ["--only", "bench", "payload-json", "--out", str(out), "--kept", str(kept), "--figures", str(figures)]
    monkeypatch.setattr("sys.argv", ["references", *where, "--seconds", "5", "--rounds", "2"])
    references.main()
    common = ["phases.measure=5s", "topic.name=t", "topic.reset=false"]
    assert broker == 2 * [["bench", "b:9", *common], ["payload", "b:9", "load.payload=json", *common]]
    assert sorted(path.name for path in out.iterdir()) == [
        "bench.0.json", "bench.1.json", "payload-json.0.json", "payload-json.1.json"
    ]  # fmt: skip
    printed = capsys.readouterr().out
    assert "### Baseline" in printed
    assert "2.00 (1.00 to 3.00)" in printed
    session, rounds = references.read(kept)
    assert session.versions == versions()
    assert session.commit in printed
    assert [(each.row, each.round) for each in rounds] == [
        ("bench", 1), ("payload-json", 1), ("bench", 2), ("payload-json", 2)
    ]  # fmt: skip
    assert "| json | - | 8.88 | 14.7 | 14.65 |" in printed
    names = {"baseline-timeline", "payloads", "compression"}
    assert {path.stem for path in figures.iterdir()} == names
    shutil.rmtree(figures)
    monkeypatch.setattr("sys.argv", ["references", *where, "--again"])
    references.main()
    assert len(broker) == 4
    assert capsys.readouterr().out.partition("SSP_kafka, M2")[2] == printed.partition("SSP_kafka, M2")[2]
    assert {path.stem for path in figures.iterdir()} == names


def test_what_was_not_measured_cannot_be_shown_again(tmp_path: Path) -> None:
    """Said in words."""
    with pytest.raises(SystemExit, match="has no result of bench; measure it first"):
        references.kept(tmp_path, "bench")
    with pytest.raises(SystemExit, match=r"there is no .*kept\.jsonl; measure first"):
        references.read(tmp_path / "kept.jsonl")


def test_figures_are_of_the_round_in_the_middle(run: Run) -> None:
    """By its p99; percentiles of several rounds are not averaged."""
    rounds = [run(str(p99), end_to_end={"p99": p99}).result for p99 in (7.0, 5.0, 6.0)]
    (figure,) = references.drawn(references.chosen(["acks-0"])["acks"], {"acks-0": rounds}, [])
    assert [row["value"] for row in figure.data["acks"] if row["series"] == "p99"] == [6.0]


def piped(run: Run, label: str, rate: str, engine: Row, p50: float) -> LabelledRun:
    """A run through a pipeline."""
    made = run(label, {"rate": rate}, end_to_end={"p50": p50, "p99": 4 * p50, "max": 9 * p50, "p99_99": None})
    figures: Row = {**dict.fromkeys(PipelineSection.model_fields, 0), "groups": [], "stages": [], "events": []}
    figures |= {"job": "pass", "does": "same", "engine": next(iter(engine)), "sink": "topic", "executors": []}
    figures |= {"lookups": None, "reasons": {}}
    return but(made, {"run.scenario.pipeline": {"engine": engine}, "pipeline": figures})


def test_engines_are_compared_percentile_by_percentile_at_each_rate(run: Run) -> None:
    """Rates in their order; of two runs of one engine at one rate the first is shown."""
    runs = [
        piped(run, "a", "10k/s", {"client": {}}, 2.0),
        piped(run, "b", "1k/s", {"micro-batch": {"every": "1s"}}, 700.0),
        piped(run, "c", "1k/s", {"client": {}}, 1.0),
        piped(run, "d", "1k/s", {"client": {}}, 5.0),
        run("e"),
    ]
    figure = engines(runs)
    found = [(row["panel"], row["series"], row["percentile"], row["ms"]) for row in figure.data["engines"]]
    assert [row for row in found if row[2] == "p50"] == [
        ("1,000 messages/s", "micro-batch, every 1s", "p50", 700.0),
        ("1,000 messages/s", "client", "p50", 1.0),
        ("10,000 messages/s", "client", "p50", 2.0),
    ]
    assert ("1,000 messages/s", "client", "max", 9.0) in found
    assert "p99.99" not in {row[2] for row in found}
    assert "engines" in compare(runs)
    scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
    assert '"marktype": "line"' in scene


def test_one_engine_is_compared_with_nothing(run: Run) -> None:
    alone = [piped(run, "a", "10k/s", {"client": {}}, 2.0), piped(run, "b", "1k/s", {"client": {}}, 2.0), run("c")]
    assert engines(alone).missing
    assert "engines" not in compare(alone)


def test_every_figure_says_that_brokers_were_not_started_alike(run: Run) -> None:
    warned = [but(run("a"), {"run.broker.class_archive": True}), but(run("b"), {"run.broker.class_archive": False})]
    unknown = [warned[0], run("b")]

    assert all("without one in b." in figure.about for figure in compare(warned).values())
    assert not any("not started alike" in figure.about for figure in compare(unknown).values())
