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

from streamgauge.cli.experiments.search import search_document, search_lines
from streamgauge.domain.errors import BadInput, BrokerError, Interrupted
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.experiments.search.record import SearchRecord, SearchStep
from streamgauge.runs.experiment.lines import step_line
from streamgauge.runs.experiment.means import RunMeans
from streamgauge.runs.experiment.search.conduct import SearchEnded, SearchView, search
from streamgauge.runs.experiment.search.request import SearchOptions, search_of
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


class Alive:
    """Stands for an embedded broker."""

    alive = True


@dataclass
class System:
    """Meets 20 ms up to a capacity; needs longer for what follows an overload."""

    out: Path
    healthy: dict[str, Any]
    capacity: float = 10_000
    after_overload: float | None = None
    fails: dict[int, BaseException | str] = field(default_factory=dict)
    rates: list[float | None] = field(default_factory=list)
    steps: list[SearchStep] = field(default_factory=list)
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
        document["throughput"] |= {
            "target_per_second": rate,
            **dict.fromkeys(("sent_per_second", "acked_per_second", "received_per_second"), arrives),
        }
        if outcome:
            document["run"] |= {"ending": outcome, "reasons": ["because"]}
        return document

    @contextmanager
    def broker(self, *_: object) -> Iterator[Any]:
        yield Alive()

    def search(self, *settings: str, **given: Any) -> SearchEnded:
        options = RunOptions(out=self.out, command=["streamgauge"], settings=settings)
        request = search_of("baseline", SearchOptions(**{"objectives": ["p99 <= 20 ms"], **given}), options)
        means = RunMeans(self.run, lambda _: Settled(is_quiet=True, idle_share=1.0), self.broker)
        view = SearchView(lambda _: None, lambda step: self.steps.append(deepcopy(step)), lambda _: Quiet())
        return search(request, view, ["streamgauge", "search"], means)


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


def test_runs_are_as_long_as_their_percentile_needs(system: System) -> None:
    system.search(start="100/s", step="5s", most="200/s", objectives=["p99.9 <= 20 ms"])
    assert system.seconds[0] == 100
    assert system.seconds[1] == 50


def test_whole_numbers_are_searched_as_such(system: System) -> None:
    system.capacity = 1e9
    ended = system.search(path="load.producers", most="8", start="1")
    assert ended.record.whole
    assert ended.record.answer.held == 8


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
        ({"find": "best"}, (), ["--find: best"]),
        ({"width": "x"}, (), ["--width: x: not a share"]),
        ({"step": "x"}, (), ["--step: x: not a duration"]),
        ({"start": "x"}, (), ["--start: x: not a rate"]),
        ({"least": "5k", "most": "1k"}, (), ["--least: is not below"]),
        ({}, ("load.rate=5/s",), ["--set load.rate: is what is searched"]),
        ({}, ("phases.start_at=2999-01-01T00:00:00Z",), ["phases.start_at: has no place"]),
        ({"path": "load.payload"}, (), ["--start: load.payload has no number"]),
        ({"path": "load.producers", "start": "1.5"}, (), ["--start: 1.5: not a whole number"]),
        ({"path": "load.nothing", "start": "1"}, (), ["load.nothing: no such key"]),
        ({}, ("load=off",), ["load: is off"]),
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


def test_each_step_is_a_line(system: System) -> None:
    ended = system.search()
    lines = [step_line(step, "load.rate") for step in system.steps]
    assert lines[:4] == [
        "trying unthrottled",
        "unthrottled: 12,000/s acknowledged, 12,000/s received",
        "trying load.rate=6,000/s",
        "load.rate=6,000/s: held",
    ]
    assert any(line.endswith("did not hold (p99 <= 20 ms: 50.0)") for line in lines)
    shown = list(search_lines(ended))
    assert shown[0].startswith("Highest load.rate that held: ")
    assert shown[1].startswith("Lowest that did not: ")
    assert shown[-1] == f"Folder: {ended.folder.root}"
