"""A folder of runs as a table: what a row tells, what it says where a file is broken, and how it looks."""

import json
from dataclasses import replace
from typing import Any

import pytest

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.runs import NOT_ANALYSED, NOT_READABLE, RowFigure, RunRow, newest_last, run_row, runs_table
from streamgauge.runs.request.percentiles import FIGURES, spelled

Row = dict[str, Any]
Contents = tuple[bytes, bytes]

ID = "20260101-120000-baseline"
HEALTHY = RunRow(
    id=ID,
    scenario="baseline",
    created="2026-01-01T12:00:00Z",
    ending="finished",
    verdict="VALID",
    rate_of="received",
    per_second=10_000.0,
    response="end-to-end",
    figures={"p50": RowFigure(3.0), "p99": RowFigure(6.0)},
    missing=0,
    passed=2,
    expectations=2,
)


def figures(**changes: RowFigure) -> dict[str, RowFigure]:
    """The figures of the healthy run, some of them others."""
    return {**HEALTHY.figures, **changes}


MET: Row = {"path": "delivery.lost", "wanted": 0, "found": 0, "passed": True, "reason": None}
NO_FIGURES = {"p50": RowFigure(), "p99": RowFigure()}
BARE = RunRow(id=ID, scenario="baseline", created="2026-01-01T12:00:00Z", ending="finished", figures=NO_FIGURES)


@pytest.fixture
def contents(healthy: RunFolder) -> Contents:
    """run.json and result.json of a healthy run, without what may be believed of it."""
    return healthy.facts.read_bytes(), changed(healthy.result.read_bytes(), "trust", ...)


def changed(content: bytes, path: str, value: Any) -> bytes:
    """The document with one value replaced, or some keys of an object; `...` takes it away."""
    document = json.loads(content)
    *way, last = path.split(".")
    inner = document
    for step in way:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = {**inner[last], **value} if isinstance(value, dict) and last in inner else value
    return json.dumps(document).encode()


def test_a_row_tells_what_the_files_say(contents: Contents) -> None:
    assert run_row(ID, *contents) == HEALTHY


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("verdict.valid", False, {"verdict": "NOT VALID"}),
        ("verdict.valid", None, {"verdict": "NOT JUDGED"}),
        ("throughput.received_per_second", None, {"rate_of": "sent"}),
        ("throughput", {"received_per_second": None, "sent_per_second": None}, {"rate_of": None, "per_second": None}),
        ("throughput.received_per_second", 0, {"per_second": 0.0}),
        ("latency.end_to_end.response", None, {"response": "ack"}),
        ("latency.end_to_end.response.p50_ms", None, {"response": "ack"}),
        ("latency.end_to_end.response.p99_ms", None, {"figures": figures(p99=RowFigure())}),
        ("latency.end_to_end.response.p99_hi_ms", None, {"figures": figures(p99=RowFigure(6.0, is_least=True))}),
        ("latency.end_to_end.response.p50_hi_ms", 9.0, {"figures": figures(p50=RowFigure(3.0, is_least=True))}),
        ("delivery.lost", 12, {"missing": 12}),
        ("delivery.undelivered", 3, {"missing": 3}),
        ("delivery.lost", None, {"missing": None}),
        ("delivery", {"lost": None, "undelivered": 3}, {"missing": 3}),
        ("delivery", {"lost": 2, "undelivered": 3}, {"missing": 5}),
        ("expectations", [], {"passed": 0, "expectations": 0}),
        ("expectations", [MET, MET | {"passed": False}], {"passed": 1}),
        ("something", {"of": "a later version"}, {}),
    ],
)
def test_a_row_follows_the_result(contents: Contents, path: str, value: Any, expected: Row) -> None:
    facts, result = contents

    assert run_row(ID, facts, changed(result, path, value)) == replace(HEALTHY, **expected)


def test_what_is_not_believed_is_struck_out(contents: Contents) -> None:
    """And an interval stands for a figure that is bounded, as in every report."""
    nothing = {"value": 6.0, "low": None, "high": None, "trust": "not_believed", "because": ["it was late"]}
    trust = {
        "latency.end_to_end.response.p50_ms": {"value": 3, "low": 2.0, "high": 3.0, "trust": "bounded", "because": []},
        "latency.end_to_end.response.p99_ms": nothing,
        "throughput.received_per_second": nothing,
    }

    text = runs_table([run_row(ID, contents[0], changed(contents[1], "trust", trust))], colour=False)

    assert "(10,000/s)" in text
    assert "2.00 to 3.00 / (6.00)" in text


