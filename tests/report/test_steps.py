"""The steps of a load in the result, and in every form of the report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import vl_convert
from tests.report.conftest import bounds, changed, figure_of, stepping, told
from tests.report.test_bad_runs import every, frozen, scenario
from tests.report.test_result import throttled

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures import throughput
from streamgauge.report.pages import details
from streamgauge.report.pages.belief import Doubted
from streamgauge.report.pages.html import to_html
from streamgauge.report.pages.markdown import to_markdown
from streamgauge.report.pages.terminal import summary
from streamgauge.result.schema import json_schema

Make = Callable[..., RunFolder]
P99 = "latency.end_to_end.response.p99_ms"


def test_each_step_is_told_for_itself(tmp_path: Path) -> None:
    document = told(changed(tmp_path / "run", stepping))
    jsonschema.validate(document, json_schema())
    one, other = document["steps"]
    assert (one["step"], one["from_second"], one["to_second"], one["errors"]) == (1, 0, 5, 0)
    assert (one["target_per_second"], one["received_per_second"], one["held"]) == (10_000, 10_000, True)
    assert (other["target_per_second"], other["acked_per_second"], other["received_per_second"]) == (
        20_000, 20_000, 18_000,
    )  # fmt: skip
    assert (other["errors"], other["held"]) == (5, False)
    assert other["response"]["max_ms"] == 90.0
    assert [(each["path"], each["passed"]) for each in other["expectations"]] == [
        (P99, False),
        ("throughput.acked_per_second", True),
    ]


def without_bounds(_: Any, tables: Any) -> None:
    """Nobody knows how much the instrument added."""
    for row in tables["bounds"]:
        row["known"] = False


def test_a_latency_that_is_not_believed_of_the_run_is_not_believed_of_a_step(make: Make) -> None:
    """With the same reasons. Expectations cannot be decided, the step has not held, and reports strike figures out."""
    made = assemble(make(stepping, without_bounds))
    whole, one = made.trust[P99], made.trust["steps.0.response.p99_ms"]

    assert (one.trust, one.low, one.high, one.value) == ("not_believed", None, None, 6.0)
    assert one.because == whole.because
    assert "steps.0.response.count" not in made.trust
    assert made.steps
    first, other = made.steps
    assert [(each.path, each.passed, each.decided) for each in first.expectations] == [
        (P99, False, False),
        ("throughput.acked_per_second", True, True),
    ]
    assert (first.held, other.held) == (False, False)
    assert "~~6.00~~" in to_markdown(made).partition("### Steps")[2].partition("###")[0]
    assert all(isinstance(each, Doubted) for each in details.steps(made)[0][3:10])


def test_an_expectation_of_a_step_of_such_a_run_is_not_decided(make: Make) -> None:
    def expecting(facts: Any, _: Any) -> None:
        facts["scenario"]["expect"] = {"steps.0.response.p99_ms": "<= 20"}

    believed, doubted = (assemble(make(stepping, expecting, *more)) for more in ((), (without_bounds,)))

    assert [(each.passed, each.decided) for each in believed.expectations] == [(True, True)]
    assert [(each.passed, each.decided) for each in doubted.expectations] == [(False, False)]
    assert not [path for path in believed.trust if path.startswith(("steps.0.response", "steps.0.service"))]
    assert not doubted.verdict.valid


def own_bounds(*lows: float | None) -> Callable[[Any, Any], None]:
    """The low end of p99 of each step; None where nobody knows how much the instrument added."""

    def change(_: Any, tables: Any) -> None:
        of_run = [row for row in tables["bounds"] if row["metric"].startswith("end_to_end")]
        for number, (p99, low) in enumerate(zip((6.0, 30.0), lows, strict=True)):
            ends = bounds("", p99) | ({"known": False} if low is None else {"p99_ms": low})
            tables["bounds"] += [{**ends, "metric": row["metric"], "second": 5 * number} for row in of_run]

    return change


def wide(_: Any, tables: Any) -> None:
    """Of the run as a whole, p99 may have been a millisecond."""
    tables["bounds"][:] = [row | {"p99_ms": 1.0} for row in tables["bounds"]]


def late(_: Any, tables: Any) -> None:
    """Response times of the first step are longer than service times: messages were sent late."""
    for row in tables["latency"]:
        if (row["scope"], row["metric"], row.get("second")) == ("step", "end_to_end_service", 0):
            row["p99_ms"] = 4.0


def calibrated(facts: Any, _: Any) -> None:
    facts["calibration"]["errors_ms"] = {"end_to_end.response.p50": 4.0, "end_to_end.response.p99": 4.0}


busy = every("resources", {"steal_share": 0.2}, role="host", scope="measure")
NOT, BOUNDED, BELIEVED = "not_believed", "bounded", "believed"


@pytest.mark.parametrize(
    ("changes", "kind", "expected"),
    [
        pytest.param([own_bounds(5.9, 29.0)], "response", [(5.9, 6.0, BELIEVED), (29.0, 30.0, BELIEVED)], id="narrow"),
        pytest.param([wide, own_bounds(5.9, 29.0)], "response", [(5.9, 6.0, BELIEVED), (29.0, 30.0, BELIEVED)],
                     id="narrow, whatever that of the run is"),
        pytest.param([own_bounds(4.5, 12.0)], "response", [(4.5, 6.0, BOUNDED), (12.0, 30.0, NOT)], id="wide"),
        pytest.param([own_bounds(5.9, 29.0), calibrated], "response", [(2.0, 6.0, NOT), (26.0, 30.0, BOUNDED)],
                     id="at least as the calibration"),
        pytest.param([own_bounds(3.9, 29.0), late], "service", [(3.9, 6.0, BOUNDED), (29.0, 30.0, BELIEVED)],
                     id="service time up to the response time"),
        pytest.param([own_bounds(5.9, None)], "response", [(5.9, 6.0, BELIEVED), (None, None, NOT)], id="not known"),
        pytest.param([without_bounds, own_bounds(5.9, 29.0)], "response",
                     [(5.9, 6.0, BELIEVED), (29.0, 30.0, BELIEVED)], id="known, whatever is of the run"),
        pytest.param([own_bounds(5.9, 29.0), frozen], "response", [(None, None, NOT), (29.0, 30.0, BELIEVED)],
                     id="all processes stood still in the first"),
        pytest.param([own_bounds(5.9, 29.0), busy], "response", [(None, None, NOT), (None, None, NOT)],
                     id="a check of the instrument fails"),
    ],
)  # fmt: skip
def test_each_step_has_an_interval_of_its_own(
    make: Make, changes: list[Any], kind: str, expected: list[tuple[float | None, float | None, str]]
) -> None:
    trust = assemble(make(stepping, *changes)).trust
    found = [trust[f"steps.{place}.{kind}.p99_ms"] for place in (0, 1)]
    assert [(each.low, each.high, each.trust) for each in found] == expected
    assert [bool(each.because) for each in found] == [end != BELIEVED for *_, end in expected]
    assert all(each.sample_low is None for each in found)


def test_what_stood_still_for_a_moment_is_not_in_every_percentile(make: Make) -> None:
    trust = assemble(make(stepping, own_bounds(5.9, 29.0), frozen)).trust
    assert {name: trust[f"steps.0.response.{name}_ms"].trust for name in ("p75", "p90", "max")} == {
        "p75": BELIEVED, "p90": NOT, "max": NOT,
    }  # fmt: skip
    assert "all processes stood still" in trust["steps.0.response.max_ms"].because[0]


def test_expectations_of_a_step_are_decided_by_its_own_interval(make: Make) -> None:
    """Although those of the run cannot be."""
    made = assemble(make(stepping, wide, own_bounds(5.9, 12.0)))
    assert made.steps
    assert [[(each.path, each.passed, each.decided) for each in step.expectations] for step in made.steps] == [
        [(P99, True, True), ("throughput.acked_per_second", True, True)],
        [(P99, False, False), ("throughput.acked_per_second", True, True)],
    ]
    assert (made.steps[0].held, made.steps[1].held) == (True, False)
    assert "- Not: end-to-end, ack and step latency p99\n" in to_markdown(made)
    jsonschema.validate(made.document(), json_schema())


def slow_generator(_: Any, tables: Any) -> None:
    """A fifth of the second step is not sent, and nothing of the system's explains it."""
    row = tables["steps"][1]
    row |= dict.fromkeys(("sent", "acked", "received", "arrived"), 4 * row["due"] // 5)
    row["failed"] = 0
    for each in tables["throughput"]:
        if each["scope"] == "measure":
            each["sent"] = 8 * each["sent"] // 10


def slow_consumers(facts: Any, tables: Any) -> None:
    """They have no core left, and received less than was acknowledged."""
    every("resources", {"cpu_cores": 1.2}, role="consumer", scope="measure")(facts, tables)
    every("polls", {"in_poll_share": 0.01})(facts, tables)
    for row in tables["throughput"]:
        if row["scope"] in {"measure", "group"}:
            row["received"] = 9 * row["received"] // 10


def nothing_sent(facts: Any, tables: Any) -> None:
    """In the second step, in which what the first one left behind is received."""
    slow_generator(facts, tables)
    row = tables["steps"][1]
    row |= {"sent": 0, "acked": 0, "received": row["due"], "arrived": row["due"]}


def one_group_starved(facts: Any, tables: Any) -> None:
    """Of two groups one received all, and the other one nothing."""
    slow_consumers(facts, tables)
    row = tables["steps"][1]
    row |= {"received": row["due"], "arrived": 0}


def unreported(count: int) -> Callable[[Any, Any], object]:
    """So many messages without a report: they may have been sent in either step."""
    return every("delivery", {"fate_unknown": count})


by_credit = scenario("backpressure", credit={"limit": 5000, "poll": "1ms"})
ALL: Final = [(10_000, 10_000, BELIEVED), (20_000, 20_000, BELIEVED)]


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        pytest.param([], "sent", ALL, id="sent when due"),
        pytest.param([], "received", [(10_000, 10_000, BELIEVED), (18_000, 18_000, BELIEVED)], id="a slow system"),
        pytest.param([slow_generator], "sent", [(10_000, 10_000, BELIEVED), (None, None, NOT)], id="a slow generator"),
        pytest.param([slow_generator], "acked", [(10_000, 10_000, BELIEVED), (None, None, NOT)],
                     id="what a slow generator could not send"),
        pytest.param([every("delivery", {"unaccounted": 3})], "sent", [(None, None, NOT)] * 2, id="rows are missing"),
        pytest.param([slow_consumers], "received", [(10_000, 10_000, BELIEVED), (None, None, NOT)],
                     id="slow consumers"),
        pytest.param([nothing_sent], "sent", [(10_000, 10_000, BELIEVED), (None, None, NOT)], id="nothing is sent"),
        pytest.param([one_group_starved], "received", [(10_000, 10_000, BELIEVED), (None, None, NOT)],
                     id="a group that received nothing"),
        pytest.param([slow_consumers], "acked", ALL, id="consumers do not slow producers"),
        pytest.param([unreported(250)], "acked", [(10_000, 10_050, BELIEVED), (20_000, 20_050, BELIEVED)],
                     id="few unknown"),
        pytest.param([unreported(4_000)], "acked", [(10_000, 10_800, BOUNDED), (20_000, 20_800, BOUNDED)],
                     id="many unknown"),
        pytest.param([unreported(4_000)], "received", [(10_000, 10_000, BELIEVED), (18_000, 18_000, BELIEVED)],
                     id="what was received is known"),
        pytest.param([by_credit, throttled], "sent", ALL, id="a policy that let all go"),
        pytest.param([by_credit, throttled], "received", [(10_000, 10_000, BELIEVED), (18_000, None, BOUNDED)],
                     id="a policy, and not all came"),
    ],
)  # fmt: skip
def test_rates_of_a_step_have_intervals(
    make: Make, changes: list[Any], name: str, expected: list[tuple[float | None, float | None, str]]
) -> None:
    """Whatever limits the run has not limited a step in which all came that was due."""
    trust = assemble(make(stepping, *changes)).trust
    found = [trust[f"steps.{place}.{name}_per_second"] for place in (0, 1)]
    assert [(each.low, each.high, each.trust) for each in found] == expected
    assert [bool(each.because) for each in found] == [end != BELIEVED for *_, end in expected]


