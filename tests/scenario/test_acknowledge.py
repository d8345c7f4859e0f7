"""Acknowledgement of single messages in a scenario: what it means, and what cannot be."""

from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.scenario.model.consume import consumer_settings
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
        ({"fail": 0.5, "skip": 0.1}, False),
        ({"overrun": {"share": 0.1}}, False),
        ({"overrun": {"share": 0.1, "takes": "5s"}}, False),
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


@pytest.mark.parametrize(
    "acknowledge", ["offsets", {"markers": {"timeout": "2s"}}, {"share": {}}, {"retry": {"delays": ["1s"]}}]
)
def test_an_overrun_takes_a_time_that_needs_no_timeout(acknowledge: Any) -> None:
    given = scenario(acknowledge=acknowledge, processing={"overrun": {"share": 0.25, "takes": "700ms"}})
    failing = handling_of(given.consume.processing, 5 * NS_PER_SECOND).failing
    written = given.consume.model_dump(mode="json")["processing"]["overrun"]

    assert (failing.overrun, failing.overrun_ns) == (0.25, 700 * NS_PER_MS)
    assert written == {"share": 0.25, "takes": "700ms"}


def test_an_overrun_is_a_multiple_of_the_timeout() -> None:
    given = scenario(processing={"overrun": {"share": 0.25, "by": "3x"}})
    failing = handling_of(given.consume.processing, 2 * NS_PER_SECOND).failing
    assert (failing.overrun, failing.overrun_ns) == (0.25, 6 * NS_PER_SECOND)


SHARE = {"share": {"lock": "2s"}}


def test_a_share_group_is_written_and_read_again() -> None:
    given = {
        "lock": "20s",
        "limit": 9,
        "isolation": "read_committed",
        "locks": 5000,
        "heartbeat": "1s",
        "session": "5s",
    }
    first = parse({"name": "x", "consume": {"acknowledge": {"share": {**given, "dead_letters": False}}}})
    assert first.consume
    assert first.consume.share
    written = first.consume.model_dump(mode="json")

    assert written["acknowledge"] == {"share": {**given, "dead_letters": False}}
    assert parse({"name": "x", "consume": written}) == first
    assert scenario(acknowledge={"share": {}}).consume.share.model_dump(mode="json") == {
        "lock": "30s", "limit": 3, "isolation": "read_uncommitted", "locks": 2000, "dead_letters": True,
    }  # fmt: skip


def test_the_profile_of_a_share_group_says_how_it_delivers_again() -> None:
    """From the same offset; its isolation is its own, and no setting of its clients."""
    share = {"share": {"lock": "2s", "limit": 5, "dead_letters": False}}
    given = scenario(acknowledge=share, processing={"fail": 0.5, "overrun": {"share": 0.1}})
    consume = profile_of(given).consume
    assert consume
    assert consume.acknowledge == AcknowledgeProfile(
        carrier="share", timeout_ms=2000.0, limit=5, fail=0.5, poison=0.0, is_expected=False, dead_letters=False
    )
    assert (consume.acknowledge.in_place, consume.read_committed) == (True, False)
    assert consumer_settings(given.consume) == {}
    committed = profile_of(scenario(acknowledge={"share": {"isolation": "read_committed", "session": "3s"}})).consume
    assert committed
    assert (committed.read_committed, committed.longest_silence_ms) == (True, 3000.0)


@pytest.mark.parametrize(
    ("acknowledge", "most", "has_dead_letters"),
    [
        ({"markers": {}}, 3, True),
        ({"markers": {"limit": "unlimited"}}, None, False),
        ({"retry": {"delays": ["1s", "5s"]}}, 2, True),
        ({"retry": {"delays": ["1s"], "limit": "unlimited"}}, None, False),
        ({"share": {"limit": 5}}, 5, True),
        ({"share": {"dead_letters": False}}, 3, False),
    ],
)
def test_a_carrier_has_dead_letters_where_it_gives_messages_up_and_keeps_them(
    acknowledge: dict[str, Any], most: int | None, has_dead_letters: bool
) -> None:
    """All carriers count redeliveries, whatever brokers count."""
    carrier = scenario(acknowledge=acknowledge).consume.carrier
    assert (carrier.most, carrier.has_dead_letters) == (most, has_dead_letters)


