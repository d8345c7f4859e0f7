"""The lives of the slowest messages and of those that are gone: which are chosen, what is read, and what is drawn."""

import json
from pathlib import Path
from typing import Any

import pytest
import vl_convert
from tests.pipeline.conftest import RunWriter
from tests.report.conftest import Make, Row, Tables, figure_of
from tests.report.seen import See, report
from tests.report.test_browser import EVIL
from tests.report.test_ledger import problem, troubled

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.assemble.result import assemble
from streamgauge.report.figures import catalogue
from streamgauge.report.figures.diagnostics.lives import LIVES, lives
from streamgauge.report.figures.drawing.figure import Figure
from streamgauge.report.files import rows_of
from streamgauge.report.ledger import rows as ledger_rows
from streamgauge.report.ledger.chosen import drawn_lives, gone
from streamgauge.report.publish import tables_of

MS = 1_000_000
SECOND = 1_000 * MS
LATENCIES_MS = {2: 80, 4: 900, 5: 300, 6: 20}
"""The longest end-to-end response time of the seconds that are not as all others."""


def uneven(facts: Row, tables: Tables) -> None:
    """A second of the warm-up is the slowest of all, and is not measured."""
    facts["groups"] = [{"id": 0, "name": "g"}]
    for row in tables["latency"]:
        if (row["metric"], row["scope"]) == ("end_to_end_response", "window"):
            row["max_ms"] = {-2: 5_000.0, **LATENCIES_MS}.get(row["second"], 5.0)


