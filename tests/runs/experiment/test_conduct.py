"""Experiments carried out with runs that are made up: recorded, told, ended, and gone on with."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import changed, without
from tests.report.conftest import told as told_by

from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.errors import AnalysisError, BadInput, BrokerError, CtrlC, Fault, Interrupted
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.experiments.record import ExperimentRecord
from streamgauge.report.compare import Together
from streamgauge.report.compare.answers import PRIMARY
from streamgauge.runs.experiment.conduct import conduct, go_on
from streamgauge.runs.experiment.folder import held, read_record, write_record
from streamgauge.runs.experiment.judge import answered, level_of
from streamgauge.runs.experiment.means import RunMeans
from streamgauge.runs.experiment.request import experiment_of
from streamgauge.runs.experiment.settle import Settled
from streamgauge.runs.experiment.told import ExperimentEnded, ExperimentStep, ExperimentView
from streamgauge.runs.request.options import RunOptions
from streamgauge.runs.request.request import Request
from streamgauge.verdict.exits import Exit
from streamgauge.watch.display import Display, Quiet

pytestmark = pytest.mark.slow

P99 = "latency.end_to_end.response.p99_ms"
SIZES: dict[str, Any] = {
    "name": "sizes",
    "scenario": "baseline",
    "vary": {"load.size": [64, 256]},
    "settle": 0,
}
Outcome = float | BaseException | str
"""The p99 of a run, what it raises, or how it ends."""


@dataclass
class Broker:
    """Stands for an embedded cluster."""

    plan: ClusterPlan
    alive: bool = True


@dataclass
class Made:
    """Runs that are made up, and what became of them."""

    out: Path
    healthy: dict[str, Any]
    outcomes: list[Outcome] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    steps: list[ExperimentStep] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    brokers: list[Broker] = field(default_factory=list)
    quiet: bool = True
    tables: list[tuple[str, int]] = field(default_factory=list)
    tables_fail: bool = False
    bad_size: int | None = None
    """Every run with messages of this size fails."""
    lacking: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Figures that a run has not, by its number."""
    losing: frozenset[int] = frozenset()
    """Numbers of the runs that lose a message."""
    doubting: frozenset[int] = frozenset()
    """Numbers of the runs that cannot say whether they lost one."""
    before: Callable[[int], None] = lambda _: None

    def run(self, request: Request, _display: Display) -> RunFolder:
        number = len(self.requests)
        self.before(number)
        self.requests.append(request)
        outcome = self.outcomes[number] if number < len(self.outcomes) else self.p99(request)
        if request.scenario.load and request.scenario.load.size == self.bad_size:
            outcome = BrokerError("no")
        folder = RunFolder(request.out / f"run-{number}")
        if isinstance(outcome, BaseException):
            if isinstance(outcome, BrokerError):
                folder.root.mkdir()
            raise outcome
        folder.root.mkdir()
        folder.result.write_text(json.dumps(self.result(number, request, outcome)))
        return folder

    def p99(self, request: Request) -> float:
        """Larger messages take twice as long; each run differs a little."""
        assert request.scenario.load
        noise = 1 + 0.01 * (len(self.requests) * 7 % 5)
        return (10 if request.scenario.load.size == 64 else 20) * noise

    def result(self, number: int, request: Request, outcome: Outcome) -> dict[str, Any]:
        document = deepcopy(self.healthy)
        document["run"] |= {"id": f"run-{number}", "created": f"2026-01-01T00:00:{number:02}Z"}
        assert request.scenario.load
        document["run"]["scenario"]["load"]["size"] = request.scenario.load.size
        if outcome == "not believed":
            document["trust"][P99]["trust"] = "not_believed"
        elif isinstance(outcome, str):
            document["run"] |= {"ending": outcome, "reasons": ["because"]}
        else:
            document["trust"][P99] |= {"value": outcome, "low": outcome, "high": outcome, "trust": "believed"}
        for path in self.lacking.get(number, ()):
            without(document, path)
        if number in self.losing | self.doubting:
            of = {"decided": True, "reason": None} if number in self.losing else {"decided": False, "reason": "unknown"}
            lost = {"path": "delivery.lost", "wanted": 0, "found": 1, "passed": False, **of}
            others = [each for each in document["expectations"] if each["path"] != "delivery.lost"]
            document["expectations"] = [*others, lost]
        return document

    @contextmanager
    def broker(self, _folder: Path, _java: object, _say: object, plan: ClusterPlan) -> Iterator[Any]:
        self.brokers.append(Broker(plan))
        yield self.brokers[-1]

    @property
    def means(self) -> RunMeans:
        return RunMeans(self.run, lambda _: Settled(self.quiet, 0.5), self.broker, self.write_tables)

    def write_tables(self, folder: ExperimentFolder, record: ExperimentRecord) -> None:
        self.tables.append((folder.root.name, len(record.runs)))
        if self.tables_fail:
            raise AnalysisError("Spark failed")

    @property
    def view(self) -> ExperimentView:
        # A step is told while its run changes: what it was then is kept.
        return ExperimentView(self.said.append, lambda step: self.steps.append(deepcopy(step)), lambda _: Quiet())

    def carry_out(self, **changes: Any) -> ExperimentEnded:
        request = experiment_of({**SIZES, **changes}, self.options(), {})
        return conduct(request, self.view, ["streamgauge", "experiment"], self.means)

    def go_on(self, folder: ExperimentFolder, *settings: str, source: Any = None, **changes: Any) -> ExperimentEnded:
        return go_on(folder, source, self.options(*settings), changes, self.view, self.means)

    def options(self, *settings: str, **more: Any) -> RunOptions:
        return RunOptions(out=self.out, command=["streamgauge"], settings=settings, **more)

    @property
    def order(self) -> str:
        return "".join("ab"[each.scenario.load.size == 256] for each in self.requests if each.scenario.load)


