"""What runs say together: which are alike, in what they differ, and how that is shown."""

import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import without

from streamgauge.domain.text.numbers import significant
from streamgauge.experiments.expect import ExpectedOfVariant
from streamgauge.report.compare import Together, together
from streamgauge.report.compare.answers import figure_of
from streamgauge.report.compare.expected import expected_answers
from streamgauge.report.compare.pages import IntervalTable, comparison_markdown, comparison_text, intervals
from streamgauge.report.compare.variants import GivenRun, distinct_names
from streamgauge.result.model.trust import FigureTrust
from streamgauge.result.reading import result_of
from streamgauge.scenario.model.expectations import Bound

Make = Callable[..., GivenRun]
P99 = "latency.end_to_end.response.p99_ms"
NOISE = (1.0, 1.02, 0.99, 1.01, 0.98, 1.03)
AT_MOST_30 = ExpectedOfVariant("at most 30 ms", P99, 0, Bound("<=", 30.0))


@pytest.fixture
def run(healthy_result: dict[str, Any]) -> Make:
    """A maker of runs: `run(given, number, p99=…, settings={path: value}, trust=…, facts={…}, is_without=…)`."""

    def make(
        given: str, number: int, *, p99: float = 10.0, settings: dict[str, Any] | None = None, **more: Any
    ) -> GivenRun:
        document = deepcopy(healthy_result)
        document["run"] |= {"id": f"run-{given}-{number}", "created": f"2026-01-01T00:00:{number:02}Z"} | more.get(
            "facts", {}
        )
        for path, value in (settings or {}).items():
            part, *keys = document["run"]["scenario"], *path.split(".")
            for key in keys[:-1]:
                part = part.setdefault(key, {})
            part[keys[-1]] = value
        document["trust"][P99] |= {"value": p99, "low": p99, "high": p99, "trust": more.get("trust", "believed")}
        if more.get("is_without"):
            without(document, P99)
        return GivenRun(given, result_of(document))

    return make


def acks(run: Make, of: dict[str, Sequence[float]], **more: Any) -> list[GivenRun]:
    """Runs of one folder that differ in one setting, with these p99."""
    return [
        run("runs", number, p99=p99, settings={"load.client": {"acks": value}}, **more)
        for value, values in of.items()
        for number, p99 in enumerate(values)
    ]


def slower(by: float = 1.0, count: int = 6) -> list[float]:
    return [10 * by * noise for noise in NOISE[:count]]


def names(found: Together) -> list[str]:
    return [each.name for each in found.variants]


def test_runs_of_the_same_settings_are_one_variant_and_its_name_says_which(run: Make) -> None:
    found = together(acks(run, {"all": slower(), "1": slower(1.2, 5)}))
    assert names(found) == ["acks=all", "acks=1"]
    assert [len(each.runs) for each in found.variants] == [6, 5]
    assert [run.run.id for run in found.variants[1].runs] == [f"run-runs-{number}" for number in range(5)]


def test_what_says_nothing_of_a_load_makes_no_variant(run: Make) -> None:
    words = {"about": "the same", "seed": 9, "topic.name": "another", "name": "b", "expect": {}}
    found = together([run("a", 1), run("a", 2, settings=words)])
    assert names(found) == ["a"]


def test_of_the_same_settings_everywhere_the_folders_are_the_variants(run: Make) -> None:
    """Before and after an upgrade; runs are in the order of their creation."""
    found = together([run("after", 3), run("before", 2), run("before", 1)])
    assert names(found) == ["after", "before"]
    assert [each.run.id for each in found.variants[1].runs] == ["run-before-1", "run-before-2"]


