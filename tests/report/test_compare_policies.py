"""Figures that compare policies and recoveries: which runs, which data, and what theory says beside them."""

import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
import vl_convert
from tests.report.conftest import but, recovered

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.figures.compare import (
    LabelledRun,
    cdfs,
    compare,
    credit_utilisation,
    overshoot,
    policy_summary,
    policy_timeline,
    recoveries,
)
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.result.model.pressure import BackpressureSection, LagSection
from streamgauge.result.reading import result_of

Row = dict[str, Any]
Make = Callable[..., RunFolder]
Run = Callable[..., LabelledRun]

CREDIT: Row = {
    **dict.fromkeys(BackpressureSection.model_fields), "policy": "credit", "limit": 5_000, "poll_ms": 1.0,
    "decisions": 9, "reasons": {},
}  # fmt: skip
TIGHT: Row = CREDIT | {"policy": "hysteresis", "resume": 1_000}
LAG: Row = {**dict.fromkeys(LagSection.model_fields), "samples": 0, "failed": 0, "groups": [], "reasons": {}}
POLICIES: dict[str, Row] = {
    "credit": {"credit": {"limit": 5_000, "poll": "1ms"}},
    "hysteresis": {"hysteresis": {"max_lag": 5_000, "resume_lag": 1_000, "poll": "100ms"}},
}
OVERSHOOT: Row = {"sampling_s": 0.5, "peak": 9_700, "theory": 9_712.5, "max_lag": 5_000}
UTILISATION: list[Row] = [
    {"limit": 5_000, "partitioning": "sticky", "utilisation": 0.9812, "model": 0.98},
    {"limit": 50, "partitioning": "sticky", "utilisation": 0.44, "model": 0.45},
    {"limit": 50, "partitioning": "round robin", "utilisation": None, "model": 0.999},
]


@pytest.fixture
def run(healthy: RunFolder) -> Run:
    """A maker of runs: `run(label, policy, processed=..., outstanding=[...])`."""
    good = json.loads(healthy.result.read_text(encoding="utf-8"))

    def made(label: str, policy: Row | None = None, processed: float = 2_400.0, **more: Any) -> LabelledRun:
        result = deepcopy(good)
        if policy:
            result["run"]["scenario"]["backpressure"] = POLICIES[policy["policy"]]
            result["run"]["scenario"]["lag"] = {"every": "200ms"}
        result["throughput"]["processed_per_second"] = processed
        for row in result["timeline"]:
            row["committed_lag"] = more.get("committed", 900)
            row["outstanding"] = more.get("outstanding", 40)
        lag = LAG | {"committed": peak(more.get("peak", 9_000)), "outstanding": peak(more.get("outstanding", 40))}
        sections = {"backpressure": policy, "lag": lag, "recovery": more.get("recovery")}
        return LabelledRun(label, result_of(result | sections))

    return made


def peak(messages: int) -> Row:
    return {"max": messages, "max_second": 0.0, "final": None, "mean": None}


def several(run: Run) -> list[LabelledRun]:
    return [run("off", processed=2_500.0, outstanding=200_000), run("tight", TIGHT, 1_900.0), run("credit", CREDIT)]


def walk(node: object) -> Iterator[object]:
    yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from walk(child)


def back(**more: Any) -> list[Row]:
    return [recovered("outstanding", 2.25) | {"group": "g", "reasons": {}} | more]


@pytest.mark.slow
def test_every_figure_is_drawn_from_data_that_are_all_there(run: Run) -> None:
    """Each dataset is named in the chart, has the same columns in every row, and Vega-Lite draws something of it."""
    figures = [
        policy_timeline(several(run)),
        policy_timeline([run("off")]),
        policy_summary(several(run)),
        recoveries([run("a", recovery=back()), run("b", recovery=back(time_to_drain_s=None))]),
        recoveries([run("b", recovery=back(time_to_drain_s=None))]),
        cdfs(several(run)),
        overshoot([OVERSHOOT, OVERSHOOT | {"sampling_s": 2.0, "peak": 20_000}]),
        credit_utilisation(UTILISATION),
    ]
    for figure in figures:
        assert figure.missing is None, figure.name
        assert figure.about
        named = {node["name"] for node in walk(figure.spec()) if isinstance(node, dict) and set(node) == {"name"}}
        assert named == set(figure.data), figure.name
        for rows in figure.data.values():
            assert len({tuple(row) for row in rows}) == 1
        scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
        assert '"marktype": "line"' in scene or '"marktype": "rect"' in scene
        json.dumps(figure.whole_spec(), allow_nan=False)