@pytest.fixture
def made(tmp_path: Path, healthy_run: dict[str, Any]) -> Made:
    return Made(tmp_path / "experiments", healthy_run)


@pytest.fixture(scope="module")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told_by(changed(tmp_path_factory.mktemp("healthy") / "run"))


def outcomes(record: ExperimentRecord) -> list[str]:
    return [run.outcome for run in record.runs]


def test_rounds_visit_all_variants_and_the_runs_answer_together(made: Made) -> None:
    ended = made.carry_out(repeat=6)
    assert ended.code is Exit.DONE
    assert all(made.order[begin : begin + 4] in {"abba", "baab"} for begin in (0, 4, 8))
    assert [run.round for run in ended.record.runs] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert ended.found is not None
    assert ended.found.primary is not None
    assert [each.name for each in ended.found.variants] == ["size=64", "size=256"]
    comparison = ended.found.primary.comparisons[0]
    assert (comparison.verdict, comparison.pairs, comparison.method) == ("higher", 6, "paired t")
    assert (ended.record.ending, ended.record.metric) == ("finished", P99)


def test_everything_is_kept_in_the_folder(made: Made) -> None:
    ended = made.carry_out()
    assert read_record(ended.folder) == ended.record
    assert json.loads(ended.folder.result.read_text())["answer"]["variants"][1]["name"] == "size=256"
    assert ended.folder.summary.read_text().startswith("**2 variants, 10 runs; compared with size=64**\n")
    assert sorted(path.name for path in ended.folder.root.iterdir()) == [
        "experiment.json",
        "report.html",
        "result.json",
        "runs",
        "summary.md",
    ]


@pytest.mark.parametrize(("use", "expected"), [("shared", 1), ("fresh", 0)])
def test_runs_share_a_broker_unless_each_has_its_own(made: Made, use: str, expected: int) -> None:
    made.carry_out(repeat=2, broker=use)
    assert len(made.brokers) == expected
    assert {id(each.broker) for each in made.requests} == {id(made.brokers[0]) if expected else id(None)}


