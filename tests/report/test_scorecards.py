"""Scorecards of faults: in the result, in words, and as a figure."""

import json
from typing import Any

import pyarrow.parquet as pq
import pytest
import vl_convert
from tests.report.conftest import Make, figure_of, scored, told
from tests.report.test_html import Page

from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures.diagnostics.outages import MOST_PARTITIONS, outages
from streamgauge.report.figures.diagnostics.trouble import followers
from streamgauge.report.pages import html
from streamgauge.report.pages.html import to_html
from streamgauge.report.pages.markdown import to_markdown
from streamgauge.report.pages.pressure import scorecards
from streamgauge.report.pages.terminal import summary
from streamgauge.result import Result

pytestmark = pytest.mark.slow

Row = dict[str, Any]
EVIL = "<script>alert(1)</script>{{7*7}}"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The charting library takes seconds to bundle; the browser's tests have it."""
    monkeypatch.setattr(html, "bundle", lambda: "/* bundle */")


def changed(make: Make, change: Any) -> Any:
    """A run folder with scorecards that are then changed."""

    def both(facts: Row, tables: dict[str, list[Row]]) -> None:
        scored(facts, tables)
        change(tables)

    return make(both)


def test_a_scorecard_has_the_worst_and_the_median_of_all_partitions(make: Make) -> None:
    (card,) = told(make(scored))["scorecards"]

    name = "streamgauge-baseline"
    assert (card["unwritable_s"], card["unwritable_median_s"], card["unwritable_partition"]) == (4.0, 1.0, f"{name}/0")
    assert card["unwritable_leader_s"] == 3.2
    assert (card["unreadable_s"], card["unreadable_median_s"], card["unreadable_partition"]) == (2.0, 0.5, f"{name}/0")
    assert (card["held"], card["failed"]) == (1_023, 2)
    assert (card["worst_message_ms"], card["worst_message"]) == (4_050.0, f"{name}/0 1:40")
    assert (card["noticed_s"], card["leaders_s"], card["in_sync_s"]) == (0.4, 3.4, None)
    why = "replicas were missing, or the cluster did not answer, when the span was over"
    assert card["reasons"]["in_sync_s"] == why
    # From the recovery of the same fault.
    assert card["time_to_drain_s"] == 2.25


def test_a_scorecard_is_compared_with_what_the_scenario_sets(make: Make) -> None:
    (card,) = told(make(scored))["scorecards"]

    assert [(each["setting"], each["allows_s"], each["kept"]) for each in card["promises"]] == [
        ("broker.session.timeout.ms", 3.0, False), ("replica.lag.time.max.ms", 30.0, True),
        ("request.timeout.ms", 30.0, True), ("message.timeout.ms", 30.0, True),
        ("broker.session.timeout.ms", 3.0, True),
    ]  # fmt: skip
    limit = "broker.session.timeout.ms allows only 3.00 s"
    assert card["promises"][0]["limit"] == limit
    assert card["promises"][0]["text"] == f"partition streamgauge-baseline/0 was unwritable for 4.00 s; {limit}"


@pytest.mark.parametrize(
    ("without", "null", "reason"),
    [
        ({"unwritable_s": None, "held": None}, ("unwritable_s", "unwritable_leader_s", "held"),
         "no acknowledgements are recorded"),
        ({"unwritable_s": 0.0}, ("unwritable_leader_s",), "no partition was unwritable"),
        ({"unreadable_s": None}, ("unreadable_s", "unreadable_partition"), "no acknowledgements are recorded"),
        ({"worst_ms": None}, ("worst_message_ms", "worst_message"), "no message was due"),
    ],
)  # fmt: skip
def test_what_nobody_can_tell_is_null_with_its_reason(
    make: Make, without: Row, null: tuple[str, ...], reason: str
) -> None:
    def unknown(tables: dict[str, list[Row]]) -> None:
        for row in tables["fault_partitions"]:
            row.update(without)

    (card,) = told(changed(make, unknown))["scorecards"]
    for name in null:
        assert (card[name], card["reasons"][name]) == (None, reason)


def test_every_report_tells_scorecards(make: Make) -> None:
    result = assemble(make(scored))
    promised = "was unwritable for 4.00 s; broker.session.timeout.ms allows only 3.00 s"

    for text in (Page(to_html(result, [])).text, to_markdown(result)):
        assert promised in text
        assert "messages held" in text
        assert "1,023" in text
    lines = [" ".join(line.split()) for line in summary(result, colour=False, width=160).splitlines()]
    (line,) = [line for line in lines if line.startswith("Scorecards")]
    assert line.startswith(
        "Scorecards kill of broker-1: unwritable for up to 4.00 s (next leader after 3.20 s), unreadable for up to 2.00"
    )
    short = scorecards.in_short(result)["Scorecards"]
    assert short.endswith("worst message 4,050 ms (broker.session.timeout.ms allows only 3.00 s)")
    assert len(scorecards.rows(result)[0]) == len(scorecards.HEADS)