def test_an_expectation_of_a_rate_that_the_generator_limited_is_not_decided(make: Make) -> None:
    made = assemble(make(stepping, slow_generator, own_bounds(5.9, 29.0)))
    acked = "throughput.acked_per_second"
    assert made.steps
    found = [next(each for each in step.expectations if each.path == acked) for step in made.steps]
    assert [(each.passed, each.decided) for each in found] == [(True, True), (False, False)]
    assert [step.held for step in made.steps] == [True, False]
    assert isinstance(details.steps(made)[1][2], Doubted)
    assert "step rates" in to_markdown(made)


def rate_alone(_: Any, tables: Any) -> None:
    """Of all that the second step does wrong, only what arrives."""
    tables["steps"][1]["failed"] = 0
    for row in tables["latency"]:
        if row["scope"] == "step":
            row["p99_ms"] = 6.0


def missing_alone(facts: Any, tables: Any) -> None:
    rate_alone(facts, tables)
    tables["steps"][1]["arrived"] = tables["steps"][1]["due"]
    for row in tables["latency"]:
        if row["scope"] == "step" and row["second"] == 5:
            row["censored"] = 1


def all_well(facts: Any, tables: Any) -> None:
    missing_alone(facts, tables)
    for row in tables["latency"]:
        row["censored"] = 0