def test_two_experiments_with_the_same_variants_are_not_mixed(run: Make) -> None:
    """Of each folder, each setting is a variant; single runs of some settings still belong to their setting."""
    one, two = ({"load.client": {"acks": value}} for value in ("all", "1"))
    runs = [run(given, place, settings=each) for given in ("before", "after") for place, each in enumerate((one, two))]
    found = together(runs)
    assert names(found) == ["before: acks=all", "before: acks=1", "after: acks=all", "after: acks=1"]
    assert [each.run.id for each in found.variants[2].runs] == ["run-after-0"]

    mixed = together([*runs[:2], run("single", 5, settings=one)])
    assert names(mixed) == ["acks=all", "acks=1"]
    assert len(mixed.variants[0].runs) == 2


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["/x/a", "/x/b"], ["a", "b"]),
        (["/x/p/runs", "/x/q/runs", "/x/other"], ["p/runs", "q/runs", "other"]),
        (["/p/x/runs", "/q/x/runs"], ["p/x/runs", "q/x/runs"]),
        (["/x/runs", "/runs"], ["x/runs", "/runs"]),
        (["/"], ["/"]),
    ],
)
def test_a_name_is_the_shortest_end_that_no_other_path_has(paths: list[str], expected: list[str]) -> None:
    assert list(distinct_names([Path(each) for each in paths]).values()) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param([{"load.size": 1}, {"load.size": 2}], ["size=1", "size=2"], id="one setting"),
        pytest.param(
            [{"load.a.x": 1, "load.b.x": "p"}, {"load.a.x": 2, "load.b.x": "p"}, {"load.a.x": 1, "load.b.x": "q"}],
            ["load.a.x=1, load.b.x=p", "load.a.x=2, load.b.x=p", "load.a.x=1, load.b.x=q"],
            id="two whose last parts are the same",
        ),
        pytest.param([{"load.size": 1}, {}], ["size=1", "size=512"], id="the other has its own"),
        pytest.param([{"load.new": None, "load.size": 1}, {}], ["size=1", "size=512"], id="none is none"),
    ],
)
def test_names_are_as_short_as_they_can_be(run: Make, settings: list[dict[str, Any]], expected: list[str]) -> None:
    assert names(together([run("a", number, settings=each) for number, each in enumerate(settings)])) == expected


def test_where_too_much_differs_scenarios_or_runs_give_the_names(run: Make) -> None:
    many = {f"load.{letter}": 1 for letter in "abcd"}
    assert names(together([run("a", 1), run("a", 2, settings=many)])) == ["run-a-1", "run-a-2"]
    other = run("a", 2, settings=many, facts={"name": "burst"})
    assert names(together([run("a", 1), other])) == ["baseline", "burst"]


def test_what_differs_beside_what_was_varied_is_told(run: Make) -> None:
    versions = {"facts": {"versions": {"java": "21"}, "machine": {"cores": 4, "load_average_1m": 9.9}}}
    found = together([*acks(run, {"all": slower()}), *acks(run, {"1": slower()}, **versions)])
    assert next((each.about, each.name) for each in found.differences) == ("setting", "load.client.acks")
    assert {"java", "cores"} <= {each.name for each in found.differences}
    assert "load_average_1m" not in {each.name for each in found.differences}
    assert found.warnings[0].startswith("These are not the same everywhere, and may have made the difference: machine ")
    assert together(acks(run, {"all": slower(), "1": slower()})).warnings == ()


def test_several_settings_at_once_answer_for_none(run: Make) -> None:
    found = together([run("a", 1), run("a", 2, settings={"load.size": 1, "load.producers": 1})])
    assert found.warnings == ("The variants differ in 2 settings. No figure tells which of them made a difference.",)


def test_an_upgrade_alone_is_what_was_varied(run: Make, healthy_result: dict[str, Any]) -> None:
    versions = healthy_result["run"]["versions"] | {"java": "21"}
    found = together([run("before", 1), run("after", 2, facts={"versions": versions})])
    assert found.warnings == ()
    assert [(each.about, each.name, each.values[1]) for each in found.differences] == [("version", "java", "21")]


def test_brokers_that_were_not_started_alike_are_told(run: Make, healthy_result: dict[str, Any]) -> None:
    broker = healthy_result["run"]["broker"]
    runs = [run("a", number, facts={"broker": broker | {"class_archive": bool(number)}}) for number in (0, 1)]
    assert any("archive" in each for each in together([*runs, run("b", 3)]).warnings)