def test_a_result_of_an_older_version_has_no_limit_in_words(make: Make) -> None:
    document = assemble(make(scored)).model_dump(mode="json")
    for promise in document["scorecards"][0]["promises"]:
        del promise["limit"]

    assert scorecards.in_short(Result.model_validate(document))["Scorecards"].endswith("worst message 4,050 ms")


def test_the_next_leader_is_that_of_the_partition_that_was_unwritable_for_longest(make: Make) -> None:
    """Where its leader stayed, and in tables of an older version, there is none."""

    def stayed(tables: dict[str, list[Row]]) -> None:
        tables["fault_partitions"][2].update(unwritable_s=4.5)

    older = make(scored)
    table = older.table("fault_partitions")
    pq.write_table(pq.read_table(table, partitioning=None).drop_columns(["next_leader_s"]), table)

    for run in (changed(make, stayed), older):
        (card,) = told(run)["scorecards"]
        assert card["unwritable_leader_s"] is None
        assert card["reasons"]["unwritable_leader_s"] == "no change of its leader was recorded"
        assert "next leader after" not in summary(assemble(run), colour=False, width=160)


def test_a_fault_whose_end_had_an_error_tells_it(make: Make) -> None:
    """It lasted until then, however it ended; older tables do not say, and then nobody knows of any."""

    def forced(tables: dict[str, list[Row]]) -> None:
        tables["fault_scores"][0].update(error="killed after 30 s")

    result = assemble(changed(make, forced))
    assert scorecards.rows(result)[0][0] == "kill (its end: killed after 30 s)"
    (card,) = told(make(scored))["scorecards"]
    assert (card["error"], card["reasons"]["error"]) == (None, "it ended without an error")
    assert scorecards.rows(assemble(make(scored)))[0][0] == "kill"


def test_names_from_outside_are_escaped(make: Make) -> None:
    def evil(tables: dict[str, list[Row]]) -> None:
        tables["fault_scores"][0].update(target=f"broker-{EVIL}", detail=EVIL)

    result = assemble(changed(make, evil))
    assert "<script>alert" not in to_html(result, [])
    assert "{{7*7}}" in Page(to_html(result, [])).text
    assert "<script>alert" not in to_markdown(result).replace("\\<script", "")


def test_the_figure_has_a_lane_for_each_partition_that_was_held_up(make: Make) -> None:
    figure = figure_of(make(scored), outages)

    lanes = [(row["partition"], row["series"], row["s"], row["to"]) for row in figure.data["outages"]]
    assert lanes == [
        ("0", "unwritable", 3.1, 7.1), ("0", "unreadable", 3.2, 5.2),
        ("2", "unwritable", 3.1, 4.1), ("2", "unreadable", 3.2, 3.7),
    ]  # fmt: skip
    assert {row["fault"] for row in figure.data["outages"]} == {"kill of broker-1"}
    scene = json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))
    assert '"marktype": "rect"' in scene


def test_of_many_partitions_those_that_were_held_up_for_longest_are_drawn(make: Make) -> None:
    def many(tables: dict[str, list[Row]]) -> None:
        row = tables["fault_partitions"][0]
        tables["fault_partitions"] = [row | {"partition": each, "unwritable_s": 1.0 + each} for each in range(50)]

    figure = figure_of(changed(make, many), outages)
    assert {int(row["partition"]) for row in figure.data["outages"]} == set(range(50 - MOST_PARTITIONS, 50))
    assert "The 30 of 50" in figure.about


def test_a_fault_that_nobody_felt_is_not_drawn(make: Make) -> None:
    def unfelt(tables: dict[str, list[Row]]) -> None:
        for row in tables["fault_partitions"]:
            row.update(unwritable_s=0.01, unreadable_s=0.0)

    assert figure_of(changed(make, unfelt), outages).missing == (
        "No partition was held up for 0.100 s or longer by a fault."
    )


def test_brokers_that_are_behind_are_told_and_drawn(make: Make) -> None:
    result = told(make(scored))["replication"]

    # The look before the measure phase does not count.
    assert (result["controller_changes"], result["cpu_cores"]) == (1, None)
    assert (result["most_behind"], result["most_behind_node"], result["most_behind_second"]) == (90, 3, 2.0)
    lines = summary(assemble(make(scored)), colour=False, width=200)
    assert "1 controller change; a broker was up to 90 messages of a partition behind" in lines
    figure = figure_of(make(scored), followers)
    assert {row["series"] for row in figure.data["followers"]} == {"broker 1", "broker 2", "broker 3"}
    assert "The active controller changed 1 time." in figure.about
    vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True)