def test_a_broker_that_died_is_replaced(made: Made) -> None:
    def die(number: int) -> None:
        made.brokers[0].alive = number != 1

    made.before = die
    made.carry_out(repeat=2)
    assert len(made.brokers) == 2
    assert made.requests[2].broker is not made.requests[1].broker
    assert "the shared broker has died; starting another" in made.said


def test_progress_tells_each_run_twice_and_the_time_that_is_left(made: Made) -> None:
    ended = made.carry_out(repeat=2)
    assert [(step.number, step.of, step.run.outcome) for step in made.steps[:3]] == [
        (1, 4, "under_way"),
        (1, 4, "measured"),
        (2, 4, "under_way"),
    ]
    assert made.steps[0].left_seconds > made.steps[2].left_seconds > made.steps[-1].left_seconds == 0
    begun = [step for step in made.steps if step.run.outcome == "under_way"]
    assert begun[-1].number == 4
    assert begun[-1].left_seconds > 0
    last = made.steps[-1].record
    assert last == ended.record.model_copy(update={"ending": None, "spent_seconds": last.spent_seconds})


def test_a_loud_machine_is_told(made: Made) -> None:
    made.quiet = False
    ended = made.carry_out(repeat=1)
    assert ended.record.runs[0].reasons == ["the machine was only 50 % idle before it"]


@pytest.mark.parametrize(
    ("outcome", "expected", "reason"),
    [
        ("failed", "failed", "because"),
        ("not believed", "not_believed", f"{P99} is not believed"),
        (BrokerError("the broker died\nsee its log"), "failed", "the broker died"),
    ],
)
def test_a_run_that_cannot_be_compared_is_recorded_and_left_out(
    made: Made, outcome: Outcome, expected: str, reason: str
) -> None:
    made.outcomes = [outcome]
    ended = made.carry_out(repeat=6)
    first = ended.record.runs[0]
    assert (first.outcome, first.reasons, first.folder) == (expected, [reason], "run-0")
    assert len(ended.record.runs) == 12
    assert ended.found is not None
    assert ended.found.primary is not None
    assert sum(ended.found.primary.left_out) == 1
    assert ended.found.primary.comparisons[0].pairs == 5
    assert ended.code is Exit.DONE


def test_it_is_run_once_more_if_that_is_asked_for_and_stays_counted(made: Made) -> None:
    made.outcomes = ["not believed"]
    ended = made.carry_out(repeat=6, again=True)
    assert outcomes(ended.record)[:2] == ["not_believed", "measured"]
    assert ended.record.runs[0].variant == ended.record.runs[1].variant
    assert ended.found is not None
    assert ended.found.primary is not None
    assert ended.found.primary.comparisons[0].pairs == 6
    assert sum(ended.found.primary.left_out) == 1


def test_a_variant_that_lost_too_many_runs_is_not_compared(made: Made) -> None:
    made.outcomes = ["not believed", "not believed", "not believed", "not believed"]
    ended = made.carry_out(repeat=6)
    assert ended.code is Exit.NOT_VALID
    assert ended.found is not None
    assert ended.found.primary is not None
    assert ended.found.primary.comparisons[0].verdict == "no_verdict"


def test_three_failed_runs_in_a_row_end_it(made: Made) -> None:
    made.outcomes = [10.0, BrokerError("no"), BrokerError("no"), BrokerError("no")]
    ended = made.carry_out()
    assert len(made.requests) == 4
    assert (ended.record.ending, ended.code) == ("failed", Exit.FAILED)
    assert ended.record.reasons == ["the last runs all failed: no"]


def test_a_variant_that_always_fails_does_not_end_it(made: Made) -> None:
    """With `again` it fails twice in each round, and an even round is the reverse of the one before."""
    made.bad_size = 256
    ended = made.carry_out(repeat=4, again=True)
    assert sorted(outcomes(ended.record)) == ["failed"] * 8 + ["measured"] * 4
    assert "bbb" in made.order
    assert ended.record.ending == "finished"