def test_the_figure_that_decides_is_said_in_a_sentence(run: Make) -> None:
    found = together(acks(run, {"1": slower(), "all": slower(1.3)}))
    assert found.primary is not None
    [said] = found.primary.sentences
    assert said.startswith("acks=all is 1.2")
    assert said.endswith(" times slower than acks=1 at end-to-end response p99")
    [comparison] = found.primary.comparisons
    assert (comparison.verdict, comparison.method, comparison.pairs) == ("higher", "rank sums", None)


def test_another_figure_can_decide(run: Make) -> None:
    found = together(acks(run, {"1": slower(), "all": slower(1.3)}), "throughput.acked_per_second")
    assert found.primary is not None
    assert found.answers[0].metric.label == "acked rate"
    assert found.primary.comparisons[0].verdict == "not_shown"
    found = together(acks(run, {"1": slower(), "all": slower()}), "latency.end_to_end.service.p75_ms")
    assert found.answers[0].metric.path == found.answers[0].metric.label == "latency.end_to_end.service.p75_ms"


def test_runs_that_are_not_believed_or_did_not_finish_take_no_part_and_are_counted(run: Make) -> None:
    runs = acks(run, {"1": slower(), "all": slower(1.3)})
    runs += acks(run, {"all": [99.0]}, trust="not_believed")
    found = together([*runs, *acks(run, {"1": [99.0]}, facts={"ending": "interrupted"})])
    assert found.primary is not None
    assert found.primary.left_out == (1, 1)
    assert [each and each.count for each in found.primary.variants] == [6, 6]
    assert found.primary.comparisons[0].verdict == "higher"


@pytest.mark.parametrize(
    ("ending", "of_primary", "of_others"),
    [
        pytest.param("failed", (0, 5), (0, 5), id="they failed before they could measure anything"),
        pytest.param("finished", (0, 5), (0, 0), id="they finished without the figure that decides"),
    ],
)
def test_runs_without_the_figure_are_missing_from_their_variant(
    run: Make, ending: str, of_primary: tuple[int, int], of_others: tuple[int, int]
) -> None:
    runs = acks(run, {"1": slower(), "all": slower(2.0, 5)})
    runs += acks(run, {"all": slower(2.0, 5)}, facts={"ending": ending}, is_without=True)
    found = together(runs, P99)
    assert found.primary is not None
    assert found.primary.left_out == of_primary
    assert {each.left_out for each in found.answers if each.metric.path.startswith("throughput.")} == {of_others}
    [comparison] = found.primary.comparisons
    assert comparison.verdict == "no_verdict"
    assert comparison.because[0].startswith("5 of 10 runs of acks=all did not finish")
    [expected] = expected_answers([replace(AT_MOST_30, variant=1)], found.variants, "unknown", 0.05)
    assert (expected.holds, expected.because) == (None, "5 runs failed or are not believed")


def test_an_expectation_is_decided_at_the_level_of_the_comparison(run: Make) -> None:
    """Who looked after every round has a wider interval, which need not hold what a narrower one holds."""
    found = together(acks(run, {"1": slower()}))
    narrow, wide = (expected_answers([AT_MOST_30], found.variants, "unknown", level)[0] for level in (0.05, 0.025))
    assert narrow.low is not None
    assert narrow.high is not None
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < narrow.low < narrow.high < wide.high


def test_runs_of_an_older_version_are_compared_by_their_values_and_said_to_be(run: Make) -> None:
    runs = acks(run, {"1": slower(), "all": slower()})
    old = [GivenRun(each.given, each.result.model_copy(update={"trust": {}})) for each in runs]
    found = together(old)
    assert found.warnings == (
        "12 of the runs have figures without intervals: an older version analysed them. Analyse them again.",
    )
    assert found.primary is not None
    assert found.primary.metric.path == P99
    assert [each and each.count for each in found.primary.variants] == [6, 6]
    assert together(old, "latency.no.such_ms").answers[0].variants == (None, None)


