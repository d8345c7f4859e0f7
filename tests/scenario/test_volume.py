"""How much a run will write, and the advice where its disk has less."""

from typing import Any

import pytest

from streamgauge.scenario import Scenario, parse, room_advice
from streamgauge.scenario.volume import (
    RECORD_BYTES,
    ROW_BYTES,
    Estimate,
    bytes_written,
    estimate,
    messages_of,
)

PHASES = {"warmup": "5s", "measure": "15s"}


def scenario(**changes: Any) -> Scenario:
    return parse({"name": "test", "phases": PHASES, **changes})


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"load": {"rate": "1k/s"}}, 20_000),
        ({"load": {"rate": {"poisson": {"rate": "2k/s"}}}}, 40_000),
        ({"load": {"rate": "1k/s"}, "phases": {"warmup": "5s", "measure": {"messages": 500}}}, 5_500),
        ({"load": {"rate": "max"}, "phases": {"warmup": "0s", "measure": {"messages": 500}}}, 500),
        ({"load": {"rate": "max"}}, None),
        ({"load": {"rate": "closed"}}, None),
        ({"load": "off"}, None),
    ],
)
def test_how_many_messages_are_asked_for(changes: dict[str, Any], messages: float | None) -> None:
    assert messages_of(scenario(**changes)) == messages


@pytest.mark.parametrize(
    ("changes", "embedded", "expected"),
    [
        ({}, False, ROW_BYTES),
        ({}, True, ROW_BYTES + RECORD_BYTES + 1000),
        ({"topic": {"replication": 3}}, True, ROW_BYTES + 3 * (RECORD_BYTES + 1000)),
        ({"pipeline": {"job": "pass"}}, True, ROW_BYTES + 2 * (RECORD_BYTES + 1000)),
    ],
    ids=["rows alone", "messages too", "messages three times", "messages twice"],
)
def test_how_much_is_written(changes: dict[str, Any], embedded: bool, expected: float) -> None:
    asked = scenario(load={"rate": "1k/s", "size": 1000}, **changes)

    assert bytes_written(asked, embedded=embedded) == 20_000 * expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"load": {"rate": "1k/s"}}, Estimate(20, False, 30, 20_000, 20_000 * ROW_BYTES)),
        ({"load": {"rate": "max"}}, Estimate(20, False, 30, None, None)),
        ({"load": {"rate": "1k/s"}, "phases": {"warmup": "5s", "measure": {"messages": 500}, "drain": 10}},
         Estimate(5.5, False, 10, 5_500, 5_500 * ROW_BYTES)),
        # The end by time comes first.
        ({"load": {"rate": "1k/s"}, "phases": {"warmup": 0, "measure": {"messages": "1M", "at_most": "20s"}}},
         Estimate(20, False, 30, 1_000_000, 1_000_000 * ROW_BYTES)),
        # Nobody knows when the last one is sent, or read.
        ({"load": {"rate": "max"}, "phases": {"warmup": 0, "measure": {"messages": 500, "at_most": "20s"}}},
         Estimate(20, True, 30, 500, 500 * ROW_BYTES)),
        ({"load": "off", "phases": {"warmup": 0, "measure": {"drained": True, "at_most": "20s"}}},
         Estimate(20, True, 30, None, None)),
    ],
)  # fmt: skip
def test_what_a_run_comes_to(changes: dict[str, Any], expected: Estimate) -> None:
    assert estimate(scenario(**changes), embedded=False) == expected


def test_what_comes_from_a_file_has_no_size_yet() -> None:
    asked = scenario(load={"payload": {"file": {"path": "events.ndjson"}}})

    assert bytes_written(asked, embedded=True) is None
    assert bytes_written(asked, embedded=False) is not None


def test_too_small_a_disk_is_told_before_the_run() -> None:
    asked = scenario(load={"rate": "100k/s", "size": 1000})

    (told,) = room_advice(asked, "runs", 100_000_000, embedded=True)

    assert told == (
        "--out runs: its disk has 100 MB left, and the run writes up to 2.08 GB of messages and rows. Free space, "
        "choose a folder on another disk, or send less (load.rate, load.size, phases.measure)"
    )
    assert room_advice(asked, "runs", 100_000_000, embedded=False) == []
    assert room_advice(asked, "runs", 3_000_000_000, embedded=True) == []
    assert room_advice(asked, "runs", None, embedded=True) == []
