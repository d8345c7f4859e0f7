"""Figures: what each draws from which rows, and what it says where there is nothing to draw."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import vl_convert
from tests.report.conftest import BROKERS, Drawn, Make, altered, figure_of, paused_in_three, walk

from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures import catalogue, distribution, over_time, throughput
from streamgauge.report.figures.diagnostics import client, machine, partitions, trouble
from streamgauge.report.figures.drawing.figure import Figure, FigureSource, rounded
from streamgauge.report.figures.drawing.names import apart
from streamgauge.report.figures.drawing.theme import PALETTE, color_of
from streamgauge.report.figures.drawing.timeline import MOST_POINTS, phases, source_of, timeline

Row = dict[str, Any]
Tables = dict[str, list[Row]]

NAMES = [
    "rates", "latency", "cpu", "gc", "percentiles", "heat", "cdf", "ack-latency", "latency-by-rate", "outstanding",
    "megabytes", "errors", "schedule_delay", "workers", "cpu-processes", "waiting", "client-batch", "client-queue",
    "client-rtt", "client-requests", "partition-load", "partition-latency",
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
        named = {node["name"] for node in walk(figure.spec()) if isinstance(node, dict) and set(node) == {"name"}}
        assert named == set(figure.data), figure.name


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_compiles(drawn: Drawn, name: str) -> None:
    """Vega-Lite accepts it, data and all, without a warning, and what it draws is not empty."""
    figure = drawn()[name]
    scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
    assert any(f'"marktype": "{kind}"' in scene for kind in ("line", "rect", "area", "symbol"))
    # To the library such a column is part of another.
    assert not [column for rows in figure.data.values() for row in rows for column in row if {*column} & {*".[]"}]
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


def untold(_facts: Row, tables: Tables) -> None:
    tables["client"] = []


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
        (without("throughput", scope="window"), throughput.megabytes, "nothing was sent or received"),
        (no_load, throughput.latency_by_rate, "there is no latency by second"),
        (
            without("workers"),
            throughput.by_worker,
            "there were too many workers, or the run was analysed by an older version",
        ),
        (without("topics"), throughput.by_topic, "the run has one topic"),
        (untold, client.requests, "the clients reported no statistics, or the run was analysed by an older version"),
        (without("throughput", scope="window"), over_time.rates, "there is no data"),
    ],
)
@pytest.mark.slow
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


def test_a_percentile_is_where_it_belongs_though_no_other_follows(make: Make) -> None:
    """Imported figures end with one that is not the maximum."""

    def cut(_facts: Row, tables: Tables) -> None:
        tables["percentiles"] = [row for row in tables["percentiles"] if row["percent"] < 100]

    points = figure_of(make(cut), distribution.percentiles).data["percentiles"]
    assert [row["one_in"] for row in points if row["series"] == "end-to-end response"] == [1.0, 2.0, 10.0]


def test_the_heat_map_takes_the_end_to_end_time_if_there_is_one(drawn: Drawn) -> None:
    """Each cell with its share of the second's messages; a cell that begins at zero is as high as all others."""
    heat = drawn()["heat"]
    low, high = heat.data["heat"][:2]
    assert low == {"from": -2, "to": -1, "above": 0.007943, "le": 0.01, "count": 9, "share": 50.0}
    assert (high["above"], high["le"], high["share"]) == (5.012, 6.31, 50.0)
    assert len(heat.data["heat"]) == 24
    assert "end-to-end response time" in json.dumps(heat.spec())


def test_cells_of_a_short_run_are_not_bars() -> None:
    """Few columns are wide, so that two of many rows are put together; a share is of the column's messages."""
    rows = [
        {"from_second": second, "to_second": second + 1, "above_ms": 0.0, "le_ms": 10 ** (step / 10), "count": step}
        for second in (0, 1)
        for step in range(1, 21)
    ]
    cells = distribution.heat_cells(rows)
    assert len(cells) == 20
    assert cells[0] == {"from": 0, "to": 1, "above": 1.0, "le": 1.585, "count": 3, "share": rounded(100 * 3 / 210)}
    assert sum(cell["share"] for cell in cells) == pytest.approx(200, abs=0.1)
    finer = distribution.heat_cells([{**row, "from_second": at} for at in range(60) for row in rows[:20]])
    assert len(finer) == 60 * 20


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["run-7-topic", "run-7-topic-out"], ["topic", "topic-out"]),
        (["run-many-1", "run-many-2"], ["many-1", "many-2"]),
        (["many-1", "many-2"], ["many-1", "many-2"]),
        (["baseline", "other"], ["baseline", "other"]),
        (["streamgauge-1"], ["streamgauge-1"]),
        (["a", "a"], ["a", "a"]),
    ],
)
def test_names_leave_out_what_all_begin_with(names: list[str], short: list[str]) -> None:
    """Up to a break between words; nobody is left without a name."""
    assert list(apart(dict(enumerate(names))).values()) == short


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


