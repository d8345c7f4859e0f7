"""Figures of lag, backpressure, faults and recovery: what each draws, where its marks are, and what it leaves out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import vl_convert
from tests.report.conftest import (
    SECONDS,
    Change,
    Drawn,
    Make,
    altered,
    credited,
    fault,
    faulty,
    figure_of,
    hysteresis,
    lagging,
    recovered,
    walk,
)
from tests.report.test_pipeline import piped

from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures import backpressure, catalogue, lag, over_time, recovery, throughput
from streamgauge.report.figures.drawing.annotations import annotations_of
from streamgauge.report.figures.drawing.figure import Figure, FigureSource
from streamgauge.report.figures.drawing.sampled import MOST_POINTS, Line, present, within
from streamgauge.report.figures.drawing.thresholds import thresholds
from streamgauge.report.publish import tables_of
from streamgauge.result.schema import expectation_faults

pytestmark = pytest.mark.slow
"""Each draws figures of a run, which takes a third of a second."""

Row = dict[str, Any]
Tables = dict[str, list[Row]]

OF_LAG = {"lag", "time-lag", "partition-lag", "lag-heat"}
OF_POLICY = {"admission", "backlog"}
OVER_TIME = ("rates", "latency", "outstanding", "ack-latency", "schedule_delay", "cpu", "gc", "lag", "time-lag")


def points(figure: Figure, series: str, data: str | None = None) -> dict[float, float | None]:
    rows = figure.data[data or figure.name.replace("-", "_")]
    return {row["s"]: row["value"] for row in rows if row["series"] == series}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lagging, OF_LAG),
        (credited, OF_LAG | OF_POLICY | {"credit"}),
        (hysteresis, OF_LAG | OF_POLICY),
        (faulty, OF_LAG | {"recovery"}),
    ],
)
def test_only_what_a_run_has_is_drawn(drawn: Drawn, change: Any, names: set[str]) -> None:
    """Every figure that is there has a chart, data that are all named in it, and something to see."""
    found = drawn(change)
    plain = drawn()

    assert found.keys() - plain.keys() == names
    for name in names | set(OVER_TIME) & found.keys():
        figure = found[name]
        assert figure.missing is None, name
        named = {node["name"] for node in walk(figure.spec()) if isinstance(node, dict) and set(node) == {"name"}}
        assert named == set(figure.data), name
        scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
        assert any(f'"marktype": "{kind}"' in scene for kind in ("line", "rect", "area")), name
        json.dumps(figure.whole_spec(), allow_nan=False)


def test_three_lags_are_three_lines_that_are_never_mixed(drawn: Drawn) -> None:
    """As sampled and as replayed; a sample that failed is a gap, not a zero."""
    figure = drawn(lagging)["lag"]

    committed = points(figure, "committed lag")
    assert list(committed)[:3] == [-1.5, -1.0, -0.5]
    assert (committed[0.0], committed[0.5], committed[4.0]) == (1_300, None, 2_600)
    assert set(points(figure, "position lag").values()) == {130, None}
    assert points(figure, "outstanding")[1.0] == 3 * (10_000 - 2_400)
    assert {row["series"] for row in figure.data["lag"]} == {"committed lag", "position lag", "outstanding"}


@pytest.mark.parametrize(
    ("change", "limits"),
    [
        (credited, [{"limit": 5_000, "what": "limit 5,000"}]),
        (hysteresis, [{"limit": 3_000, "what": "max_lag 3,000"}, {"limit": 1_000, "what": "resume_lag 1,000"}]),
    ],
)
def test_limits_of_the_policy_are_lines_across(drawn: Drawn, change: Any, limits: list[Row]) -> None:
    """With their names; a run without a policy has none."""
    assert drawn(change)["lag"].data["lag_limits"] == limits
    assert "lag_limits" not in drawn(lagging)["lag"].data


@pytest.mark.parametrize(("most", "is_logarithmic"), [(20_000, False), (1_000_000, True)])
def test_lags_that_differ_by_decades_have_a_logarithmic_scale(make: Make, most: int, is_logarithmic: bool) -> None:
    """One that has a zero; otherwise the scale is linear, on which a slope is a rate."""

    def far(facts: Row, tables: Tables) -> None:
        credited(facts, tables)
        for row in tables["lag"]:
            row |= {"committed_lag": most, "position_lag": most}

    figure = figure_of(make(far), lag.lag)
    assert ('"type": "symlog"' in json.dumps(figure.spec())) == is_logarithmic
    assert figure.about.endswith("logarithmic, but linear near zero.") == is_logarithmic


def test_groups_of_a_pipeline_are_called_by_what_they_are(drawn: Drawn) -> None:
    """Their names are long, and differ at their ends only."""

    def through(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        piped(facts, tables)
        facts["groups"] = [{"id": 0, "name": "streamgauge-run-ab12"}, {"id": 1, "name": "streamgauge-run-ab12-query"}]
        tables["lag"] += [row | {"group": 1} for row in tables["lag"]]

    series = {row["series"] for row in drawn(through)["lag"].data["lag"]}
    assert {"committed lag, consumers", "committed lag, query"} <= series


def test_every_group_has_lines_of_its_own(drawn: Drawn) -> None:
    """Called by its name; colour tells the lag, the dash the group."""

    def two(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        facts["groups"].append({"id": 1, "name": "slow"})
        for name in ("lag", "outstanding"):
            tables[name] += [row | {"group": 1} for row in tables[name]]
        for row in tables["lag"]:
            row["position_lag"] = None if row["group"] else row["position_lag"]

    figures = drawn(two)
    series = list(dict.fromkeys(row["series"] for row in figures["lag"].data["lag"]))
    assert series == [
        "committed lag, g", "position lag, g", "outstanding, g", "committed lag, slow", "outstanding, slow"
    ]  # fmt: skip
    color, dash = (_scale(figures["lag"], channel) for channel in ("color", "strokeDash"))
    assert color["domain"] == dash["domain"] == series
    assert color["range"][0] == color["range"][3] != color["range"][2]
    assert dash["range"] == [[1, 0]] * 3 + [[6, 3]] * 2
    assert {row["series"] for row in figures["time-lag"].data["time_lag"]} == {"time lag, g", "time lag, slow"}


def _scale(figure: Figure, channel: str) -> Any:
    (found,) = [
        node[channel]["scale"]
        for node in walk(figure.spec())
        if isinstance(node, dict) and "scale" in node.get(channel, {})
    ]
    return found


def test_a_group_that_is_nobodys_is_that_of_a_run_that_only_produces(drawn: Drawn) -> None:
    """Its log grows, and no lag is known of it: nothing is drawn."""

    def alone(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        tables["outstanding"] = []
        for row in tables["lag"]:
            row.update({"group": None} | dict.fromkeys(("committed_lag", "position_lag", "worst_committed_lag")))
        for row in tables["lag_heat"]:
            row.update({"group": None} | dict.fromkeys(("committed_lag", "position_lag")))

    assert not OF_LAG & drawn(alone).keys()


def test_the_worst_partition_stands_beside_an_even_spread(drawn: Drawn, make: Make) -> None:
    """Of the sum of all; rows of single partitions are not even read."""
    figure = drawn(lagging)["partition-lag"]
    assert points(figure, "worst")[4.0] == 200
    assert points(figure, "mean")[4.0] == pytest.approx(2_600 / 12, rel=1e-3)
    folder = make(lagging)
    assert {row["scope"] for row in tables_of(folder, print)["lag"]} == {"group"}


def test_an_even_spread_is_one_over_the_partitions_that_the_group_reads(make: Make) -> None:
    """Not over those of other topics, or that `consume.partitions` leaves out; of one there is nothing to spread."""

    def reading(count: int) -> Change:
        def change(facts: Row, tables: Tables) -> None:
            lagging(facts, tables)
            tables["lag_heat"] = [row for row in tables["lag_heat"] if row["partition"] < count]

        return change

    figure = figure_of(make(reading(4)), lag.worst_partition)
    assert points(figure, "mean")[4.0] == pytest.approx(2_600 / 4, rel=1e-3)
    assert figure_of(make(reading(1)), lag.worst_partition).missing == "no lag of several partitions was sampled"


def test_an_age_of_nothing_is_a_gap(make: Make) -> None:
    """Nothing was waiting, so that nothing has an age."""

    def empty(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        for row in tables["outstanding"]:
            row["time_lag_ms"] = None if row["second"] < 0 else 0.0 if row["second"] < 1 else 12.345

    ages = points(figure_of(make(empty), lag.time_lag), "time lag")
    assert (ages[-0.5], ages[0.5]) == (None, None)
    assert ages[1.5] == pytest.approx(12.345, rel=1e-3)


@pytest.mark.parametrize(
    ("most_ms", "scale"),
    [
        (6.0, {"zero": True, "domainMax": 100.0, "nice": 4}),
        (450.0, {"zero": True, "domainMax": 450.0, "nice": 4}),
        (90_000.0, {"type": "symlog", "constant": 100.0, "domain": [0, 180_000.0], "nice": False}),
    ],
)
def test_a_jitter_of_the_time_lag_looks_small(make: Make, most_ms: float, scale: Row) -> None:
    """The axis ends at 100 ms at least; only where it is far longer it is logarithmic, and linear below that."""

    def aged(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        for row in tables["outstanding"]:
            row["time_lag_ms"] = most_ms if row["second"] > 3 else 4.0

    spec = figure_of(make(aged), lag.time_lag).spec()
    scales = [layer["encoding"].get("y", {}).get("scale") for layer in spec["layer"]]
    assert scale in scales


def test_each_partition_has_a_row_of_the_heat_map(make: Make) -> None:
    """Those that were furthest behind, where there are too many; nothing new where none was behind."""

    def many(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        cell = tables["lag_heat"][0]
        tables["lag_heat"] = [cell | {"partition": at, "committed_lag": 100 + at} for at in range(60)]

    def kept_up(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        for row in tables["lag_heat"]:
            row["committed_lag"] = 7

    figure = figure_of(make(lagging), lag.heat_map)
    assert len(figure.data["lag_heat"]) == 12 * (SECONDS + 2)
    assert figure.data["lag_heat"][0] == {"from": -2, "to": -1, "partition": "0", "lag": 100}
    assert figure.nothing_new is None
    cut = figure_of(make(many), lag.heat_map)
    assert {row["lag"] for row in cut.data["lag_heat"]} == set(range(112, 160))
    assert cut.about.endswith("The 48 of 60 that were furthest behind are shown.")
    assert figure_of(make(kept_up), lag.heat_map).nothing_new == "No partition was more than 10 messages behind."


def test_outstanding_messages_are_folded_where_the_lag_has_them(drawn: Drawn) -> None:
    """Twice the same line tells nothing new."""
    assert drawn(lagging)["outstanding"].nothing_new == "Lag over time shows the same line, in more detail."
    assert drawn()["outstanding"].nothing_new is None


def test_what_is_expected_of_a_lag_is_a_limit(make: Make) -> None:
    """Beside those of the policy."""

    def expecting(facts: Row, tables: Tables) -> None:
        credited(facts, tables)
        facts["scenario"]["expect"] = {
            "lag.committed.max": "<= 1500", "lag.outstanding.final": "<= 100", "lag.position.final": 0,
        }  # fmt: skip

    limits = figure_of(make(expecting), lag.lag).data["lag_limits"]
    assert limits[1:] == [
        {"limit": 1_500, "what": "expected committed lag <= 1,500"},
        {"limit": 100, "what": "expected outstanding <= 100"},
    ]


def test_figures_look_for_expectations_by_paths_of_the_result(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another one no line would ever be found."""
    looked_for: dict[str, str] = {}

    def looking(source: FigureSource, paths: Mapping[str, str], *words: str, **units: str) -> Any:
        looked_for.update(dict.fromkeys(paths, "<= 1"))
        return thresholds(source, paths, *words, **units)

    for module in (lag, over_time, throughput):
        monkeypatch.setattr(module, "thresholds", looking)
    folder = make(lagging)
    assert catalogue.figures(assemble(folder), tables_of(folder, print))

    assert {path.partition(".")[0] for path in looked_for} == {"lag", "latency", "throughput"}
    assert expectation_faults(looked_for) == []


