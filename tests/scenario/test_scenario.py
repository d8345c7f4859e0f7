"""Scenarios: defaults, round trips, and wrong ones, each fault with place, value and remedy."""

from collections.abc import Callable
from typing import Any

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.scenario import Scenario, document, parse

MINIMAL = {"name": "x"}


def faults_of(mapping: object) -> list[str]:
    with pytest.raises(BadInput) as caught:
        parse(mapping)
    return [str(fault) for fault in caught.value.faults]


def test_a_name_is_enough() -> None:
    """Everything else has a default."""
    scenario = parse(MINIMAL)

    assert scenario.load is not None
    assert scenario.consume is not None
    assert (scenario.load.rate, scenario.load.size, scenario.topic.partitions) == (10_000.0, 512, 12)
    assert scenario.topic_name == "streamgauge-x"


@pytest.mark.parametrize(
    "mapping",
    [
        MINIMAL,
        {"name": "x", "load": {"rate": "max", "client": {"acks": "all", "linger.ms": 0.5}}},
        {"name": "x", "load": "off", "consume": {"start": "earliest"}},
        {"name": "x", "consume": False, "verify": False, "phases": {"warmup": 0, "measure": "800us", "drain": "1ms"}},
        {"name": "x", "load": {"rate": 0.5, "size": "1KiB", "payload": "json"}, "expect": {"delivery.lost": "<= 5"}},
        {"name": "x", "topic": {"count": 3}, "load": {"producers": "per-topic"}, "consume": {"consumers": 4}},
    ],
)
def test_the_document_of_a_scenario_parses_to_the_same_scenario(mapping: dict[str, Any]) -> None:
    """A resolved scenario can be written to a file and run again."""
    scenario = parse(mapping)

    assert document(parse(document(scenario))) == document(scenario)


KILLED_BROKER = {"at": "1s", "kind": "kill", "target": "broker", "for": "1s"}
KILLED_CONSUMER = {"at": "1s", "kind": "kill", "target": "consumer-0"}


