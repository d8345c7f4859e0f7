"""What is decided before a run starts: whether it may, and what the rest of it is given instead of the request."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.processes.jvm.java import Java
from streamgauge.runs.conduct.prepare import Prepared, prepare_run
from streamgauge.runs.conduct.target import WantedCluster
from streamgauge.runs.request.request import Request
from streamgauge.scenario import parse

JAVA = Java(Path("/jdk/bin/java"), "17", 17)
PAUSED = {"at": "1s", "kind": "pause", "target": "broker", "for": "1s"}
KILLED = {"at": "2s", "kind": "kill", "target": "producer-0"}


def prepared(faults: list[dict[str, str]], **more: Any) -> Prepared:
    scenario = parse({"name": "x", "load": {"client": {"sasl.password": "hunter2"}}, "faults": faults})
    return prepare_run(Request(scenario, Path("runs"), ["streamgauge"], JAVA, **more))


@pytest.mark.parametrize(
    ("faults", "bootstrap", "wrong"),
    [
        ([], "there:9092", []),
        ([KILLED], "there:9092", []),
        ([PAUSED], None, []),
        ([PAUSED], "there:9092", ["faults.0.target"]),
        ([KILLED, PAUSED, PAUSED | {"at": "5s"}], "there:9092", ["faults.1.target", "faults.2.target"]),
    ],
)
def test_only_a_broker_of_our_own_can_be_stopped(
    faults: list[dict[str, str]], bootstrap: str | None, wrong: list[str]
) -> None:
    """All faults of a user's cluster are told at once."""
    if not wrong:
        assert len(prepared(faults, bootstrap=bootstrap).scenario.faults) == len(faults)
        return
    with pytest.raises(BadInput) as caught:
        prepared(faults, bootstrap=bootstrap)
    assert [fault.where for fault in caught.value.faults] == wrong


def test_two_runs_of_one_request_are_told_apart() -> None:
    """By their tags and groups, also within one second."""
    first, second = prepared([]).identity, prepared([]).identity

    assert first.id.endswith("-x")
    assert (first.tag, first.group) != (second.tag, second.group)
    assert first.group.startswith(f"streamgauge-{first.id}-")


def test_what_was_asked_of_the_cluster_goes_on_unchanged() -> None:
    run = prepared([], bootstrap="there:9092", connection={"linger.ms": 1}, keep_broker=True, allow_reset=True)

    assert run.cluster == WantedCluster(JAVA, "there:9092", {"linger.ms": 1}, keep_broker=True)
    assert run.allow_reset
    assert "request" not in {each.name for each in fields(run)}


def test_secrets_of_scenario_and_connection_are_hidden() -> None:
    run = prepared([], bootstrap="there:9092", connection={"ssl.key.password": "swordfish"})

    assert run.hide("hunter2 and swordfish at there:9092") == "*** and *** at there:9092"
