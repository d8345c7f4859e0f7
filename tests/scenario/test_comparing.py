"""Scenarios that differ in one setting only share the rest, whatever they are called."""

from typing import Any

import pytest

from streamgauge.scenario.comparing import COMPARED, apart, apart_from_policy

PLAIN: dict[str, Any] = {
    "name": "a", "topic": {"name": "t", "partitions": 4}, "load": {"size": 512, "client": {"linger.ms": 5}}
}  # fmt: skip


def loaded(**load: Any) -> dict[str, Any]:
    return {**PLAIN, "load": {**PLAIN["load"], **load}}


@pytest.mark.parametrize(
    ("setting", "other", "is_alike", "differs"),
    [
        ("size", loaded(size=100), True, True),
        ("payload", loaded(payload="json"), True, True),
        ("codec", loaded(client={"linger.ms": 5, "compression.codec": "lz4"}), True, True),
        ("acks", loaded(client={"linger.ms": 5, "request.required.acks": 0}), True, True),
        ("acks", loaded(client={"linger.ms": 6, "acks": 0}), False, True),
        ("size", loaded(producers=3), False, False),
        ("size", {**PLAIN, "topic": {"name": "u", "partitions": 4}}, True, False),
        ("size", {**PLAIN, "topic": {"name": "t", "partitions": 5}}, False, False),
        *(("size", {**PLAIN, key: "other"}, True, False) for key in ("name", "about", "seed", "expect")),
    ],
)
def test_by_one_setting(setting: str, other: dict[str, Any], is_alike: bool, differs: bool) -> None:
    (rest, value), (other_rest, other_value) = apart(PLAIN, setting), apart(other, setting)

    assert (rest == other_rest, value != other_value) == (is_alike, differs)


def test_by_the_policy() -> None:
    """How lag is sampled belongs to it."""
    held = {**PLAIN, "backpressure": {"credit": {"limit": 5}}, "lag": {"every": "50ms"}}
    rest, policy = apart_from_policy(PLAIN)

    assert apart_from_policy(held)[0] == rest
    assert apart_from_policy(held)[1] != policy
    assert apart_from_policy(loaded(size=100))[0] != rest


def test_the_given_scenario_stays_as_it_is() -> None:
    before = repr(PLAIN)
    for setting in COMPARED:
        apart(PLAIN, setting)
    apart_from_policy(PLAIN)

    assert repr(PLAIN) == before
