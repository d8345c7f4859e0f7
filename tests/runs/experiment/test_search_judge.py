"""Whether a run of a search held: each rule by itself, and what is doubtful."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.conftest import Row, Tables, changed
from tests.report.conftest import told as told_by

from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.experiments.search.objective import parse_objective
from streamgauge.result import Result
from streamgauge.result.reading import result_of
from streamgauge.runs.experiment.search.judge import judge_step, windows_of

RECEIVED = "throughput/received_per_second"
P99 = "latency.end_to_end.response.p99_ms"
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told_by(changed(tmp_path_factory.mktemp("healthy") / "run"))


def put(path: str, value: Any) -> Change:
    def change(document: dict[str, Any]) -> None:
        *way, last = path.split("/")
        for step in way:
            document = document[step]
        document[last] = value

    return change


def trusted(path: str, **values: Any) -> Change:
    return lambda document: document["trust"][path].update(values)


def outstanding(values: Sequence[int]) -> Change:
    def change(document: dict[str, Any]) -> None:
        seconds = [each for each in document["timeline"] if each["second"] >= 0]
        for each, value in zip(seconds, values, strict=False):
            each["outstanding"] = value

    return change


def p99_of(value: float, low: float | None = None, high: float | None = None, trust: str = "believed") -> Change:
    ends = {"low": value if low is None else low, "high": value if high is None else high}
    return trusted(P99, value=value, trust=trust, **ends)


def made(healthy: dict[str, Any], *changes: Change) -> Result:
    document = deepcopy(healthy)
    for change in (p99_of(10), *changes):
        change(document)
    return result_of(document)


@pytest.mark.parametrize(
    ("changes", "held", "doubtful", "reason"),
    [
        pytest.param([], True, False, "", id="healthy"),
        pytest.param([p99_of(25)], False, True, "p99 <= 20 ms: 25.0", id="the objective is broken, the rate arrives"),
        pytest.param([p99_of(25), put(RECEIVED, 9_800.0)], False, False, "p99 <= 20 ms: 25.0", id="overloaded"),
        pytest.param([p99_of(19, 15, 24)], True, True, "too close to be told", id="its interval has the bound in it"),
        pytest.param([p99_of(25, 19, 26)], False, True, "too close to be told", id="from the other side"),
        pytest.param([p99_of(25, trust="not_believed")], False, True, "is not believed", id="it is not believed"),
        pytest.param([put(RECEIVED, 9_884.0)], False, False, "received 98.8 % of the target", id="too little arrives"),
        pytest.param([put(RECEIVED, 9_950.0)], True, False, "", id="nearly everything arrives"),
        pytest.param([put(RECEIVED, None), put("throughput/acked_per_second", 5_000.0)], False, False,
                     "acknowledged 50.0 %", id="without consumers acknowledgements count"),
        pytest.param([put("throughput/target_per_second", None), put(RECEIVED, 1.0)], True, False, "",
                     id="no rate was asked for"),
        pytest.param([put("delivery/lost", 3)], False, False, "3 lost", id="messages are lost"),
        pytest.param([outstanding(range(0, 50_000, 5_000))], False, False, "outstanding messages grew",
                     id="they pile up"),
        pytest.param([outstanding([200, 90, 150, 80, 210, 100, 160, 90, 170, 120])], True, False, "", id="they swing"),
        pytest.param(
            [put("run/ending", "failed"), put("run/reasons", ["it died"])], False, True, "it died", id="it failed"
        ),
        pytest.param([p99_of(25, 19, 26), put("delivery/lost", 3)], False, False, "3 lost", id="certain"),
    ],
)  # fmt: skip
def test_a_run_holds_or_does_not(
    healthy_run: dict[str, Any], changes: Sequence[Change], held: bool, doubtful: bool, reason: str
) -> None:
    found = judge_step(made(healthy_run, *changes), [parse_objective("p99 <= 20 ms")], {})
    assert (found.held, found.is_doubtful) == (held, doubtful), found.reasons
    assert reason in "; ".join(found.reasons)


def test_a_figure_that_a_run_lacks_is_no_proof(healthy_run: dict[str, Any]) -> None:
    found = judge_step(made(healthy_run), [parse_objective("latency.nothing.response.p99_ms <= 20")], {})
    assert (found.held, found.is_doubtful, found.figures) == (False, True, {})


@pytest.mark.parametrize(
    ("windows", "held", "worst"),
    [([5.0, 19.0], True, [19.0]), ([5.0, 21.0], False, [21.0]), ([5.0, None], False, [None]), ([], False, [])],
)
def test_each_full_window_has_to_hold(
    healthy_run: dict[str, Any], windows: list[float | None], held: bool, worst: list[float | None]
) -> None:
    objective = parse_objective("p99 <= 20 ms over 5s")
    found = judge_step(made(healthy_run), [objective], {objective.text: windows})
    assert (found.held, found.figures) == (held, dict(zip([objective.text], worst, strict=False)))
    assert found.is_doubtful is not held


def test_windows_are_of_the_merged_messages_of_their_seconds(tmp_path_factory: pytest.TempPathFactory) -> None:
    """99 of 100 messages of a window take 1 ms; in the second window two of a hundred never arrive."""

    def bucket(second: int, latency_ms: float, count: int, *, censored: bool = False) -> Row:
        index = int(bucket_of(np.array([round(latency_ms * 1e6)], np.int64))[0])
        row = {"metric": "end_to_end_response", "second": second, "topic": None, "partition": None, "measured": True}
        return {**row, "censored": censored, "bucket": index, "count": count}

    def change(_facts: Row, tables: Tables) -> None:
        tables["latency_buckets"] = [
            bucket(-1, 900, 999), bucket(0, 1, 50), bucket(1, 1, 49), bucket(1, 500, 1), bucket(2, 1, 98),
            bucket(3, 5, 2, censored=True), bucket(4, 800, 99),
        ]  # fmt: skip

    folder = changed(tmp_path_factory.mktemp("windows") / "run", change)
    p99, p50 = parse_objective("p99 <= 20 ms over 2s"), parse_objective("p50 <= 20 ms over 2s")
    found = windows_of(folder, [p99, p50, parse_objective("p99 <= 1 ms")], 5)
    assert found[p50.text] == pytest.approx([1.0, 1.0], rel=0.02)
    assert found[p99.text][0] == pytest.approx(1.0, rel=0.02)
    assert found[p99.text][1] is None
    assert list(found) == [p99.text, p50.text]
    longest = parse_objective("max <= 20 ms over 2s")
    assert len(windows_of(folder, [longest], 5)[longest.text]) == 2


def paused(load: Sequence[int | None]) -> Callable[[Row, Tables], None]:
    """Each second with so many messages of 1 ms; None where they were due, and were never even sent."""

    def change(_facts: Row, tables: Tables) -> None:
        index = int(bucket_of(np.array([1_000_000], np.int64))[0])
        place = {"metric": "ack_service", "measured": True, "censored": False, "bucket": index}
        tables["latency_buckets"] = [{**place, "second": at, "count": count} for at, count in enumerate(load) if count]
        tables["latency"] = [
            {**row, "max_ms": 1.0}
            for row in tables["latency"]
            if row["metric"] == "ack_service" and (row["scope"] != "window" or load[max(row["second"], 0)])
        ]
        for row in tables["throughput"]:
            if row["scope"] == "window":
                row["due"] = 100 if row["second"] >= 0 and load[row["second"]] is None else load[row["second"]]

    return change


@pytest.mark.parametrize("figure", ["p99", "max"])
@pytest.mark.parametrize(
    ("load", "expected"),
    [
        pytest.param([9, 9, 9, 0, 0, 0, 9, 9, 0, 0], [1.0] * 3, id="windows in a pause say nothing"),
        pytest.param([9, 0, 9, 0, 9, 0, 9, 0, 9, 0], [1.0] * 5, id="a pause ends each window"),
        pytest.param([9, 9, None, None, 9, 9, 0, 0, 9, 9], [1.0, None, 1.0, 1.0], id="what was due was not sent"),
        pytest.param([9, 9, None, 9, 9, 9, 9, 9, 9, 9], [1.0] * 5, id="some of it was sent in its window"),
    ],
)
def test_a_pause_of_the_load_breaks_no_window(
    tmp_path: Path, load: Sequence[int | None], expected: Sequence[float | None], figure: str
) -> None:
    objective = parse_objective(f"latency.ack.service.{figure}_ms <= 20 ms over 2s")
    found = windows_of(changed(tmp_path / "run", paused(load)), [objective], 10)[objective.text]
    assert found == [None if each is None else pytest.approx(each, rel=0.02) for each in expected]


def test_without_a_schedule_every_window_should_have_messages(tmp_path: Path) -> None:
    def unscheduled(_facts: Row, tables: Tables) -> None:
        for row in tables["throughput"]:
            row["due"] = 0

    objective = parse_objective("latency.ack.service.p99_ms <= 20 ms over 2s")
    folder = changed(tmp_path / "run", paused([9, 9, 9, 9, 9, 9, 0, 0, 9, 9]), unscheduled)
    assert windows_of(folder, [objective], 10)[objective.text].count(None) == 1


@pytest.mark.parametrize(
    ("changes", "reached", "says"),
    [
        ([], True, True),
        ([p99_of(30)], True, False),
        ([p99_of(19, 18, 22)], True, None),
        ([put(RECEIVED, 9_000.0)], False, True),
        ([put("delivery/lost", 1)], False, True),
        ([outstanding([1_000 * second for second in range(10)])], False, True),
    ],
)
def test_the_rate_and_each_objective_are_told_apart(
    healthy_run: dict[str, Any], changes: Sequence[Change], reached: bool, says: bool | None
) -> None:
    objective = parse_objective("p99 <= 20 ms")
    found = judge_step(made(healthy_run, *changes), [objective], {})
    assert (found.reached, found.objectives) == (reached, {objective.text: says})