@pytest.mark.parametrize(
    ("given", "is_read"),
    [
        ({}, False),
        ({"verify": {"log": True}}, True),
        ({"verify": {"content": "off"}}, False),
        ({"topic": {"replication": 3}}, True),
        ({"topic": {"replication": 3}, "verify": "1/4"}, True),
        ({"topic": {"replication": 3}, "verify": {"log": False}}, False),
        ({"faults": [KILLED_BROKER]}, True),
        # So that what is lost is told from what is gone, also where a consumer was killed.
        ({"faults": [KILLED_CONSUMER]}, True),
        ({"faults": [KILLED_CONSUMER], "verify": {"log": False}}, False),
        ({"faults": [KILLED_CONSUMER], "load": "off"}, False),
        ({"faults": [KILLED_CONSUMER], "load": {"client": {"acks": 0}}}, False),
        ({"faults": [KILLED_CONSUMER], "topic": {"configs": {"cleanup.policy": "compact"}}}, False),
        ({"expect": {"delivery.truncated": 0}}, True),
        ({"expect": {"delivery.measure.vanished": 0}}, True),
        ({"expect": {"delivery.lost": 0}}, False),
        ({"expect": {"delivery.truncated": 0}, "verify": {"log": False}}, False),
        ({"pipeline": {"job": "pass"}}, True),
        # Where nobody could tell, nothing is read.
        ({"topic": {"replication": 3}, "load": "off"}, False),
        ({"expect": {"delivery.truncated": 0}, "load": "off"}, False),
        ({"topic": {"replication": 3}, "load": {"client": {"acks": 0}}}, False),
        ({"topic": {"replication": 3, "configs": {"cleanup.policy": "compact"}}}, False),
    ],
)
def test_the_log_is_read_again_where_messages_can_vanish(given: dict[str, object], is_read: bool) -> None:
    assert parse({"name": "x", **given}).reads_log is is_read


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"verify": {"log": "often"}}, "verify.log: 'often': should be true or false"),
        ({"verify": {"content": "1/0"}}, "verify.content: '1/0': not in an allowed form"),
        ({"verify": {"logs": True}}, "verify.logs: no such key"),
        ({"load": "off", "verify": {"log": True}}, "verify.log: true: nothing is sent"),
        ({"load": {"client": {"acks": 0}}, "verify": {"log": True}}, "verify.log: true: with acks 0 nobody knows"),
        (
            {"topic": {"configs": {"cleanup.policy": "compact,delete"}}, "verify": {"log": True}},
            "verify.log: true: compaction removes messages on purpose",
        ),
        ({"pipeline": {"job": "pass"}, "verify": {"log": False}}, "verify.log: false: the source of a pipeline is"),
    ],
)
def test_a_log_that_cannot_be_read_again(given: dict[str, object], what: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse({"name": "x", **given})
    assert what in str(caught.value)


@pytest.mark.parametrize(("verify", "every"), [("all", 1), ("1/16", 16), ("off", None), (False, None), ("1/1", 1)])
def test_verify(verify: object, every: int | None) -> None:
    """All, every n-th, or none; YAML reads a bare `off` as false."""
    assert every == parse({"name": "x", "verify": verify}).verify_every


@pytest.mark.parametrize(
    ("load", "in_headers"),
    [
        ({}, False),
        ({"size": 39}, True),
        ({"size": 40}, False),
        ({"payload": "json"}, True),
        ({"payload": "json", "stamp": "value"}, False),
        ({"stamp": "headers"}, True),
    ],
)
def test_where_the_stamp_travels(load: dict[str, Any], in_headers: bool) -> None:
    """In the value where it fits and harms nothing, else in a header; the user may say otherwise."""
    scenario = parse({"name": "x", "load": load})

    assert scenario.load is not None
    assert in_headers is scenario.load.stamped_in_headers


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"nmae": 1}, "nmae: no such key. Did you mean `name`?"),
        ({"zzz": 1}, "zzz: no such key. Known keys here: name, about, topic"),
        ({"load": {"rat": 1}}, "load.rat: no such key. Did you mean `rate`?"),
        ({"load": {"rate": "10q"}}, "load.rate: '10q': not a rate. Write messages a second like 10k/s"),
        ({"load": {"rate": 0}}, "load.rate: 0: a rate lies between 0.001/s and 100,000,000/s. Write `max` for as fast"),
        ({"load": {"size": "1.5"}}, "load.size: '1.5': not a whole number of bytes. Write a size like 512"),
        ({"load": {"size": -1}}, "load.size: -1: not a size. Write bytes like 512"),
        ({"load": {"size": "2MiB"}}, "load.size: 2097152 bytes exceed the client's limit for a message"),
        ({"load": {"producers": 0}}, "load.producers: 0: not a number of workers. Write 1 to 256, per-topic or"),
        ({"load": {"producers": "two"}}, "load.producers: 'two': not a number of workers"),
        ({"load": {"payload": "xml"}}, "Write one of random, zeros, text, json, logline, mixed"),
        ({"load": {"client": {"a": [1]}}}, "load.client.a: [1]: not a scalar value. Write a text, a number"),
        ({"load": {"client": {"group.id": "g"}}}, "load.client.group.id: is set by the run. Leave it out"),
        ({"load": {"stamp": "value", "size": 10}}, "load.stamp: a value of 10 bytes has no room for a stamp of 40."),
        ({"load": "on"}, "load: 'on': not a mapping. Write it as `load: {key: value}`"),
        ({"topic": "t"}, "topic: 't': not a mapping. Write it as `topic: {key: value}`"),
        ({"topic": {"name": "a b"}}, "topic.name: 'a b': not in an allowed form. Its meaning: Name: letters"),
        ({"topic": {"partitions": 0}}, "topic.partitions: 0: should be greater than or equal to 1"),
        (
            {"consume": {"start": "middle"}},
            "consume.start: 'middle': not a start position. Write auto, earliest, latest, or a time",
        ),
        ({"phases": {"measure": -30}}, "phases.measure: -30: not a duration. Write a number and a unit"),
        ({"phases": {"measure": "0s"}}, "phases.measure: 0s leaves nothing to measure. Write a duration"),
        ({"phases": {"drain": 0}}, "phases.drain: 0s leaves no time for messages to arrive."),
        ({"load": "off", "consume": "off"}, "load, consume: both are off, so the run would do nothing."),
        ({"verify": "1/0"}, "verify: '1/0': not in an allowed form. Its meaning: Share of"),
        ({"expect": {"delivery.lost": "<= few"}}, "expect.delivery.lost: '<= few': not a bound. Write one of"),
        ({"seed": -1}, "seed: -1: should be greater than or equal to 0."),
        (
            {"lag": {"every": "10ms"}},
            "lag.every: '10ms': should be greater than or equal to 50ms. Its meaning: Interval",
        ),
        ({"lag": {"every": "5m"}}, "lag.every: '5m': should be less than or equal to 1m. Its meaning: Interval"),
        (
            {"consume": {"commit": {"interval": 0}}},
            "consume.commit.interval: 0: should be greater than or equal to 1ms.",
        ),
        ({"backpressure": {"hysteresis": {"max_lag": 9, "resume_lag": 1, "poll": "2m"}}}, "less than or equal to 1m."),
        ({"name": "Upper Case"}, "name: 'Upper Case': not in an allowed form. Its meaning: Short name:"),
    ],
)
def test_a_wrong_scenario_says_where_what_and_how_to_mend_it(change: dict[str, Any], expected: str) -> None:
    """One clear line for each."""
    found = faults_of({**MINIMAL, **change})

    assert len(found) == 1
    assert expected in found[0]
    assert not found[0].endswith(".")


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ({"phases": {"measure": 30}}, lambda scenario: scenario.phases.measure_ns == 30 * 10**9),
        ({"phases": {"warmup": 0.5}}, lambda scenario: scenario.phases.warmup == 500_000_000),
        ({"phases": {"drain": "20"}}, lambda scenario: scenario.phases.drain == 20 * 10**9),
        ({"lag": {"every": 2}}, lambda scenario: scenario.lag.every == 2 * 10**9),
        ({"consume": {"commit": {"interval": 1}}}, lambda scenario: scenario.consume.commit.interval == 10**9),
        ({"phases": {"measure": {"drained": True, "at_most": 60}}, "load": "off"},
         lambda scenario: scenario.phases.measure_ns == 60 * 10**9),
    ],
)  # fmt: skip
def test_a_duration_without_a_unit_is_in_seconds(part: dict[str, Any], read: Callable[[Scenario], bool]) -> None:
    """Wherever a duration is asked for."""
    assert read(parse({**MINIMAL, **part}))


