"""From the pipeline of a scenario to who carries it out."""

import os
from pathlib import Path
from typing import Any

import pytest

from streamgauge.control.batching import BatchSize
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.engine.worker.observers import QueryJob
from streamgauge.jobs.query import SparkQuery
from streamgauge.kafka.forward import ClientQuery
from streamgauge.record.table import GrowingTable
from streamgauge.runs.conduct import query
from streamgauge.scenario import parse

RUN = Path("/runs/one")
CONNECTION = {"bootstrap.servers": "127.0.0.1:1"}
CORES = os.cpu_count() or 1


@pytest.fixture(autouse=True)
def _no_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched."""
    monkeypatch.setattr(query, "fetched", lambda *_, **__: [Path("connector.jar")])


def job(pipeline: dict[str, Any], **more: Any) -> QueryJob:
    scenario = parse({"name": "x", "topic": {"partitions": 4}, "pipeline": pipeline, **more})
    assert scenario.pipeline is not None
    return query.query_job(scenario, scenario.pipeline, "group-query", CONNECTION, RUN, (5, 6, 7, 8))


@pytest.mark.parametrize(
    ("pipeline", "more", "expected"),
    [
        ({}, {}, {"job": "pass", "engine": "micro-batch", "interval_ns": None, "does": "same", "options": {}}),
        ({"engine": {"micro-batch": {"every": "1s"}}}, {}, {"interval_ns": NS_PER_SECOND}),
        ({"engine": {"real-time": {"batch": "6s"}}}, {}, {"engine": "real-time", "interval_ns": 6 * NS_PER_SECOND}),
        ({"engine": {"real-time": {"batch": "6s"}}, "parallelism": None}, {}, {"parallelism": 5}),
        ({}, {}, {"parallelism": CORES}),
        ({"parallelism": 3}, {}, {"parallelism": 3}),
        ({"job": {"filter": {"contains": "x"}}}, {}, {"job": "filter", "options": {"contains": "x"}, "does": "subset"}),
        ({"max_offsets": "2k"}, {}, {"max_offsets": 2_000}),
        ({"max_offsets": {"batch": "1s", "begin": 300}}, {}, {"max_offsets": 300}),
        ({}, {}, {"checkpoint": "/runs/one/checkpoint", "table": None, "jars": ("connector.jar",)}),
        ({"engine": "client"}, {}, {"jars": (), "engine": "client"}),
        ({"checkpoint": "/elsewhere"}, {}, {"checkpoint": "/elsewhere"}),
        (
            {"job": "feature-store", "sink": {"table": "features"}},
            {"load": {"keys": "sequential"}},
            {"table": "/runs/one/features", "sink": None, "does": "aggregate"},
        ),
        ({}, {"load": {"transactions": {"messages": 10}}}, {"read_committed": True}),
        ({}, {}, {"read_committed": False, "connection": {**CONNECTION, "client.id": "group-query"}}),
        ({}, {}, {"source": "streamgauge-x", "partitions": 4, "starts": (5, 6, 7, 8), "name": "group-query"}),
    ],
)
def test_a_query_is_told_what_the_scenario_says(
    pipeline: dict[str, Any], more: dict[str, Any], expected: dict[str, Any]
) -> None:
    spec = job(pipeline, **more).spec

    assert {name: getattr(spec, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("pipeline", "more", "expected"),
    [
        ({}, {}, {"restarts": 3, "survives_failures": False, "waits_for_load": False, "sizes": None}),
        ({"restarts": 0}, {}, {"restarts": 0}),
        ({"engine": "available-now"}, {}, {"waits_for_load": True}),
        ({}, {"faults": [{"at": "1s", "kind": "kill", "target": "broker", "for": "1s"}]}, {"survives_failures": True}),
        (
            {"max_offsets": {"batch": "500ms", "begin": 300, "least": 200, "most": 400}},
            {},
            {"max_offsets": 300, "sizes": BatchSize(500 * NS_PER_MS, 200, 400, 300)},
        ),
    ],
)
def test_its_host_is_told_how_to_host_it(
    pipeline: dict[str, Any], more: dict[str, Any], expected: dict[str, Any]
) -> None:
    hosting = job(pipeline, **more).hosting

    assert {name: getattr(hosting, name) for name in expected} == expected


@pytest.mark.parametrize(("engine", "opens"), [("client", ClientQuery), ("micro-batch", SparkQuery)])
def test_the_plain_client_is_no_spark(engine: str, opens: type) -> None:
    assert job({"engine": engine}).open_query is opens


@pytest.mark.parametrize(
    ("sink", "every_ns"),
    [({"table": "features"}, None), ({"table": "features", "queried": "200ms"}, 200 * NS_PER_MS)],
)
def test_a_table_is_asked_only_where_the_scenario_says_how_often(sink: dict[str, Any], every_ns: int | None) -> None:
    scenario = parse({"name": "x", "load": {"keys": "sequential"}, "pipeline": {"job": "feature-store", "sink": sink}})

    found = query.lookup_job(scenario, RUN)

    assert (found and (found.open_reader, found.table, found.every_ns)) == (
        every_ns and (GrowingTable, RUN / "features", every_ns)
    )
