"""Trogdor's faults as faults of a scenario."""

from typing import Any

import pytest
from tests.foreign.specs.samples import FAULT, PRODUCE, STOP, comes_to

from streamgauge.domain.errors import BadInput
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.trogdor.faults import EVERYONE, fault_of
from streamgauge.foreign.specs.write.translation import Draft
from streamgauge.scenario import parse

SENT: dict[str, Any] = {"between": [["broker-1"], EVERYONE], "one_way": True}


def _made(kind: str, **given: Any) -> list[dict[str, Any]]:
    draft = Draft("spec")
    fields = SpecFields(draft, {"class": f"{FAULT}{kind}", "durationMs": 2000, **given}, "", kind)
    fields.text("class")
    made = fault_of(draft, kind, fields, {})
    assert not draft.faults
    return list(made.injected)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (
            "ProcessStopFaultSpec",
            {"nodeNames": ["a", "b"], "javaProcessName": "kafka.Kafka"},
            [{"kind": "pause", "target": "broker-1"}, {"kind": "pause", "target": "broker-2"}],
        ),
        (
            "NetworkPartitionFaultSpec",
            {"partitions": [["a"], ["b", "c"]]},
            [{"kind": "black-hole", "between": [["broker-1"], ["broker-2", "broker-3"]]}],
        ),
        (
            "NetworkPartitionFaultSpec",
            {"partitions": [["a"], ["b"], ["c"]]},
            [
                {"kind": "black-hole", "between": [["broker-1"], ["broker-2"]]},
                {"kind": "black-hole", "between": [["broker-1"], ["broker-3"]]},
                {"kind": "black-hole", "between": [["broker-2"], ["broker-3"]]},
            ],
        ),
        (
            "DegradedNetworkFaultSpec",
            {"nodeSpecs": {"a": {"latencyMs": 100, "networkDevice": "eth0"}}},
            [{"kind": "delay", "delay": "100ms", "jitter": "10ms", "distribution": "normal", **SENT}],
        ),
        (
            "DegradedNetworkFaultSpec",
            {"nodeSpecs": {"a": {"rateLimitKbit": 8000}}},
            [{"kind": "rate-limit", "rate": "1000000/s", **SENT}],
        ),
        (
            "DegradedNetworkFaultSpec",
            {"nodeSpecs": {"a": {"latencyMs": 1, "rateLimitKbit": 8000}}},
            [
                {
                    "kind": "delay",
                    "delay": "1ms",
                    "jitter": "1ms",
                    "distribution": "normal",
                    "rate": "1000000/s",
                    **SENT,
                }
            ],
        ),
        (
            "FilesUnreadableFaultSpec",
            {"nodeNames": ["a"], "mountPath": "/kibosh", "prefix": "log", "errorCode": 5},
            [{"kind": "dir-unreadable", "target": "broker-1"}],
        ),
    ],
)
def test_faults(kind: str, given: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    assert _made(kind, **given) == [{**each, "for": "2s"} for each in expected]


@pytest.mark.parametrize(
    ("kind", "given", "replicas", "cluster"),
    [
        ("ProcessStopFaultSpec", {"nodeNames": ["a"], "javaProcessName": "kafka.Kafka"}, 1, None),
        ("ProcessStopFaultSpec", {"nodeNames": ["a", "b"], "javaProcessName": "kafka.Kafka"}, 1, {"brokers": 2}),
        ("ProcessStopFaultSpec", {"nodeNames": ["a", "b"], "javaProcessName": "kafka.Kafka"}, 3, None),
        ("NetworkPartitionFaultSpec", {"partitions": [["a"], ["b", "c"]]}, 1, {"brokers": 3}),
        ("NetworkPartitionFaultSpec", {"partitions": [["a", "b"], ["c", "d", "e"]]}, 3, {"brokers": 5}),
        ("DegradedNetworkFaultSpec", {"nodeSpecs": {"a": {"latencyMs": 5, "rateLimitKbit": 8}}}, 1, None),
        ("FilesUnreadableFaultSpec", {"nodeNames": ["a"], "mountPath": "/k", "prefix": ""}, 3, {"data_dirs": 2}),
    ],
)
def test_a_scenario_can_say_every_fault_and_starts_the_brokers_that_it_names(
    kind: str, given: dict[str, Any], replicas: int, cluster: dict[str, int] | None
) -> None:
    fault = {"class": f"{FAULT}{kind}", "startMs": 1000, "durationMs": 2000, **given}
    topics = {"t": {"numPartitions": 2, "replicationFactor": replicas}}
    document = comes_to({**PRODUCE, "activeTopics": topics}, None, fault).document

    assert document.get("cluster") == cluster
    assert parse(dict(document)).faults


def test_a_degraded_node_sends_late_to_everyone_but_itself() -> None:
    nodes = {"a": {"latencyMs": 9}, "b": {"latencyMs": 4, "rateLimitKbit": 8}}
    degraded = {"class": f"{FAULT}DegradedNetworkFaultSpec", "durationMs": 2000, "nodeSpecs": nodes}
    topics = {"t": {"numPartitions": 2, "replicationFactor": 3}}
    document = comes_to({**PRODUCE, "activeTopics": topics}, None, degraded).document

    assert [each["between"] for each in document["faults"]] == [
        [["broker-1"], ["clients", "broker-2", "broker-3"]],
        [["broker-2"], ["clients", "broker-1", "broker-3"]],
    ]


def test_a_node_is_the_same_broker_in_all_faults() -> None:
    degraded = {"class": f"{FAULT}DegradedNetworkFaultSpec", "durationMs": 2000, "nodeSpecs": {"a": {"latencyMs": 9}}}
    stopped = {**STOP, "startMs": 5000, "nodeNames": ["b", "a"]}
    document = comes_to(PRODUCE, None, degraded, stopped).document

    assert [each.get("target") for each in document["faults"]] == [None, "broker-2", "broker-1"]


def test_a_cluster_has_the_brokers_of_its_assignments_too() -> None:
    stopped = {**STOP, "nodeNames": [*"abcd"]}
    topics = {"t": {"partitionAssignments": {"0": [1, 2], "1": [5, 1]}}}
    document = comes_to({**PRODUCE, "activeTopics": topics}, None, stopped).document

    assert "cluster" not in document
    assert parse(dict(document)).brokers == 5


def test_an_error_of_another_number_is_told() -> None:
    fault = {"class": f"{FAULT}FilesUnreadableFaultSpec", "durationMs": 1000, "nodeNames": ["a"], "errorCode": 28}

    assert ("errorCode", "reads fail with EIO, 5") in [
        (note.where, note.what) for note in comes_to(PRODUCE, None, fault).notes
    ]


def test_a_fault_alone_has_nothing_to_disturb() -> None:
    with pytest.raises(BadInput, match="Name a workload beside it"):
        comes_to(STOP)