def test_all_faults_are_told_at_once() -> None:
    """Nobody has to correct a file five times."""
    found = faults_of({"load": {"rate": "x", "size": "y", "spede": 1}, "phases": {"measure": "z"}, "fase": {}})

    assert [line.split(":")[0] for line in found] == [
        "name",
        "load.rate",
        "load.size",
        "load.spede",
        "phases.measure",
        "fase",
    ]


@pytest.mark.parametrize("nothing", [None, [], "text", 5])
def test_what_is_no_mapping_is_no_scenario(nothing: object) -> None:
    """An empty file among them."""
    assert faults_of(nothing) == ["scenario: not a mapping of keys to values. Begin with `name: my-scenario`"]


def test_every_field_says_what_it_is() -> None:
    """The JSON Schema is the reference that editors show."""
    schema = Scenario.model_json_schema()

    for definition in (schema, *schema["$defs"].values()):
        for name, field in definition["properties"].items():
            assert field.get("description") or name in {"name", "topic", "cluster", "phases"}, name


def test_topics_are_numbered() -> None:
    """Of the derived name, or a given one."""
    assert parse({"name": "x", "topic": {"count": 2}}).sent_topics == ("streamgauge-x-1", "streamgauge-x-2")
    assert parse({"name": "x", "topic": {"count": 1, "name": "t"}}).sent_topics == ("t-1",)


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({"topic": {"count": 2, "name": "t[1-3]"}}, "topic.count: t[1-3] names several topics already"),
        ({"topic": {"partitions": 300}, "load": {"producers": "per-partition"}}, "load.producers: 300 producers are"),
        (
            {"topic": {"count": 100, "partitions": 3}, "consume": {"consumers": "per-partition"}},
            "consume.consumers: 300 consumers are more than 256",
        ),
        ({"load": {"producers": "per-partition", "partition": 1}}, "load.partition: with a producer per partition"),
        ({"load": {"producers": "per-process"}}, "load.producers: 'per-process': not a number of workers"),
        ({"load": {"producers": True}}, "load.producers: true: not a number of workers"),
        ({"load": {"producers": 257}}, "load.producers: 257: not a number of workers"),
        ({"consume": {"consumers": "per-topic"}, "pipeline": {}}, "consume.consumers: per-topic: the output of"),
    ],
)
def test_counts_of_topics_and_workers_that_cannot_be(mapping: dict[str, Any], expected: str) -> None:
    found = faults_of({"name": "x", **mapping})

    assert len(found) == 1
    assert found[0].startswith(expected)