def test_a_page_has_what_decides_and_then_all_figures(run: Make) -> None:
    found = together(acks(run, {"1": slower(), "all": slower(1.3)}))
    text = comparison_text(found, colour=False, width=100)
    lines = text.splitlines()
    assert lines[0] == "2 variants, 12 runs; compared with acks=1"
    assert lines[2] == found.primary.sentences[0] if found.primary else None
    assert "end-to-end response p99, ms" in text
    assert "9.80 to 10.3" in text.replace("(", "")
    assert "undelivered" not in text
    # Its name says it already.
    assert "setting load.client.acks" not in text
    assert max(map(len, lines)) <= 100


def test_of_many_variants_each_has_a_line(run: Make) -> None:
    text = comparison_text(together(acks(run, {each: slower() for each in "abcd"})), colour=False, width=100)
    assert [line.split()[0] for line in text.splitlines() if line.startswith("acks=") and "runs)" in line] == [
        "acks=a", "acks=b", "acks=c", "acks=d",
    ]  # fmt: skip
    assert text.count("no difference in end-to-end response p99 shown") == 3


def test_what_other_figures_show_is_explored_and_says_so(run: Make) -> None:
    runs = acks(run, {"1": slower(), "all": slower(1.3)})
    found = together(runs, "latency.end_to_end.response.p50_ms")
    text = comparison_text(found, colour=False, width=100)
    assert "Exploratory, not chosen in advance: by chance alone, one figure in twenty would differ." in text
    assert "times slower than acks=1 at end-to-end response p99" in text
    assert "Exploratory" not in comparison_text(together(runs), colour=False)


def test_names_from_outside_are_only_names(run: Make) -> None:
    evil = "<b>|*x*\x1b[31m"
    runs = [run("a", number, settings={"load.keys": value}) for number, value in enumerate((evil, "none"))]
    markdown, text = comparison_markdown(together(runs)), comparison_text(together(runs), colour=False)
    assert "\x1b" not in text
    assert "\\<b>\\|\\*x\\*" in markdown
    assert "<b>|" not in markdown


def test_markdown_has_the_same_figures(run: Make) -> None:
    found = together(acks(run, {"1": slower(), "all": slower(1.3)}))
    lines = comparison_markdown(found).splitlines()
    assert lines[0] == "**2 variants, 12 runs; compared with acks=1**"
    assert found.primary is not None
    assert f"- **{found.primary.sentences[0]}**" in lines
    assert "| Median (range) | acks=1 (6 runs) | acks=all (6 runs) |" in lines
    assert "| end-to-end response p99, ms | 10.1 (9.80 to 10.3) | 13.1 (12.7 to 13.4) |" in lines


def test_intervals_stand_below_the_medians_where_so_many_runs_have_them(run: Make) -> None:
    """Of the mean from two runs on, of the median from six; those of the figure that decides are said at once."""
    found = together(acks(run, {"1": slower(), "all": slower(1.3, 5)}))
    assert intervals(found, found.answers[2]) == IntervalTable(
        ["end-to-end response p99, ms", "mean", "95 % of the mean", "95 % of the median"],
        [
            ["acks=1", "10.0", "9.85 to 10.2", "9.80 to 10.3"],
            ["acks=all", "13.0", "12.7 to 13.3", "-"],
        ],
    )
    text = comparison_text(found, colour=False, width=100)
    assert re.search(r"acks=1 +10\.0 +9\.85 to 10\.2 +9\.80 to 10\.3\n", text)
    lines = comparison_markdown(found).splitlines()
    assert "| acks=all | 13.0 | 12.7 to 13.3 | - |" in lines


def test_intervals_of_twenty_runs_have_one_of_the_bootstrap_too(run: Make) -> None:
    values = [10 * (1 + 0.01 * (place * 7 % 20)) for place in range(20)]
    found = together(acks(run, {"1": values, "all": slower()}))
    table = intervals(found, found.answers[2])
    assert table is not None
    assert table.heads[-1] == "95 % of the median, bootstrap"
    assert found.answers[2].variants[0] is not None
    low, high = found.answers[2].variants[0].bootstrap_interval or (0, 0)
    assert table.rows[0][-1] == f"{significant(low)} to {significant(high)}"
    assert table.rows[1][-1] == "-"