def test_an_experiment_that_failed_has_as_many_attempts_when_it_goes_on(made: Made) -> None:
    made.outcomes = [10.0, BrokerError("no"), BrokerError("no"), BrokerError("no"), BrokerError("no")]
    ended = made.carry_out(repeat=6)
    assert ended.record.ending == "failed"
    again = made.go_on(ended.folder)
    assert (again.record.ending, len(again.record.runs)) == ("finished", 12)


def test_what_no_run_could_start_with_ends_it_at_once(made: Made) -> None:
    made.outcomes = [10.0, BadInput([Fault("topic.name", "is there", "Choose another")])]
    with pytest.raises(BadInput, match="is there"):
        made.carry_out()
    record = read_record(ExperimentFolder(next(made.out.iterdir())))
    assert (record.ending, outcomes(record)) == ("failed", ["measured", "interrupted"])


@pytest.mark.parametrize("outcome", ["interrupted", Interrupted("in vain"), CtrlC()])
def test_an_interrupted_experiment_keeps_what_is_done_and_goes_on(made: Made, outcome: Outcome) -> None:
    made.outcomes = [10.0, 20.0, outcome]
    ended = made.carry_out(repeat=2)
    assert (ended.code, outcomes(ended.record)) == (Exit.INTERRUPTED, ["measured", "measured", "interrupted"])
    assert ended.record.reasons[0].endswith(f"resume with: {ended.folder.resume}")
    assert ended.found is not None

    again = made.go_on(ended.folder)
    assert (again.code, again.record.ending) == (Exit.DONE, "finished")
    assert outcomes(again.record) == ["measured", "measured", "interrupted", "measured", "measured"]
    assert made.order[2] == made.order[3]
    assert len(made.brokers) == 2


def test_an_interrupt_before_anything_was_measured_ends_it_too(made: Made) -> None:
    """Ctrl-C in the warm-up of the first run: it has no figure, and nobody named a metric."""
    made.outcomes, made.lacking = ["interrupted"], {0: PRIMARY}
    ended = made.carry_out(repeat=1)
    assert (ended.code, outcomes(ended.record)) == (Exit.INTERRUPTED, ["interrupted"])
    again = made.go_on(ended.folder)
    assert (again.code, outcomes(again.record)) == (Exit.DONE, ["interrupted", "measured", "measured"])


def test_a_run_that_did_not_finish_does_not_say_what_is_compared(made: Made) -> None:
    """Its messages were acknowledged, and it ended before they were received."""
    made.outcomes, made.lacking = ["failed"], {0: (P99,)}
    ended = made.carry_out(repeat=2)
    assert (ended.record.metric, outcomes(ended.record)) == (P99, ["failed", *["measured"] * 3])


def test_a_run_without_any_figure_says_what_to_do(made: Made) -> None:
    made.lacking = {0: PRIMARY}
    ended = made.carry_out(repeat=1)
    assert outcomes(ended.record) == ["failed", "measured"]
    assert ended.record.runs[0].reasons == ["it has no figure that could be compared; name one with `metric`"]


def test_more_rounds_may_be_added(made: Made) -> None:
    ended = made.carry_out(repeat=1)
    again = made.go_on(ended.folder, repeat=3)
    assert [run.round for run in again.record.runs] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("repeats", "added_after", "level", "told"),
    [
        pytest.param((5, 6), [5], 0.025,
            "once after a verdict was possible: verdicts and intervals are those of 97.5 %.", id="once"),
        pytest.param((5, 6, 7), [5, 6], 0.05 / 3, "added twice after a verdict was possible", id="twice"),
        pytest.param((1, 3, 5), [], 0.05, None, id="before there could be a verdict"),
        pytest.param((2, 5, 6), [5], 0.025, "added once", id="one of two"),
        pytest.param((6, 6), [], 0.05, None, id="none"),
    ],
)  # fmt: skip
def test_who_adds_rounds_after_a_verdict_was_possible_is_judged_at_another_level(
    made: Made, repeats: Sequence[int], added_after: list[int], level: float, told: str | None
) -> None:
    ended = made.carry_out(repeat=repeats[0])
    for repeat in repeats[1:]:
        ended = made.go_on(ended.folder, repeat=repeat)
    assert (ended.record.added_after, ended.record.repeat) == (added_after, repeats[-1])
    assert ended.found is not None
    assert ended.found.level == pytest.approx(level)
    assert any(told in each for each in ended.found.warnings) if told else not ended.found.warnings
    assert ("Rounds were added" in ended.folder.summary.read_text()) is (told is not None)
    assert answered(ended.folder, read_record(ended.folder)) == ended.found


