"""From a scenario to a plan."""

from pathlib import Path
from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_SECOND, ClockPair
from streamgauge.domain.errors import BadInput
from streamgauge.runs.conduct.consumers import start_of
from streamgauge.runs.conduct.identity import Identity, dealt
from streamgauge.runs.conduct.plan import asks_for_replicas, plan_of
from streamgauge.runs.conduct.producers import producer_settings, topics_of
from streamgauge.runs.request.materials import check_settings, read_materials
from streamgauge.scenario import Load, parse
from streamgauge.scenario.model.load import MESSAGE_TIMEOUT

IDENTITY = Identity("run-1", 7, "group-1")
PAIR = ClockPair(wall_ns=1_000, monotonic_ns=5)
CONNECTION = {"bootstrap.servers": "127.0.0.1:9092", "security.protocol": "SSL"}


def plan(mapping: dict[str, Any]) -> Any:
    return plan_of(parse({"name": "x", **mapping}), IDENTITY, CONNECTION, Path("run"), (), pair=PAIR)


def producers(made: Any) -> list[Any]:
    return [member for job in made.producers for member in job.members]


def consumers(made: Any) -> list[Any]:
    return [member for job in made.consumers for member in job.members]


def test_every_client_gets_the_connection_and_the_settings() -> None:
    """And a name of its own, which the broker's logs show."""
    made = plan({"load": {"producers": 3, "client": {"linger.ms": 5}}, "consume": {"client": {"fetch.min.bytes": 9}}})

    names = [job.client.settings["client.id"] for job in (*producers(made), *consumers(made))]
    assert names == [f"run-1-producer-{i}" for i in range(3)] + [f"run-1-consumer-{i}" for i in range(2)]
    for job in (*producers(made), *consumers(made)):
        assert CONNECTION.items() <= job.client.settings.items()
    assert {job.client.settings["linger.ms"] for job in producers(made)} == {5}
    assert {job.client.settings["group.id"] for job in consumers(made)} == {"group-1"}
    assert consumers(made)[0].client.settings["fetch.min.bytes"] == 9
    assert consumers(made)[0].client.settings["fetch.queue.backoff.ms"] == 10


def test_the_users_setting_wins_over_ours() -> None:
    """Ours are better defaults, not rules."""
    made = plan({"consume": {"client": {"fetch.queue.backoff.ms": 500}}})

    assert consumers(made)[0].client.settings["fetch.queue.backoff.ms"] == 500


def test_a_run_that_only_reads_accepts_any_stamp_and_waits_for_the_start() -> None:
    """Stamps may be anywhere; nothing is taken before everybody is ready."""
    made = plan({"load": "off"})

    assert not made.producers
    assert {(member.reading.tag, member.client.stamp_in_header) for member in consumers(made)} == {(None, None)}
    assert {job.hold for job in made.consumers} == {True}


def test_a_run_with_a_load_knows_its_own() -> None:
    """Tag, place of the stamp, no waiting."""
    made = plan({"load": {"payload": "json"}, "verify": "1/4"})

    known = {(each.reading.tag, each.reading.verify_every, each.client.stamp_in_header) for each in consumers(made)}
    assert known == {(7, 4, True)}
    assert {job.hold for job in made.consumers} == {False}


def test_without_a_rate_there_is_no_pacer() -> None:
    """And the stamps say so."""
    made = plan({"load": {"rate": "max"}})

    assert {(member.sending.pacer, member.recipe.scheduled) for member in producers(made)} == {(None, False)}


@pytest.mark.parametrize("name", MESSAGE_TIMEOUT)
@pytest.mark.parametrize(
    ("asked", "drain_s", "expected"), [(None, 30, 30_000), (5_000, 30, 5_000), (60_000, 30, 30_000), (0, 10, 10_000)]
)
def test_the_life_of_a_message_is_bounded_by_the_drain(
    name: str, asked: int | None, drain_s: int, expected: int
) -> None:
    """0 means without limit, which no run is. The client obeys the last of both names, so it gets one."""
    load = Load(client={"linger.ms": 2} if asked is None else {name: asked, "linger.ms": 2})

    assert producer_settings(load, drain_s * 10**9) == {"linger.ms": 2, "message.timeout.ms": expected}


