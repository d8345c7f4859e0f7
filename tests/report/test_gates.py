"""Limits on how much worse runs may be, and how build servers are told."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.report.conftest import without

from streamgauge.domain.errors import BadInput, BadValue
from streamgauge.report.compare.ci import annotations, gates_markdown, junit
from streamgauge.report.compare.gates import Gates, WorseLimit, gates, parse_limit, take_turns
from streamgauge.report.compare.variants import Alike
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
    return gates([alone(runs())], [alone(runs(**now))], [parse_limit(each) for each in limits])


def alone(runs: Sequence[Result]) -> Alike:
    """Runs of no experiment."""
    return Alike("", tuple(runs))


def in_rounds(runs: Sequence[Result], begun: Sequence[int], name: str = "") -> Alike:
    """Runs of an experiment, a round each, begun at these seconds."""
    created = [f"2026-01-01T00:00:{second:02}Z" for second in begun]
    facts = [run.run.model_copy(update={"created": each}) for run, each in zip(runs, created, strict=True)]
    results = [run.model_copy(update={"run": each}) for run, each in zip(runs, facts, strict=True)]
    return Alike(name, tuple(results), tuple(range(1, len(runs) + 1)))


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
    without(document, *(path for path in document["trust"] if "end_to_end" in path))
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


def test_runs_that_crash_before_they_measure_close_a_gate(runs: Runs) -> None:
    """A candidate of which only the good half is left would pass."""
    now = runs()
    for place, run in enumerate(now[:3]):
        facts = run.run.model_copy(update={"ending": "failed"})
        trust = {path: each for path, each in run.trust.items() if not path.startswith("latency.")}
        now[place] = run.model_copy(update={"run": facts, "trust": trust})
    found = gates([alone(runs())], [alone([*now, *runs()])], [parse_limit("p99=10%")])
    assert (found.code, found.gated[0].answer.left_out) == (4, (0, 3))
    assert "3 of 12 runs" in found.gated[0].sentence


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


@pytest.mark.parametrize(
    ("rate", "outcome", "expected"),
    [
        (0.907, "within", "received rate: 9.3 % to 9.3 % worse than the baseline (limit 10 %)"),
        (0.5, "worse", "received rate: 50 % to 50 % worse than the baseline (limit 10 %)"),
        (1.5, "within", "received rate: 50 % to 50 % better than the baseline (limit 10 %)"),
    ],
)
def test_of_a_rate_the_share_that_is_lost_counts(runs: Runs, rate: float, outcome: str, expected: str) -> None:
    steady = [1 + place / 10_000 for place in range(6)]
    before, now = runs(noise=steady), runs(rate=rate, noise=steady)
    [found] = gates([alone(before)], [alone(now)], [parse_limit("received=10%")]).gated
    assert (found.gate.outcome, found.sentence) == (outcome, expected)


@pytest.mark.parametrize("share", ["100%", "2"])
def test_a_rate_cannot_lose_all_of_it(runs: Runs, share: str) -> None:
    with pytest.raises(BadInput) as caught:
        judged(runs, f"received={share}", f"sent={share}", f"p99={share}")
    assert [fault.where for fault in caught.value.faults] == ["--max-worse"] * 2
    assert str(caught.value).startswith(
        "--max-worse: received: no more than all of it can be lost, so the gate would never close. Use less than 100%"
    )


@pytest.mark.parametrize(
    ("path", "now", "code"),
    [
        ("delivery.delivered_once", 500.0, 3),
        ("delivery.delivered_once", 1_500.0, 0),
        ("connections.open.per_second", 500.0, 3),
        ("recovery.0.drain_rate_per_second", 300.0, 3),
        ("recovery.0.time_to_drain_s", 300.0, 0),
        ("delivery.resent", 1_500.0, 3),
    ],
)
def test_a_gate_knows_which_way_is_worse(runs: Runs, path: str, now: float, code: int) -> None:
    def at(value: float) -> Alike:
        figure = runs()[0].trust[P99].model_copy(update={"value": value, "low": value, "high": value})
        return alone([run.model_copy(update={"trust": {path: figure}}) for run in runs()])

    assert gates([at(1_000.0)], [at(now)], [WorseLimit(path, 0.1)]).code == code


def test_a_figure_without_a_direction_is_refused(runs: Runs) -> None:
    with pytest.raises(BadInput) as caught:
        judged(runs, "delivery.checked=10%", "p99=10%", "latency.poll.p99_ms=10%")
    assert str(caught.value).splitlines() == [
        f"--max-worse: {each}: it is not known whether more or less of it is better. "
        "Use a latency, a rate, a lag, or a count of messages that arrived or did not"
        for each in ("delivery.checked", "latency.poll.p99_ms")
    ]


def test_what_cannot_be_told_says_how_many_runs_would_tell(runs: Runs) -> None:
    [found] = judged(runs, "p99=10%", p99=1.05, noise=[each**3 for each in NOISE]).gated
    assert found.gate.outcome == "unknown"
    assert found.sentence.endswith(
        f"; the interval contains the limit; {found.gate.runs_wanted} runs of each would tell"
    )
    assert found.gate.runs_wanted
    assert found.gate.runs_wanted > len(NOISE)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param([1, 3, 5], [2, 4, 6], True, id="always the same first"),
        pytest.param([1, 4, 5], [2, 3, 6], True, id="the other first in the next round"),
        pytest.param([1, 2, 3], [4, 5, 6], False, id="one after the other"),
        pytest.param([1, 3, 4], [2, 5, 6], False, id="two rounds in a row"),
        pytest.param([1, 3, 5], [2, 4], True, id="a round that only one has"),
    ],
)
def test_rounds_are_pairs_where_both_took_turns(runs: Runs, one: list[int], other: list[int], expected: bool) -> None:
    first, second = (in_rounds(runs()[: len(begun)], begun) for begun in (one, other))
    assert take_turns(first, second) == take_turns(second, first) == expected
    assert not take_turns(first, alone(runs()))


DRIFT = (1.0, 1.3, 1.7, 2.2, 2.9, 3.7)
"""A machine that gets slower, which both sides of a round feel."""


def test_a_drift_that_pairs_share_hides_nothing(runs: Runs) -> None:
    before, now = runs(noise=DRIFT), runs(p99=1.2, noise=[each * tiny for each, tiny in zip(DRIFT, NOISE, strict=True)])
    limit = [parse_limit("p99=10%")]
    for seconds, outcome, pairs in ((range(1, 12, 2), "worse", 6), (range(11, 17), "unknown", None)):
        candidate = in_rounds(now, [each + (pairs is not None) for each in seconds])
        [found] = gates([in_rounds(before, range(1, 12, 2) if pairs else range(1, 7))], [candidate], limit).gated
        assert (found.gate.outcome, found.answer.comparisons[0].pairs) == (outcome, pairs)


def test_what_pairs_cannot_tell_is_a_number_of_rounds(runs: Runs) -> None:
    now = runs(p99=1.05, noise=[each**3 for each in NOISE])
    [found] = gates(
        [in_rounds(runs(), range(1, 12, 2))], [in_rounds(now, range(2, 13, 2))], [parse_limit("p99=8%")]
    ).gated
    assert found.sentence.endswith(f"; the interval contains the limit; {found.gate.runs_wanted} rounds would tell")


def test_each_variant_is_compared_with_its_own(runs: Runs) -> None:
    before = [replace(alone(runs(p99=by)), name=name) for name, by in (("64", 1.0), ("1KiB", 2.0))]
    now = [replace(alone(runs(p99=by)), name=name) for name, by in (("1KiB", 3.0), ("64", 1.0))]
    found = gates(before, now, [parse_limit("p99=10%"), parse_limit("received=10%")])
    assert [(each.name, each.gate.outcome) for each in found.gated] == [
        ("1KiB: p99", "worse"), ("1KiB: received", "within"), ("64: p99", "within"), ("64: received", "within"),
    ]  # fmt: skip
    assert found.gated[0].sentence.startswith("1KiB: end-to-end response p99: ")
    assert [each["variant"] for each in found.document()["limits"]] == ["1KiB", "1KiB", "64", "64"]


def test_several_variants_share_the_chance_of_an_error(runs: Runs) -> None:
    """Ten intervals of 95 % would be wrong somewhere in more than a third of all checks."""
    names = [f"v{number}" for number in range(10)]
    before, now = ([replace(alone(runs()[:5]), name=name) for name in names] for _ in range(2))
    assert "too few runs" in gates(before, now, [parse_limit("p99=10%")]).gated[0].sentence
    assert gates(before[:1], now[:1], [parse_limit("p99=10%")]).code == 0


def test_other_variants_than_those_of_the_baseline_are_refused(runs: Runs) -> None:
    before, now = ([replace(alone(runs()), name=name) for name in names] for names in ("ab", "bc"))
    with pytest.raises(BadInput) as caught:
        gates(before, now, [parse_limit("p99=10%")])
    assert str(caught.value) == (
        "--baseline: has other variants: a only in the baseline; c only in what is checked. "
        "Compare experiments with the same variants"
    )


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
    path = "latency.<b>|\x1b\n::error::x_ms"
    document = deepcopy(healthy_result)
    document["trust"][path] = document["trust"][P99]
    results = [result_of(document)]
    found = gates([alone(results)], [alone(results)], [WorseLimit(path, 0.1)])
    assert ET.fromstring(junit(found))[0].attrib["name"] == "latency.<b>|??::error::x_ms"
    assert "<b>|" not in gates_markdown(found)
    assert "\n" not in annotations(found)[0]


def test_a_document_and_markdown_have_all_of_it(runs: Runs, tmp_path: Path) -> None:
    found = judged(runs, "p99=10%", p99=1.5)
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    [limit] = document["limits"]
    assert (document["exit_code"], limit["path"], limit["outcome"], limit["most_worse"]) == (3, P99, "worse", 0.1)
    assert limit["worse"] == pytest.approx([0.456, 0.545], abs=2e-3)
    assert gates_markdown(found).splitlines()[2] == f"| p99 | WORSE | {found.gated[0].sentence} |"
