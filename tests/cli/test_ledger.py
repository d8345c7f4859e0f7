"""The commands `audit` and `trace` on run folders made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.conftest import RunWriter
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.domain.errors import AnalysisError, BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.ledger import rows as ledger_rows

MS = 1_000_000
SECOND = 1_000 * MS


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def refused(*arguments: str | Path) -> str:
    with pytest.raises(BadInput) as caught:
        CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Message 0:7 is sent again, acknowledged, received twice, and gone at the end: 0:8 stands in its place."""
    run = RunWriter(tmp_path / "run")
    due = [at * SECOND for at in (7, 8)]
    run.events(
        "sent",
        {
            "topic": 0, "producer": 0, "seq": [7, 8], "partition": 3, "offset": [40, 40], "due_ns": due,
            "sent_ns": [at + MS for at in due], "acked_ns": [at + 9 * MS for at in due], "size_bytes": 512,
            "transaction": [2, 3],
        },
    )  # fmt: skip
    run.events(
        "resends", {"at_ns": [7 * SECOND + 4 * MS], "topic": 0, "producer": 0, "seq": 7, "attempt": 1, "error": "x"}
    )
    run.events(
        "received",
        {
            "topic": 0, "group": 0, "consumer": 1, "poll": [5, 6], "producer": 0, "seq": 7, "partition": 3,
            "offset": 40, "received_ns": [7 * SECOND + 12 * MS, 7 * SECOND + 15 * MS], "size_bytes": 512,
            "intact": True,
        },
    )  # fmt: skip
    run.events("appended", {"topic": 0, "partition": 3, "offset": [40], "producer": 0, "seq": 8})
    run.events(
        "lag",
        {
            "at_ns": [8 * SECOND, 9 * SECOND], "moment": ["sample", "reread"], "topic": 0, "group": [0, None],
            "partition": 3, "start": [None, 0], "committed": [41, None], "end": [50, 50],
        },
    )  # fmt: skip
    run.events("commits", {"consumer": 1, "at_ns": [7 * SECOND, 7 * SECOND + 20 * MS], "asynchronous": False})
    run.events(
        "transactions",
        {
            "producer": 0, "transaction": [2, 3], "began_ns": 7 * SECOND, "ending_ns": 7 * SECOND + 10 * MS,
            "ended_ns": 7 * SECOND + 11 * MS, "outcome": "committed", "messages": 5,
        },
    )  # fmt: skip
    looks = {"topic": 0, "partition": 3, "leader": [1, 2], "in_sync": [3, 2], "replicas": 3}
    run.events("replicas", {"at_ns": [0, 7 * SECOND + 5 * MS], **looks})
    run.events(
        "faults",
        {
            "at_ns": [7 * SECOND + 3 * MS, 60 * SECOND], "kind": "kill", "target": "broker-1",
            "action": ["begin", "end"],
        },
    )  # fmt: skip
    return run.facts(phases=[{"name": "measure", "from_ns": 5 * SECOND, "to_ns": 20 * SECOND}])


def events(life: dict[str, Any]) -> list[tuple[str, float | None]]:
    return [(each["event"], each["second"]) for each in life["events"]]


def test_the_life_of_a_message(folder: RunFolder) -> None:
    """In the order of its times, with what was around it."""
    (life,) = json.loads(said("trace", folder.root, "0:7", "--json"))

    assert (life["topic"], life["partition"], life["offset"], life["size_bytes"]) == ("test", 3, 40, 512)
    assert life["state"] == "acknowledged; received twice by test; at the end gone from the log"
    assert [name for name, _ in events(life)] == [
        "due", "claimed", "transaction", "sent", "leader", "fault", "resend", "new leader", "acknowledged",
        "commit requested", "transaction", "received", "received", "committed", "covered",
    ]  # fmt: skip
    assert events(life)[0] == ("due", 2.0)
    details = {each["event"]: each["detail"] for each in life["events"]}
    assert details["leader"] == "partition 3 was led by broker-1; 3 of 3 replicas in sync"
    assert details["new leader"] == "of partition 3: broker-2"
    assert details["resend"] == "attempt 1 failed: x"
    assert details["received"] == "by consumer-1 of test, poll 6, test/3@40"
    assert details["covered"] == "test had committed 41"


def test_an_offset_finds_every_message_that_was_there(folder: RunFolder) -> None:
    lives = json.loads(said("trace", folder.root, "test/3@40", "--json"))

    assert [(each["producer"], each["seq"]) for each in lives] == [(0, 7), (0, 8)]
    assert lives[1]["state"] == "acknowledged; never received; at the end it stands at test/3@40"


def test_the_life_as_text(folder: RunFolder) -> None:
    text = said("trace", folder.root, "0:7")

    assert "0:7, test/3@40, 512 bytes" in text
    assert "acknowledged; received twice by test; at the end gone from the log" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["2.000000", "+0.000", "due", "by", "producer-0,", "for", "test"] in lines
    assert ["-", "-", "claimed", "not", "before", "2.000000,", "not", "after", "2.001000"] in lines
    assert ["2.009000", "+9.000", "acknowledged", "test/3@40"] in lines


