"""Trogdor's faults as faults of a scenario, and that what the language cannot say yet is refused."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.foreign.specs.samples import FAULT, PRODUCE, STOP, comes_to

from streamgauge.domain.errors import BadInput
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.trogdor.faults import fault_of, scenario_knows
from streamgauge.foreign.specs.write.translation import Draft

BETWEEN = ["clients", "brokers"]


def _every(_: Mapping[str, Any]) -> bool:
    return True


def _made(kind: str, **given: Any) -> list[dict[str, Any]]:
    draft = Draft("spec")
    fields = SpecFields(draft, {"class": f"{FAULT}{kind}", "durationMs": 2000, **given}, "", kind)
    fields.text("class")
    made = fault_of(draft, kind, fields, _every)
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
            [
                {
                    "kind": "delay",
                    "delay": "100ms",
                    "jitter": "10ms",
                    "distribution": "normal",
                    "between": [BETWEEN, ["broker-1"]],
                }
            ],
        ),
        (
            "DegradedNetworkFaultSpec",
            {"nodeSpecs": {"a": {"rateLimitKbit": 8000}}},
            [{"kind": "rate-limit", "rate": "1000000/s", "between": [BETWEEN, ["broker-1"]]}],
        ),
        (
            "FilesUnreadableFaultSpec",
            {"nodeNames": ["a"], "mountPath": "/kibosh", "prefix": "log", "errorCode": 5},
            [{"kind": "unreadable", "target": "broker-1"}],
        ),
    ],
)
def test_faults(kind: str, given: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    assert _made(kind, **given) == [{**each, "for": "2s"} for each in expected]


def test_the_language_decides_which_faults_there_are() -> None:
    assert scenario_knows({"kind": "pause", "target": "broker-1", "for": "1s"})
    assert not scenario_knows({"kind": "unreadable", "target": "broker-1", "for": "1s"})
    assert not scenario_knows({"kind": "nothing", "target": "broker-1", "for": "1s"})


def test_a_fault_that_the_language_cannot_say_is_refused_with_the_reason() -> None:
    unreadable = {"class": f"{FAULT}FilesUnreadableFaultSpec", "durationMs": 1000, "nodeNames": ["a"]}

    with pytest.raises(BadInput, match="FilesUnreadableFaultSpec: scenarios have no fault of kind unreadable"):
        comes_to(PRODUCE, None, unreadable)


def test_a_fault_alone_has_nothing_to_disturb() -> None:
    with pytest.raises(BadInput, match="Name a workload beside it"):
        comes_to(STOP)