def recorded(folder: RunFolder) -> RunFolder:
    """Message 1:(1000 s) was due in the middle of second s; 1:4001 as well, and came nearly as late."""
    run = RunWriter(folder.root)
    late = [(second * 1_000, second, ms) for second, ms in LATENCIES_MS.items()] + [(4_001, 4, 895)]
    seqs, due_ns = [seq for seq, *_ in late], [second * SECOND + SECOND // 2 for _, second, _ in late]
    rows: dict[str, Any] = {"topic": 0, "producer": 1, "seq": seqs, "partition": 3, "offset": seqs, "due_ns": due_ns}
    rows |= {"sent_ns": [at + MS for at in due_ns], "size_bytes": 512}
    acked_ns = [at + 2 * MS for at in due_ns]
    run.events("sent", rows | {"acked_ns": acked_ns, "handed_ns": acked_ns})
    received_ns = [at + ms * MS for at, (*_, ms) in zip(due_ns, late, strict=True)]
    run.events("received", rows | {"group": 0, "consumer": 0, "poll": 1, "received_ns": received_ns})
    run.events("commits", {"consumer": 0, "at_ns": [7 * SECOND], "asynchronous": False})
    return folder


def losing(_facts: Row, tables: Tables) -> None:
    """Lost, truncated and undelivered messages; what failed is not gone, for nobody was told that it was there."""
    tables["problems"] = [
        problem("lost", 4_300), problem("lost", 4_100), problem("lost", 4_200), problem("truncated", 4_200),
        problem("undelivered", 4_800), problem("failed", 10, None), problem("went_back", None),
    ]  # fmt: skip


def with_lost(folder: RunFolder) -> RunFolder:
    """1:4100 was sent again, acknowledged, and never seen again."""
    run, due_ns = RunWriter(folder.root), 4_100 * MS
    where = {"topic": 0, "producer": 1, "partition": 3}
    row = where | {"seq": [4_100], "offset": [7], "due_ns": due_ns, "sent_ns": due_ns + MS, "size_bytes": 512}
    run.events("sent", row | {"acked_ns": due_ns + 9 * MS}, worker="producer-1")
    run.events(
        "resends", {"at_ns": [due_ns + 4 * MS], "topic": 0, "producer": 1, "seq": 4_100, "attempt": 1, "error": "x"}
    )
    return folder


def chosen(folder: RunFolder) -> list[tuple[str, str, bool]]:
    return [(row["message"], row["why"], row["gone"]) for row in drawn_lives(folder, rows_of(folder, "latency"))]


def test_the_slowest_message_of_each_of_the_slowest_seconds_is_chosen(make: Make) -> None:
    """Of the measure phase; of one stall there is one message, and not the three that came last."""
    assert chosen(recorded(make(uneven))) == [
        ("1:4000", "900 ms", False), ("1:5000", "300 ms", False), ("1:2000", "80.0 ms", False),
    ]  # fmt: skip


def test_of_what_is_gone_the_first_of_each_class_is_chosen(make: Make) -> None:
    """Then the first of all; one message in two classes is one."""
    folder = make(losing)
    assert gone(rows_of(folder, "problems")) == [(1, 4_100), (1, 4_200), (1, 4_800)]
    only_lost = [row for row in rows_of(folder, "problems") if row["class"] == "lost"]
    assert gone(only_lost) == [(1, 4_100), (1, 4_200), (1, 4_300)]
    assert chosen(with_lost(folder)) == [("1:4100", "lost", True)]


def test_a_run_without_the_rows_of_its_messages_has_no_such_figure(make: Make) -> None:
    """Where they were deleted, or a benchmark of others recorded none."""
    folder = make(uneven, losing)
    assert drawn_lives(folder, rows_of(folder, "latency")) == []
    assert figure_of(folder, lives).missing == "the rows of messages are not there"
    assert "lives" not in {each.name for each in catalogue.figures(assemble(folder), tables_of(folder, print))}


def test_a_damaged_part_is_told_and_all_other_figures_are_drawn(make: Make) -> None:
    folder, told = recorded(make(uneven)), list[str]()
    (part,) = folder.events.glob("received/worker=*/part-0.parquet")
    part.write_bytes(b"PAR1")
    assert LIVES not in tables_of(folder, told.append)
    assert [text for text in told if f"{part} cannot be read" in text]


def marks(figure: Figure, message: str) -> list[tuple[str, float]]:
    return [(row["series"], row["ms"]) for row in figure.data["lives"] if row["message"].startswith(message)]


def compiled(figure: Figure) -> str:
    return json.dumps(vl_convert.vegalite_to_scenegraph(figure.whole_spec(), show_warnings=True))


def test_a_life_is_drawn_from_when_it_was_due(make: Make) -> None:
    """With the commit that covered it. The line ends with what is known last."""
    figure = figure_of(recorded(make(uneven)), lives)
    assert marks(figure, "1:4000") == [
        ("sent", 1.0),
        ("acknowledged", 2.0),
        ("delivered", 900.0),
        ("committed", 2_500.0),
    ]
    assert {row["message"] for row in figure.data["lives"]} == {
        "1:4000; 900 ms; second 4.500", "1:5000; 300 ms; second 5.500", "1:2000; 80.0 ms; second 2.500",
    }  # fmt: skip
    assert figure.data["life_lines"][0] == {
        "message": "1:4000; 900 ms; second 4.500", "from_ms": 0.0, "to_ms": 2_500.0, "gone": False,
    }  # fmt: skip
    assert "life_faults" not in figure.data
    assert figure.about.startswith("The slowest message of each of the slowest seconds, each from when it was due")
    assert '"marktype": "symbol"' in compiled(figure)


def test_what_is_gone_is_drawn_with_the_fault_that_took_it(make: Make) -> None:
    """Its line goes on without an end. Only faults that were on in a life are in its lane."""
    figure = figure_of(with_lost(recorded(make(uneven, troubled, losing))), lives)
    assert marks(figure, "1:4100") == [("sent", 1.0), ("sent again", 4.0), ("acknowledged", 9.0)]
    lines = [row for row in figure.data["life_lines"] if row["message"].startswith("1:4100")]
    assert [(row["from_ms"], row["gone"]) for row in lines] == [(0.0, False), (9.0, True)]
    faults = [
        (row["message"].split(";")[0], row["fault"], row["from_ms"], row["to_ms"]) for row in figure.data["life_faults"]
    ]
    assert faults == [
        ("1:4000", "kill broker-1, from before it was due until 1,000 ms", 0.0, 1_000.0),
        ("1:2000", "kill broker-1, from 2,000 ms until 3,000 ms", 2_000.0, 3_000.0),
        ("1:4100", "kill broker-1, from 400 ms until 1,400 ms", 400.0, 1_400.0),
        ("1:4100", "delay, from 3,900 ms until the end of the run", 3_900.0, 5_500.0),
    ]  # fmt: skip
    assert "Shaded: what was done to the run." in figure.about
    scene = compiled(figure)
    assert '"marktype": "rect"' in scene
    assert '"marktype": "symbol"' in scene


def test_a_message_that_came_twice_has_both_deliveries_and_the_time_of_the_broker(make: Make) -> None:
    """This is a clock of milliseconds, and may be before the due time; no mark is outside of the axis.

    That its producer died before it could record the message takes nothing away: its stamp tells when it was due.
    """
    folder = make(uneven, lambda facts, _: facts.update(wall_ns=0, monotonic_ns=0))
    run, due_ns = RunWriter(folder.root), 4 * SECOND + MS // 2
    row = {"topic": 0, "producer": 1, "seq": [7, 7], "partition": 3, "offset": 9, "due_ns": due_ns, "sent_ns": due_ns}
    times = {"append_ms": 4_000, "received_ns": [due_ns + 900 * MS, due_ns + 1_200 * MS]}
    run.events("received", row | times | {"group": 0, "consumer": 0, "poll": [1, 2], "size_bytes": 1})
    (life,) = [life for life in drawn_lives(folder, rows_of(folder, "latency")) if life["message"] == "1:7"]
    events = [(each["event"], each["ms"], each["detail"]) for each in life["events"]]
    assert events[0][:2] == ("appended", -0.5)
    assert events[0][2] == "by the broker's clock, at streamgauge-baseline/3@9"
    assert life["why"] == "900 ms"
    assert marks(figure_of(folder, lives), "1:7") == [
        ("appended", 0.0), ("sent", 0.0), ("delivered", 900.0), ("delivered", 1_200.0),
    ]  # fmt: skip


def test_reading_is_bounded(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many parts only those are decoded whose statistics tell that they may hold a message."""
    folder = recorded(make(uneven))
    run, seqs = RunWriter(folder.root), list(range(100_000, 100_100))
    for part in range(1, 20):
        row = {"topic": 0, "producer": 1, "seq": [part * 1_000 + each for each in seqs], "partition": 3, "offset": seqs}
        row |= dict.fromkeys(("due_ns", "sent_ns", "received_ns"), 100 * SECOND * part)
        run.events("received", row | {"group": 0, "consumer": 0, "poll": 1, "size_bytes": 1}, part=part)
    (first,) = folder.events.glob("received/worker=*/part-0.parquet")
    decoded, table_of = [], ledger_rows._table_of

    def noted(path: Path, *more: Any) -> Any:
        table = table_of(path, *more)
        if path.parts[-3] == "received" and table is not None:
            decoded.append(path)
        return table

    monkeypatch.setattr(ledger_rows, "_table_of", noted)
    assert [name for name, *_ in chosen(folder)] == ["1:4000", "1:5000", "1:2000"]
    assert set(decoded) == {first}


def evil(facts: Row, tables: Tables) -> None:
    facts["topics"] = [{"id": 0, "name": EVIL}]
    for row in tables["faults"]:
        row["target"] = f"broker-{EVIL}"


TOLD = "[...document.querySelectorAll('#tip tr')].map(row => row.innerText.trim().split(/\\t/).join(' '))"
OVERLAPPING = """(() => {
    const labels = [...document.querySelectorAll("#lives .role-axis-label text")]
        .filter(each => getComputedStyle(each).opacity > 0);
    const boxes = labels.map(each => each.getBoundingClientRect());
    return boxes.some((one, at) => boxes.slice(at + 1).some(other => one.left < other.right && other.left < one.right
        && one.top + 1 < other.bottom && other.top + 1 < one.bottom));
})()"""


@pytest.mark.e2e
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_lives_are_drawn_and_told(make: Make, see: See, width: int, dark: bool) -> None:
    """What stands in a lane is told, each delivery and each fault of it, and nothing of other lanes; also to keys."""
    path = report(with_lost(recorded(make(uneven, troubled, losing, evil))))
    seen = see(path, width=width, dark=dark)
    seen.wait("document.querySelector('[data-figure=lives]').dataset.drawn")
    lanes = seen.ask("document.querySelectorAll('#lives .role-mark.mark-rule line').length")
    assert lanes == 5
    assert not seen.ask(OVERLAPPING)
    seen.point("lives", 0.5, 0.9)
    assert seen.ask("document.querySelector('#tip b').innerText") == "1:4100; lost; second 4.100"
    assert seen.ask(TOLD) == [
        "sent 1 ms", "sent again 4 ms", "acknowledged 9 ms",
    ]  # fmt: skip
    assert seen.ask("document.querySelector('#tip .causes').textContent") == "; ".join(
        [
            f"kill broker-{EVIL}, from 400 ms until 1,400 ms",
            f"delay broker-{EVIL}, from 3,900 ms until the end of the run",
        ]
    )
    seen.page.locator("#lives .chart").focus()
    seen.page.keyboard.press("Home")
    assert "1:4000; 900 ms; second 4.500; sent 1 ms" in seen.ask("document.querySelector('#spoken').textContent")
    seen.page.get_by_role("button", name="Table of Lives of messages").click()
    assert EVIL in seen.ask("document.querySelector('#lives').innerText")
    assert seen.ask("window.evil") is None
    assert seen.complaints == []
    assert seen.requests == [path.as_uri()]
    assert seen.ask("document.documentElement.scrollWidth") <= width