def test_policies_are_compared_second_by_second_with_their_limits(run: Run) -> None:
    """A credit limits what is outstanding, hysteresis looks at committed lag."""
    figure = policy_timeline(several(run))
    assert figure.data["policies"][0] == {
        "s": -2, "series": "off", "outstanding": 200_000, "committed_lag": 900, "sent": 10_000
    }  # fmt: skip
    limits = {
        name: [(row["limit"], row["what"]) for row in rows] for name, rows in figure.data.items() if "lim" in name
    }
    assert limits == {
        "policies_limits_outstanding": [(5_000, "credit: limit 5,000")],
        "policies_limits_committed_lag": [(5_000, "tight: max_lag 5,000"), (1_000, "tight: resume_lag 1,000")],
    }
    panels = figure.spec()["vconcat"]
    assert len(panels) == 3
    assert ["symlog" in json.dumps(panel) for panel in panels] == [True, True, False]


def test_a_lag_that_no_run_has_is_no_panel(run: Run) -> None:
    """As in results of older versions."""
    older = run("off")
    seconds = [row.model_dump(exclude={"committed_lag"}) for row in older.result.timeline]
    figure = policy_timeline([but(older, {"timeline": seconds})])
    assert len(figure.spec()["vconcat"]) == 2
    assert "committed" not in json.dumps(figure.spec())


def test_policies_are_summed_up_in_five_panels(run: Run) -> None:
    """Utilisation is what was processed by what was processed without a policy."""
    data = policy_summary(several(run)).data
    assert [(row["run"], row["series"], row["value"]) for row in data["policy_summary_peak"]][:3] == [
        ("off", "outstanding", 200_000), ("off", "committed lag", 9_000), ("tight", "outstanding", 40),
    ]  # fmt: skip
    assert [tuple(row[name] for name in ("run", "value", "shown")) for row in data["policy_summary_utilisation"]] == [
        ("off", 1.0, "100 %"), ("tight", 0.76, "76 %"), ("credit", 0.96, "96 %"),
    ]  # fmt: skip
    assert {row["value"] for row in data["policy_summary_delivered"]} == {1.0}
    assert {row["value"] for row in data["policy_summary_p99"]} == {6.0}
    assert {(row["value"], row["shown"]) for row in data["policy_summary_sent"]} == {(10_000, "10,000")}


def test_without_a_free_run_there_is_no_utilisation(run: Run) -> None:
    """Capacity is that of the same session, or it is not known."""
    data = policy_summary([run("tight", TIGHT), run("credit", CREDIT)]).data
    assert "policy_summary_utilisation" not in data
    assert "policy_summary_peak" in data


def test_what_was_delivered_twice_was_delivered(run: Run) -> None:
    """A message counts once, however often it came."""
    free = run("off")
    sent = free.result.delivery.sent or 0
    counts = {"delivered_once": sent - 70, "duplicate_consumer": 50, "duplicate_producer": 20}
    twice = but(free, {f"delivery.{name}": count for name, count in counts.items()})

    assert [row["value"] for row in policy_summary([twice]).data["policy_summary_delivered"]] == [1.0]


