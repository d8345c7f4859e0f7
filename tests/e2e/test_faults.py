"""One run on a cluster of three to which faults of every kind happen in turn: each is carried out, and nothing is lost.

Those that need a file system of their own, or minutes, are in test_soak_replicas.py.
"""

from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e.conftest import Call
from tests.e2e.harming import SOONER, last_second
from tests.e2e.runs import finished
from tests.e2e.runs import rows as events

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.report.files import read_facts, read_table
from streamgauge.scenario.model.environment.faults.families import FAMILIES, ONE_DIRECTORY

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

A_LOOK_S: Final = 1.0
"""How old a look at leaders may be, on a busy machine."""
LINK: Final = {"between": ["producers", "broker-2"], "for": "1s"}
SHORTLY: Final[list[dict[str, Any]]] = [
    {"kind": "cut", **LINK},
    {"kind": "black-hole", **LINK},
    {"kind": "delay", **LINK, "between": [["broker-1", "broker-2"], "broker-3"], "delay": "20ms"},
    {"kind": "rate-limit", **LINK, "rate": "100KiB/s"},
    {"kind": "stall", **LINK, "loss": 0.1, "delay": "100ms"},
    {"kind": "slow-close", **LINK, "delay": "200ms"},
    {"kind": "pause", "target": "broker-1", "for": "1s"},
    {"kind": "move-leader", "target": "partition-0"},
    {"kind": "reassign", "target": "partition-1"},
    {"kind": "elect-preferred", "target": "partition-0"},
]
"""Over within two seconds."""
ENDING_A_BROKER: Final[list[dict[str, Any]]] = [
    # First, while no broker has yet to start again: it ends with a write that comes late where the machine is busy.
    {"kind": "disk-fails", "target": "broker-3", "for": "8s"},
    {"kind": "restart", "target": "broker-1"},
    {"kind": "kill", "target": "leader-of:0", "for": "1s"},
    {"kind": "stop", "target": "coordinator", "for": "1s"},
]
"""A broker starts again, which takes some seconds, and has to follow the others before the next one."""
IN_MINUTES: Final = {"rolling-restart", "nemesis"}
LOSING: Final = {"lose-data", "truncate-tail"}
"""Where a machine is so busy that a broker is not back in time, no other one may have what the next one loses. They are
done to a cluster that is waited for in tests/cluster.
"""


def in_turn() -> list[dict[str, Any]]:
    """All of them with the times at which they begin."""
    shortly = [{**each, "at": f"{1 + 2 * place}s"} for place, each in enumerate(SHORTLY)]
    begin = 1 + 2 * len(shortly)
    first, *others = ENDING_A_BROKER
    ending = [{**first, "at": f"{begin}s"}]
    ending += [{**each, "at": f"{begin + 14 + 8 * place}s"} for place, each in enumerate(others)]
    return shortly + ending


def test_no_kind_is_left_out() -> None:
    """A new one is to be carried out here, or for longer elsewhere."""
    kinds = {kind for family in FAMILIES.values() for kind in family}

    assert {each["kind"] for each in in_turn()} == kinds - {*ONE_DIRECTORY} - IN_MINUTES - LOSING


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_own_state")
def test_every_kind_of_fault_is_carried_out_and_nothing_is_lost(call: Call, tmp_path: Path) -> None:
    faults = in_turn()
    scenario = tmp_path / "harmed.yaml"
    scenario.write_text(
        f"""
name: harmed
cluster: {{brokers: 3, heap: 256m, configs: {SOONER}}}
topic: {{partitions: 3, replication: 3, configs: {{min.insync.replicas: 2}}}}
load:
  rate: 300
  size: 2KiB
  partition: round-robin
  client: {{acks: all, enable.idempotence: true, max.in.flight: 1}}
consume: {{client: {{auto.commit.interval.ms: 1000}}}}
lag: {{every: 200ms}}
faults: {faults}
phases: {{warmup: 1s, measure: {last_second(faults) + 14:.0f}s, drain: 60s}}
""",
        encoding="utf-8",
    )

    folder, result = finished(call, tmp_path / "runs", str(scenario), [], len(faults), codes={0, 4})

    assert {each.kind for each in result.faults or []} == {each["kind"] for each in faults}
    assert_next_leader(folder)
    delivery = result.delivery
    assert delivery.sent
    assert delivery.acked == delivery.sent
    assert result.wire
    assert result.wire.producers
    assert result.wire.producers.retried_messages
    assert (delivery.lost, delivery.undelivered, delivery.truncated, delivery.unknown) == (0, 0, 0, 0)


def assert_next_leader(folder: RunFolder) -> None:
    """Another broker led the partition whose leader was killed, before its messages were acknowledged again.

    None did where none was in sync with it: those that were ended before take their time on a slow machine.
    """
    (killed,) = (row["fault"] for row in read_table(folder, "fault_scores").to_pylist() if row["kind"] == "kill")
    rows = {(row["fault"], row["partition"]): row for row in read_table(folder, "fault_partitions").to_pylist()}
    row = rows[killed, 0]
    (begun,) = (
        each["second"]
        for each in read_table(folder, "faults").to_pylist()
        if (each["kind"], each["action"]) == ("kill", "begin")
    )
    if in_sync(folder, begun) == 1:
        assert row["next_leader_s"] is None, row
        return
    assert 0 < row["next_leader_s"] < row["unwritable_s"] + A_LOOK_S, row


def in_sync(folder: RunFolder, second: float) -> int:
    """How many replicas of the first partition were in sync when they were last looked at before a second."""
    measure = read_facts(folder).phase("measure")
    assert measure
    looks = events(folder, "replicas", "at_ns", "partition", "in_sync").to_pylist()
    until_ns = measure.from_ns + second * NS_PER_SECOND
    before = [each for each in looks if each["partition"] == 0 and each["at_ns"] < until_ns]
    return int(max(before, key=lambda each: int(each["at_ns"]))["in_sync"])
