"""Share groups: what a cluster has to have, settings, and how far a group is; without a cluster."""

from typing import Any

import pytest

from streamgauge.kafka.carriers.share.asking import ShareStand, lacking
from streamgauge.kafka.carriers.share.group import GroupSettings
from streamgauge.kafka.carriers.share.settings import share_faults

WHERE = "consume.client"


@pytest.mark.parametrize(
    ("features", "versions", "lacks"),
    [
        ({"share.version": 1}, {78: 2, 90: 1}, None),
        ({"share.version": 2}, {78: 3}, None),
        ({"share.version": 1}, {78: 1}, "older than Kafka 4.2"),
        ({}, {78: 0}, "older than Kafka 4.2"),
        ({}, {}, "older than Kafka 4.2"),
        ({"group.version": 1}, {78: 2}, "the feature share.version of the cluster is off"),
        ({"share.version": 0}, {78: 2}, "the feature share.version of the cluster is off"),
    ],
)
def test_a_cluster_without_share_groups_is_told(
    features: dict[str, int], versions: dict[int, int], lacks: str | None
) -> None:
    found = lacking(features, versions)
    assert found is None if lacks is None else lacks in (found or "")


def test_the_broker_counts_deliveries_and_the_tool_redeliveries() -> None:
    settings = GroupSettings(lock_ms=1_500, limit=3, isolation="read_committed", locks=100)
    assert settings.settings == {
        "lock": ("share.record.lock.duration.ms", "1500"),
        "limit": ("share.delivery.count.limit", "4"),
        "isolation": ("share.isolation.level", "read_committed"),
        "locks": ("share.partition.max.record.locks", "100"),
    }
    more = GroupSettings(1_500, 3, heartbeat_ms=500, session_ms=9_000).settings
    assert more["heartbeat"] == ("share.heartbeat.interval.ms", "500")
    assert more["session"] == ("share.session.timeout.ms", "9000")


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("share.acknowledgement.mode", "implicit", "is set by the run: explicit. Leave it out"),
        ("share.acknowledgement.mode", "implict", "is set by the run: explicit. Leave it out"),
        ("isolation.level", "read_committed", "is no setting of a share consumer. Leave it out: use consume.ack"),
        ("session.timeout.ms", 6_000, "is no setting of a share consumer. Leave it out"),
        ("partition.assignment.strategy", "range", "is no setting of a share consumer"),
        ("queued.min.messages", 100, "is no setting of a share consumer"),
        ("auto.commit.interval.ms", 5, "has no effect: a share consumer commits no offsets"),
        ("max.poll.recods", 5, "No such configuration property"),
        ("fetch.min.bytes", "many", "Invalid value"),
    ],
)
def test_a_setting_that_is_none_of_a_share_consumer_is_told_at_its_place(name: str, value: Any, wrong: str) -> None:
    """Those that its client refuses, and those that it takes without a word."""
    settings: dict[str, Any] = {name: value, "max.poll.records": 5_000}
    (fault,) = share_faults(WHERE, settings, {"bootstrap.servers": "127.0.0.1:1"})
    assert fault.where == f"{WHERE}.{name}"
    assert wrong in str(fault)


def test_settings_of_a_share_consumer_are_taken() -> None:
    settings: dict[str, Any] = {"max.poll.records": 5_000, "fetch.wait.max.ms": 100, "client.rack": "a"}
    assert share_faults(WHERE, settings, {"bootstrap.servers": "127.0.0.1:1"}) == []


@pytest.mark.parametrize(
    ("stand", "committed", "settled"),
    [
        pytest.param(ShareStand(10, 0), 10, 10, id="done"),
        pytest.param(ShareStand(3, 0), 10, 10, id="done, and the start is not moved yet"),
        pytest.param(ShareStand(3, 2), 8, 3, id="two of those above its start have no outcome"),
        pytest.param(ShareStand(0, 10), 0, 0, id="nothing is done"),
        pytest.param(ShareStand(12, 0), 10, 12, id="the log grew after it was asked"),
    ],
)
def test_a_group_is_as_far_as_the_messages_without_an_outcome_say(
    stand: ShareStand, committed: int, settled: int
) -> None:
    assert (stand.committed(10), stand.settled(10)) == (committed, settled)