def test_what_was_never_delivered_makes_a_tail_uncertain(run: Run) -> None:
    """And the share that was delivered smaller."""
    free = run("off")
    tail = {f"latency.end_to_end.response.{name}": value for name, value in (("p99_ms", 35_000.0), ("p99_hi_ms", None))}
    free = but(free, tail | {"delivery.delivered_once": (free.result.delivery.sent or 0) // 4})
    figure = policy_summary([free, run("credit", CREDIT)])
    assert [row["shown"] for row in figure.data["policy_summary_p99"]] == ["> 35,000", "6.00"]
    assert [row["shown"] for row in figure.data["policy_summary_delivered"]] == ["25 %", "100 %"]
    assert "never arrived" in figure.about


def test_recoveries_begin_where_their_cause_is_over(run: Run) -> None:
    """Second s ends at s + 1; the first cause of each run, by what is outstanding."""
    twice = back(ended_second=8.0) + back(quantity="committed_lag", time_to_drain_s=9.0) + back()
    figure = recoveries([run("a", recovery=twice), run("never", recovery=back(time_to_drain_s=None)), run("none")])
    rows = [row for row in figure.data["recoveries"] if row["series"] == "a"]
    assert rows[0] == {"since": -6.0, "series": "a", "outstanding": 40}
    assert figure.data["recoveries_drained"] == [
        {"since": 2.25, "series": "a", "outstanding": 100.0, "shown": "2.25 s"}
    ]
    assert {row["series"] for row in figure.data["recoveries"]} == {"a", "never"}
    most = max(row["outstanding"] for row in rows)
    peak = next(row for row in rows if row["outstanding"] == most)
    assert figure.data["recoveries_peak"][0] == {**peak, "shown": f"peak {most:,}"}
    assert [row["series"] for row in figure.data["recoveries_peak"]] == ["a", "never"]
    assert figure.about.endswith("Not drained by the end: never.")


def test_shares_of_messages_end_below_all_where_some_never_came(run: Run) -> None:
    figure = cdfs([run("bench")])
    assert figure.data["cdfs"] == [
        {"ms": 1.0, "series": "bench", "share": 0.01},
        {"ms": 100.0, "series": "bench", "share": 1.0},
    ]
    assert "below 100 %" in figure.about


def test_theory_of_the_overshoot_is_a_line_through_all_intervals() -> None:
    """In the order of the intervals; the limit is a line across."""
    figure = overshoot([OVERSHOOT | {"sampling_s": 2.0, "peak": 20_000, "theory": 21_112.0}, OVERSHOOT])
    assert [(row["sampling_s"], row["peak"]) for row in figure.data["overshoot_theory"]] == [
        (0.5, 9_712),
        (2.0, 21_110),
    ]
    assert [row["peak"] for row in figure.data["overshoot_measured"]] == [20_000, 9_700]
    assert figure.data["overshoot_limits"] == [{"limit": 5_000, "what": "max_lag 5,000"}]


def test_utilisation_is_measured_beside_a_model() -> None:
    """What is not known is left out; limits in their order."""
    data = credit_utilisation(UTILISATION).data
    assert [(row["series"], row["limit"], row["utilisation"]) for row in data["credit_utilisation_measured"]] == [
        ("sticky", 50, 0.44), ("sticky", 5_000, 0.9812),
    ]  # fmt: skip
    assert [(row["series"], row["utilisation"]) for row in data["credit_utilisation_theory"]] == [
        ("round robin", 0.999), ("sticky", 0.45), ("sticky", 0.98),
    ]  # fmt: skip


def no_seconds(run: Run) -> list[LabelledRun]:
    return [but(run("a"), {"timeline": []})]


def nothing(run: Run) -> list[LabelledRun]:
    rates = ("throughput.processed_per_second", "throughput.sent_per_second")
    nulls = ("latency.end_to_end.response", "latency.end_to_end.service", *rates, "lag")
    return [but(run("a"), {**dict.fromkeys(nulls), "delivery.sent": 0})]


@pytest.mark.parametrize(
    ("draw", "results", "missing"),
    [
        (policy_timeline, no_seconds, "there is no data"),
        (policy_summary, nothing, "none of the runs has any of these"),
        (recoveries, nothing, "none of the runs had a fault"),
        (cdfs, nothing, "none of the runs has such a latency"),
    ],
)
def test_a_figure_that_cannot_be_drawn_says_why(
    run: Run, draw: Callable[[Sequence[LabelledRun]], Figure], results: Callable[[Run], list[LabelledRun]], missing: str
) -> None:
    """And has no chart."""
    figure = draw(results(run))
    assert (figure.missing, figure.chart) == (missing, None)


@pytest.mark.parametrize("draw", [policy_timeline, policy_summary, recoveries, cdfs, overshoot, credit_utilisation])
def test_nothing_to_compare_is_a_fault(draw: Callable[[Sequence[Any]], object]) -> None:
    """Said in words."""
    with pytest.raises(ValueError, match=r"there is no (result|peak|utilisation) to compare; give at least one"):
        draw([])


def test_runs_that_differ_in_their_policy_alone_are_compared_by_it(run: Run) -> None:
    """How often lag is sampled is no matter; another rate is."""
    other = but(run("other", CREDIT), {"run.scenario.load.rate": "1/s"})
    figures = compare([*several(run), other])
    assert list(figures) == ["baseline-timeline", "lag-timeline", "policy-timeline", "policy-summary", "pauses"]
    assert {row["series"] for row in figures["policy-timeline"].data["policies"]} == {"off", "tight", "credit"}
    assert not {"policy-timeline", "policy-summary"} & compare([run("a"), run("b")]).keys()


def test_runs_that_recovered_are_compared_with_the_others(run: Run) -> None:
    """Shares of messages of all, as far as the recovery of some."""
    figures = compare([run("bench"), run("recovery", recovery=back())])
    assert list(figures) == ["baseline-timeline", "lag-timeline", "recoveries", "cdfs", "pauses"]
    assert {row["series"] for row in figures["cdfs"].data["cdfs"]} == {"bench", "recovery"}