@pytest.mark.parametrize(
    ("mapping", "start"),
    [
        ({}, "latest"),
        ({"load": "off"}, "earliest"),
        ({"consume": {"start": "earliest"}}, "earliest"),
        ({"load": "off", "consume": {"start": "latest"}}, "latest"),
        ({"consume": {"start": "1970-01-01T00:00:01Z"}}, 1_000),
        ({"consume": "off"}, "latest"),
    ],
)
def test_where_the_group_starts(mapping: dict[str, Any], start: str | int) -> None:
    """At the end, unless the topic is full already or the user says so."""
    assert start_of(parse({"name": "x", **mapping})) == start


@pytest.mark.parametrize(
    ("members", "processes", "expected"),
    [
        (3, None, [(0,), (1,), (2,)]),
        (5, 2, [(0, 1), (2, 3, 4)]),
        (4, 1, [(0, 1, 2, 3)]),
        (25, 2, [tuple(range(12)), tuple(range(12, 25))]),
    ],
)
def test_clients_are_dealt_to_processes(members: int, processes: int | None, expected: list[tuple[int, ...]]) -> None:
    """Evenly, neighbours together; each has one of its own unless told otherwise."""
    assert dealt(range(members), processes) == expected


@pytest.mark.parametrize(
    ("producers", "topics", "expected"),
    [
        (2, 1, [(0,), (0,)]),
        (4, 2, [(0,), (1,), (0,), (1,)]),
        (2, 5, [(0, 2, 4), (1, 3)]),
    ],
)
def test_producers_are_spread_over_topics(producers: int, topics: int, expected: list[tuple[int, ...]]) -> None:
    """Every topic has a producer, and every producer a topic."""
    assert [topics_of(number, producers, topics) for number in range(producers)] == expected


def test_every_producer_sends_its_share_of_a_number_of_messages() -> None:
    """Together they are the whole."""
    made = plan({"load": {"producers": 3}, "phases": {"measure": {"messages": 100}}})

    assert [member.sending.measured_messages for member in producers(made)] == [34, 33, 33]
    assert (made.is_counted, made.measure_ns) == (True, 600 * NS_PER_SECOND)


def test_bytes_for_each_partition_are_as_many_messages_as_have_them() -> None:
    """Of all topics together."""
    scenario = parse(
        {
            "name": "x",
            "topic": {"name": "t[1-2]", "partitions": 3},
            "load": {"size": 1000},
            "phases": {"measure": {"bytes_per_partition": 10_500}},
        }
    )

    assert scenario.topic_names == ("t1", "t2")
    assert scenario.measured_messages == 11 * 6


def test_groups_have_names_and_consumers_of_their_own() -> None:
    """Each reads every partition; those that are given some read them in every topic."""
    made = plan(
        {
            "topic": {"name": "t[1-2]", "partitions": 4},
            "consume": {"groups": 2, "consumers": 2, "partitions": [0, 1, 3]},
        }
    )

    assert [(member.group, member.number) for member in consumers(made)] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert [member.client.settings["group.id"] for member in consumers(made)] == ["group-1-0"] * 2 + ["group-1-1"] * 2
    assert [member.client.assigned for member in consumers(made)][:2] == [
        ((0, 0), (0, 3), (1, 0), (1, 3)),
        ((0, 1), (1, 1)),
    ]
    assert made.read_places == [0, 1, 3, 4, 5, 7]


def test_a_transactional_producer_has_an_id_of_its_own() -> None:
    """And its consumers look where the log ends, behind the marks of transactions."""
    made = plan({"load": {"transactions": {"messages": 10}}})

    ids = [member.client.settings["transactional.id"] for member in producers(made)]
    assert len(set(ids)) == 2
    assert {member.client.sees_ends for member in consumers(made)} == {True}


def test_a_load_can_begin_at_a_time() -> None:
    """On the run's own clock."""
    made = plan({"phases": {"start_at": "1970-01-01T00:00:20Z"}})

    assert made.start_at_ns == 20 * NS_PER_SECOND - PAIR.wall_ns + PAIR.monotonic_ns


@pytest.mark.parametrize(
    ("mapping", "where"),
    [
        ({"load": {"rate": {"replay": {"file": "not-there.txt"}}}}, "load.rate"),
        ({"load": {"payload": {"file": {"path": "not-there.txt"}}}}, "load: not-there.txt"),
        ({"load": {"payload": {"function": {"name": "not_there:f"}}}}, "load.payload"),
        ({"load": {"keys": {"file": {"path": "not-there.txt"}}}}, "load: not-there.txt"),
        ({"consume": {"processing": {"function": "not_there:f"}}}, "consume.processing.function"),
    ],
)
def test_what_a_scenario_names_outside_itself_must_be_there(mapping: dict[str, Any], where: str) -> None:
    """Told before anything starts."""
    with pytest.raises(BadInput) as caught:
        read_materials(parse({"name": "x", **mapping}))

    (fault,) = caught.value.faults
    assert fault.where.startswith(where)