def differences(figure: Figure, stage: str) -> list[float | None]:
    return [row[f"difference {stage}"] for row in figure.data["timeline"]]


def test_rates_that_keep_to_a_constant_target_are_drawn_as_differences(make: Make) -> None:
    """In percent, while there is a load: four lines at one height hide each other. The cut second is left out."""

    def a_little_slow(facts: Row, tables: Tables) -> None:
        facts["phases"].append({"name": "drain", "from_ns": 10 * 10**9, "to_ns": 11_500_000_000})
        seconds = [row for row in tables["throughput"] if row["scope"] == "window"]
        tables["throughput"] += [{**seconds[-1], "second": at, "sent": 0, "received": 70} for at in (10, 11)]
        for row in seconds:
            row["received"] = 9_900

    figure = figure_of(make(a_little_slow), over_time.rates)
    assert figure.about.startswith("Difference from the target of 10,000/s, in percent.")
    assert differences(figure, "sent")[-4:] == [0.0, 0.0, None, None]
    assert differences(figure, "received")[-4:] == [-1.0, -1.0, None, None]
    assert '"domain": [-5.0, 5.0]' in json.dumps(figure.spec())


def half_received(_facts: Row, tables: Tables) -> None:
    for row in tables["throughput"]:
        row["received"] //= 2


def a_ramp(facts: Row, _tables: Tables) -> None:
    facts["scenario"]["load"]["rate"] = {"ramp": {"from": "9k/s", "to": "11k/s", "over": "10s"}}


@pytest.mark.parametrize("change", [half_received, a_ramp])
def test_rates_that_tell_something_are_drawn_as_they_are(make: Make, change: Any) -> None:
    """Consumers that fall behind, and loads that change."""
    figure = figure_of(make(change), over_time.rates)
    assert "target" in figure.data["timeline"][0]
    assert '"messages/s"' in json.dumps(figure.spec())


