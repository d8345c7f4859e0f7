"""Figures: what each draws from which rows, and what it says where there is nothing to draw."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import vl_convert
from tests.report.conftest import Drawn, Make, altered, figure_of

from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures import catalogue, distribution, machine, over_time, partitions
from streamgauge.report.figures.drawing.figure import Figure, FigureSource, rounded
from streamgauge.report.figures.drawing.timeline import MOST_POINTS, phases, timeline

Row = dict[str, Any]
Tables = dict[str, list[Row]]

NAMES = [
    "rates", "latency", "percentiles", "heat", "cdf", "outstanding", "ack-latency", "schedule_delay", "cpu", "waiting",
    "gc", "partition-load", "partition-latency",
]  # fmt: skip


def without(table: str, **wanted: Any) -> Callable[[Row, Tables], None]:
    def change(_facts: Row, tables: Tables) -> None:
        tables[table] = [row for row in tables[table] if any(row.get(key) != value for key, value in wanted.items())]

    return change


def test_a_healthy_run_has_every_figure(drawn: Drawn) -> None:
    """Each with a chart whose data are all there."""
    figures = drawn()
    assert list(figures) == NAMES
    for figure in figures.values():
        assert figure.missing is None, figure.name
        assert figure.about
        assert figure.title
        named = {node["name"] for node in _walk(figure.spec()) if isinstance(node, dict) and set(node) == {"name"}}
        assert named == set(figure.data), figure.name


def _walk(node: object) -> Iterator[object]:
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _walk(child)


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_compiles(drawn: Drawn, name: str) -> None:
    """Vega-Lite accepts it, data and all, without a warning, and what it draws is not empty."""
    figure = drawn()[name]
    scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
    assert '"marktype": "line"' in scene or '"marktype": "rect"' in scene
    json.dumps(figure.whole_spec(), allow_nan=False)


def no_load(facts: Row, tables: Tables) -> None:
    facts["scenario"]["load"] = False
    for row in tables["throughput"]:
        row |= {"sent": 0, "acked": 0, "due": 0, "outstanding": None}
    tables["latency"] = [row for row in tables["latency"] if row["metric"] == "poll"]
    tables["percentiles"], tables["heat"], tables["schedule_delay"] = [], [], []


def given_cluster(facts: Row, tables: Tables) -> None:
    facts["broker"] |= {"embedded": False, "processes": []}
    tables["gc"] = []


def older(_facts: Row, tables: Tables) -> None:
    del tables["percentiles"], tables["heat"]


@pytest.mark.parametrize(
    ("change", "draw", "missing"),
    [
        (no_load, over_time.latency, "there is no such latency in this run"),
        (no_load, distribution.percentiles, "there is no latency in this run"),
        (no_load, distribution.heat_map, "there is no latency in this run"),
        (no_load, over_time.outstanding, "only runs that produce and consume have them"),
        (no_load, over_time.schedule_delay, "the load has no schedule"),
        (older, distribution.percentiles, "the run was analysed by an older version; analyse it again"),
        (older, distribution.heat_map, "the run was analysed by an older version; analyse it again"),
        (older, distribution.delivered_within, "the run was analysed by an older version; analyse it again"),
        (given_cluster, machine.pauses, "GC pauses are known for embedded brokers only"),
        (without("gc", process="broker-1"), machine.pauses, "there was no pause"),
        (without("resources", scope="interval"), machine.cpu, "no resources were recorded"),
        (without("resources", scope="interval"), machine.waiting, "it was not recorded how long processes waited"),
        (without("throughput", scope="partition"), partitions.load, "no messages with a known partition"),
        (without("latency", scope="partition"), partitions.latency, "there is no latency by partition"),
        (without("throughput", scope="window"), over_time.rates, "there is no data"),
    ],
)
def test_a_figure_that_cannot_be_drawn_says_why(
    make: Make, change: Any, draw: Callable[[FigureSource], Figure], missing: str
) -> None:
    """And has no chart."""
    figure = figure_of(make(change), draw)
    assert figure.missing == missing
    assert figure.chart is None
    assert figure.spec() == {}


def test_messages_that_never_came_open_a_band(make: Make) -> None:
    """To infinity: up to twice the highest value that is known; the curve of shares ends below them."""

    def censored(_facts: Row, tables: Tables) -> None:
        for row in tables["percentiles"]:
            if row["percent"] >= 90:
                row |= {"censored": True, "hi_ms": None}

    figure = figure_of(make(censored), distribution.percentiles)
    points = [row for row in figure.data["percentiles"] if row["series"] == "end-to-end response"]
    assert [(point["ms"], point["top"], point["infinite"]) for point in points] == [
        (1.0, None, False),
        (6.0, None, False),
        (10.0, 22.0, True),
        (11.0, 22.0, True),
    ]
    # 1 in 1, 2, 10; the last message is where the next point would be.
    assert [point["one_in"] for point in points] == [1.0, 2.0, 10.0, 20.0]


def test_the_heat_map_takes_the_end_to_end_time_if_there_is_one(drawn: Drawn) -> None:
    """A cell that begins at zero begins at half its end, because the scale has no zero."""
    heat = drawn()["heat"]
    assert heat.data["heat"][0] == {"from": -2, "to": -1, "above": 0.005, "le": 0.01, "count": 9}
    assert len(heat.data["heat"]) == 24
    assert "end-to-end response time" in json.dumps(heat.spec())


def test_the_heat_map_of_a_run_that_only_sends_is_of_acknowledgements(make: Make) -> None:
    """What else."""
    only_acks = without("heat", metric="end_to_end_response"), without("heat", metric="end_to_end_service")
    assert "ack response time" in json.dumps(figure_of(make(*only_acks), distribution.heat_map).spec())


def test_a_second_is_a_point_and_phases_are_shades(make: Make) -> None:
    """Rates, counts and latencies under the names of the legends; four significant digits."""
    folder = make(lambda facts, _: facts["phases"].insert(0, {"name": "warmup", "from_ns": -(2 * 10**9), "to_ns": 0}))
    result = assemble(folder)
    rows = timeline(result, pq.read_table(folder.table("latency")).to_pylist())
    assert [row["s"] for row in rows] == list(range(-2, 10))
    assert rows[3]["target"] == rows[3]["sent"] == rows[3]["received"] == 10_000
    assert rows[3]["outstanding"] == 40
    assert rows[3]["end-to-end response p99"] == rounded(6.0 * (0.5 + 4 / 8))
    assert rows[3]["delay max"] == 18.0
    assert phases(result) == [{"from": -2.0, "to": 0.0, "phase": "warmup"}]


def test_a_second_that_is_cut_has_no_rate(make: Make) -> None:
    """A drain that ends 33 ms into its second is not drawn as a fall to nothing; latencies are those there were."""

    def cut(facts: Row, _: Tables) -> None:
        facts["phases"].insert(0, {"name": "warmup", "from_ns": -(2 * 10**9), "to_ns": 0})
        facts["phases"][-1]["to_ns"] = 9_033_000_000

    rows = timeline(assemble(make(cut)), [])
    assert [row["s"] for row in rows if row["received"] is None] == [9]
    assert rows[-1]["sent"] is None
    assert rows[-1]["end-to-end response p99"] is not None


def test_a_long_run_is_drawn_with_fewer_points(make: Make) -> None:
    """Rates by their mean, everything else by its worst; the figure says so."""
    result = assemble(make())
    second = result.timeline[5].model_dump()
    seconds = 2 * MOST_POINTS
    seen = [
        {**second, "second": at, "sent_per_second": 100.0 * (at % 2), "outstanding": at, "ack": _ack(at)}
        for at in range(seconds)
    ]
    result = altered(result, "timeline", seen)
    rows = timeline(result, [])
    assert len(rows) == MOST_POINTS
    assert rows[1]["s"] == 2
    assert (rows[1]["sent"], rows[1]["outstanding"], rows[1]["ack response max"]) == (50.0, 3, 4.0)
    assert rows[1]["ack service p50"] is None
    about = next(iter(catalogue.figures(result, {}))).about
    assert about.endswith("Each point stands for 2 s: mean of rates, maximum of the rest.")


def _ack(at: int) -> Row:
    return {"response": {"p50_ms": 1.0, "p99_ms": 2.0, "max_ms": 1.0 + at}, "service": None}


def test_processors_are_thinned_by_their_mean(make: Make) -> None:
    """Weighted by how long each look was."""

    def long(_facts: Row, tables: Tables) -> None:
        look = {"process": "producer-0", "role": "producer", "scope": "interval"}
        tables["resources"] = [row for row in tables["resources"] if row["scope"] == "measure"]
        tables["resources"] += [
            {**look, "second": float(at), "cpu_cores": float(at % 2), "duration_ns": 3 if at % 2 else 1}
            for at in range(1200)
        ]

    rows = figure_of(make(long), machine.cpu).data["cpu"]
    assert len(rows) == 600
    assert rows[0] == {"s": 1.0, "series": "producer-0", "value": 0.75}


def test_waits_for_a_core_are_those_of_all_threads(make: Make) -> None:
    """The client's too; what a kernel does not count is no zero."""

    def waiting(_facts: Row, tables: Tables) -> None:
        look = {"process": "producer-0", "role": "producer", "scope": "interval", "duration_ns": 10**9}
        tables["resources"] = [row for row in tables["resources"] if row["scope"] == "measure"] + [
            {**look, "second": 1.0, "cpu_cores": 0.5, "run_delay_share": 0.1, "client_run_delay_share": 0.2},
            {**look, "second": 2.0, "cpu_cores": 0.5},
        ]

    rows = figure_of(make(waiting), machine.waiting).data["waiting"]
    assert rows == [{"s": 1.0, "series": "producer-0", "value": 0.3}]


