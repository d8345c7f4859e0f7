"""What stands in the measured path, as a scenario says it: defaults, faults, and the way back."""

from typing import Any

import pytest

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.scenario import Scenario, document, parse


def scenario(pipeline: Any, **given: Any) -> Scenario:
    return parse({"name": "x", "pipeline": pipeline, **given})


def faults(pipeline: Any, **given: Any) -> dict[str, str]:
    """Every fault of a scenario: place, what is wrong."""
    with pytest.raises(BadInput) as caught:
        scenario(pipeline, **given)
    return {fault.where: fault.what for fault in caught.value.faults}


LONG = {"phases": {"drain": "90s"}}
FUNCTION = {"call": "jobs:mine", "does": "changed"}


@pytest.mark.parametrize(
    ("pipeline", "given"),
    [
        ({}, {}),
        ({"job": "pass", "engine": "micro-batch"}, {}),
        ({"job": {"count": {"window": "5s"}}, "engine": {"micro-batch": {"every": "1s"}}, "max_offsets": "10k"}, {}),
        ({"job": "feature-store", "sink": {"table": "features", "queried": "200ms"}}, {}),
        ({"job": {"function": FUNCTION}, "engine": "real-time"}, LONG),
        ({"max_offsets": {"batch": "2s", "begin": 10, "least": 5, "most": "20k"}}, {}),
        ({"engine": "client"}, {"faults": [{"at": "5s", "kind": "kill", "target": "driver"}]}),
        ({"master": "local-cluster[2,1,1024]"}, {"faults": [{"at": "5s", "kind": "kill", "target": "executor-1"}]}),
        ({"settings": {"spark.sql.shuffle.partitions": 4}, "restarts": 0, "checkpoint": "here"}, {}),
        ("off", {}),
    ],
)
def test_what_is_written_is_what_is_meant(pipeline: Any, given: dict[str, Any]) -> None:
    """A document parses to the scenario that it is of."""
    once = document(scenario(pipeline, **given))
    assert document(parse(once)) == once


def test_without_a_word_bytes_are_passed_in_micro_batches_to_a_topic_beside() -> None:
    found = scenario({})
    assert found.pipeline is not None
    assert (found.pipeline.job.name, found.pipeline.job.does) == ("pass", "same")
    assert (found.pipeline.engine.name, found.pipeline.engine.interval_ns) == ("micro-batch", None)
    assert found.topic_names == ("streamgauge-x", "streamgauge-x-out")
    assert (found.sent_topics, found.read_topics, found.sink_topic) == (("streamgauge-x",), (1,), "streamgauge-x-out")
    assert found.places == 24


def test_the_size_of_batches_is_a_number_or_a_time() -> None:
    """None means any number."""
    plain, timed, free = (
        scenario(given).pipeline for given in ({"max_offsets": "2k"}, {"max_offsets": {"batch": "1s"}}, {})
    )
    assert plain
    assert timed
    assert free
    assert (plain.first_limit, plain.batch_time) == (2000, None)
    assert (timed.first_limit, timed.batch_time and timed.batch_time.batch) == (1000, 10**9)
    assert (free.first_limit, free.batch_time) == (None, None)


def test_a_table_is_read_like_a_topic_and_is_none() -> None:
    found = scenario({"sink": {"table": "t"}})
    assert (found.topic_names, found.sink_topic, found.sink_name) == (("streamgauge-x", "t"), None, "t")


def test_without_a_pipeline_consumers_read_what_is_sent() -> None:
    found = scenario("off", topic={"name": "t[1-2]", "partitions": 3})
    assert (found.topic_names, found.read_topics, found.places) == (("t1", "t2"), (0, 1), 6)


def test_engines_have_intervals() -> None:
    real_time = scenario({"engine": "real-time"}, **LONG).pipeline
    assert real_time is not None
    assert real_time.engine.interval_ns == 60 * NS_PER_SECOND