def test_rounds_that_an_older_version_added_are_known_by_their_number(made: Made) -> None:
    ended = made.carry_out(repeat=6)
    old = ended.record.model_copy(update={"asked": {**ended.record.asked, "repeat": 5}})
    assert level_of(ended.record) == 0.05
    assert level_of(old) == 0.025
    write_record(ended.folder, old)
    assert made.go_on(ended.folder, repeat=7).record.added_after == [5, 6]


def test_added_rounds_make_a_wanted_interval_wider(made: Made) -> None:
    """Who looks after every round has another level already, which one addition does not change."""
    ended = made.carry_out(repeat=5, stop={"interval": "1%"})
    for repeat, level in ((6, 0.025), (7, 0.05 / 3)):
        ended = made.go_on(ended.folder, repeat=repeat)
        assert level_of(ended.record) == pytest.approx(level)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"repeat": 1}, "repeat: 1: the experiment has 2 rounds"),
        ({"seed": 9}, "order: differs"),
        ({"vary": {"load.size": [64, 512]}}, "experiment: has other variants"),
    ],
)
def test_another_plan_is_another_experiment(made: Made, changes: dict[str, Any], expected: str) -> None:
    ended = made.carry_out(repeat=2)
    with pytest.raises(BadInput, match=expected):
        made.go_on(ended.folder, **changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"set": {"load.rate": "7/s"}}, ["scenario: differs from that of the experiment: set.load.rate."]),
        ({"scenario": "saturate"}, ["scenario: differs from that of the experiment: "]),
        ({"metric": "throughput.acked_per_second"}, [f"metric: differs from that of the experiment: {P99}"]),
        ({"again": True, "broker": "fresh"}, ["again: differs", "broker: differs"]),
        ({"stop": {"interval": "5%"}}, ["stop.interval: differs"]),
        ({"metric": P99, "about": "x", "settle": "1s", "stop": {"time": "9h"}, "again": False}, []),
    ],
)
def test_what_its_runs_depend_on_may_not_change_before_it_goes_on(
    made: Made, changes: dict[str, Any], expected: list[str]
) -> None:
    """Runs of two loads, or on two clusters, would be mixed; what would be ignored is refused, too."""
    ended = made.carry_out(repeat=1)
    source = {**SIZES, "repeat": 1, **changes}
    if not expected:
        assert made.go_on(ended.folder, source=source).code is ended.code
        return
    with pytest.raises(BadInput) as caught:
        made.go_on(ended.folder, source=source, repeat=2)
    found = [str(fault) for fault in caught.value.faults]
    assert len(found) == len(expected)
    assert all(text.startswith(begin) for text, begin in zip(found, expected, strict=True)), found
    assert len(made.requests) == 2


def test_neither_settings_nor_the_cluster_may_change_before_it_goes_on(made: Made) -> None:
    ended = made.carry_out(repeat=1)
    with pytest.raises(BadInput, match=r"scenario: differs from that of the experiment: phases\.measure\."):
        made.go_on(ended.folder, "phases.measure=5s")
    elsewhere = made.options(bootstrap="somewhere:9092")
    with pytest.raises(BadInput, match="--bootstrap: the experiment was begun on embedded brokers"):
        go_on(ended.folder, None, elsewhere, {}, made.view, made.means)


