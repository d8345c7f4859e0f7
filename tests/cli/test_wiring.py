"""From a scenario to a plan."""

from pathlib import Path
from typing import Any

import pytest

from streamgauge.cli.wiring import Identity, check_settings, plan_of, producer_settings, starts_earliest
from streamgauge.domain.errors import BadInput
from streamgauge.domain.scenario import Load, parse

IDENTITY = Identity("run-1", 7, "group-1")
CONNECTION = {"bootstrap.servers": "127.0.0.1:9092", "security.protocol": "SSL"}


def plan(mapping: dict[str, Any]) -> Any:
    return plan_of(parse({"name": "x", **mapping}), IDENTITY, CONNECTION, Path("run"), ())


def test_every_client_gets_the_connection_and_the_settings() -> None:
    """And a name of its own, which the broker's logs show."""
    made = plan({"load": {"producers": 3, "client": {"linger.ms": 5}}, "consume": {"client": {"fetch.min.bytes": 9}}})

    names = [job.client.settings["client.id"] for job in (*made.producers, *made.consumers)]
    assert names == [f"run-1-producer-{i}" for i in range(3)] + [f"run-1-consumer-{i}" for i in range(2)]
    for job in (*made.producers, *made.consumers):
        assert CONNECTION.items() <= job.client.settings.items()
    assert {job.client.settings["linger.ms"] for job in made.producers} == {5}
    assert {job.client.settings["group.id"] for job in made.consumers} == {"group-1"}
    assert made.consumers[0].client.settings["fetch.min.bytes"] == 9
    assert made.consumers[0].client.settings["fetch.queue.backoff.ms"] == 10


def test_the_users_setting_wins_over_ours() -> None:
    """Ours are better defaults, not rules."""
    made = plan({"consume": {"client": {"fetch.queue.backoff.ms": 500}}})

    assert made.consumers[0].client.settings["fetch.queue.backoff.ms"] == 500


def test_a_run_that_only_reads_accepts_any_stamp_and_waits_for_the_start() -> None:
    """Stamps may be anywhere; nothing is taken before everybody is ready."""
    made = plan({"load": "off"})

    assert not made.producers
    assert {(job.reading.tag, job.client.stamp_in_header, job.hold) for job in made.consumers} == {(None, None, True)}


def test_a_run_with_a_load_knows_its_own() -> None:
    """Tag, place of the stamp, no waiting."""
    made = plan({"load": {"payload": "json"}, "verify": "1/4"})

    assert {(j.reading.tag, j.reading.verify_every, j.client.stamp_in_header, j.hold) for j in made.consumers} == {
        (7, 4, True, False)
    }


def test_without_a_rate_there_is_no_pacer() -> None:
    """And the stamps say so."""
    made = plan({"load": {"rate": "max"}})

    assert {(job.pacer, job.recipe.scheduled) for job in made.producers} == {(None, False)}


@pytest.mark.parametrize(
    ("asked", "drain_s", "expected"), [(None, 30, 30_000), (5_000, 30, 5_000), (60_000, 30, 30_000), (0, 10, 10_000)]
)
def test_the_life_of_a_message_is_bounded_by_the_drain(asked: int | None, drain_s: int, expected: int) -> None:
    """0 means without limit, which no run is."""
    load = Load(client={} if asked is None else {"message.timeout.ms": asked})

    assert producer_settings(load, drain_s * 10**9)["message.timeout.ms"] == expected


@pytest.mark.parametrize(
    ("mapping", "earliest"),
    [
        ({}, False),
        ({"load": "off"}, True),
        ({"consume": {"start": "earliest"}}, True),
        ({"load": "off", "consume": {"start": "latest"}}, False),
        ({"consume": "off"}, False),
    ],
)
def test_where_the_group_starts(mapping: dict[str, Any], earliest: bool) -> None:
    """At the end, unless the topic is full already or the user says so."""
    assert earliest is starts_earliest(parse({"name": "x", **mapping}))


def test_wrong_client_settings_of_both_sides_are_told_at_once() -> None:
    """Before a broker is started."""
    scenario = parse({"name": "x", "load": {"client": {"lingr.ms": 1}}, "consume": {"client": {"fetch.mni": 1}}})

    with pytest.raises(BadInput) as caught:
        check_settings(scenario)

    assert [fault.where for fault in caught.value.faults] == ["load.client.lingr.ms", "consume.client.fetch.mni"]
