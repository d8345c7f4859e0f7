"""Searches carried out with runs that are made up, of a system whose capacity is known."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import changed
from tests.report.conftest import told as told_by

from streamgauge.cli.experiments.search import search_lines
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.errors import BadInput, BrokerError, CtrlC, Fault, Interrupted
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.experiments.paths import ExperimentFolder, SearchFolder
from streamgauge.experiments.search.record import SearchRecord, SearchStep
from streamgauge.experiments.search.staircase import Staircase
from streamgauge.runs.experiment.folder import read_search, write_record
from streamgauge.runs.experiment.lines import step_line
from streamgauge.runs.experiment.means import RunMeans
from streamgauge.runs.experiment.search.conduct import SearchEnded, SearchView, go_on, search
from streamgauge.runs.experiment.search.request import SearchOptions, search_of
from streamgauge.runs.experiment.search.results import search_document
from streamgauge.runs.experiment.search.shipped import of_shipped
from streamgauge.runs.experiment.settle import Settled
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display, Quiet

pytestmark = pytest.mark.slow

P99 = "latency.end_to_end.response.p99_ms"


@pytest.fixture(scope="module")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told_by(changed(tmp_path_factory.mktemp("healthy") / "run"))


@dataclass
class Cluster:
    """Stands for an embedded cluster."""

    plan: ClusterPlan
    alive: bool = True


@dataclass
class System:
    """Meets 20 ms up to a capacity; needs longer for what follows an overload."""

    out: Path
    healthy: dict[str, Any]
    capacity: float = 10_000
    after_overload: float | None = None
    doubts_from: float = float("inf")
    """From this rate on, p99 may lie on either side of 20 ms."""
    late_from: float = float("inf")
    """From this rate on, within the capacity, the load generator is late: p99 is above 20 ms only because of that."""
    fails: dict[int, BaseException | str] = field(default_factory=dict)
    rates: list[float | None] = field(default_factory=list)
    steps: list[SearchStep] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    is_overloaded: bool = False

    def run(self, request: Request, _display: Display) -> RunFolder:
        assert request.scenario.load
        number, rate = len(self.rates), request.target_per_second
        self.rates.append(rate)
        self.seconds.append(request.scenario.phases.measure_ns / 1e9)
        outcome = self.fails.get(number)
        if isinstance(outcome, BaseException):
            raise outcome
        folder = RunFolder(request.out / f"run-{number}")
        folder.root.mkdir()
        folder.result.write_text(json.dumps(self._result(rate, outcome)))
        return folder

    def _result(self, rate: float | None, outcome: str | None) -> dict[str, Any]:
        document = deepcopy(self.healthy)
        limit = self.after_overload if self.is_overloaded and self.after_overload else self.capacity
        arrives = self.capacity * 1.2 if rate is None else rate
        self.is_overloaded |= rate is not None and rate > self.capacity
        p99 = 10.0 if rate is None or rate <= limit else 50.0
        document["trust"][P99] |= {"value": p99, "low": p99, "high": p99, "trust": "believed"}
        if rate is not None and rate >= self.doubts_from:
            document["trust"][P99] |= {"low": 10.0, "high": 50.0, "trust": "bounded"}
        if rate is not None and self.late_from <= rate <= self.capacity:
            document["trust"][P99] |= {"value": 50.0, "low": 10.0, "high": 50.0, "trust": "not_believed"}
        document["throughput"] |= {
            "target_per_second": rate,
            **dict.fromkeys(("sent_per_second", "acked_per_second", "received_per_second"), arrives),
        }
        if outcome:
            document["run"] |= {"ending": outcome, "reasons": ["because"]}
        return document

    @contextmanager
    def broker(self, _folder: Path, _java: object, _say: object, plan: ClusterPlan) -> Iterator[Any]:
        yield Cluster(plan)

    def search(self, *settings: str, **given: Any) -> SearchEnded:
        asked = SearchOptions(**{"objectives": ["p99 <= 20 ms"], **given})
        request = search_of("baseline", asked, self.options(*settings))
        return search(request, self.view, ["streamgauge", "search"], self.means)

    def go_on(self, folder: SearchFolder, *settings: str, scenario: str | None = None, **given: Any) -> SearchEnded:
        return go_on(folder, scenario, given, self.options(*settings), self.view, self.means)

    def options(self, *settings: str) -> RunOptions:
        return RunOptions(out=self.out, command=["streamgauge"], settings=settings)

    @property
    def means(self) -> RunMeans:
        return RunMeans(self.run, lambda _: Settled(is_quiet=True, idle_share=1.0), self.broker)

    @property
    def view(self) -> SearchView:
        return SearchView(self.said.append, lambda step, _: self.steps.append(deepcopy(step)), lambda _: Quiet())


@pytest.fixture
def system(tmp_path: Path, healthy_run: dict[str, Any]) -> System:
    return System(tmp_path / "experiments", healthy_run)


def test_it_begins_with_half_of_what_an_unthrottled_run_gives(system: System) -> None:
    ended = system.search()
    assert system.rates[:2] == [None, 6_000]
    found = ended.record.answer
    assert found.held is not None
    assert found.broke is not None
    assert found.held <= 10_000 < found.broke <= found.held * 1.05
    assert (ended.code, ended.record.ending) == (Exit.DONE, "narrow")
    assert SearchRecord.model_validate_json(ended.folder.record.read_text()) == ended.record


def test_a_given_start_needs_no_probe(system: System) -> None:
    system.search(start="8k/s")
    assert system.rates[0] == 8_000


@pytest.mark.parametrize(
    ("after", "says"), [(None, "held again at"), (9_000.0, "hysteresis"), (10.0, "did not hold again")]
)
def test_the_way_down_is_tried_and_told(system: System, after: float | None, says: str) -> None:
    system.after_overload = after
    system.capacity = 10_000
    ended = system.search(start="9900")
    down = [step for step in ended.record.steps if step.phase == "down"]
    assert down[0].value == ended.record.answer.broke
    assert says in "\n".join(search_lines(ended))
    assert search_document(ended.record)["answer"]["held_again"] == ended.record.held_again


@pytest.mark.parametrize(
    ("capacity", "given", "ending", "code"),
    [
        (1e9, {"most": "20k/s"}, "at_limit", Exit.DONE),
        (1.0, {"least": "100"}, "never_held", Exit.EXPECTATION_FAILED),
    ],
)
def test_limits_are_answers(system: System, capacity: float, given: dict[str, str], ending: str, code: Exit) -> None:
    system.capacity = capacity
    ended = system.search(start="5k/s", **given)
    assert (ended.record.ending, ended.code) == (ending, code)
    assert "limit" in "\n".join(search_lines(ended))


@pytest.mark.parametrize(
    ("late_from", "given", "ending", "code", "says"),
    [
        pytest.param(8_000, {"start": "5k/s"}, "narrow", Exit.NOT_VALID,
                     ["Highest load.rate that held: 7,", "Cannot be told at 8,", "No run failed for certain"],
                     id="nothing beyond is known"),
        pytest.param(8_000, {"start": "18k/s"}, "narrow", Exit.DONE,
                     ["Highest load.rate that held: 7,", "Cannot be told at 8,", "Lowest that did not: 18,000/s"],
                     id="a rate beyond was too much"),
        pytest.param(0, {"start": "5k/s", "least": "100"}, "never_held", Exit.NOT_VALID,
                     ["Cannot be told at 100/s", "No run failed for certain", "No value held"], id="at no rate"),
        pytest.param(0, {"start": "18k/s", "least": "100"}, "never_held", Exit.NOT_VALID,
                     ["Cannot be told at 100/s", "Lowest that did not: 18,000/s", "No value held"],
                     id="not at the lowest"),
    ],
)  # fmt: skip
def test_where_the_generator_is_late_nobody_knows_whether_the_system_holds(
    system: System, late_from: float, given: dict[str, str], ending: str, code: Exit, says: Sequence[str]
) -> None:
    system.late_from = late_from
    ended = system.search(**given)
    assert (ended.record.ending, ended.code) == (ending, code)
    lines = list(search_lines(ended))
    assert [line.startswith(each) for line, each in zip(lines, says, strict=False)] == [True] * len(says), lines
    found = search_document(ended.record)["answer"]
    assert found["broke_for_certain"] == (18_000 if "18k/s" in given["start"] else None)
    assert found["between"][1] == found["broke_for_certain"]
    assert "p99 <= 20 ms: 50.0; without the effect of the instrument it lies between 10 and 50" in "\n".join(lines)


def test_runs_are_as_long_as_their_percentile_needs(system: System) -> None:
    system.search(start="100/s", step="5s", most="200/s", objectives=["p99.9 <= 20 ms"])
    assert system.seconds[0] == 100
    assert system.seconds[1] == 50


def test_whole_numbers_are_searched_as_such(system: System) -> None:
    system.capacity = 1e9
    ended = system.search(path="load.producers", most="8", start="1")
    assert ended.record.whole
    assert ended.record.answer.held == 8


def test_a_search_ends_at_the_limit_of_its_setting(system: System) -> None:
    system.capacity = 1e9
    ended = system.search(path="consume.groups", start="20")
    assert [step.value for step in ended.record.steps] == [20, 40, 64]
    assert (ended.code, ended.record.ending, ended.record.most) == (Exit.DONE, "at_limit", 64)
    assert system.said[0].startswith(
        "searched up to 64, as the scenario can have no more: consume.groups: 1024: should"
    )
    assert system.go_on(ended.folder).record == ended.record


def test_a_doubtful_run_is_repeated(system: System) -> None:
    system.fails = {1: "failed"}
    ended = system.search(start="8k/s")
    values = [step.value for step in ended.record.steps if step.phase == "up"]
    assert values[1] == values[2] != values[3]


def test_runs_that_never_finish_end_it(system: System) -> None:
    system.fails = dict.fromkeys(range(9), BrokerError("the broker died\nsee its log"))
    ended = system.search(start="8k/s")
    assert (ended.code, ended.record.ending, ended.record.reasons) == (Exit.FAILED, "failed", ["the broker died"])
    assert len(ended.record.steps) == 3


def test_a_probe_that_fails_ends_it(system: System) -> None:
    system.fails = {0: BrokerError("no")}
    ended = system.search()
    assert (ended.code, len(system.rates)) == (Exit.FAILED, 1)
    assert "use --start" in ended.record.reasons[0]


def test_it_leaves_a_page_a_summary_and_a_result(system: System) -> None:
    ended = system.search()
    assert json.loads(ended.folder.result.read_text()) == search_document(ended.record)
    first = next(search_lines(ended))
    assert first.partition("  (")[0] in ended.folder.report.read_text()
    assert first.partition("  (")[0] in ended.folder.summary.read_text()


def test_a_search_without_any_run_leaves_no_page(system: System) -> None:
    system.fails = {0: Interrupted("in vain")}
    ended = system.search()
    assert json.loads(ended.folder.result.read_text())["answer"]["held"] is None
    assert not ended.folder.report.exists()
    assert list(search_lines(ended))[-1] == f"Folder: {ended.folder.root}"


@pytest.mark.parametrize("outcome", ["interrupted", Interrupted("in vain")])
def test_what_is_known_when_it_is_interrupted_is_told(system: System, outcome: BaseException | str) -> None:
    system.fails = {2: outcome}
    ended = system.search(start="4k/s")
    assert (ended.code, ended.record.ending) == (Exit.INTERRUPTED, "interrupted")
    assert ended.record.answer.held == 8_000
    assert ended.record.steps[-1].outcome == "interrupted"


@pytest.mark.parametrize(
    ("given", "settings", "expected"),
    [
        ({"objectives": []}, (), ["--objective: there is none"]),
        ({"objectives": ["p99 == 1", "nothing"]}, (), ["--objective: p99 == 1: not", "--objective: nothing: not"]),
        (
            {"objectives": ["throughput.recieved_per_second >= 5000", "p99 <= 20 ms", "run.name <= 3"]},
            (),
            [
                "--objective: throughput.recieved_per_second: throughput has no `rec",
                "--objective: run.name: is no number",
            ],
        ),
        ({"find": "best"}, (), ["--find: best"]),
        ({"width": "x"}, (), ["--width: x: not a share"]),
        ({"step": "x"}, (), ["--step: x: not a duration"]),
        ({"start": "x"}, (), ["--start: x: not a rate"]),
        ({"least": "5k", "most": "1k"}, (), ["--least: is not below"]),
        ({}, ("load.rate=5/s",), ["--set load.rate: is what is searched"]),
        ({}, ("phases.start_at=2999-01-01T00:00:00Z",), ["phases.start_at: has no place"]),
        ({"path": "load.payload"}, (), ["--start: load.payload has no number"]),
        ({"path": "load.producers", "start": "9" * 400}, (), [f"--start: {'9' * 40}"]),
        ({"path": "load.producers", "start": "1.5"}, (), ["--start: 1.5: not a whole number"]),
        ({"path": "consume.groups", "most": "100"}, (), ["--most: consume.groups: 100: should be less"]),
        ({"path": "load.nothing", "start": "1"}, (), ["load.nothing: no such key"]),
        ({}, ("load=off",), ["load: is off"]),
        ({"climb": "by: 0"}, (), ["--climb by: not a share"]),
        ({"climb": "up: 1, from: 200%"}, (), ["--climb up: Extra inputs"]),
        ({"climb": "by: ["}, (), ["--climb: not valid YAML"]),
        ({"climb": "by: 5%", "start": "5k"}, (), ["--climb: climbs rates from a share of a bound"]),
        (
            {"objectives": ["p99.9 <= 20 ms over 10s"], "most": "900"},
            (),
            ["--objective: p99.9 <= 20 ms over 10s: at 900/s a window has 9,000 messages, and p99.9 needs 10,000."],
        ),
        (
            {"objectives": ["p99 <= 20 ms over 10s"], "climb": "bound: 80, to: 100%"},
            (),
            ["--objective: p99 <= 20 ms over 10s: at 80.0/s a window has 800 messages"],
        ),
        (
            {"objectives": ["p99 <= 20 ms over 10s"], "path": "consume.consumers", "start": "1"},
            ("load.rate=50/s",),
            ["--objective: p99 <= 20 ms over 10s: at 50.0/s a window has 500 messages"],
        ),
    ],
)
def test_what_cannot_be_searched_is_told_before_anything_starts(
    system: System, given: dict[str, Any], settings: Sequence[str], expected: list[str]
) -> None:
    with pytest.raises(BadInput) as caught:
        system.search(*settings, **given)
    found = [str(fault) for fault in caught.value.faults]
    assert all(any(text.startswith(begin) for text in found) for begin in expected), found
    assert system.rates == []


@pytest.mark.parametrize(
    ("settings", "given", "told"),
    [
        ((), {"start": "900", "most": "2k"}, ["at 900/s a window has 9,000 messages, and p99.9 needs 10,000, so runs"]),
        ((), {"climb": "bound: 1500, from: 50%, to: 100%, by: 25%"}, ["at 750/s a window has 7,500 messages"]),
        ((), {"start": "1k", "most": "2k"}, []),
        # Nobody knows with how many it begins.
        ((), {"most": "2k"}, []),
        # Each group receives them.
        (("consume.groups=2",), {"start": "500", "most": "900"}, []),
        # Bursts may have enough.
        (
            ("load.rate={burst: {base: 1/s, burst: 2k/s, every: 60s, for: 10s}}",),
            {"path": "consume.consumers", "start": "1", "most": "2"},
            [],
        ),
    ],
)
def test_rates_at_which_windows_are_too_small_are_told_first(
    system: System, settings: Sequence[str], given: dict[str, Any], told: list[str]
) -> None:
    asked = SearchOptions(**{"objectives": ["p99.9 <= 20 ms over 10s"], **given})
    request = search_of("baseline", asked, system.options(*settings))
    assert [fault in note for note, fault in zip(request.notes, told, strict=True)] == [True] * len(told)


def test_each_step_is_a_line(system: System) -> None:
    ended = system.search()
    lines = [step_line(step, "load.rate") for step in system.steps]
    assert lines[:4] == [
        "trying unthrottled",
        "unthrottled: 12,000/s acknowledged, 12,000/s received",
        "trying load.rate=6,000/s",
        "load.rate=6,000/s: held",
    ]
    assert any(line.endswith("did not hold, doubtful (p99 <= 20 ms: 50.0)") for line in lines)
    shown = list(search_lines(ended))
    assert shown[0].startswith("Highest load.rate that held: ")
    assert shown[1].startswith("Lowest that did not: ")
    assert shown[-2:] == [f"Folder: {ended.folder.root}", f"Report: {ended.folder.report}"]


def tried(record: SearchRecord) -> list[tuple[str, float | None]]:
    return [(step.phase, step.value) for step in record.steps if step.outcome == "done"]


@pytest.mark.parametrize("at", range(12))
def test_a_search_goes_on_from_wherever_it_was_interrupted(system: System, tmp_path: Path, at: int) -> None:
    """Nothing is done twice but a way down: the system may have recovered meanwhile."""
    outcome: BaseException | str = ("interrupted", Interrupted("in vain"), CtrlC())[at % 3]
    whole = System(tmp_path / "whole", system.healthy).search()
    system.fails = {at: outcome}
    ended = system.search()
    if at >= len(whole.record.steps):
        assert ended.code is Exit.DONE
        return
    assert ended.code is Exit.INTERRUPTED
    assert ended.record.reasons == [f"{ended.record.reasons[0].partition(';')[0]}; resume with: {ended.folder.resume}"]
    system.is_overloaded = False
    again = system.go_on(ended.folder)
    assert (again.code, again.record.ending, again.record.reasons) == (Exit.DONE, whole.record.ending, [])
    assert again.record.answer == whole.record.answer
    down = [each for each in tried(whole.record) if each[0] == "down"]
    repeated = max(0, at - (len(whole.record.steps) - len(down)))
    assert tried(again.record) == [*tried(whole.record)[: len(whole.record.steps) - len(down)], *down[:repeated], *down]
    assert again.record.held_again == whole.record.held_again
    assert read_search(ended.folder) == again.record


def test_a_search_that_is_over_does_nothing_more(system: System) -> None:
    ended = system.search()
    runs = len(system.rates)
    ended.folder.report.unlink()
    again = system.go_on(ended.folder)
    assert ended.folder.report.exists()
    assert (again.record, again.code, len(system.rates)) == (ended.record, ended.code, runs)


@pytest.mark.parametrize("ending", ["finished", None])
def test_a_run_that_had_ended_when_the_search_was_killed_is_not_done_twice(system: System, ending: str | None) -> None:
    ended = system.search(start="8k/s", most="8k/s")
    record = read_search(ended.folder)
    record.ending, record.steps[-1] = None, SearchStep(phase="up", value=8_000, begun="")
    write_record(ended.folder, record)
    facts = json.loads(changed(system.out / "elsewhere").facts.read_text())
    RunFolder(ended.folder.runs / "run-0").facts.write_text(json.dumps(facts | {"ending": ending}))
    again = system.go_on(ended.folder)
    assert [step.outcome for step in again.record.steps] == (["done"] if ending else ["interrupted", "done"])
    assert (again.record.steps[0].folder, again.record.ending) == ("run-0", "at_limit")


def test_runs_that_did_not_finish_are_tried_again(system: System) -> None:
    system.fails = dict.fromkeys(range(3), BrokerError("the broker died"))
    ended = system.search(start="8k/s")
    again = system.go_on(ended.folder)
    assert [step.outcome for step in again.record.steps[:4]] == ["interrupted"] * 3 + ["done"]
    assert (again.code, again.record.steps[3].value) == (Exit.DONE, 8_000)


def test_a_search_that_failed_has_as_many_attempts_when_it_goes_on(system: System) -> None:
    system.fails = dict.fromkeys(range(4), BrokerError("the broker died"))
    ended = system.search(start="8k/s")
    assert len(ended.record.steps) == 3
    again = system.go_on(ended.folder)
    assert (again.code, again.record.ending) == (Exit.DONE, "narrow")


def test_a_staircase_tells_the_conforming_rate_of_each_objective(system: System) -> None:
    system.capacity = 9_000
    objectives = ["p99 <= 20 ms", "p99 <= 60 ms"]
    ended = system.search(objectives=objectives, climb="from: 50%, to: 90%, by: 10%, finer: 1")
    # The unthrottled run gives 10,800/s.
    assert [(step.phase, step.value) for step in ended.record.steps] == [
        ("probe", None), *(("step", rate) for rate in (5_500, 6_600, 7_700, 8_800, 9_900)), ("finer", 9_350),
    ]  # fmt: skip
    told = search_document(ended.record)["answer"]
    assert told["bound"] == 11_000
    assert told["objectives"] == {
        "p99 <= 20 ms": {"held": 8_800, "broke": 9_350, "unknown": None},
        "p99 <= 60 ms": {"held": 9_900, "broke": None, "unknown": None},
    }  # fmt: skip
    assert (told["held"], told["broke"], ended.record.ending, ended.code) == (8_800, 9_350, "climbed", Exit.DONE)
    assert list(search_lines(ended))[:3] == [
        "High bound: 11,000/s",
        "p99 <= 20 ms: held up to 8,800/s, 80 % of it; did not hold at 9,350/s",
        "p99 <= 60 ms: held up to 9,900/s, 90 % of it; held at every step",
    ]
    assert read_search(ended.folder) == ended.record


@pytest.mark.parametrize(
    ("doubts_from", "held", "unknown", "expected"),
    [
        (7_000, 6_600, 7_700, "held up to 6,600/s, 60 % of it; cannot be told at 7,700/s"),
        (1_000, None, 5_500, "cannot be told at 5,500/s"),
    ],
)
def test_a_step_that_cannot_be_told_is_none_that_did_not_hold(
    system: System, doubts_from: float, held: float | None, unknown: float, expected: str
) -> None:
    system.capacity, system.doubts_from = 9_000, doubts_from
    ended = system.search(climb="from: 50%, to: 90%, by: 10%")
    told = search_document(ended.record)["answer"]["objectives"]
    assert told == {"p99 <= 20 ms": {"held": held, "broke": None, "unknown": unknown}}
    assert list(search_lines(ended))[1] == f"p99 <= 20 ms: {expected}"
    assert (ended.record.ending, ended.code) == ("climbed", Exit.NOT_VALID)


@pytest.mark.parametrize(
    ("climb", "ending", "code"),
    [
        ("bound: 2k, by: 20%", "at_limit", Exit.DONE),
        ({"bound": 90_000, "by": 0.2}, "never_held", Exit.EXPECTATION_FAILED),
    ],
)
def test_how_a_staircase_ends(system: System, climb: Any, ending: str, code: Exit) -> None:
    ended = system.search(climb=climb)
    assert (ended.record.ending, ended.code) == (ending, code)


def test_a_shipped_search_is_one_of_its_scenario(system: System) -> None:
    source, given = of_shipped("steprater", {"step": "10s", "climb": "by: 30%"})
    assert (source, given["step"], given["objectives"][0]) == ("azul-10k", "10s", "p99 <= 20 ms over 10s")
    assert of_shipped("baseline", given) == ("baseline", given)
    request = search_of(source, SearchOptions(**given), system.options())
    system.fails = {0: Interrupted("in vain")}
    ended = search(request, system.view, ["streamgauge", "search"], system.means)
    system.fails = {1: Interrupted("in vain again")}
    again = system.go_on(ended.folder, scenario="steprater")
    assert again.code is Exit.INTERRUPTED
    assert again.record.staircase == Staircase(by=0.3)


@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_staircase_goes_on_where_it_was_interrupted(system: System, tmp_path: Path, at: int) -> None:
    whole = System(tmp_path / "whole", system.healthy).search(climb="by: 20%")
    system.fails = {at: Interrupted("in vain")}
    ended = system.search(climb="by: 20%")
    again = system.go_on(ended.folder, climb="{by: 20%}")
    assert tried(again.record) == tried(whole.record)
    assert again.record.conforming == whole.record.conforming
    with pytest.raises(BadInput, match="other values of: staircase"):
        system.go_on(ended.folder, climb="by: 10%")


@pytest.mark.parametrize(("number", "ending"), [(1, "failed"), (2, "failed")])
def test_a_staircase_of_runs_that_fail_ends(system: System, number: int, ending: str) -> None:
    system.fails = dict.fromkeys(range(number - 1, 9), BrokerError("no"))
    ended = system.search(climb="default")
    assert (ended.record.ending, ended.code) == (ending, Exit.FAILED)
    assert len(ended.record.steps) == (1 if number == 1 else 4)


def test_what_could_not_start_is_tried_again(system: System) -> None:
    system.fails = {1: BadInput([Fault("topic.name", "is there", "Choose another")])}
    with pytest.raises(BadInput, match="is there"):
        system.search(start="8k/s")
    folder = SearchFolder(next(system.out.iterdir()))
    assert read_search(folder).ending == "failed"
    assert system.go_on(folder).code is Exit.DONE


@pytest.mark.parametrize(
    ("settings", "given", "differs"),
    [
        ((), {"scenario": "baseline", "objectives": ["p99 <= 20 ms"], "width": "5%"}, None),
        ((), {"scenario": "saturate"}, "scenario"),
        (("load.size=64",), {}, "scenario"),
        ((), {"objectives": ["p99 <= 30 ms"], "width": "2%"}, "objectives, width"),
        ((), {"start": "5k/s"}, "start"),
        ((), {"step": "20s"}, "step_seconds"),
    ],
)
def test_another_search_is_refused(
    system: System, settings: Sequence[str], given: dict[str, Any], differs: str | None
) -> None:
    system.fails = {2: Interrupted("in vain")}
    ended = system.search()
    if differs is None:
        assert system.go_on(ended.folder, *settings, **given).code is Exit.DONE
        return
    with pytest.raises(BadInput) as caught:
        system.go_on(ended.folder, *settings, **given)
    assert [fault.what for fault in caught.value.faults] == [f"was made with other values of: {differs}"]
    assert len(system.rates) == 3


def test_the_folder_of_an_experiment_is_no_search(system: System, tmp_path: Path) -> None:
    ended = system.search(start="8k/s", most="8k/s")
    ended.folder.record.rename(ExperimentFolder(ended.folder.root).record)
    with pytest.raises(BadInput, match=r"not the folder of a search: it has no readable search\.json"):
        system.go_on(ended.folder)
    with pytest.raises(BadInput, match="not the folder of a search: it has no folder"):
        system.go_on(SearchFolder(tmp_path))