@pytest.mark.parametrize(
    ("sent", "stamped_ns", "bounds"),
    [
        pytest.param({"due_ns": SECOND, "sent_ns": 3 * SECOND}, None, (SECOND, 3 * SECOND), id="sent"),
        pytest.param({"sent_ns": 3 * SECOND}, None, (None, 3 * SECOND), id="no schedule"),
        pytest.param(
            {"due_ns": SECOND, "admitted_ns": 2 * SECOND, "sent_ns": 3 * SECOND}, None, (2 * SECOND, 3 * SECOND),
            id="a policy admitted it",
        ),
        pytest.param({"due_ns": SECOND, "error": "fate_unknown"}, None, (SECOND, 9 * SECOND), id="its producer died"),
        pytest.param(
            {"due_ns": SECOND, "error": "fate_unknown"}, 4 * SECOND, (SECOND, 4 * SECOND), id="and yet it was received"
        ),
        pytest.param({"due_ns": SECOND, "error": "unsent"}, None, None, id="never"),
    ],
)  # fmt: skip
def test_when_a_message_was_claimed_has_bounds(
    tmp_path: Path, sent: dict[str, Any], stamped_ns: int | None, bounds: tuple[int | None, int] | None
) -> None:
    """It is taken from the schedule after it was due and admitted, and before it is sent, or its producer ends."""
    run = RunWriter(tmp_path / "claimed")
    run.events("sent", {"topic": 0, "producer": 0, "seq": [7], **sent})
    if stamped_ns:
        row = {"topic": 0, "group": 0, "consumer": 1, "poll": 5, "producer": 0, "seq": 7, "partition": 3, "offset": 40}
        run.events("received", row | {"received_ns": [5 * SECOND], "sent_ns": stamped_ns, "size_bytes": 100})
    ended = {"number": 0, "ended_ns": 9 * SECOND}
    workers = [{"name": "producer-0", "role": "producer", **ended}, {"name": "consumer-0", "role": "consumer", **ended}]
    workers[1]["ended_ns"] = SECOND
    run.facts(workers=workers, phases=[{"name": "measure", "from_ns": 0, "to_ns": 20 * SECOND}])

    (life,) = json.loads(said("trace", run.folder.root, "0:7", "--json"))

    found = [each for each in life["events"] if each["event"] == "claimed"]
    assert [(each["not_before_ns"], each["not_after_ns"]) for each in found] == ([bounds] if bounds else [])
    assert all((each["at_ns"], each["second"]) == (None, None) for each in found)
    if bounds and bounds[0]:
        assert [each["event"] for each in life["events"]].index("claimed") < 3


def test_a_message_that_is_delivered_again_tells_its_deliveries(tmp_path: Path) -> None:
    """Each with its deadline by the broker's clock, and what became of it."""
    run = RunWriter(tmp_path / "again")
    row = {"topic": 0, "group": 0, "producer": 0, "seq": 7, "partition": 3, "offset": [40, 41]}
    deliveries = {"delivery_count": [1, 2], "deadline_ms": [2_000, 4_000], "received_ns": [SECOND, 3 * SECOND]}
    run.events("received", row | deliveries | {"consumer": 1, "poll": 5, "size_bytes": 100})
    told = {"at_ns": [SECOND + MS], "topic": 0, "group": 0, "producer": 0, "seq": 7, "partition": 3, "attempt": 1}
    run.events("attempts", told | {"offset": 40, "outcome": "released"}, worker="consumer-1")
    later = {"at_ns": [2_100 * MS, 4_100 * MS], "offset": [40, 41], "attempt": [1, 2]}
    run.events("attempts", told | later | {"outcome": ["redelivered", "dead_letter"]}, worker="tracker-0")
    run.facts(wall_ns=0, monotonic_ns=0)

    (life,) = json.loads(said("trace", run.folder.root, "0:7", "--json"))
    assert [each["event"] for each in life["events"]] == [
        "received", "released", "due again", "redelivered", "received", "due again", "dead letter",
    ]  # fmt: skip
    details = [each["detail"] for each in life["events"]]
    assert details[0] == "by consumer-1 of test, poll 5, test/3@40, delivery 1"
    assert details[1] == "delivery 1, test/3@40, its processing failed"
    assert details[6] == "delivery 2, test/3@41, written to the topic of dead letters"