def test_figures_without_an_interval_have_no_line_of_them(run: Make) -> None:
    """A single run has none, nor do runs that are all the same."""
    alone = together(acks(run, {"1": slower(count=1), "all": slower(count=1)}))
    alike = together(acks(run, {"1": [10.0] * 6, "all": [10.0] * 6}))
    for found in (alone, alike):
        assert [intervals(found, each) for each in found.answers] == [None] * len(found.answers)
        assert "of the mean" not in comparison_text(found, colour=False) + comparison_markdown(found)


def test_intervals_of_other_figures_are_folded_in_markdown(run: Make) -> None:
    runs = acks(run, {"1": slower(), "all": slower(1.3)})
    found = together(runs, "latency.end_to_end.response.p50_ms")
    markdown = comparison_markdown(found)
    begin = markdown.index("<details><summary>Intervals of the other figures</summary>\n\n| figure | variant |")
    assert "| end-to-end response p99, ms | acks=1 | 10.0 | 9.85 to 10.2 | 9.80 to 10.3 |" in markdown[begin:]
    assert markdown.index("</details>") > begin
    assert "95 % of" not in comparison_text(found, colour=False, width=100)


def test_a_document_has_all_of_it_and_is_json(run: Make) -> None:
    found = together(acks(run, {"1": slower(), "all": slower(1.3)}))
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert document["variants"][0] == {"name": "acks=1", "runs": [f"run-runs-{number}" for number in range(6)]}
    [primary] = [each for each in document["metrics"] if each["is_primary"]]
    assert primary["path"] == P99
    assert primary["variants"][0]["median"] == pytest.approx(10.05)
    assert primary["comparisons"][0]["verdict"] == "higher"
    assert primary["comparisons"][0]["effect"]["is_ratio"]
    assert primary["sentences"] == found.primary.sentences if found.primary else None


def test_figures_that_the_verdict_does_not_judge_are_compared(run: Make) -> None:
    """What processes and brokers used is not of the instrument's making; any number of a result can be compared."""
    runs = acks(run, {"all": slower(), "1": slower()})
    costs = ("resources.cpu_us_per_message.brokers", "resources.garbage_collection.total_ms")
    assert not set(costs) & set(runs[0].result.trust)
    assert set(costs) <= {each.metric.path for each in together(runs).answers}
    for path in (*costs, "resources.processes.0.cpu_cores", "latency.ack.response.count"):
        found = together(runs, path).primary
        assert found is not None
        assert [each and each.count for each in found.variants] == [6, 6]
    absent = together(runs, "resources.processes.99.cpu_cores").primary
    assert absent is not None
    assert absent.variants == (None, None)


def test_where_the_verdict_believes_nothing_it_believes_no_cost(run: Make) -> None:
    result = run("runs", 1).result
    path = "resources.garbage_collection.total_ms"
    assert figure_of(result, path) == 4.0
    distrusted = {each: trust.model_copy(update={"trust": "not_believed"}) for each, trust in result.trust.items()}
    found = figure_of(result.model_copy(update={"trust": distrusted}), path)
    assert isinstance(found, FigureTrust)
    assert (found.value, found.trust, len(found.because)) == (4.0, "not_believed", 1)
    distrusted |= {P99: result.trust[P99]}
    assert figure_of(result.model_copy(update={"trust": distrusted}), path) == 4.0
    # Another tool's runs and those of old versions have no trust at all.
    assert figure_of(result.model_copy(update={"trust": {}}), path) == 4.0


def test_a_metric_is_a_number(run: Make) -> None:
    result = run("runs", 1).result
    assert [figure_of(result, path) for path in ("verdict.valid", "run.id", "resources", "resources.nothing.x")] == [
        None
    ] * 4