@pytest.mark.parametrize("last_ns", [10**9, 33 * 10**6])
def test_the_last_second_of_the_bytes_is_not_a_fall(make: Make, last_ns: int) -> None:
    """A second of which 33 ms were in the run has no rate."""

    def cut(_facts: Row, tables: Tables) -> None:
        last = next(row for row in reversed(tables["throughput"]) if row["scope"] == "window")
        last |= {"duration_ns": last_ns, "sent_bytes": last["sent_bytes"] * last_ns // 10**9}

    rows = figure_of(make(cut), throughput.megabytes).data["megabytes"]
    sent = [row for row in rows if row["series"] == "sent"]
    assert {row["value"] for row in sent} == {5.12}
    assert sent[-1]["s"] == (9.0 if last_ns == 10**9 else 8.0)


def test_every_worker_has_its_rate(make: Make) -> None:
    """Colour says its role, the dash which of them it is; one that died sends nothing, and a cut second is left out."""

    def died(_facts: Row, tables: Tables) -> None:
        row = next(row for row in tables["workers"] if row["role"] == "producer")
        tables["workers"] = [
            each
            for each in tables["workers"]
            if (each["role"], each["number"]) != ("producer", 1) or each["second"] < 4
        ]
        tables["workers"].append({**row, "second": 10, "duration_ns": 33_000_000, "messages": 7})

    figure = figure_of(make(died), throughput.by_worker)
    assert figure.nothing_new is None
    values = {(row["series"], row["s"]): row["value"] for row in figure.data["workers"]}
    assert (values["producer-0", 9.0], values["producer-1", 3.0], values["producer-1", 4.0]) == (5_000, 5_000, 0)
    assert ("producer-0", 10.0) not in values
    assert {series for series, _ in values} == {"producer-0", "producer-1", "consumer-0", "consumer-1"}


def test_every_topic_has_its_rates(make: Make) -> None:
    """What was sent to it and received from it, but for the second that is cut."""

    def two(facts: Row, tables: Tables) -> None:
        facts["topics"].append({"id": 1, "name": "other"})
        row = {"acked": 0, "failed": 0, "sent_bytes": 0, "received_bytes": 0, "duration_ns": 10**9}
        tables["topics"] = [
            row | {"topic": topic, "second": second, "sent": 100 * (topic + 1), "received": 100 * second}
            for topic in (0, 1)
            for second in (0, 1)
        ]
        tables["topics"] += [row | {"topic": 0, "second": 2, "sent": 7, "received": 0, "duration_ns": 7}]

    rows = figure_of(make(two), throughput.by_topic).data["topics"]
    assert [(row["s"], row["series"], row["value"]) for row in rows] == [
        (0.0, "streamgauge-baseline sent", 100), (1.0, "streamgauge-baseline sent", 100),
        (0.0, "streamgauge-baseline received", 0), (1.0, "streamgauge-baseline received", 100),
        (0.0, "other sent", 200), (1.0, "other sent", 200),
        (0.0, "other received", 0), (1.0, "other received", 100),
    ]  # fmt: skip


def test_what_clients_say_is_drawn_by_role(make: Make) -> None:
    """Requests of all workers together, batches as the mean; consumers have no batches."""
    run = make()
    assert {row["value"] for row in figure_of(run, client.requests).data["client_requests"]} == {800}
    batches = figure_of(run, client.batches).data["client_batch"]
    assert {(row["series"], row["value"]) for row in batches} == {("producers", 6_400)}


def test_latency_by_rate_has_a_dot_for_each_second(make: Make) -> None:
    """Of the measure phase; where all rates are one there is nothing to see."""
    figure = figure_of(make(), throughput.latency_by_rate)
    dots = [row for row in figure.data["latency_by_rate"] if row["series"] == "p99"]
    assert [row["second"] for row in dots] == list(range(10))
    assert {row["rate"] for row in dots} == {10_000}
    assert figure.nothing_new == "All seconds had the same rate, within 2 %."
    assert figure_of(make(uneven), throughput.latency_by_rate).nothing_new is None


def test_a_long_run_has_fewer_dots(make: Make) -> None:
    """A dot for each second of it would take a browser long; the figure says how many are shown."""
    result = assemble(make())
    second = result.timeline[5].model_dump()
    seen = [{**second, "second": at} for at in range(2 * throughput.MOST_DOTS)]
    long = altered(altered(result, "timeline", seen), "throughput.measured_seconds", float(len(seen)))
    figure = throughput.latency_by_rate(source_of(long, {}))
    assert len(figure.data["latency_by_rate"]) == 2 * throughput.MOST_DOTS
    assert figure.about.endswith("One second in 2 is shown.")


def uneven(_facts: Row, tables: Tables) -> None:
    for row in tables["throughput"]:
        if row["scope"] == "window" and row["second"] == 4:
            row["received"] = 5_000


def test_figures_that_say_nothing_new_say_so(drawn: Drawn) -> None:
    """A flat zero, an even load; the figure is there all the same."""
    said = {figure.name: figure.nothing_new for figure in drawn().values() if figure.nothing_new}
    assert said == {
        "errors": "No message failed and no request was sent again.",
        "latency-by-rate": "All seconds had the same rate, within 2 %.",
        "partition-load": "All 12 partitions had the same load, within 2%.",
    }


def test_delivery_problems_are_drawn_by_the_second_in_which_they_were_due(make: Make, drawn: Drawn) -> None:
    """Of each class for the group that has most; what has no second, and a run without any, have no such figure."""

    def lost(_facts: Row, tables: Tables) -> None:
        place = {"topic": 0, "partition": 3}
        tables["problem_counts"] = [
            {"class": name, "group": group, "second": second, "count": count, **place}
            for name, group, second, count in (
                ("lost", 0, 4, 2), ("lost", 0, 4, 3), ("lost", 1, 4, 4), ("failed", None, 5, 7),
                ("went_back", 0, None, 9),
            )
        ]  # fmt: skip

    found = figure_of(make(lost), trouble.problems).data["problems"]
    assert list(found) == [{"s": 5, "value": 7, "series": "failed"}, {"s": 4, "value": 5, "series": "lost"}]
    scene = vl_convert.vegalite_to_scenegraph(figure_of(make(lost), trouble.problems).whole_spec())
    bars = [node for node in walk(scene) if isinstance(node, dict) and node.get("fill") in PALETTE and "height" in node]
    assert len(bars) == 2
    assert len({round(bar["y"] + bar["height"]) for bar in bars}) == 1, "both stand on the ground"
    assert len({round(bar["width"]) for bar in bars}) == 1
    assert bars[0]["width"] > 10
    assert figure_of(make(), trouble.problems).missing == "no message has a delivery problem"
    assert "problems" not in drawn()


def test_pauses_of_several_brokers_have_one_colour_and_signs_of_their_own(make: Make) -> None:
    """Orange is the colour of brokers in every figure; a single one needs no sign."""
    figure = figure_of(make(paused_in_three), machine.pauses)
    one = figure_of(make(), machine.pauses)

    sticks, points = [layer["encoding"] for layer in figure.whole_spec()["layer"] if "color" in layer["encoding"]]
    for color in (sticks["color"], points["color"]):
        assert color["scale"] == {"domain": BROKERS, "range": [color_of("broker")] * 3}
    assert points["shape"]["scale"]["domain"] == BROKERS
    assert len(set(points["shape"]["scale"]["range"])) == 3
    assert not any("shape" in layer["encoding"] for layer in one.whole_spec()["layer"])


def test_partitions_that_changed_hands_are_drawn(make: Make, drawn: Drawn) -> None:
    """By second; a run in which none did, and one that nobody looked at, have no such figure."""

    def moved(_facts: Row, tables: Tables) -> None:
        tables["rebalances"] = [{"second": 4, "group": 0, "partitions": 6}]

    def untold(_facts: Row, tables: Tables) -> None:
        del tables["rebalances"]

    assert figure_of(make(moved), trouble.rebalances).data["rebalances"] == [{"s": 4, "value": 6, "series": "g"}]
    assert figure_of(make(), trouble.rebalances).missing == "no partition changed its consumer"
    assert figure_of(make(untold), trouble.rebalances).missing == "the run was analysed by an older version"
    assert "rebalances" not in drawn()


def replicated(_facts: Row, tables: Tables) -> None:
    """Three looks see the death of a broker and its return; meanwhile the cluster did not answer once."""
    names = ("second", "under_replicated", "leaderless", "leaders_moved", "answered", "least_in_sync")
    looks = [(-1.0, 0, 0, 0, True, 3), (2.0, 6, 2, 0, True, 2), (3.0, 6, 0, 2, True, 1), (4.0, 6, 0, 0, False, 1)]
    looks += [(5.0, 0, 0, 0, True, 3)]
    tables["replication"] = [{**dict(zip(names, each, strict=True)), "took_ms": 2.0, "controller": 1} for each in looks]
    rest = {"behind": 0, "worst": 0, "topic": 0, "partition": 0, "took_ms": 4.0}
    tables["followers"] = [
        {"second": second, "node": node, "controller": controller, **rest}
        for second, controller in ((0.0, 1), (3.0, None), (4.0, 2))
        for node in (1, 2)
    ]
    tables["partition_replicas"] = [
        {"topic": 0, "partition": each, "replicas": 3, "least_in_sync": 1, "under_replicated_seconds": 3.0}
        | {"leaderless_seconds": 1.0, "leader_changes": 1}
        for each in range(6)
    ]


def test_replicas_are_drawn_with_what_changed_and_with_gaps_where_nobody_answered(make: Make) -> None:
    figure = figure_of(make(replicated), trouble.replication)

    lacking = [(row["s"], row["value"]) for row in figure.data["replication"] if row["series"] == "under-replicated"]
    assert lacking == [(-1, 0), (2, 0), (2, 6), (3, 6), (4, 6), (4, None), (5, None), (5, 0)]
    assert figure.data["replication_causes"] == [
        {"from": 3.0, "to": 3.0, "cause": "leader change", "what": "leader change of 2 partitions"},
        {"from": 4.0, "to": 4.0, "cause": "controller change", "what": "controller change from node 1 to 2"},
    ]
    assert figure.about.endswith("another active controller. In a gap the cluster did not answer.")
    assert figure.nothing_new is None
    scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
    assert "controller change" in scene


def test_the_smallest_in_sync_set_is_drawn(make: Make) -> None:
    figure = figure_of(make(replicated), trouble.in_sync)

    assert [(row["s"], row["value"]) for row in figure.data["in_sync"]][:5] == [(-1, 3), (2, 3), (2, 2), (3, 2), (3, 1)]
    assert figure.nothing_new is None
    vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True)