@pytest.mark.parametrize(
    ("pipeline", "given", "where", "what"),
    [
        ({"job": "pas"}, {}, "pipeline.job.pas", "no such key"),
        ({"job": {"count": {}, "pass": {}}}, {}, "pipeline.job", "2 keys instead of one"),
        ({"engine": "spark"}, {}, "pipeline.engine.spark", "no such key"),
        ({"master": "here"}, {}, "pipeline.master", "not a Spark master"),
        ({"master": "local-cluster[2,1,1024]", "parallelism": 2}, {}, "pipeline", "the cluster determines"),
        ({"job": {"function": {"call": "mine", "does": "same"}}}, {}, "pipeline.job.function.call", "an allowed form"),
        ({"job": {"function": {**FUNCTION, "expects": "jobs:some"}}}, {}, "pipeline.job.function.expects", "selects"),
        ({"job": "feature-store"}, {}, "pipeline.sink", "writes a table"),
        ({"sink": "streamgauge-x"}, {}, "pipeline.sink", "read its own output"),
        ({}, {"topic": {"name": "t[1-2]"}}, "topic.name", "reads one topic"),
        ({}, {"consume": {"partitions": [0]}}, "consume.partitions", "the group protocol"),
        ({"settings": {"spark.master": "local"}}, {}, "pipeline.settings.spark.master", "set by the run"),
        ({"settings": {"spark.redaction.regex": 1}}, {}, "pipeline.settings.spark.redaction.regex", "set by the"),
        (
            {"settings": {"spark.sql.redaction.options.regex": 1}},
            {},
            "pipeline.settings.spark.sql.redaction.options.regex",
            "set by the run",
        ),
        ({"engine": "client", "job": "count"}, {}, "pipeline.engine", "cannot run count"),
        ({"engine": "client", "sink": {"table": "t"}}, {}, "pipeline.sink", "not a table"),
        ({"engine": "client", "max_offsets": 5}, {}, "pipeline.max_offsets", "without Spark"),
        ({"engine": "client", "max_offsets": {"batch": "1s"}}, {}, "pipeline.max_offsets", "without Spark"),
        ({"max_offsets": {}}, {}, "pipeline.max_offsets.batch", "missing"),
        ({"max_offsets": {"batch": "1s", "begin": 5}}, {}, "pipeline.max_offsets", "begin 5 is not between least 100"),
        ({"max_offsets": 0}, {}, "pipeline.max_offsets", ""),
        ({"engine": "real-time", "job": "dedup"}, LONG, "pipeline.engine", "keeps no state"),
        ({"engine": "real-time", "sink": {"table": "t"}}, LONG, "pipeline.engine", "topics only"),
        ({"engine": "real-time", "max_offsets": 5}, LONG, "pipeline.max_offsets", "ends by time"),
        ({"engine": "real-time", "parallelism": 12}, LONG, "pipeline.parallelism", "occupies a task slot"),
        ({"engine": "real-time"}, {}, "phases.drain", "shorter than a batch"),
        ({"engine": "available-now"}, {"backpressure": {"hysteresis": {"max_lag": 9}}}, "pipeline.engine", "after"),
        ({"job": "count"}, {"backpressure": {"credit": {"limit": 9}}, "load": {"client": {"retries": 0}}},
         "backpressure.credit", "does not report"),
        ("off", {"faults": [{"at": "5s", "kind": "kill", "target": "driver"}]}, "faults.0.target", "none"),
        ({"engine": "client"}, {"faults": [{"at": "5s", "kind": "kill", "target": "executor-0"}]},
         "faults.0.target", "none"),
        ({}, {"faults": [{"at": "5s", "kind": "kill", "target": "executors"}]}, "faults.0.target", "none"),
    ],
)  # fmt: skip
def test_a_wrong_one_is_said_at_its_place(pipeline: Any, given: dict[str, Any], where: str, what: str) -> None:
    found = faults(pipeline, **given)
    assert what in found[where]