def test_load_is_offered_admitted_and_processed_at_rates(drawn: Drawn) -> None:
    """By the time between two rows, at the end of it."""
    figure = drawn(credited)["admission"]
    assert list(points(figure, "offered"))[:2] == [-1.0, -0.5]
    assert set(points(figure, "offered").values()) == {10_000}
    assert set(points(figure, "admitted").values()) == {2_500}
    assert set(points(figure, "processed").values()) == {2_400}
    assert "admission_paused" not in figure.data


def test_pauses_of_hysteresis_are_shaded(drawn: Drawn) -> None:
    """From the rows: nothing was let go while messages were waiting."""
    figure = drawn(hysteresis)["admission"]
    assert figure.data["admission_paused"] == [{"from": 3.0, "to": 5.0}]
    assert "Shaded" in figure.about


@pytest.mark.parametrize(
    ("load_ends", "spans"), [(10.0, [{"from": 3.0, "to": 5.0}]), (4.0, [{"from": 3.0, "to": 4.0}])]
)
def test_without_a_schedule_something_is_always_waiting(make: Make, load_ends: float, spans: list[Row]) -> None:
    """As long as the load lasts."""

    def unpaced(facts: Row, tables: Tables) -> None:
        hysteresis(facts, tables)
        for row in tables["outstanding"]:
            row |= {"due": None, "backlog": None}

    folder = make(unpaced)
    result = altered(assemble(folder), "throughput.measured_seconds", load_ends)
    figures = {figure.name: figure for figure in catalogue.figures(result, tables_of(folder, print))}
    assert figures["admission"].data["admission_paused"] == spans
    assert {row["series"] for row in figures["admission"].data["admission"]} == {"admitted", "processed"}
    assert "backlog" not in figures