def quiet(facts: Row, tables: Tables) -> None:
    replicated(facts, tables)
    tables["replication"], tables["followers"] = tables["replication"][:1], tables["followers"][:2]


@pytest.mark.parametrize("draw", [trouble.replication, trouble.in_sync, trouble.followers])
def test_where_nothing_became_of_replicas_the_figures_are_folded(make: Make, draw: Any) -> None:
    figure = figure_of(make(quiet), draw)
    assert figure.missing is None
    assert figure.nothing_new is not None


@pytest.mark.parametrize(("controllers", "answered"), [((1, 2), True), ((1, 1), False)])
def test_where_only_the_controller_changed_or_nobody_answered_the_figure_is_open(
    make: Make, controllers: tuple[int, int], *, answered: bool
) -> None:
    def changed(facts: Row, tables: Tables) -> None:
        quiet(facts, tables)
        for row, controller in zip(tables["followers"], controllers, strict=True):
            row["controller"] = controller
        tables["replication"][0]["answered"] = answered

    assert figure_of(make(changed), trouble.replication).nothing_new is None


def test_what_an_older_version_did_not_write_is_not_drawn(make: Make) -> None:
    def older(facts: Row, tables: Tables) -> None:
        replicated(facts, tables)
        for row in tables["replication"]:
            row |= {"least_in_sync": None, "controller": None}

    assert figure_of(make(older), trouble.in_sync).missing is not None
    assert len(figure_of(make(older), trouble.replication).data["replication_causes"]) == 2