def test_without_any_response_time_there_is_none(contents: Contents) -> None:
    """As in a run as fast as possible."""
    facts, result = contents
    for path in ("end_to_end", "ack"):
        result = changed(result, f"latency.{path}.response", None)

    assert run_row(ID, facts, result) == replace(HEALTHY, response=None, figures=NO_FIGURES)


def test_a_run_that_was_killed_has_no_ending_and_no_result(contents: Contents) -> None:
    facts = changed(contents[0], "ending", None)

    assert run_row(ID, facts, None) == replace(BARE, ending=None, verdict=NOT_ANALYSED)


_WRONG = "run.json has unexpected content"
_NO_NUMBER = "format: Input should be a valid integer, unable to parse string as an integer"
BROKEN = {
    "empty": (b"", f"{_WRONG}: it is empty", "cannot be read as JSON"),
    "cut off": (b'{"format": 1, "id', f"{_WRONG}: it is not JSON", "cannot be read as JSON"),
    "not text": (b"\xff\xfe\x00\x80", f"{_WRONG}: it is not JSON", "cannot be read as JSON"),
    "too deep": (b"[" * 100_000, f"{_WRONG}: it is not JSON", "cannot be read as JSON"),
    "a list": (b"[1]", f"{_WRONG}: it is not an object", "is not a JSON object"),
    "a later format": (
        b'{"format": 3}',
        "run.json: format 3 is newer than this version reads (2)",
        "has format 3; this version reads 1 and 2",
    ),
    "no format at all": (
        b'{"format": "x"}',
        f"{_WRONG}: {_NO_NUMBER}, id: Field required, name: Field required (and 11 more)",
        "has format 'x'; this version reads 1 and 2",
    ),
}


