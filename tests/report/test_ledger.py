"""The ledger of a run: which classes, where, when, around which fault, and the first of them."""

from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import Row, Tables, changed

from streamgauge.report.assemble.result import assemble
from streamgauge.report.ledger.audited import RunLedger, ledger_of
from streamgauge.report.ledger.printed import ledger_text

SECOND = 10**9


def problem(name: str, seq: int | None, group: int | None = 0, **more: Any) -> Row:
    row = {"class": name, "group": group, "topic": 0, "producer": None if seq is None else 1, "seq": seq}
    due_ns = None if seq is None else seq * SECOND // 1_000
    return row | {"partition": 3, "offset": 700, "due_ns": due_ns, "error": None} | more


def counted(name: str, second: int | None, count: int, group: int | None = 0, partition: int | None = 3) -> Row:
    return {"class": name, "group": group, "topic": 0, "partition": partition, "second": second, "count": count}


def troubled(facts: Row, tables: Tables) -> None:
    """A broker is killed at second 4; five messages are lost then, two of them where their leader was."""
    facts["groups"] = [{"id": 0, "name": "g"}]
    for row in tables["delivery"]:
        row.update(lost=5, delivered_once=row["acked"] - 5, failed=2, went_back=1)
        row.update(dict.fromkeys(("truncated", "vanished", "offset_conflicts", "skipped_polls")))
    tables["problems"] = [problem("lost", seq) for seq in (4_100, 4_200, 4_300)]
    tables["problems"] += [problem("failed", 4_400, None, error="_MSG_TIMED_OUT", partition=None, offset=None)]
    tables["problems"] += [problem("went_back", None)]
    tables["problem_counts"] = [
        counted("lost", 4, 2), counted("lost", 6, 3, partition=5), counted("failed", 4, 2, None, None),
        counted("went_back", None, 1), counted("lost", 2, 0),
    ]  # fmt: skip
    tables["faults"] = [
        {"second": at, "kind": kind, "target": target, "action": action, "detail": None, "error": None}
        for at, kind, target, action in (
            (4.5, "kill", "broker-1", "begin"), (5.5, "kill", "broker-1", "end"), (8.0, "delay", "consumers", "begin"),
        )
    ]  # fmt: skip


def ledger(root: Path, *changes: Any, first: int = 3) -> RunLedger:
    folder = changed(root / "run", *changes)
    return ledger_of(folder, assemble(folder), first)


def test_each_class_says_where_and_when(tmp_path: Path) -> None:
    found = {(each.name, each.group): each for each in ledger(tmp_path, troubled).classes}

    assert set(found) == {("lost", "g"), ("failed", None), ("went_back", "g")}
    lost = found["lost", "g"]
    assert lost.count == 5
    topic = "streamgauge-baseline"
    assert list(lost.by_partition.items()) == [(f"{topic}/5", 3), (f"{topic}/3", 2)]
    assert (lost.first_second, lost.last_second) == (2, 6)
    assert [each.name for each in lost.examples] == ["1:4100", "1:4200", "1:4300"]
    assert lost.examples[0].due_second == pytest.approx(4.1)
    assert found["failed", None].examples[0].error == "_MSG_TIMED_OUT"
    # What is no message is found by its offset.
    assert [each.name for each in found["went_back", "g"].examples] == [f"{topic}/3@700"]


def test_problems_are_told_by_the_fault_around_which_they_were_due(tmp_path: Path) -> None:
    """From the second in which it began; a change of the load is no fault."""
    (fault,) = ledger(tmp_path, troubled).faults

    assert (fault.kind, fault.target, fault.begin_second, fault.end_second) == ("kill", "broker-1", 4.5, 5.5)
    assert fault.problems == {"failed": 2, "lost": 5}


def test_a_delay_of_the_network_is_a_fault_as_any_other(tmp_path: Path) -> None:
    """What changes the load is told by its target, too."""

    def slow(facts: Any, tables: Any) -> None:
        troubled(facts, tables)
        tables["faults"][0]["kind"] = tables["faults"][1]["kind"] = "delay"

    (fault,) = ledger(tmp_path, slow).faults

    assert (fault.kind, fault.target, fault.end_second) == ("delay", "broker-1", 5.5)


def test_as_many_examples_as_are_asked_for(tmp_path: Path) -> None:
    assert all(len(each.examples) <= 1 for each in ledger(tmp_path, troubled, first=1).classes)


def test_a_table_that_an_older_version_did_not_write_is_done_without(tmp_path: Path) -> None:
    folder = changed(tmp_path / "run", troubled)
    result = assemble(folder)
    folder.table("problem_counts").unlink()

    found = ledger_of(folder, result, 3)

    assert {each.name: each.count for each in found.classes} == {"lost": 5, "failed": 2, "went_back": 1}
    assert not any(each.by_partition for each in found.classes)


def test_the_text_has_it_all(tmp_path: Path) -> None:
    text = ledger_text(ledger(tmp_path, troubled))

    for part in (
        "120,000 sent",
        "lost",
        "2 to 6",
        "1:4100",
        "baseline/3@700",
        "kill",
        "4.500 to 5.500",
        "2 failed, 5 lost",
    ):
        assert part in text
    assert "truncated: not known, the log was not read again" in text
    assert "streamgauge trace RUN MESSAGE" in text


def test_of_a_healthy_run_there_is_nothing_to_tell(tmp_path: Path) -> None:
    found = ledger(tmp_path)

    assert found.classes == ()
    assert "No message has a delivery problem." in ledger_text(found)