def test_of_one_replica_leaders_are_drawn_and_nothing_of_followers(make: Make) -> None:
    def alone(facts: Row, tables: Tables) -> None:
        replicated(facts, tables)
        for row in tables["partition_replicas"]:
            row |= {"replicas": 1, "under_replicated_seconds": 0.0}

    assert figure_of(make(alone), trouble.replication).missing is None
    for draw in (trouble.in_sync, trouble.followers):
        assert figure_of(make(alone), draw).missing == "the run did not ask for replicas, or each partition has one"


def failing(_facts: Row, tables: Tables) -> None:
    for row in tables["throughput"]:
        if row["scope"] == "window" and row["second"] == 4:
            row["failed"] = 30
    tables["client"][0] |= {"retries": 5, "retried_messages": 40}


def test_errors_and_retries_are_drawn_where_there_are_some(make: Make) -> None:
    """By second."""
    figure = figure_of(make(failing), trouble.errors)
    assert figure.nothing_new is None
    values = {(row["series"], row["s"]): row["value"] for row in figure.data["errors"] if row["value"]}
    assert values == {
        ("failed or never sent", 4.0): 30, ("requests retried", 0.5): 5, ("messages retried", 0.5): 40,
    }  # fmt: skip


def test_retries_of_a_consumer_and_of_the_producer_beside_it_are_added_up(make: Make) -> None:
    """Both have its name, and each its role."""

    def beside(facts: Row, tables: Tables) -> None:
        failing(facts, tables)
        tables["client"].append({**tables["client"][0], "role": "acknowledgements", "retries": 3})

    figure = figure_of(make(beside), trouble.errors)
    assert {row["value"] for row in figure.data["errors"] if row["series"] == "requests retried" and row["value"]} == {
        8
    }


def expecting(facts: Row, _tables: Tables) -> None:
    facts["scenario"]["expect"] = {
        "latency.end_to_end.response.p99_ms": "<= 20",
        "latency.end_to_end.service.max_ms": "< 1.5",
        "latency.end_to_end.response.max_ms": 18,
        "latency.ack.response.p99_ms": "<= 10",
        "throughput.received_per_second": ">= 9900",
        "throughput.sent_mb_per_second": ">= 5",
        "delivery.lost": 0,
    }


