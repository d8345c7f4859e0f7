"""The time that all figures share: from where to where, what is cut, what is a gap, and what is marked on it."""

from functools import partial
from typing import Any

import pytest
from tests.report.conftest import Drawn, Make, faulty, hysteresis
from tests.report.seen import phased

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures.drawing.causes import MOST_CAUSES, collections
from streamgauge.report.figures.drawing.figure import FigureSource
from streamgauge.report.figures.drawing.timeline import phases, source_of, timeline

Row = dict[str, Any]
Tables = dict[str, list[Row]]

with_drain = partial(phased, drain_s=2)


def params(spec: Row) -> Row:
    """The parameters of a chart that are numbers."""
    return {each["name"]: each["value"] for each in spec.get("params", ()) if "value" in each}


def layers(spec: Row, mark: str) -> list[Row]:
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == mark]


def test_every_figure_over_time_has_the_same_time(drawn: Drawn) -> None:
    """From the begin of the warm-up to the end of the drain, and nothing is drawn outside of it."""
    figures = drawn(faulty, with_drain)
    specs = {name: figure.spec() for name, figure in figures.items() if figure.missing is None}
    over_time = {name: spec for name, spec in specs.items() if "time_from" in params(spec)}
    assert {"rates", "latency", "lag", "cpu", "heat", "schedule_delay"} <= set(over_time)
    for name, spec in over_time.items():
        assert params(spec) == {"time_from": -2.0, "time_to": 12.0}, name
        for layer in spec["layer"]:
            if "field" in layer["encoding"].get("x", {}):
                scale = layer["encoding"]["x"]["scale"]
                assert (scale["domainMin"], scale["domainMax"]) == ({"expr": "time_from"}, {"expr": "time_to"}), name
            # Names of phases stand above the plot.
            assert layer["mark"]["clip"] == (layer["mark"].get("baseline") != "bottom"), name


def test_warm_up_and_drain_are_named(drawn: Drawn) -> None:
    """Each by its word, above its shade."""
    spec = drawn(with_drain)["rates"].spec()
    steps = [step.get("calculate", "") for layer in layers(spec, "text") for step in layer["transform"]]
    assert [word for word in ("warm-up", "drain") if any(f"'{word}'" in step for step in steps)] == ["warm-up", "drain"]


def test_a_second_without_a_row_is_a_gap(make: Make) -> None:
    """And so is one whose figures are not known: no line leads over them."""

    def lacking(_facts: Row, tables: Tables) -> None:
        for name in ("throughput", "latency"):
            tables[name] = [row for row in tables[name] if row.get("second") not in {4, 5}]

    rows = timeline(assemble(make(lacking)), ())
    assert [row["s"] for row in rows] == [-2, -1, 0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert set(rows[6].values()) == {4, None}


def test_no_line_leads_over_what_is_not_known(drawn: Drawn) -> None:
    """No row is filtered away: a null ends a line."""
    for name in ("rates", "latency"):
        (lines,) = layers(drawn()[name].spec(), "line")
        assert not any("filter" in step for step in lines["transform"]), name


def test_the_last_second_of_a_run_is_no_fall(make: Make) -> None:
    """It is cut, and so has no rate; the second before has its own."""

    def cut(facts: Row, tables: Tables) -> None:
        facts["phases"] = [{"name": "measure", "from_ns": 0, "to_ns": 9_033_000_000}]
        for row in tables["throughput"]:
            if row["scope"] == "window" and row["second"] == 9:
                row |= {"sent": 330, "acked": 330, "received": 330}

    rows = {row["s"]: row for row in timeline(assemble(make(cut)), ())}
    assert (rows[9]["sent"], rows[9]["acked"], rows[9]["received"]) == (None, None, None)
    assert rows[8]["received"] == 10_000


def test_what_was_recorded_after_the_load_of_a_failed_run_is_its_drain(make: Make) -> None:
    """Nobody noted a drain, as it did not come to its end; figures show the time until the run ended."""

    def failed(facts: Row, tables: Tables) -> None:
        facts["phases"] = [{"name": "measure", "from_ns": 0, "to_ns": 10 * 10**9}]
        last = next(row for row in tables["throughput"] if row["scope"] == "window" and row["second"] == 9)
        tables["throughput"] += [{**last, "second": second, "sent": 0} for second in (10, 11, 12)]

    result = assemble(make(failed))
    assert phases(result) == [{"from": 10.0, "to": 13.0, "phase": "drain"}]
    assert source_of(result, {}).span == (0.0, 13.0)
    assert [row["sent"] for row in timeline(result, ()) if row["s"] >= 9] == [10_000, 0, 0, 0]


@pytest.fixture(name="any_result", scope="module")
def _any_result(healthy: RunFolder) -> Any:
    return assemble(healthy)


def pause(second: float, ms: float) -> Row:
    return {"process": "broker-1", "at_ns": 1, "second": second, "kind": "Young", "pause_ms": ms}


@pytest.mark.parametrize(
    ("pauses", "expected"),
    [
        ([], []),
        ([pause(2.0, 9.9)], []),
        ([pause(2.0, 10.0), pause(1.0, 250.0)], [(0.75, 1.0), (1.99, 2.0)]),
        ([pause(0.0, 90.0)], [(-0.09, 0.0)]),
        ([pause(at, 10.0 + at) for at in range(MOST_CAUSES + 1)], [(at - 0.01 - at / 1e3, at) for at in range(1, 201)]),
    ],
)
def test_long_pauses_of_collectors_are_marked(any_result: Any, pauses: list[Row], expected: list[Any]) -> None:
    """From their begin to their end; of many the longest."""
    found = collections(FigureSource(any_result, {"gc": pauses}, (), ()))
    assert [(row["from"], row["to"]) for row in found] == [
        (pytest.approx(begin, abs=0.006), end) for begin, end in expected
    ]
    assert all(row["what"].startswith("GC pause of broker-1, ") for row in found)


@pytest.mark.parametrize(("partitions", "moved"), [(1, "1 partition"), (3, "3 partitions")])
def test_rebalances_are_marked_where_they_are_felt(drawn: Drawn, partitions: int, moved: str) -> None:
    """On the end-to-end latency, over the second in which the partitions went over; nobody acknowledges later."""

    def rebalance(_facts: Row, tables: Tables) -> None:
        tables["rebalances"] = [{"second": 2, "group": 0, "partitions": partitions}]

    figures = drawn(rebalance)
    (cause,) = (row for row in figures["latency"].data["latency_causes"] if row["cause"] == "rebalance")
    assert (cause["from"], cause["to"]) == (2, 3)
    assert cause["what"].startswith(f"rebalance: {moved} of ")
    assert cause["what"].endswith(" moved to another consumer")
    assert "rebalance" not in {row["cause"] for row in figures["ack-latency"].data.get("ack-latency_causes", ())}


def test_pauses_by_a_policy_are_marked_on_the_latency(drawn: Drawn) -> None:
    """Beside those of collectors, each with a sign of its own."""
    figure = drawn(hysteresis)["latency"]
    causes = [(row["cause"], row["from"], row["to"]) for row in figure.data["latency_causes"]]
    assert causes[0] == ("GC pause", -1.09, -1.0)
    assert ("producers paused", 3.0, 5.0) in causes
    (signs,) = layers(figure.spec(), "point")
    assert signs["encoding"]["shape"]["scale"]["domain"] == ["GC pause", "producers paused"]