def test_credit_in_use_is_exact_to_the_message(make: Make) -> None:
    """Under the limit; of several groups the largest."""

    def two(facts: Row, tables: Tables) -> None:
        credited(facts, tables)
        facts["groups"].append({"id": 1, "name": "slow"})
        tables["outstanding"] += [
            row | {"group": 1, "credits_used_max": 4_999, "outstanding": row["outstanding"] - 1}
            for row in tables["outstanding"]
        ]

    figure = figure_of(make(two), backpressure.credit)
    assert set(points(figure, "credits used").values()) == {4_999}
    assert set(points(figure, "outstanding").values()) == {4_990}
    assert figure.data["credit_limits"] == [{"limit": 5_000, "what": "limit 5,000"}]


def test_what_waits_to_be_sent_stands_beside_what_waits_to_be_processed(drawn: Drawn) -> None:
    figure = drawn(credited)["backlog"]
    assert points(figure, "due and not sent")[2.0] == 4 * 7_500
    assert points(figure, "outstanding")[2.0] == 400


def test_a_long_run_keeps_its_peaks(make: Make) -> None:
    """Each point is the largest of several values, and stands where that was; the figure says so."""

    def long(facts: Row, tables: Tables) -> None:
        credited(facts, tables)
        row = tables["outstanding"][0]
        tables["outstanding"] = [
            row | {"second": at / 10, "outstanding": 7 if at == 1_234 else 1, "backlog": 1}
            for at in range(3 * MOST_POINTS)
        ]

    figure = figure_of(make(long), backpressure.backlog)
    found = points(figure, "outstanding")
    assert len(found) == MOST_POINTS
    assert [second for second, value in found.items() if value == 7] == [123.4]
    assert figure.about.endswith("Each point is the maximum of 3 values.")


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(1.0, 5.0), (2.0, 6.0)], [(1.0, 5.0), (2.0, 6.0)]),
        ([(-2.0, 500.0), (-1.0, 40.0), (1.0, 30.0)], [(0.0, 35.0), (1.0, 30.0)]),
        ([(9.0, 1.0), (11.0, 3.0), (40.0, 900.0)], [(9.0, 1.0), (10.0, 2.0)]),
        ([(-5.0, 0.0), (15.0, 20.0)], [(0.0, 5.0), (10.0, 15.0)]),
        ([(-1.0, None), (1.0, 2.0), (2.0, None), (12.0, 3.0)], [(1.0, 2.0), (2.0, None)]),
        ([(0.0, 1.0), (10.0, 2.0)], [(0.0, 1.0), (10.0, 2.0)]),
        ([(-3.0, 1.0)], []),
        ([], []),
    ],
)
def test_what_lies_outside_of_the_run_makes_no_axis_longer(
    points: list[tuple[float, float | None]], expected: list[tuple[float, float | None]]
) -> None:
    """A line that crosses an end of the time has a point there; what is not known stays so."""
    assert within(points, 0.0, 10.0) == expected
    assert [line.points for line in present([Line("x", "red", points)], (0.0, 10.0))] == (
        [expected] if any(value is not None for _, value in expected) else []
    )