@pytest.mark.parametrize(
    ("draw", "data", "limits"),
    [
        (
            over_time.latency,
            "latency_thresholds",
            [
                (20, "expected p99 response <= 20 ms", "p99"),
                (1.5, "expected max service < 1.50 ms", "max"),
            ],
        ),
        (over_time.ack_latency, "ack-latency_thresholds", [(10, "expected p99 response <= 10 ms", "p99")]),
        (over_time.rates, "rates_thresholds", [(-1.0, "expected received >= 9,900/s", "received")]),
        (throughput.megabytes, "megabytes_limits", [(5, "expected sent >= 5 MB/s", None)]),
    ],
)
def test_what_is_expected_is_a_line(make: Make, draw: Any, data: str, limits: Any) -> None:
    """In the figure of its quantity, in the colour of its concept; a difference from the target where that is drawn."""
    found = figure_of(make(expecting), draw).data[data]
    assert [(row["limit"], row["what"], row.get("concept")) for row in found] == limits


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
    """Weighted by how long each look was; two seconds of a run of twenty minutes are one point."""

    def long(_facts: Row, tables: Tables) -> None:
        look = {"process": "producer-0", "role": "producer", "scope": "interval", "duration_ns": 10**9}
        tables["resources"] = [row for row in tables["resources"] if row["scope"] == "measure"]
        tables["resources"] += [{**look, "second": at + 1.0, "cpu_cores": float(at % 2)} for at in range(1200)]

    rows = figure_of(make(long), machine.cpu).data["cpu"]
    assert len(rows) == 600
    assert rows[0] == {"s": 1.0, "series": "producers", "value": 0.5}


def looks(process: str, role: str, *cores: float | None, first: int = 0, **more: float) -> list[Row]:
    """A look at a process every second, from a second on."""
    return [
        {"process": process, "role": role, "scope": "interval", "second": first + at + 1.0, "duration_ns": 10**9}
        | {"cpu_cores": used, **more}
        for at, used in enumerate(cores)
        if used is not None
    ]


def test_roles_are_stacked_up_to_the_machine(make: Make) -> None:
    """Two producers are one; what the machine used besides is others'; a producer that has ended used nothing."""

    def busy(_facts: Row, tables: Tables) -> None:
        tables["resources"] = [
            *(row for row in tables["resources"] if row["scope"] == "measure"),
            *looks("producer-0", "producer", 0.25, 0.25, None, 0.25),
            *looks("producer-1", "producer", 0.5),
            *looks("broker-1", "broker", 0.5, 0.5, None, 0.5),
            *looks("lag", "lag", 0.125, 0.125, None, 0.125),
            *looks("host", "host", 1.5, 1.0, None, 0.5, steal_share=0.1),
        ]

    figure = figure_of(make(busy), machine.cpu)
    stacked: dict[str, list[float | None]] = {}
    for row in figure.data["cpu"]:
        stacked.setdefault(row["series"], []).append(row["value"])
    assert stacked == {
        "broker": [0.5, 0.5, None, 0.5],
        "producers": [0.75, 0.25, None, 0.25],
        "sampler, controller": [0.125, 0.125, None, 0.125],
        "other processes": [0.125, 0.125, None, 0.0],
        "steal": [0.2, 0.2, None, 0.2],
    }
    assert "What is left of the 2 cores was idle." in figure.about
    assert '"domain": [0, 2]' in json.dumps(figure.spec())


def test_waits_for_a_core_are_those_of_all_threads(make: Make) -> None:
    """The client's too; what a kernel does not count is no zero."""

    def waiting(_facts: Row, tables: Tables) -> None:
        look = {"process": "producer-0", "role": "producer", "scope": "interval", "duration_ns": 10**9}
        tables["resources"] = [row for row in tables["resources"] if row["scope"] == "measure"] + [
            {**look, "second": 1.0, "cpu_cores": 0.5, "run_delay_share": 0.1, "client_run_delay_share": 0.2},
            {**look, "second": 2.0, "cpu_cores": 0.5},
        ]

    rows = figure_of(make(waiting), machine.waiting).data["waiting"]
    assert rows == [{"s": 0.5, "series": "producers", "value": 0.3}, {"s": 1.5, "series": "producers", "value": None}]


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