def test_wrong_client_settings_of_both_sides_are_told_at_once() -> None:
    """Before a broker is started."""
    scenario = parse({"name": "x", "load": {"client": {"lingr.ms": 1}}, "consume": {"client": {"fetch.mni": 1}}})

    with pytest.raises(BadInput) as caught:
        check_settings(scenario)

    assert [fault.where for fault in caught.value.faults] == ["load.client.lingr.ms", "consume.client.fetch.mni"]


TWO_TOPICS = {"topic": {"count": 2, "partitions": 3}}


def test_a_producer_for_each_partition_sends_to_its_own_only() -> None:
    """And together they send to every partition of every topic."""
    made = plan({**TWO_TOPICS, "load": {"producers": "per-partition", "partition": "round-robin"}})

    places = [(*member.recipe.topics, member.recipe.partition) for member in producers(made)]
    assert places == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


def test_a_producer_for_each_topic_sends_to_its_partitions_as_usual() -> None:
    made = plan({**TWO_TOPICS, "load": {"producers": "per-topic", "partition": "round-robin"}})

    assert [member.recipe.topics for member in producers(made)] == [(0,), (1,)]
    assert {member.recipe.partition for member in producers(made)} == {"round-robin"}


@pytest.mark.parametrize(
    ("consume", "expected"),
    [
        ({"consumers": "per-topic"}, [((0, 0), (0, 1), (0, 2)), ((1, 0), (1, 1), (1, 2))]),
        ({"consumers": "per-partition"}, [((0, 0),), ((1, 0),), ((0, 1),), ((1, 1),), ((0, 2),), ((1, 2),)]),
        ({"consumers": "per-partition", "partitions": [2]}, [((0, 2),), ((1, 2),)]),
        ({"consumers": 3}, [None] * 3),
    ],
)
def test_consumers_are_assigned_what_they_are_counted_by(consume: dict[str, Any], expected: list[Any]) -> None:
    made = plan({**TWO_TOPICS, "consume": consume})

    assert [member.client.assigned for member in consumers(made)] == expected


def test_a_limited_rate_is_shared_by_all_consumers() -> None:
    made = plan({**TWO_TOPICS, "consume": {"consumers": "per-partition", "rate": "600/s"}})

    assert {member.consuming.per_second for member in consumers(made)} == {100}


@pytest.mark.parametrize(
    ("given", "nodes", "asks"),
    [
        ({}, 1, False),
        ({"faults": [{"at": "1s", "kind": "kill", "target": "consumer-0"}]}, 1, False),
        # The user's cluster, however large.
        ({}, 0, False),
        ({"topic": {"replication": 3}}, 0, True),
        ({"topic": {"replication": 3}}, 3, True),
        # Brokers, or a broker and controllers.
        ({}, 3, True),
        ({}, 2, True),
        ({"faults": [{"at": "1s", "kind": "restart", "target": "broker"}]}, 1, True),
        ({"faults": [{"at": "1s", "kind": "cut", "between": ["clients", "broker-1"], "for": "1s"}]}, 1, True),
    ],
)
def test_replicas_are_asked_for_where_leaders_or_the_controller_can_change(
    given: dict[str, Any], nodes: int, *, asks: bool
) -> None:
    assert asks_for_replicas(parse({"name": "x", **given}), nodes) is asks


def test_a_single_broker_that_nothing_is_done_to_is_not_asked_for_replicas() -> None:
    assert plan({}).replicas is None
    assert plan({"faults": [{"at": "1s", "kind": "pause", "target": "broker", "for": "1s"}]}).replicas is not None


def test_clients_with_links_of_their_own_are_given_their_addresses() -> None:
    """Who only looks at the run goes past them."""
    scenario = parse({"name": "x", "topic": {"replication": 3}})
    bootstraps = {"producers": "127.77.201.1:1", "consumers": "127.77.202.1:2"}
    found = plan_of(scenario, IDENTITY, CONNECTION, Path("run"), (), pair=PAIR, bootstraps=bootstraps)

    told: list[Any] = [*producers(found)[:1], *consumers(found)[:1], found.lag, found.replicas]
    assert [each.client.settings["bootstrap.servers"] for each in told] == [
        *bootstraps.values(), CONNECTION["bootstrap.servers"], CONNECTION["bootstrap.servers"]
    ]  # fmt: skip
