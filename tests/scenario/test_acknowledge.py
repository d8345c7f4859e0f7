"""Acknowledgement of single messages in a scenario: what it means, and what cannot be."""

from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.scenario.parse import parse
from streamgauge.scenario.profile import profile_of
from streamgauge.scenario.profile.model import AcknowledgeProfile
from streamgauge.workload.processing import handling_of

MARKERS = {"markers": {"timeout": "2s"}}


def scenario(more: dict[str, Any] | None = None, **consume: Any) -> Any:
    return parse({"name": "x", "consume": {"acknowledge": MARKERS, **consume}, **(more or {})})


def test_what_is_written_is_read_again() -> None:
    given: dict[str, dict[str, Any]] = {
        "acknowledge": {"markers": {"timeout": "2s", "limit": "unlimited", "silence": "100ms", "trackers": 2}},
        "processing": {"fail": 0.5, "poison": 0.01, "overrun": {"share": 0.1, "by": "1.5x"}},
    }
    first = parse({"name": "x", "consume": given})
    written = first.consume.model_dump(mode="json")  # type: ignore[union-attr]

    assert {name: written["acknowledge"][name] for name in given["acknowledge"]} == given["acknowledge"]
    assert {name: written["processing"][name] for name in given["processing"]} == given["processing"]
    assert parse({"name": "x", "consume": written}) == first


def test_offsets_are_the_default_and_have_no_profile() -> None:
    plain = parse({"name": "x"})
    assert plain.consume
    assert (plain.consume.acknowledge, plain.consume.markers) == ("offsets", None)
    consume = profile_of(plain).consume
    assert consume
    assert consume.acknowledge is None


@pytest.mark.parametrize(
    ("processing", "is_expected"),
    [
        ("off", True),
        ({"fail": 0.5}, True),
        ({"fail": 0.5, "drop": 0.1}, False),
        ({"overrun": {"share": 0.1}}, False),
        ({"function": "a:b"}, False),
    ],
)
def test_its_profile_says_what_decides_over_deliveries(processing: Any, is_expected: bool) -> None:
    consume = profile_of(scenario(processing=processing)).consume
    assert consume
    fail = 0.0 if processing == "off" else processing.get("fail", 0.0)
    assert consume.acknowledge == AcknowledgeProfile(
        carrier="markers", timeout_ms=2000.0, limit=3, fail=fail, poison=0.0, is_expected=is_expected
    )


def test_what_fails_stays_unprocessed_with_offsets_only() -> None:
    """A backlog that never drains is expected there, and nowhere else."""
    failing = {"processing": {"fail": 0.5}}
    for acknowledge, drops in (("offsets", True), (MARKERS, False)):
        processing = profile_of(scenario(acknowledge=acknowledge, **failing)).processing
        assert processing
        assert processing.drops is drops


def test_an_overrun_is_a_multiple_of_the_timeout() -> None:
    given = scenario(processing={"overrun": {"share": 0.25, "by": "3x"}})
    failing = handling_of(given.consume.processing, 2 * NS_PER_SECOND).failing
    assert (failing.overrun, failing.overrun_ns) == (0.25, 6 * NS_PER_SECOND)


@pytest.mark.parametrize(
    ("more", "consume", "wrong"),
    [
        ({}, {"acknowledge": "markers"}, "consume.acknowledge: 'markers'"),
        ({}, {"acknowledge": {"markers": {"timeout": "1ms"}}}, "consume.acknowledge.markers.timeout"),
        ({}, {"acknowledge": {"markers": {"limit": -1}}}, "consume.acknowledge.markers.limit"),
        ({}, {"acknowledge": {"markers": {"trackers": 13}}}, "13 trackers share 12 partitions"),
        ({}, {"groups": 2}, "each group would need markers of its own"),
        ({}, {"commit": "batch"}, "polled positions are committed when their markers are written"),
        ({}, {"processing": {"fail": 1.5}}, "consume.processing.fail"),
        ({}, {"processing": {"overrun": {"share": 0.1, "by": "1x"}}}, "not a multiple"),
        ({}, {"processing": {"overrun": {"share": 0.1, "by": True}}}, "not a multiple"),
        ({}, {"processing": {"overrun": {"share": 0.1}, "function": "a:b"}}, "overrun cannot be added"),
        (
            {},
            {"acknowledge": "offsets", "processing": {"overrun": {"share": 0.1}}},
            "nothing is delivered again after a timeout with acknowledge: offsets",
        ),
        (
            {"faults": [{"at": "1s", "kind": "kill", "target": "tracker-1"}]},
            {},
            "tracker-1: the run has 1",
        ),
        (
            {"faults": [{"at": "1s", "kind": "kill", "target": "trackers"}]},
            {"acknowledge": "offsets"},
            "trackers: the run has none",
        ),
        ({"pipeline": {"job": "pass"}}, {}, "markers and a pipeline cannot be combined"),
        ({"backpressure": {"credit": {"limit": 500}}}, {}, "messages that are delivered again take further ones"),
        ({"topic": {"configs": {"cleanup.policy": "compact"}}}, {}, "a compacted topic may lose messages"),
        (
            {"backpressure": {"credit": {"limit": 500}}},
            {"acknowledge": "offsets", "processing": {"fail": 0.1, "poison": 0.1}},
            "Leave fail and poison out of consume.processing",
        ),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, Any], consume: dict[str, Any], wrong: str) -> None:
    with pytest.raises(BadInput) as caught:
        scenario(more, **consume)
    assert wrong in str(caught.value)
