"""Whether a run of a search held: each rule by itself, and what is doubtful."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.conftest import Row, Tables, changed, without
from tests.report.conftest import told as told_by

from streamgauge.domain.latency.buckets import bucket_of
from streamgauge.experiments.search.objective import parse_objective
from streamgauge.result import Result
from streamgauge.result.reading import result_of
from streamgauge.runs.experiment.search.judge import judge_step
from streamgauge.runs.experiment.search.windows import WindowFigure, windows_of

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
        pytest.param([p99_of(19, 15, 24)], True, True,
                     "p99 <= 20 ms: 19.0; without the effect of the instrument it lies between 15 and 24",
                     id="its interval has the bound in it"),
        pytest.param([p99_of(25, 19, 26)], False, True, "it lies between 19 and 26", id="from the other side"),
        pytest.param([p99_of(25, 3, 25, "not_believed")], False, True, "it lies between 3 and 25", id="far apart"),
        pytest.param([p99_of(19, 3, 19, "not_believed")], True, False, "", id="not believed, and held in any case"),
        pytest.param([p99_of(90, 22, 90, "not_believed")], False, True, "p99 <= 20 ms: 90.0",
                     id="not believed, and broken in any case"),
        pytest.param([p99_of(19, 3, 19, "not_believed"), trusted(P99, low=None)], True, False, "", id="no low end"),
        pytest.param([p99_of(9, trust="not_believed"), trusted(P99, high=None)], True, True, "at 9 or above",
                     id="no high end"),
        pytest.param([p99_of(9, trust="not_believed"), trusted(P99, low=None, high=None)], True, True,
                     "p99 <= 20 ms: 9.00; the figure is not believed", id="no end at all"),
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
    figures = [WindowFigure(each, 1_000) for each in windows]
    found = judge_step(made(healthy_run), [objective], {objective.text: figures})
    assert (found.held, found.figures) == (held, dict(zip([objective.text], worst, strict=False)))
    assert found.is_doubtful is not held


ENOUGH, FEW = WindowFigure(5, 10_000), WindowFigure(5, 2_000)


@pytest.mark.parametrize(
    ("windows", "held", "says", "reason"),
    [
        pytest.param([ENOUGH, WindowFigure(5, 10_000)], True, True, "", id="enough in each"),
        pytest.param([FEW, FEW], True, None,
                     "2 of 2 windows have too few messages, down to 2,000 of 10,000; write a longer one, like over 50s",
                     id="too few in each"),
        pytest.param([ENOUGH, FEW], True, None, "1 of 2 windows have too few messages, down to 2,000", id="in one"),
        pytest.param([FEW, WindowFigure(25, 10_000)], False, False, "failed in 1 of 2 windows", id="another broke"),
        pytest.param([ENOUGH, WindowFigure(25, 2_000)], False, None, "failed in 1 of 2 windows; p99.9 <= 20 ms over",
                     id="only it broke"),
        pytest.param([ENOUGH, WindowFigure(None, 0)], False, False, "failed in 1 of 2 windows", id="none came"),
        pytest.param([ENOUGH, WindowFigure(5, 2_000, has_pause=True)], True, True, "", id="next to a pause"),
        pytest.param([WindowFigure(5, 2_000, has_pause=True)], True, None, "too few messages", id="only next to one"),
        pytest.param([ENOUGH, WindowFigure(25, 2_000, has_pause=True)], False, None, "like over 17s",
                     id="it broke next to a pause"),
    ],
)  # fmt: skip
def test_a_window_with_too_few_messages_for_its_percentile_is_doubtful(
    healthy_run: dict[str, Any], windows: list[WindowFigure], held: bool, says: bool | None, reason: str
) -> None:
    objective = parse_objective("p99.9 <= 20 ms over 10s")
    found = judge_step(made(healthy_run), [objective], {objective.text: windows})
    assert (found.held, found.objectives) == (held, {objective.text: says})
    assert found.is_doubtful is (not held or says is None)
    assert reason in "; ".join(found.reasons)
    assert bool(found.reasons) is bool(reason)


def told(value: float, low: float | None, high: float | None, messages: int = 10_000) -> WindowFigure:
    return WindowFigure(value, messages, ends=(low, high))


@pytest.mark.parametrize(
    ("windows", "held", "says", "reason"),
    [
        pytest.param([told(9, 8, 9), told(19, 2, 20)], True, True, "", id="all of each interval holds"),
        pytest.param([told(9, 8, 9), told(19, 18, 21)], True, None,
                     "cannot be told in 1 of 2 windows; of the worst, 19.0: without the effect of the instrument it "
                     "lies between 18 and 21", id="it holds as it was measured"),
        pytest.param([told(22, 19, 22), told(31, 12, 31), told(9, 8, 9)], False, None,
                     "cannot be told in 2 of 3 windows; of the worst, 31.0: without the effect of the instrument it "
                     "lies between 12 and 31", id="it fails as it was measured"),
        pytest.param([told(9, 8, 9), told(31, 12, 31), told(24, 21, 24)], False, False, "failed in 1 of 3 windows",
                     id="one fails in any case"),
        pytest.param([told(24, None, 24)], False, None, "it lies at 24 or below", id="no low end"),
        pytest.param([told(19, None, 19)], True, True, "", id="no low end, and it holds in any case"),
        pytest.param([told(24, 21, None)], False, False, "failed in 1 of 1 windows", id="no high end, and it fails"),
        pytest.param([told(9, None, None)], True, None, "the figure is not believed", id="no end at all"),
        pytest.param([told(9, 8, 9), told(31, 21, 31, 2_000)], False, None, "too few messages", id="too few messages"),
    ],
)  # fmt: skip
def test_a_window_is_decided_by_its_interval(
    healthy_run: dict[str, Any], windows: list[WindowFigure], held: bool, says: bool | None, reason: str
) -> None:
    """Whatever is believed of the figure of the phase."""
    objective = parse_objective("p99.9 <= 20 ms over 10s")
    run = made(healthy_run, trusted(objective.path, value=31, low=2, high=31, trust="not_believed"))
    found = judge_step(run, [objective], {objective.text: windows})
    assert (found.held, found.objectives) == (held, {objective.text: says})
    assert reason in "; ".join(found.reasons)
    assert bool(found.reasons) is bool(reason)


def test_no_window_can_be_told_where_the_phase_has_no_interval(healthy_run: dict[str, Any]) -> None:
    """What disturbed it has no bound: all processes stood still together, say."""
    objective = parse_objective("p99.9 <= 20 ms over 10s")
    run = made(healthy_run, trusted(objective.path, value=9, low=None, high=None, trust="not_believed"))
    found = judge_step(run, [objective], {objective.text: [told(9, 8, 9)]})
    assert (found.held, found.objectives) == (True, {objective.text: None})
    assert found.reasons == (f"{objective.path} is not believed",)


def test_a_phase_without_the_percentile_says_what_its_windows_lack(healthy_run: dict[str, Any]) -> None:
    objective = parse_objective("p99.9 <= 20 ms over 10s")
    path = objective.path
    lacking = made(healthy_run, lambda document: without(document, path))
    assert "too few messages" in judge_step(lacking, [objective], {objective.text: [FEW]}).reasons[0]
    assert "has no such figure" in judge_step(lacking, [objective], {objective.text: []}).reasons[0]


def test_windows_are_of_the_merged_messages_of_their_seconds(tmp_path_factory: pytest.TempPathFactory) -> None:
    """99 of 100 messages of a window take 1 ms; in those with the third second two of a hundred never arrive."""

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
    assert values(found[p50.text]) == pytest.approx([1.0, 1.0, 1.0, 800.0], rel=0.02)
    assert values(found[p99.text]) == [pytest.approx(1.0, rel=0.02), pytest.approx(1.0, rel=0.02), None, None]
    assert [each.messages for each in found[p99.text]] == [100, 148, 100, 101]
    assert list(found) == [p99.text, p50.text]
    longest = parse_objective("max <= 20 ms over 2s")
    assert len(windows_of(folder, [longest], 5)[longest.text]) == 4


def values(windows: Sequence[WindowFigure]) -> list[float | None]:
    return [each.value for each in windows]


@pytest.mark.parametrize("figure", ["p99", "max"])
def test_a_stall_across_the_edge_of_two_windows_is_whole_in_one(tmp_path: Path, figure: str) -> None:
    """6 % of the messages of the ninth and tenth second are slow: 1.2 % of those of a window that has both."""

    def change(_facts: Row, tables: Tables) -> None:
        fast, slow = (int(bucket_of(np.array([ns], np.int64))[0]) for ns in (1_000_000, 500_000_000))
        place = {"metric": "ack_service", "measured": True, "censored": False}
        stalled = {9, 10}
        tables["latency_buckets"] = [
            {**place, "second": at, "bucket": bucket, "count": count}
            for at in range(30)
            for bucket, count in ([(fast, 470), (slow, 30)] if at in stalled else [(fast, 500)])
        ]
        row = next(row for row in tables["latency"] if row["metric"] == "ack_service" and row["scope"] == "window")
        tables["latency"] = [
            *(each for each in tables["latency"] if each["scope"] != "window"),
            *({**row, "second": at, "count": 500, "max_ms": 500.0 if at in stalled else 1.0} for at in range(30)),
        ]
        row = next(row for row in tables["throughput"] if row["scope"] == "window")
        tables["throughput"] = [{**row, "second": at, "due": 500} for at in range(30)]

    objective = parse_objective(f"latency.ack.service.{figure}_ms <= 20 ms over 10s")
    found = windows_of(changed(tmp_path / "run", change), [objective], 30)[objective.text]
    broken = [begin for begin, each in enumerate(found) if not objective.bound.holds(each.value or 0)]
    assert len(found) == 21
    assert {each.messages for each in found} == {5_000}
    # One of the two seconds alone is 0.6 % of a window, and its maximum all the same.
    assert broken == list(range(1, 10) if figure == "p99" else range(11))


MS = 1_000_000
TIMES = (
    ("end_to_end_service", 9),
    ("end_to_end_service", 30),
    ("end_to_end_response", 12),
    ("end_to_end_response", 40),
)


def two_windows(*widths: tuple[str, float, float | None, int]) -> Callable[[Row, Tables], None]:
    """Two seconds of a hundred messages each: service times of 9 and 30 ms, response times of 12 and 40.

    `widths` are the metric, the latency in ms, how much of it the instrument may have added, and how many messages.
    """

    def index(ms: float) -> int:
        return int(bucket_of(np.array([round(ms * MS)], np.int64))[0])

    def change(_facts: Row, tables: Tables) -> None:
        tables["latency_buckets"] = [
            {
                "metric": metric,
                "second": place % 2,
                "measured": True,
                "censored": False,
                "bucket": index(ms),
                "count": 100,
            }
            for place, (metric, ms) in enumerate(TIMES)
        ]
        tables["latency_widths"] = [
            {"metric": metric, "bucket": index(ms), "width_us": None if width is None else width * 1000, "count": count}
            for metric, ms, width, count in widths
        ]
        row = next(
            row for row in tables["latency"] if row["metric"] == "end_to_end_service" and row["scope"] == "window"
        )
        tables["latency"] = [
            *(each for each in tables["latency"] if each["scope"] != "window"),
            *({**row, "metric": metric, "second": place % 2, "count": 100, "max_ms": float(ms)}
              for place, (metric, ms) in enumerate(TIMES)),
        ]  # fmt: skip
        row = next(row for row in tables["throughput"] if row["scope"] == "window")
        tables["throughput"] = [{**row, "second": at, "due": 100} for at in range(2)]

    return change


KNOWN = (
    ("end_to_end_service", 9, 0, 98), ("end_to_end_service", 9, 4, 2), ("end_to_end_service", 30, 10, 100),
    ("end_to_end_response", 12, 0, 100), ("end_to_end_response", 40, 20, 100),
)  # fmt: skip


def held_up(_facts: Row, tables: Tables) -> None:
    for row in tables["resources"]:
        if row["role"] == "producer":
            row["blocked_share"] = 0.9


def calibrated(facts: Row, _tables: Tables) -> None:
    facts["calibration"]["errors_ms"] = {"end_to_end.response.p50": 2.0, "end_to_end.response.p99": 2.0}


@pytest.mark.parametrize("figure", ["p50", "max"])
@pytest.mark.parametrize(
    ("kind", "changes", "expected"),
    [
        pytest.param("response", [two_windows(*KNOWN)], [(12, 12), (20, 40)], id="each message by itself"),
        pytest.param("response", [two_windows(*KNOWN), calibrated], [(10, 12), (20, 40)], id="at least as calibrated"),
        pytest.param("service", [two_windows(*KNOWN)], [(9, 12), (20, 40)], id="as if sent when due"),
        pytest.param("service", [two_windows(*KNOWN), held_up], [(9, 9), (20, 30)], id="what the system held up"),
        pytest.param("response", [two_windows()], [(None, 12), (None, 40)], id="an older analysis"),
        pytest.param("response", [two_windows(("end_to_end_response", 12, None, 1), *KNOWN)],
                     [(None, 12), (None, 40)], id="not known of one message"),
    ],
)  # fmt: skip
def test_each_window_has_an_interval(
    tmp_path: Path, figure: str, kind: str, changes: Sequence[Callable[[Row, Tables], None]],
    expected: list[tuple[float | None, float | None]],
) -> None:  # fmt: skip
    objective = parse_objective(f"latency.end_to_end.{kind}.{figure}_ms <= 20 ms over 1s")
    found = windows_of(changed(tmp_path / "run", *changes), [objective], 2)[objective.text]
    ends = [(end or (None, None)) for end in (each.ends for each in found)]
    assert ends == [
        tuple(None if each is None else pytest.approx(each, rel=0.06) for each in pair) for pair in expected
    ]
    assert all(low is None or low <= (each.value or 0) for each, (low, _) in zip(found, ends, strict=True))


def test_a_window_longer_than_the_phase_is_never_full(tmp_path: Path) -> None:
    objective = parse_objective("latency.ack.service.p99_ms <= 20 ms over 11s")
    assert windows_of(changed(tmp_path / "run", paused([9] * 10)), [objective], 10) == {objective.text: []}


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
        pytest.param([9, 9, 9, 0, 0, 0, 9, 9, 0, 0], [1.0] * 6, id="windows in a pause say nothing"),
        pytest.param([9, 0, 9, 0, 9, 0, 9, 0, 9, 0], [1.0] * 9, id="a pause in each window"),
        pytest.param([9, 9, None, None, 9, 9, 0, 0, 9, 9], [1.0, 1.0, None, *[1.0] * 5],
                     id="what was due was not sent"),
        pytest.param([9, 9, None, 9, 9, 9, 9, 9, 9, 9], [1.0] * 9, id="some of it was sent in its window"),
    ],
)  # fmt: skip
def test_a_pause_of_the_load_breaks_no_window(
    tmp_path: Path, load: Sequence[int | None], expected: Sequence[float | None], figure: str
) -> None:
    objective = parse_objective(f"latency.ack.service.{figure}_ms <= 20 ms over 2s")
    found = windows_of(changed(tmp_path / "run", paused(load)), [objective], 10)[objective.text]
    assert values(found) == [None if each is None else pytest.approx(each, rel=0.02) for each in expected]
    reaches = [pair for pair in pairwise(load) if any(each is None or each for each in pair)]
    assert [each.has_pause for each in found] == [0 in pair for pair in reaches]


def test_without_a_schedule_every_window_should_have_messages(tmp_path: Path) -> None:
    def unscheduled(_facts: Row, tables: Tables) -> None:
        for row in tables["throughput"]:
            row["due"] = 0

    objective = parse_objective("latency.ack.service.p99_ms <= 20 ms over 2s")
    folder = changed(tmp_path / "run", paused([9, 9, 9, 9, 9, 9, 0, 0, 9, 9]), unscheduled)
    found = windows_of(folder, [objective], 10)[objective.text]
    assert values(found).count(None) == 1
    assert not any(each.has_pause for each in found)


@pytest.mark.parametrize(
    ("changes", "reached", "says"),
    [
        ([], True, True),
        ([p99_of(30)], True, False),
        ([p99_of(19, 18, 22)], True, None),
        ([p99_of(19, 3, 19, "not_believed")], True, True),
        ([p99_of(90, 22, 90, "not_believed")], True, False),
        ([p99_of(90, 3, 90, "not_believed")], True, None),
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