def test_what_is_not_known_does_not_hide_what_is() -> None:
    """A gap is left only where nothing is known."""
    points_of = [(float(at), None if at % 2 else 0) for at in range(2 * MOST_POINTS)]
    assert {row["value"] for row in Line("x", "red", points_of).rows()} == {0}
    assert Line("x", "red", [(0.0, None)]).rows() == [{"s": 0.0, "series": "x", "value": None}]


def test_faults_are_marked_in_every_figure_over_time(drawn: Drawn) -> None:
    """From begin to end, with their names; what was done to several at once is one, what failed is none."""
    figures = drawn(faulty)
    for name in OVER_TIME:
        assert figures[name].data["annotations"] == [
            {"from": 3.0, "to": 5.0, "what": "pause consumer-0 and consumer-1", "level": 0},
            {"from": 7.0, "to": 7.0, "what": "kill consumer-1", "level": 1},
        ], name
        assert '"field": "what"' in json.dumps(figures[name].spec())
    assert "annotations" not in figures["percentiles"].data
    assert "annotations" not in drawn(lagging)["lag"].data


ANNOTATIONS = [
    ([], []),
    ([fault(2.0, "kill", "broker-1")], [(2.0, 2.0, "kill broker-1")]),
    # What never ended lasts until the end, what began before the run from its begin on.
    ([fault(2.0, "pause", "consumer-0")], [(2.0, 9.0, "pause consumer-0")]),
    ([fault(2.0, "delay", "consumers", "end", detail="0s")], [(-1.0, 2.0, "delay")]),
    ([fault(2.0, "pause", "consumer-0", error="gone")], []),
    (
        [fault(5.0, "delay", "consumers", detail="8ms"), fault(2.0, "delay", "consumers", detail="4ms")],
        [(2.0, 5.0, "delay 4ms"), (5.0, 9.0, "delay 8ms")],
    ),
    (
        [
            fault(0.0, "burst", "producers", detail="15k/s"), fault(3.0, "burst", "producers", "end", detail="5k/s"),
            fault(6.0, "burst", "producers", detail="15k/s"), fault(8.0, "burst", "producers", "end", detail="5k/s"),
        ],
        [(0.0, 3.0, "burst 15k/s"), (6.0, 8.0, "burst 15k/s")],
    ),
    ([fault(2.0, "kill", f"consumer-{each}") for each in range(5)], [(2.0, 2.0, "kill 5 processes")]),
    (
        [fault(2.0, "delay", "clients-broker-1", detail="50ms"), fault(4.0, "delay", "clients-broker-1", "end")],
        [(2.0, 4.0, "delay clients-broker-1 50ms")],
    ),
    (
        [fault(2.0, "kill", "consumer-0"), fault(2.5, "kill", "consumer-1")],
        [(2.0, 2.0, "kill consumer-0"), (2.5, 2.5, "kill consumer-1")],
    ),
    # A broker that is killed may be started again, and killed again; a consumer is not.
    (
        [
            fault(2.0, "kill", "broker-1"), fault(4.0, "kill", "broker-1", "end"), fault(6.0, "kill", "broker-1"),
            fault(1.0, "kill", "consumer-0"), fault(7.0, "kill", "consumer-0"),
        ],
        [
            (1.0, 1.0, "kill consumer-0"), (2.0, 4.0, "kill broker-1"), (6.0, 6.0, "kill broker-1"),
            (7.0, 7.0, "kill consumer-0"),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("faults", "annotations"), ANNOTATIONS)
def test_a_mark_lasts_from_begin_to_end(faults: list[Row], annotations: list[tuple[float, float, str]]) -> None:
    """In the order of their begins."""
    assert [(row["from"], row["to"], row["what"]) for row in annotations_of(faults, -1.0, 9.0)] == annotations


def test_names_of_marks_do_not_lie_on_each_other() -> None:
    """Each takes the first line in which there is room; where there is none the last has to do."""
    faults = [fault(at, "kill", f"consumer-{at:.0f}") for at in (1.0, 2.0, 50.0, 51.0, 52.0, 53.0, 54.0, 90.0)]
    assert [row["level"] for row in annotations_of(faults, 0.0, 100.0)] == [0, 1, 0, 1, 2, 3, 3, 0]


def test_many_marks_have_no_room_for_their_names(drawn: Drawn, make: Make) -> None:
    """Their tooltips have them, and the table."""

    def often(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        tables["faults"] = [fault(float(at), "kill", f"consumer-{at}") for at in range(SECONDS)]

    spec = figure_of(make(often), lag.lag).spec()
    texts = [node for node in walk(spec) if isinstance(node, dict) and node.get("mark", {}) == "text"]
    assert texts == []
    assert not [node for node in walk(spec) if isinstance(node, dict) and node.get("type") == "text"]
    named = drawn(faulty)["lag"].spec()
    assert [node for node in walk(named) if isinstance(node, dict) and node.get("type") == "text"]


def test_a_recovery_is_shown_around_its_cause(drawn: Drawn) -> None:
    """With floor, tolerance, peak, and when it was back; what was not drained says so and is shown to the end."""
    figure = drawn(faulty)["recovery"]

    back, never = figure.data["recovery_marks"]
    assert back == {
        "cause": "pause of consumers, over at 5 s", "began": 3.0, "ended": 5.0, "floor": 40.0, "low": 0.0,
        "high": 100.0,
        "peak": 20_120.0, "peak_second": 5.25, "at_peak": "peak 20,123", "drained": 7.25, "drain": "drained in 2.25 s",
    }  # fmt: skip
    assert (never["drained"], never["drain"]) == (None, "not drained by the end")
    shown = [row["s"] for row in figure.data["recovery"] if row["cause"] == back["cause"]]
    assert (min(shown), max(shown)) == (1.0, 9.0)
    assert {row["series"] for row in figure.data["recovery"]} == {"outstanding", "committed lag"}
    assert max(row["s"] for row in figure.data["recovery"] if row["cause"] == never["cause"]) == SECONDS


def test_a_cause_that_held_from_the_begin_on_is_shown_from_there(make: Make) -> None:
    """And what is not known of a recovery is left out of the chart."""

    def from_the_begin(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        unknown = dict.fromkeys(("began_second", "floor", "tolerance", "peak", "peak_second", "time_to_drain_s"))
        tables["recovery"] = [recovered("outstanding", 1.0) | unknown | {"detail": "4ms", "cause": "delay"}]

    figure = figure_of(make(from_the_begin), recovery.recovery)
    (mark,) = figure.data["recovery_marks"]
    assert (mark["cause"], mark["began"], mark["ended"]) == ("delay of consumers 4ms, over at 5 s", -1.5, 5.0)
    assert mark["floor"] is mark["peak"] is mark["at_peak"] is mark["drained"] is None
    fields = {node["field"] for node in walk(figure.spec()) if isinstance(node, dict) and "field" in node}
    assert not fields & {"floor", "low", "high", "peak", "drained"}
    vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True)


def test_of_several_groups_the_one_that_was_hit_hardest_is_shown(make: Make) -> None:
    """And as many causes as can be read; the figure says what it leaves out."""

    def often(facts: Row, tables: Tables) -> None:
        lagging(facts, tables)
        tables["recovery"] = [
            recovered("outstanding", 0.5) | {"group": group, "peak": peak, "ended_second": 5.0 + cause}
            for cause in range(6)
            for group, peak in ((1, 10.0), (0, 11.0))
        ]

    figure = figure_of(make(often), recovery.recovery)
    assert [mark["peak"] for mark in figure.data["recovery_marks"]] == [11.0] * 4
    assert figure.about.endswith("The first 4 of 6 causes are shown.")