def half_for_each(facts: Any, tables: Any) -> None:
    """Two groups, each of which got half of it."""
    all_well(facts, tables)
    row = tables["steps"][1]
    row |= {"received": row["due"], "arrived": row["due"] // 2}


def not_for_all(facts: Any, tables: Any) -> None:
    """A pipeline drops nine messages of ten."""
    all_well(facts, tables)
    row = tables["steps"][1]
    row |= {"received": row["due"] // 10, "arrived": None}


@pytest.mark.parametrize(
    ("change", "held"),
    [(rate_alone, False), (missing_alone, False), (all_well, True), (half_for_each, False), (not_for_all, True)],
)
def test_what_makes_a_step_hold(tmp_path: Path, change: Any, held: bool) -> None:
    result = assemble(changed(tmp_path / "run", stepping, change))
    assert result.steps
    assert result.steps[1].held is held
    assert details.steps_held(result) == f"every step up to {'20,000' if held else '10,000'}/s held"


def test_without_consumers_it_is_the_acknowledgement(tmp_path: Path) -> None:
    def produce_only(facts: Any, tables: Any) -> None:
        facts["scenario"]["consume"] = "off"
        for row in tables["latency"]:
            if row["scope"] == "step":
                row["metric"] = row["metric"].replace("end_to_end", "ack")

    result = assemble(changed(tmp_path / "run", stepping, produce_only))
    assert result.steps
    assert result.steps[0].received_per_second is None
    assert result.steps[0].response is not None
    assert [each.path for each in result.steps[0].expectations] == ["throughput.acked_per_second"]


def test_other_loads_have_none(tmp_path: Path) -> None:
    document = told(changed(tmp_path / "run"))
    assert document["steps"] is None
    assert document["reasons"]["steps"] == "the load has one rate, or repeats itself"


def test_a_run_of_an_older_version_says_so(tmp_path: Path) -> None:
    folder = changed(tmp_path / "run")
    folder.table("steps").unlink()
    assert told(folder)["reasons"]["steps"] == "the table steps is missing"


def test_every_report_has_a_row_for_each_step(tmp_path: Path) -> None:
    folder = changed(tmp_path / "run", stepping)
    result = assemble(folder)
    screen = summary(result, colour=False, width=100).splitlines()
    begin = next(number for number, line in enumerate(screen) if line.startswith("Steps"))
    words = [line.split() for line in screen[begin + 1 : begin + 4]]
    assert words[0] == ["10,000/s", "10,000/s", "3.00", "6.00", "7.50", "18.0", "0", "yes"]
    assert words[1] == ["20,000/s", "18,000/s", "15.0", "30.0", "37.5", "90.0", "5", "no:", "p99"]
    assert words[2] == ["every", "step", "up", "to", "10,000/s", "held"]
    assert "| 2 | 20,000/s | 18,000/s |" in to_markdown(result)
    figure = figure_of(folder, throughput.latency_by_step)
    page = to_html(result, [figure])
    assert page.count("no: p99") == 1
    assert "Steps of the load" in page
    assert "Steps of the load" not in to_html(assemble(changed(tmp_path / "other")), [figure])


def test_more_steps_than_there_is_room_for_are_counted(tmp_path: Path) -> None:
    result = assemble(changed(tmp_path / "run", stepping))
    assert result.steps
    many = result.model_copy(update={"steps": result.steps[:1] * (details.MOST_STEPS + 3)})
    assert len(details.steps(many)) == details.MOST_STEPS
    assert details.steps_held(many).endswith("held; 3 more steps are in the table steps")


def test_the_figure_has_a_point_for_each_step_and_percentile(make: Make) -> None:
    figure = figure_of(make(stepping), throughput.latency_by_step)
    rows = figure.data["latency_by_step"]
    assert [(row["step"], row["series"], row["state"]) for row in rows[::3]] == [
        (1, "p50", "held"),
        (2, "p50", "did not hold"),
    ]
    scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
    assert '"marktype": "symbol"' in scene
    assert figure_of(make(), throughput.latency_by_step).missing == "the load has no steps with response times"