def test_nobody_else_carries_it_out_meanwhile(made: Made) -> None:
    ended = made.carry_out(repeat=1)
    with held(ended.folder), pytest.raises(BadInput, match="still being carried out"):
        made.go_on(ended.folder)


def test_a_folder_that_is_none_is_told(made: Made, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not the folder of an experiment"):
        made.go_on(ExperimentFolder(tmp_path))
    (tmp_path / "runs").mkdir()
    with pytest.raises(BadInput, match=r"no readable experiment\.json"):
        made.go_on(ExperimentFolder(tmp_path))
    (tmp_path / "experiment.json").write_text("{}")
    with pytest.raises(BadInput, match=r"experiment\.json cannot be read: id"):
        made.go_on(ExperimentFolder(tmp_path))


def killed(made: Made, ended: ExperimentEnded) -> ExperimentRecord:
    """As if it had been killed while the last run was under way."""
    record = read_record(ended.folder)
    record.ending = None
    last = record.runs[-1]
    last.outcome, last.folder, last.value, last.seconds = "under_way", None, None, None
    write_record(ended.folder, record)
    return record


def test_a_run_that_had_ended_when_the_experiment_was_killed_is_not_done_twice(made: Made) -> None:
    ended = made.carry_out(repeat=2)
    killed(made, ended)
    folder = RunFolder(ended.folder.runs / "run-3")
    facts = json.loads(changed(made.out / "elsewhere").facts.read_text())
    folder.facts.write_text(json.dumps(facts))
    again = made.go_on(ended.folder)
    assert len(made.requests) == 4
    assert (outcomes(again.record), again.record.runs[3].folder) == (["measured"] * 4, "run-3")


@pytest.mark.parametrize("ending", [None, "interrupted"])
def test_a_run_that_was_cut_off_is_done_anew_and_its_folder_kept(made: Made, ending: str | None) -> None:
    ended = made.carry_out(repeat=2)
    killed(made, ended)
    folder = RunFolder(ended.folder.runs / "run-3")
    facts = json.loads(changed(made.out / "elsewhere").facts.read_text())
    folder.facts.write_text(json.dumps(facts | {"ending": ending}))
    again = made.go_on(ended.folder)
    assert outcomes(again.record) == ["measured"] * 3 + ["interrupted", "measured"]
    assert again.record.runs[3].folder == "run-3"


def test_a_limit_of_time_ends_it_between_rounds(made: Made) -> None:
    ended = made.carry_out(repeat=9, stop={"time": "1ms"})
    assert [run.round for run in ended.record.runs] == [1, 1]
    assert (ended.record.ending, ended.code) == ("stopped", Exit.DONE)
    assert ended.record.reasons == ["round 2 would end later than stop.time"]


@pytest.mark.parametrize(("spent", "rounds"), [(3_600.0, 1), (10.0, 3)])
def test_a_limit_of_time_counts_what_earlier_parts_took(made: Made, spent: float, rounds: int) -> None:
    ended = made.carry_out(repeat=1)
    assert ended.record.spent_seconds is not None
    assert ended.record.spent_seconds >= sum(run.seconds or 0 for run in ended.record.runs)
    write_record(ended.folder, ended.record.model_copy(update={"spent_seconds": spent}))
    again = made.go_on(ended.folder, source={**SIZES, "stop": {"time": "1h"}}, repeat=3)
    assert again.record.runs[-1].round == rounds
    assert again.record.spent_seconds is not None
    assert spent < again.record.spent_seconds < spent + 600


@pytest.mark.parametrize(("limit", "rounds"), [("90m", 1), ("3h", 2)])
def test_of_an_older_version_the_time_of_its_runs_counts(made: Made, limit: str, rounds: int) -> None:
    ended = made.carry_out(repeat=1)
    runs = [run.model_copy(update={"seconds": 1_800.0}) for run in ended.record.runs]
    write_record(ended.folder, ended.record.model_copy(update={"spent_seconds": None, "runs": runs}))
    again = made.go_on(ended.folder, source={**SIZES, "stop": {"time": limit}}, repeat=2)
    assert again.record.runs[-1].round == rounds


def test_the_time_of_a_part_that_was_interrupted_is_kept(made: Made) -> None:
    made.outcomes = [10.0, CtrlC()]
    ended = made.carry_out(repeat=1)
    assert read_record(ended.folder).spent_seconds == ended.record.spent_seconds is not None


def test_narrow_intervals_end_it_and_are_judged_at_another_level(made: Made) -> None:
    ended = made.carry_out(repeat=30, stop={"interval": "10%"})
    assert ended.record.ending == "stopped"
    assert 5 <= ended.record.runs[-1].round < 30
    assert ended.record.reasons[0].endswith("the intervals are as narrow as stop.interval")
    without = ended.record.model_copy(update={"asked": {"repeat": 30}})
    assert width(ended.found) > width(answered(ended.folder, without))


def width(found: Together | None) -> float:
    """Of the interval of the first comparison."""
    assert found is not None
    assert found.primary is not None
    effect = found.primary.comparisons[0].effect
    assert effect is not None
    assert effect.low is not None
    assert effect.high is not None
    return effect.high - effect.low


def test_nothing_varied_is_repeated(made: Made) -> None:
    ended = made.carry_out(vary={}, repeat=3)
    assert ended.code is Exit.DONE
    assert ended.found is not None
    assert [len(each.runs) for each in ended.found.variants] == [3]


def test_a_metric_that_no_run_has_fails_every_run(made: Made) -> None:
    ended = made.carry_out(metric="latency.processing.response.p99_ms")
    assert (ended.record.ending, outcomes(ended.record)) == ("failed", ["failed"] * 3)
    assert ended.record.runs[0].reasons == ["it has no latency.processing.response.p99_ms"]


@pytest.mark.parametrize("order", ["blocks", "as-written"])
def test_other_orders_give_figures_and_no_verdict(made: Made, order: str) -> None:
    ended = made.carry_out(repeat=6, order=order)
    assert made.order == ("a" * 6 + "b" * 6 if order == "blocks" else "ab" * 6)
    assert ended.found is not None
    assert ended.found.primary is not None
    comparison = ended.found.primary.comparisons[0]
    assert comparison.verdict == "no_verdict"
    assert comparison.effect is not None


def test_two_experiments_in_a_second_have_folders_of_their_own(made: Made) -> None:
    first, second = made.carry_out(repeat=1), made.carry_out(repeat=1)
    assert first.folder.root != second.folder.root


@pytest.mark.parametrize(
    ("expect", "holds", "code"),
    [
        pytest.param(f"variants.64.{P99} <= 15", True, Exit.DONE, id="a bound holds"),
        pytest.param(f"variants.64.{P99} <= 5", False, Exit.EXPECTATION_FAILED, id="a bound is broken"),
        pytest.param(f"variants.256.{P99} <= 3 * variants.64.{P99}", True, Exit.DONE, id="a ratio holds"),
        pytest.param(f"variants.256.{P99} < variants.64.{P99}", False, Exit.EXPECTATION_FAILED, id="a ratio is broken"),
        pytest.param(f"variants.256.{P99} < 2 * variants.64.{P99}", None, Exit.NOT_VALID, id="too close to be told"),
        pytest.param(
            "variants.64.latency.processing.response.p99_ms <= 1", None, Exit.NOT_VALID, id="a figure that no run has"
        ),
    ],
)
def test_expectations_are_judged_by_intervals(made: Made, expect: str, holds: bool | None, code: Exit) -> None:
    ended = made.carry_out(repeat=6, expect=[expect])
    assert [each.holds for each in ended.expected] == [holds]
    assert ended.code is code
    told = json.loads(ended.folder.result.read_text())["expectations"]
    assert [(each["text"], each["holds"]) for each in told] == [(expect, holds)]
    assert ended.expected[0].sentence.startswith(f"{expect}: ")


@pytest.mark.parametrize("expect", [f"variants.64.{P99} <= 15", f"variants.256.{P99} <= 3 * variants.64.{P99}"])
def test_too_few_runs_tell_nothing_of_an_expectation(made: Made, expect: str) -> None:
    ended = made.carry_out(repeat=4, expect=[expect])
    assert ended.code is Exit.NOT_VALID
    assert "1 more" in ended.expected[0].sentence


def test_a_failed_expectation_of_the_scenario_is_told_and_the_run_is_compared(made: Made) -> None:
    made.losing, made.doubting = frozenset(range(0, 12, 2)), frozenset({1})
    ended = made.carry_out(repeat=6)
    assert outcomes(ended.record) == ["measured"] * 12
    assert ended.record.runs[0].reasons == ["delivery.lost: 0 failed: found 1"]
    assert ended.record.runs[1].reasons == ["delivery.lost: 0 cannot be decided: unknown"]
    assert ended.record.runs[3].reasons == []
    assert ended.found is not None
    assert ended.found.primary is not None
    assert (ended.found.primary.left_out, ended.found.primary.comparisons[0].pairs) == ((0, 0), 6)
    assert ended.code is Exit.EXPECTATION_FAILED

    told = {each.failed.variant: each.failed for each in ended.expected if each.failed}
    assert sum(each.failed for each in told.values()) == 6
    assert sum(each.undecided for each in told.values()) == 1
    assert {each.runs for each in told.values()} == {6}
    for name, each in told.items():
        sentence = f"{name}: delivery.lost: 0 failed in {each.failed} of 6 runs"
        assert sentence in ended.folder.summary.read_text()
        assert sentence in ended.folder.report.read_text()
    written = json.loads(ended.folder.result.read_text())["expectations"]
    assert [each["failed"]["failed"] for each in written] == [each.failed for each in told.values()]


@pytest.mark.parametrize(
    ("losing", "doubting", "code"),
    [
        pytest.param(range(12), (), Exit.EXPECTATION_FAILED, id="every run lost a message"),
        pytest.param((), (5,), Exit.NOT_VALID, id="one cannot say"),
        pytest.param((3,), (5,), Exit.EXPECTATION_FAILED, id="one lost a message, and one cannot say"),
        pytest.param((), (), Exit.DONE, id="none"),
    ],
)
def test_expectations_of_the_scenario_decide_how_an_experiment_ends(
    made: Made, losing: Sequence[int], doubting: Sequence[int], code: Exit
) -> None:
    made.losing, made.doubting = frozenset(losing), frozenset(doubting)
    assert made.carry_out(repeat=6).code is code


def test_a_loss_counts_whether_or_not_the_run_is_compared(made: Made) -> None:
    made.outcomes, made.losing = ["not believed"], frozenset({0})
    ended = made.carry_out(repeat=6, again=True)
    assert ended.record.runs[0].reasons == [f"{P99} is not believed", "delivery.lost: 0 failed: found 1"]
    assert ended.code is Exit.EXPECTATION_FAILED


def test_lost_runs_tell_nothing_of_an_expectation(made: Made) -> None:
    """A variant of which only good runs are left would meet everything."""
    made.outcomes = ["not believed", "not believed", "not believed", "not believed"]
    ended = made.carry_out(repeat=7, expect=[f"variants.64.{P99} <= 15"])
    assert ended.expected[0].holds is None


def test_tables_are_written_at_the_end_and_the_answer_stands_without_them(made: Made) -> None:
    ended = made.carry_out(repeat=2)
    assert made.tables == [(ended.folder.root.name, 4)]
    made.tables_fail = True
    again = made.go_on(ended.folder, repeat=3)
    assert again.code is Exit.DONE
    assert made.said[-1] == "the tables of the experiment could not be written: Spark failed"


def test_an_experiment_that_is_interrupted_before_any_result_says_so(made: Made) -> None:
    made.outcomes = [Interrupted("in vain")]
    ended = made.carry_out()
    assert (ended.code, ended.found) == (Exit.INTERRUPTED, None)
