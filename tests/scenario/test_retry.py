"""Retry topics in a scenario: what is made of them, and what cannot be."""

from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.scenario.parse import parse
from streamgauge.scenario.profile import profile_of
from streamgauge.scenario.profile.model import AcknowledgeProfile

RETRY = {"retry": {"delays": ["1s", "5s"]}}


def scenario(more: dict[str, Any] | None = None, **consume: Any) -> Any:
    return parse({"name": "x", "consume": {"acknowledge": RETRY, **consume}, **(more or {})})


def test_every_topic_has_one_for_each_delay_behind_those_that_are_sent_to() -> None:
    given = scenario({"topic": {"name": "t[1-2]", "partitions": 3}})
    assert given.topic_names == ("t1", "t2", "t1__retry_1", "t2__retry_1", "t1__retry_2", "t2__retry_2")
    assert (given.sent_topics, given.read_topics, given.places) == (("t1", "t2"), (0, 1, 2, 3, 4, 5), 18)
    assert [profile_of(given).sent_topics(count) for count in (6, 3)] == [2, 1]
    assert profile_of(scenario(acknowledge="offsets")).sent_topics(6) == 6


@pytest.mark.parametrize(
    ("retry", "most"),
    [
        ({"delays": ["1s", "5s"]}, 2),
        ({"delays": ["1s", "5s"], "limit": 7}, 7),
        ({"delays": ["5s", "0s"], "limit": "unlimited"}, None),
    ],
)
def test_a_limit_is_one_redelivery_for_each_delay_unless_it_is_given(retry: dict[str, Any], most: int | None) -> None:
    given = scenario(acknowledge={"retry": retry})
    assert given.consume.retry.most == most
    written = given.consume.model_dump(mode="json")
    assert written["acknowledge"] == {"retry": retry}
    assert parse({"name": "x", "consume": written}) == given


def test_its_profile_says_after_how_long_a_message_comes_again() -> None:
    consume = profile_of(scenario(processing={"fail": 0.5})).consume
    assert consume
    assert consume.acknowledge == AcknowledgeProfile(
        carrier="retry", timeout_ms=None, delays_ms=(1000.0, 5000.0), limit=2, fail=0.5, poison=0.0, is_expected=True
    )
    assert consume.processing
    assert not consume.processing.drops


@pytest.mark.parametrize(
    ("retry", "wrong"),
    [
        ({}, ["consume.acknowledge.retry.delays"]),
        ({"delays": []}, ["delays", "an empty list", "like [1s, 5s, 30s]"]),
        ({"delays": "1s"}, ["delays", "not a list"]),
        ({"delays": ["-1s"]}, ["delays.0", "-1s", "not a duration"]),
        ({"delays": ["1s", "soon"]}, ["delays.1", "soon"]),
        ({"delays": ["1s"] * 21}, ["21 delays", "Write at most 20"]),
        ({"delays": ["1s", "5s"], "limit": 1}, ["limit 1 leaves 1 of 2 delays unused", "Write at least 2"]),
        ({"delays": ["1s"], "limit": -1}, ["retry.limit", "not a number of redeliveries"]),
        ({"delays": ["1s"], "limit": True}, ["retry.limit", "not a number of redeliveries"]),
    ],
)
def test_delays_that_make_no_sense_are_refused(retry: dict[str, Any], wrong: list[str]) -> None:
    with pytest.raises(BadInput) as caught:
        scenario(acknowledge={"retry": retry})
    assert all(each in str(caught.value) for each in wrong)


def test_all_that_it_does_not_go_together_with_is_told_at_once() -> None:
    with pytest.raises(BadInput) as caught:
        scenario(
            {
                "backpressure": {"credit": {"limit": 500}},
                "topic": {"name": "n" * 240, "configs": {"cleanup.policy": "compact"}},
                "pipeline": {"job": "pass"},
            },
            groups=2,
            commit="never",
            processing={"skip": 0.1, "overrun": {"share": 0.1}},
        )
    said = str(caught.value)
    for wrong in (
        "retry topics and a pipeline cannot be combined",
        "2 groups: each group would need retry topics of its own",
        "never: a message is acknowledged by a commit",
        "acknowledge: retry has no timeout, of which `by` is a multiple",
        "a message that is left out neither succeeds nor fails",
        "messages that are delivered again take further ones",
        "a compacted topic may lose messages",
        "would have a name of 253 characters; Kafka takes 249",
    ):
        assert wrong in said


def test_it_goes_together_with_the_ways_to_commit_and_with_transactions() -> None:
    for commit in ("auto", "batch", {"messages": 100}):
        assert scenario({"load": {"transactions": {"messages": 10}}}, commit=commit).consume.retry


def test_topics_are_not_too_many() -> None:
    with pytest.raises(BadInput, match=r"20 delays for 100 topics make 2100 topics"):
        scenario({"topic": {"count": 100, "partitions": 1}}, acknowledge={"retry": {"delays": ["1s"] * 20}})