@pytest.mark.parametrize(("content", "of_facts", "of_result"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_one_row_that_says_so(
    contents: Contents, content: bytes, of_facts: str, of_result: str
) -> None:
    """What the other file says is told all the same."""
    facts, result = contents
    lost: Row = {"scenario": None, "created": None, "ending": None}

    of_result = f"result.json {of_result}"
    assert run_row(ID, content, result) == replace(HEALTHY, **lost, verdict=NOT_READABLE, faults=(of_facts,))
    assert run_row(ID, facts, content) == replace(BARE, verdict=NOT_READABLE, faults=(of_result,))
    assert run_row(ID, content, content).faults == (of_facts, of_result)


def test_a_file_that_lacks_something_names_it(contents: Contents) -> None:
    facts, result = contents
    said = "has unexpected content"

    assert run_row(ID, changed(facts, "broker.embedded", ...), None).faults == (
        f"run.json {said}: broker.embedded: Field required",
    )
    assert run_row(ID, facts, changed(result, "latency.ack", 3)).faults == (
        f"result.json {said}: latency.ack is not object",
    )
    assert run_row(ID, facts, changed(result, "throughput.sent_per_second", float("nan"))).faults


def test_without_run_json_the_result_is_told(contents: Contents) -> None:
    row = run_row(ID, None, contents[1])

    assert (row.verdict, row.faults) == (NOT_READABLE, ("run.json is missing",))
    assert row.per_second == 10_000


def test_the_newest_is_last() -> None:
    """What has no date comes first, where it is out of the way."""
    early, late = RunRow("z", created="2026-01-01T00:00:00Z"), RunRow("a", created="2026-01-02T00:00:00Z")
    twin, unknown = RunRow("b", created="2026-01-02T00:00:00Z"), RunRow("m")

    assert newest_last([twin, late, unknown, early]) == [unknown, early, late, twin]


TROUBLED = replace(
    HEALTHY,
    id="20260102-120000-smoke",
    scenario="smoke",
    ending="interrupted",
    verdict="NOT VALID",
    rate_of="sent",
    response="ack",
    figures=figures(p99=RowFigure(1_234.0, is_least=True)),
    missing=12,
    passed=1,
)
BROKEN_ROW = RunRow(
    "20260103", verdict=NOT_READABLE, faults=("run.json is missing", "result.json is not a JSON object")
)
KILLED = RunRow("20260104", scenario="x", created="2026-01-04T12:00:00Z")

TABLE = """\
Run                                Verdict       Rate      p50 / p99, ms   Delivery
20260101-120000-baseline           VALID         10,000/s  3.00 / 6.00     none missing
baseline, 2026-01-01 12:00:00 UTC  finished      received  end-to-end      2 of 2 passed
20260102-120000-smoke              NOT VALID     10,000/s  3.00 / > 1,234  12 missing
smoke, 2026-01-01 12:00:00 UTC     interrupted   sent      ack             1 of 2 passed
20260103                           not readable  -         -               -
run.json is missing
result.json is not a JSON object
20260104                           not analysed  -         -               -
x, 2026-01-04 12:00:00 UTC         did not end"""
ROWS = [HEALTHY, TROUBLED, BROKEN_ROW, KILLED]


def test_the_table_is_read_at_a_glance() -> None:
    assert runs_table(ROWS, colour=False, width=100) == TABLE


@pytest.mark.parametrize("width", [80, 90, 100])
def test_a_date_is_never_broken(width: int) -> None:
    """It has a line of its own where there is no room beside the name."""
    rows = [replace(HEALTHY, scenario="spark-pass-microbatch", verdict="VALID IN PART"), KILLED]
    lines = [line.strip() for line in runs_table(rows, colour=False, width=width).splitlines()]

    assert any("2026-01-01 12:00:00 UTC" in line for line in lines)
    assert any("2026-01-04 12:00:00 UTC" in line for line in lines)


def test_other_percentiles_may_be_asked_for(contents: Contents) -> None:
    """Each with its mark; in JSON each with its name."""
    row = run_row(ID, *contents, ("p99_9", "max"))

    assert "p99.9 / max, ms" in runs_table([row], colour=False)
    assert "7.50 / 18.0" in runs_table([row], colour=False)
    assert {key: value for key, value in row.document().items() if key.startswith(("p", "max"))} == {
        "per_second": 10_000.0,
        "passed": 2,
        "p99_9_ms": 7.5,
        "p99_9_trust": None,
        "p99_9_is_least": False,
        "max_ms": 18.0,
        "max_trust": None,
        "max_is_least": False,
    }


@pytest.mark.parametrize("width", [80, 100])
def test_many_percentiles_have_lines_enough(contents: Contents, width: int) -> None:
    """None of them is broken, or cut off."""
    row = replace(run_row(ID, *contents, FIGURES), per_second=123_456.7, verdict="VALID IN PART")
    row = replace(row, figures={name: replace(each, ms=1_234.5, is_least=True) for name, each in row.figures.items()})

    text = runs_table([row], colour=False, width=width)

    assert text.count("> 1,234") == len(FIGURES)
    assert all(name in text for name in spelled(FIGURES))
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_row_with_trust_is_json(healthy: RunFolder) -> None:
    """What may be believed is a part of it."""
    document = run_row(ID, healthy.facts.read_bytes(), healthy.result.read_bytes()).document()

    assert json.loads(json.dumps(document))["p50_trust"]["trust"] in {"believed", "bounded", "not_believed"}


@pytest.mark.parametrize("width", [80, 100])
def test_lines_keep_to_the_width(width: int) -> None:
    """Whatever names are like, nothing is cut off."""
    rows = [*ROWS, replace(TROUBLED, id="a-long-name-" * 20, scenario="another-one-" * 20)]
    text = runs_table(rows, colour=False, width=width)

    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for row in rows:
        assert row.verdict in text


def test_names_are_no_markup_and_move_no_cursor() -> None:
    """A folder may be called anything."""
    text = runs_table([RunRow("[bold]a[/bold]:smile:", scenario="\x1b[2J\nb\r"), RunRow("\udcff")], colour=False)

    assert "[bold]a[/bold]:smile:" in text
    assert "?[2J?b?" in text
    assert text.replace("\n", "").isprintable()


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    """None into a file or pipe; NO_COLOR takes it away on a terminal too."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    green = "\x1b[1;32mVALID"

    assert "\x1b" not in runs_table(ROWS)
    assert green in runs_table(ROWS, colour=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert green not in runs_table(ROWS, colour=True)


def test_below_the_runs_stands_that_brokers_were_not_started_alike() -> None:
    """Of the same archive, or where it is not known, nothing is said."""
    with_archive, without = replace(HEALTHY, id="a", class_archive=True), replace(HEALTHY, id="b", class_archive=False)

    assert "not started alike" in runs_table([with_archive, without], colour=False)
    assert "not started alike" not in runs_table([with_archive, HEALTHY], colour=False)


def test_a_row_tells_whether_the_broker_used_an_archive(contents: Contents) -> None:
    facts, result = contents

    assert run_row(ID, changed(facts, "broker.class_archive", True), result).class_archive is True