def test_a_message_of_a_retry_topic_tells_when_it_was_due(tmp_path: Path) -> None:
    """That is before it came, and not a time at which it comes again."""
    run = RunWriter(tmp_path / "retried")
    row = {"topic": [0, 1], "group": 0, "producer": 0, "seq": 7, "partition": 3, "offset": [40, 2]}
    deliveries = {"delivery_count": [1, 2], "deadline_ms": [None, 2_000], "received_ns": [SECOND, 2_001 * MS]}
    run.events("received", row | deliveries | {"consumer": 1, "poll": 5, "size_bytes": 100})
    run.facts(wall_ns=0, monotonic_ns=0)

    (life,) = json.loads(said("trace", run.folder.root, "0:7", "--json"))
    told = [(each["event"], each["detail"]) for each in life["events"]]
    assert [event for event, _ in told] == ["received", "due again", "received"]
    assert told[1][1] == "delivery 2, from its retry topic"


def test_each_delivery_has_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next of its consumer that did not fail. However often a message came, commits are read once."""
    run = RunWriter(tmp_path / "often")
    often = [SECOND + 10 * at * MS for at in range(50)]
    row = {"topic": 0, "group": 0, "consumer": 1, "poll": 5, "producer": 0, "seq": 7, "partition": 3, "offset": 40}
    run.events("received", row | {"received_ns": often, "size_bytes": 100})
    errors = [None, "x", None]
    commit_ns = [often[0] - 1, often[9] + 1, often[9] + 2 * MS]
    run.events("commits", {"consumer": 1, "at_ns": commit_ns, "asynchronous": False, "error": errors})
    run.events("commits", {"consumer": 1, "at_ns": [often[20] + MS], "asynchronous": False}, part=1)
    run.facts()
    read, parts = list[str](), ledger_rows._parts

    def noted(folder: RunFolder, kind: str) -> list[Path]:
        read.append(kind)
        return parts(folder, kind)

    monkeypatch.setattr(ledger_rows, "_parts", noted)
    (life,) = json.loads(said("trace", run.folder.root, "0:7", "--json"))
    commits = [each["at_ns"] for each in life["events"] if each["event"] == "committed"]
    assert commits == [often[9] + 2 * MS, often[20] + MS]
    assert (read.count("commits"), read.count("lag")) == (1, 2)


def test_the_broker_tells_when_it_appended_a_message(tmp_path: Path) -> None:
    """Where the topic keeps that time, which is of the broker's clock, consumers found it; both groups found the same.

    The producer died before it recorded the message: when it was due and sent, its stamp tells.
    """
    run = RunWriter(tmp_path / "appended")
    row = {
        "topic": 0,
        "group": [0, 1],
        "consumer": [0, 1],
        "poll": 5,
        "producer": 0,
        "seq": 7,
        "partition": 3,
        "offset": 40,
    }
    times = {"due_ns": SECOND, "sent_ns": SECOND + MS, "append_ms": 1_002, "received_ns": SECOND + 4 * MS}
    run.events("received", row | times | {"size_bytes": 100})
    run.facts(wall_ns=0, monotonic_ns=0)

    (life,) = json.loads(said("trace", run.folder.root, "0:7", "--json"))
    told = [(each["event"], each["at_ns"] // MS, each["detail"]) for each in life["events"]]
    assert told[:3] == [
        ("due", 1_000, "as its stamp tells"), ("sent", 1_001, "as its stamp tells"),
        ("appended", 1_002, "by the broker's clock, at test/3@40"),
    ]  # fmt: skip
    assert [event for event, *_ in told[3:]] == ["received", "received"]


def test_a_message_of_another_run_is_found_by_its_offset(folder: RunFolder, tmp_path: Path) -> None:
    run = RunWriter(tmp_path / "foreign")
    row = {"topic": 0, "group": 0, "consumer": 1, "poll": [5], "partition": 3, "offset": 9, "received_ns": SECOND}
    run.events("received", row | {"size_bytes": 100})
    run.facts()

    (life,) = json.loads(said("trace", run.folder.root, "test/3@9", "--json"))

    assert life["state"] == "not recorded as sent; received once by test"
    assert life["producer"] is None


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("7", "'7' names no message. Write PRODUCER:SEQUENCE, like 0:1234, or TOPIC/PARTITION@OFFSET"),
        ("0:-1", "names no message"),
        ("other/3@40", "the run has no topic 'other'. Name one of test"),
        ("0:999", "0:999: no row of the run is of this message. See the first ones of each class"),
        ("test/3@41", "no row of the run is of this message"),
    ],
)
def test_a_message_that_is_not_there(folder: RunFolder, message: str, what: str) -> None:
    assert what in refused("trace", folder.root, message)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    for command in (("audit", tmp_path), ("trace", tmp_path, "0:1")):
        assert "not a run folder" in refused(*command)


def test_a_run_without_a_result_is_to_be_analysed_first(folder: RunFolder) -> None:
    assert f"was not analysed. Analyse it first: streamgauge analyse {folder.root}" in refused("audit", folder.root)


def test_a_damaged_part_is_told(folder: RunFolder) -> None:
    (part,) = folder.events.glob("sent/worker=*/part-0.parquet")
    part.write_bytes(b"PAR1")

    with pytest.raises(AnalysisError, match="cannot be read"):
        CliRunner().invoke(app, ["trace", str(folder.root), "0:7"], catch_exceptions=False)
