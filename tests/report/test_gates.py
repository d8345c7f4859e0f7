"""Limits on how much worse runs may be, and how build servers are told."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from streamgauge.domain.errors import BadValue
from streamgauge.report.compare.ci import annotations, gates_markdown, junit
from streamgauge.report.compare.gates import Gates, WorseLimit, gates, parse_limit
from streamgauge.result import Result
from streamgauge.result.reading import result_of

P99 = "latency.end_to_end.response.p99_ms"
RATE = "throughput.received_per_second"
NOISE = (1.0, 1.02, 0.99, 1.01, 0.98, 1.03)
Runs = Callable[..., list[Result]]


@pytest.fixture
def runs(healthy_result: dict[str, Any]) -> Runs:
    """A maker of runs with these factors: `runs(p99=1.2, rate=0.9, noise=…)`."""

    def make(p99: float = 1.0, rate: float = 1.0, noise: Sequence[float] = NOISE) -> list[Result]:
        found = []
        for number, each in enumerate(noise):
            document = deepcopy(healthy_result)
            document["run"]["id"] = f"run-{number}"
            for path, value in ((P99, 10 * p99 * each), (RATE, 1_000 * rate * each)):
                document["trust"][path] |= {"value": value, "low": value, "high": value, "trust": "believed"}
            found.append(result_of(document))
        return found

    return make


def judged(runs: Runs, *limits: str, **now: Any) -> Gates:
    return gates(runs(), runs(**now), [parse_limit(each) for each in limits])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99=10%", WorseLimit("p99", 0.1)),
        (" lag.outstanding.max = 0.05 ", WorseLimit("lag.outstanding.max", 0.05)),
        ("received=0%", WorseLimit("received", 0.0)),
    ],
)
def test_a_limit_is_a_figure_and_a_share(text: str, expected: WorseLimit) -> None:
    assert parse_limit(text) == expected


@pytest.mark.parametrize("text", ["p99", "p99=", "=10%", "p99=ten", "p99=-5%", "p99=10%%"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="a limit names a figure"):
        parse_limit(text)


@pytest.mark.parametrize(
    ("figure", "path"),
    [
        ("p99", P99),
        ("p99.9", "latency.end_to_end.response.p99_9_ms"),
        ("max", "latency.end_to_end.response.max_ms"),
        ("received", RATE),
        ("lag.outstanding.max", "lag.outstanding.max"),
    ],
)
def test_short_names_stand_for_paths(runs: Runs, figure: str, path: str) -> None:
    assert WorseLimit(figure, 0.1).path(runs()) == path


def test_without_consumers_a_percentile_is_that_of_acknowledgements(healthy_result: dict[str, Any]) -> None:
    document = deepcopy(healthy_result)
    document["trust"] = {path: each for path, each in document["trust"].items() if "end_to_end" not in path}
    assert WorseLimit("p99", 0.1).path([result_of(document)]) == "latency.ack.response.p99_ms"


@pytest.mark.parametrize(
    ("now", "limit", "outcome", "code"),
    [
        pytest.param({"p99": 1.5}, "p99=10%", "worse", 3, id="half more"),
        pytest.param({"p99": 1.04}, "p99=10%", "within", 0, id="a little more"),
        pytest.param({"p99": 1.1}, "p99=10%", "unknown", 4, id="as much as the limit"),
        pytest.param({"p99": 0.5}, "p99=0%", "within", 0, id="less"),
        pytest.param({"rate": 0.8}, "received=10%", "worse", 3, id="a lower rate"),
        pytest.param({"rate": 1.5}, "received=0%", "within", 0, id="a higher rate"),
        pytest.param({"p99": 3.0, "noise": (1.0,)}, "p99=10%", "unknown", 4, id="a single run closes no gate"),
    ],
)
def test_runs_decide_together(runs: Runs, now: dict[str, Any], limit: str, outcome: str, code: int) -> None:
    found = judged(runs, limit, **now)
    assert [each.gate.outcome for each in found.gated] == [outcome]
    assert found.code == code


def test_the_worst_outcome_is_that_of_all(runs: Runs) -> None:
    found = judged(runs, "p99=10%", "received=10%", "received=50%", p99=1.1, rate=0.8)
    assert [each.gate.outcome for each in found.gated] == ["unknown", "worse", "within"]
    assert found.code == 3


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"p99": 1.5}, "end-to-end response p99: 46 % to 54 % worse than the baseline (limit 10 %)"),
        ({"p99": 0.5}, "end-to-end response p99: 49 % to 51 % better than the baseline (limit 10 %)"),
        ({}, "end-to-end response p99: between 2.9 % better and 3.0 % worse than the baseline (limit 10 %)"),
        (
            {"noise": (1.0,)},
            "end-to-end response p99: limit 10 %; too few runs for a verdict: 4 more of each",
        ),
    ],
)
def test_a_sentence_says_how_much_worse(runs: Runs, now: dict[str, Any], expected: str) -> None:
    assert judged(runs, "p99=10%", **now).gated[0].sentence == expected


def test_what_cannot_be_told_says_how_many_runs_would_tell(runs: Runs) -> None:
    [found] = judged(runs, "p99=10%", p99=1.05, noise=[each**3 for each in NOISE]).gated
    assert found.gate.outcome == "unknown"
    assert found.sentence.endswith(
        f"; the interval contains the limit; {found.gate.runs_wanted} runs of each would tell"
    )
    assert found.gate.runs_wanted
    assert found.gate.runs_wanted > len(NOISE)


def test_junit_counts_what_is_worse_as_failures_and_what_is_not_known_as_errors(runs: Runs) -> None:
    found = judged(runs, "p99=10%", "received=10%", "received=50%", p99=1.1, rate=0.8)
    suite = ET.fromstring(junit(found))
    assert (suite.tag, suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == (
        "testsuite",
        "3",
        "1",
        "1",
    )
    assert [[child.tag for child in case] for case in suite] == [["error"], ["failure"], []]
    assert suite[1][0].attrib["message"] == found.gated[1].sentence


def test_github_is_told_of_what_is_not_within_its_limit(runs: Runs) -> None:
    found = judged(runs, "p99=10%", "received=10%", "received=50%", p99=1.1, rate=0.8)
    warning, error = annotations(found)
    assert warning.startswith("::warning title=streamgauge check::end-to-end response p99: ")
    assert error.startswith("::error title=streamgauge check::received rate: ")
    assert "%25 worse than the baseline" in error


def test_what_comes_from_outside_means_nothing(runs: Runs, healthy_result: dict[str, Any]) -> None:
    path = "<b>|\x1b\n::error::x"
    document = deepcopy(healthy_result)
    document["trust"][path] = document["trust"][P99]
    results = [result_of(document)]
    found = gates(results, results, [WorseLimit(path, 0.1)])
    assert ET.fromstring(junit(found))[0].attrib["name"] == "<b>|??::error::x"
    assert "<b>|" not in gates_markdown(found)
    assert "\n" not in annotations(found)[0]


def test_a_document_and_markdown_have_all_of_it(runs: Runs, tmp_path: Path) -> None:
    found = judged(runs, "p99=10%", p99=1.5)
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    [limit] = document["limits"]
    assert (document["exit_code"], limit["path"], limit["outcome"], limit["most_worse"]) == (3, P99, "worse", 0.1)
    assert limit["worse"] == pytest.approx([0.456, 0.545], abs=2e-3)
    assert gates_markdown(found).splitlines()[2] == f"| p99 | WORSE | {found.gated[0].sentence} |"