@pytest.mark.parametrize(
    ("acknowledge", "longest"),
    [
        ({"markers": {}}, 236),
        ({"markers": {"limit": "unlimited"}}, 241),
        ({"retry": {"delays": ["1s"]}}, 236),
        ({"retry": {"delays": ["1s"], "limit": "unlimited"}}, 240),
        ({"share": {}}, 236),
        ({"share": {"dead_letters": False}}, 249),
    ],
)
def test_names_of_topics_beside_a_topic_are_short_enough_for_kafka(acknowledge: dict[str, Any], longest: int) -> None:
    assert scenario({"topic": {"name": "n" * longest}}, acknowledge=acknowledge)
    with pytest.raises(BadInput, match="characters"):
        scenario({"topic": {"name": "n" * (longest + 1)}}, acknowledge=acknowledge)


@pytest.mark.parametrize(
    ("more", "consume", "wrong"),
    [
        ({}, {"acknowledge": {"share": {"lock": "500ms"}}}, "consume.acknowledge.share.lock"),
        ({}, {"acknowledge": {"share": {"lock": "2h"}}}, "consume.acknowledge.share.lock"),
        ({}, {"acknowledge": {"share": {"limit": 25}}}, "share.limit: 25: the broker delivers a message"),
        ({}, {"acknowledge": {"share": {"limit": 0}}}, "Write 1 to 24 redeliveries"),
        ({}, {"acknowledge": {"share": {"limit": "unlimited"}}}, "'unlimited': the broker delivers"),
        ({}, {"acknowledge": {"share": {"limit": True}}}, "consume.acknowledge.share.limit"),
        ({}, {"acknowledge": {"share": {"locks": 20_000}}}, "consume.acknowledge.share.locks"),
        ({}, {"acknowledge": {"share": {"renew": True}}}, "confluent-kafka 2.16.1 cannot renew a lock"),
        ({}, {"acknowledge": {"share": {}, "markers": {}}}, "2 keys instead of one"),
        ({}, {"groups": 2}, "2 share groups would write dead letters"),
        ({}, {"commit": "batch"}, "a share group commits no offsets"),
        ({}, {"commit": {"interval": "1s"}}, "a share group commits no offsets"),
        ({}, {"partitions": [0]}, "consume.partitions: a share group shares"),
        ({}, {"consumers": "per-partition"}, "consume.consumers: a share group shares"),
        ({}, {"processing": {"skip": 0.1}}, "polls nothing more until each message"),
        ({"pipeline": {"job": "pass"}}, {}, "a share group and a pipeline cannot be combined"),
        ({"load": {"transactions": {"messages": 10}}}, {}, "transactions write control records"),
        ({"backpressure": {"credit": {"limit": 500}}}, {}, "done with messages in any order"),
        ({"topic": {"configs": {"cleanup.policy": "compact"}}}, {}, "a compacted topic may lose messages"),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "trackers"}]}, {}, "trackers: the run has none"),
    ],
)
def test_what_cannot_be_with_a_share_group_is_refused(
    more: dict[str, Any], consume: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(BadInput) as caught:
        scenario(more, **{"acknowledge": SHARE, **consume})
    assert wrong in str(caught.value)


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
        ({}, {"processing": {"overrun": {"share": 0.1, "by": "2x", "takes": "1s"}}}, "by and takes. Write one"),
        ({}, {"processing": {"overrun": {"share": 0.1, "takes": "0s"}}}, "takes"),
        ({}, {"processing": {"overrun": {"share": 0.1}, "function": "a:b"}}, "overrun cannot be added"),
        (
            {},
            {"acknowledge": "offsets", "processing": {"overrun": {"share": 0.1}}},
            "acknowledge: offsets has no timeout",
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