def test_partitions_of_several_topics_are_named(make: Make) -> None:
    """And a cluster of a thousand partitions does not fill the page."""

    def many(facts: Row, tables: Tables) -> None:
        facts["topics"].append({"id": 1, "name": "other"})
        row = next(row for row in tables["throughput"] if row["scope"] == "partition")
        tables["throughput"] += [{**row, "topic": 1, "partition": number} for number in range(300)]

    figure = figure_of(make(many), partitions.load)
    assert figure.about.endswith("The first 200 of 312 are shown.")
    names = [row["partition"] for row in figure.data["partition_load"]]
    assert names[0] == "streamgauge-baseline 0"
    assert names[12] == "other 0"
    assert len(names) == 200


def test_figures_are_saved_as_pictures(make: Make, tmp_path: Path) -> None:
    """As SVG, PNG and PDF; one that cannot be drawn is left out."""
    figures = [figure_of(make(given_cluster), draw) for draw in (over_time.rates, machine.pauses)]
    written = catalogue.save(figures, tmp_path / "figures")
    assert [path.name for path in written] == ["rates.svg", "rates.png", "rates.pdf"]
    svg, png, pdf = (path.read_bytes() for path in written)
    assert svg.startswith(b"<svg")
    assert b"Rates over time" in svg
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["rates.pdf", "rates.png", "rates.svg"]


def test_a_run_with_bursts_has_figures_of_them(drawn: Drawn) -> None:
    """Beside all others; a run without any has none."""
    burst = {"burst": {"base": "5k/s", "burst": "15k/s", "for": "1s", "every": "3s"}}

    def bursty(facts: Row, _tables: Tables) -> None:
        facts["scenario"] = {**facts["scenario"], "load": {**facts["scenario"]["load"], "rate": burst}}

    found = drawn(bursty)

    assert list(found)[-2:] == ["burst-timeline", "burst-summary"]
    assert all(found[name].missing is None for name in ("burst-timeline", "burst-summary"))
    assert not {"burst-timeline", "burst-summary"} & drawn().keys()
