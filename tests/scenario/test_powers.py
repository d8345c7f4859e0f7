"""What a scenario asks for that could do harm when somebody else wrote it."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from streamgauge.runs.request.scenario_file import load_scenario, shipped
from streamgauge.scenario import Scenario, parse
from streamgauge.scenario.powers import CLIENT_RUNS, PowerKind, only_tunes, only_tunes_broker, powers

FILE = {"file": {"path": "events.txt"}}
FUNCTION = {"function": {"name": "mine:events"}}
WEIGHTED = {"weighted": [{"percent": 50, "payload": "json"}, {"percent": 25, "payload": FILE},
                         {"percent": 25, "payload": FUNCTION}]}  # fmt: skip


def asked(**parts: Any) -> list[tuple[str, PowerKind, str]]:
    return [(each.where, each.kind, each.value) for each in powers(parse({"name": "x", **parts}))]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, []),
        ({"load": "off"}, []),
        ({"load": {"rate": {"poisson": {"rate": "1k/s"}}, "payload": {"random": {"padding": 1}}}}, []),
        ({"load": {"payload": FUNCTION}}, [("load.payload.function.name", PowerKind.FUNCTION, "mine:events")]),
        ({"load": {"payload": FILE}}, [("load.payload.file.path", PowerKind.READ, "events.txt")]),
        (
            {"load": {"payload": WEIGHTED}},
            [
                ("load.payload.weighted.1.payload.file.path", PowerKind.READ, "events.txt"),
                ("load.payload.weighted.2.payload.function.name", PowerKind.FUNCTION, "mine:events"),
            ],
        ),
        ({"load": {"keys": FILE}}, [("load.keys.file.path", PowerKind.READ, "events.txt")]),
        ({"load": {"rate": {"replay": {"file": "a.txt"}}}}, [("load.rate.replay.file", PowerKind.READ, "a.txt")]),
        (
            {"consume": {"processing": {"function": "mine:handle"}}},
            [("consume.processing.function", PowerKind.FUNCTION, "mine:handle")],
        ),
        (
            {"pipeline": {"job": {"function": {"call": "mine:job", "does": "subset", "expects": "mine:oracle"}}}},
            [
                ("pipeline.job.function.call", PowerKind.FUNCTION, "mine:job"),
                ("pipeline.job.function.expects", PowerKind.FUNCTION, "mine:oracle"),
            ],
        ),
        ({"pipeline": {"sink": {"table": "features"}}}, []),
        ({"pipeline": {"sink": {"table": "a/../b"}}}, []),
        ({"pipeline": {"sink": {"table": "../b"}}}, [("pipeline.sink.table", PowerKind.WRITE, "../b")]),
        ({"pipeline": {"sink": {"table": "a/../../b"}}}, [("pipeline.sink.table", PowerKind.WRITE, "a/../../b")]),
        ({"pipeline": {"sink": {"table": "/etc/b"}}}, [("pipeline.sink.table", PowerKind.WRITE, "/etc/b")]),
        ({"pipeline": {"checkpoint": "mine"}}, [("pipeline.checkpoint", PowerKind.WRITE, "mine")]),
        ({"pipeline": {"master": "local-cluster[2,1,1024]"}}, []),
        ({"pipeline": {"master": "spark://localhost:7077"}}, []),
        ({"pipeline": {"master": "spark://a:7077"}}, [("pipeline.master", PowerKind.MASTER, "spark://a:7077")]),
        ({"pipeline": {"master": "yarn"}}, [("pipeline.master", PowerKind.MASTER, "yarn")]),
        ({"pipeline": {"settings": {"spark.sql.shuffle.partitions": 2}}}, []),
        (
            {"pipeline": {"settings": {"spark.plugins": "a.B"}}},
            [("pipeline.settings.spark.plugins", PowerKind.SPARK, "a.B")],
        ),
        *[
            ({part: {"client": {name: "x", "linger.ms": 5}}}, [(f"{part}.client.{name}", PowerKind.CLIENT, "x")])
            for part in ("topic", "load", "consume")
            for name in sorted(CLIENT_RUNS)
        ],
        (
            {
                "load": {
                    "client": {"security.protocol": "plaintext", "acks": 1, "enable.ssl.certificate.verification": 0}
                }
            },
            [
                ("load.client.security.protocol", PowerKind.GUARD, "plaintext"),
                ("load.client.enable.ssl.certificate.verification", PowerKind.GUARD, "0"),
            ],
        ),
    ],
)
def test_what_a_scenario_asks_for(parts: dict[str, Any], expected: list[tuple[str, PowerKind, str]]) -> None:
    assert asked(**parts) == expected


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_shipped_scenario_asks_for_nothing(name: str) -> None:
    """It runs without a word."""
    assert list(powers(load_scenario(name))) == []


TUNING = {
    "spark.sql.shuffle.partitions": 2,
    "spark.ui.enabled": True,
    "spark.executor.memory": "2g",
    "spark.network.timeout": "120s",
    "spark.locality.wait": "0 ms",
    "spark.sql.files.maxPartitionBytes": "64m",
    "spark.memory.fraction": 0.5,
    "spark.executor.cores": "2",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.scheduler.mode": "FAIR",
    "spark.io.compression.codec": "zstd",
    "spark.log.level": "INFO",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
RUNNING = {
    "spark.driver.extraJavaOptions": "-javaagent:x.jar",
    "spark.executor.extraJavaOptions": "-Xint",
    "spark.driver.defaultJavaOptions": 1,
    "spark.driver.extraClassPath": 1,
    "spark.driver.extraLibraryPath": "1",
    "spark.files": 1,
    "spark.archives": 1,
    "spark.submit.pyFiles": 1,
    "spark.jars.packages": "a:b:1",
    "spark.pyspark.python": "true",
    "spark.pyspark.driver.python": True,
    "spark.python.daemon.module": 1,
    "spark.executorEnv.PYTHONINSPECT": 1,
    "spark.executor.resource.gpu.discoveryScript": "1",
    "spark.plugins": "mine.Plugin",
    "spark.extraListeners": "mine.Listener",
    "spark.sql.streaming.streamingQueryListeners": "mine.Listener",
    "spark.sql.extensions": "mine.Extension",
    "spark.sql.queryExecutionListeners": "org.apache.spark.Own,mine.Listener",
    "spark.serializer": "mine.Serializer",
    "spark.io.compression.codec": "mine.Codec",
    "spark.sql.catalog.mine": "mine.Catalog",
    "spark.hadoop.fs.x.impl": "mine.FileSystem",
    "spark.hadoop.fs.s3a.endpoint": "https://elsewhere",
    "spark.driver.host": "elsewhere",
    "spark.eventLog.dir": "/somewhere",
    "spark.log.level": "INFO\n",
    "spark.sql.session.timeZone": "a b",
}


@pytest.mark.parametrize(("name", "value"), TUNING.items())
def test_a_setting_of_spark_that_only_tunes_it(name: str, value: Any) -> None:
    assert only_tunes(name, value)


@pytest.mark.parametrize(("name", "value"), RUNNING.items())
def test_a_setting_of_spark_that_may_do_more(name: str, value: Any) -> None:
    assert not only_tunes(name, value)


@pytest.mark.parametrize(
    ("name", "value", "only_tunes_it"),
    [
        ("replica.lag.time.max.ms", 10_000, True), ("unclean.leader.election.enable", True, True),
        ("log.cleanup.policy", "compact,delete", True), ("compression.type", "zstd", True),
        ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector", True),
        ("authorizer.class.name", "evil.Authorizer", False), ("metric.reporters", "reporter", False),
        ("config.providers", "file", False),
        ("sasl.jaas.config", "com.sun.security.auth.module.JndiLoginModule", False),
        ("ssl.trust.path", "keys", False), ("sasl.oauthbearer.token.endpoint.url", "elsewhere", False),
        ("remote.log.storage.manager.class.path", "jars", False), ("quota.window", "${file:/etc/passwd:x}", False),
    ],
)  # fmt: skip
def test_a_setting_of_a_broker(name: str, value: Any, only_tunes_it: bool) -> None:
    assert only_tunes_broker(name, value) == only_tunes_it
    expected = [] if only_tunes_it else [(f"cluster.configs.{name}", PowerKind.BROKER, str(value))]
    assert asked(cluster={"configs": {name: value}}) == expected


HARMLESS = {
    "name", "about", "verify", "verify.content", "topic.name", "topic.idle.name", "pipeline.sink", "judge_by",
    "load.payload.constant.text", "load.payload.weighted.payload.constant.text", "load.keys.constant.text",
    "load.payload.file.column", "load.payload.weighted.payload.file.column", "load.keys.file.column",
    "load.rate.replay.column",
    "pipeline.job.filter.contains",
    *(f"{where}.trogdor.{below}value" for where in ("load.keys", "load.payload", "load.payload.weighted.payload")
      for below in ("", "components.component.")),
    "consume.start", "consume.group", "phases.start_at", "faults.target", "faults.targets", "faults.between",
    "cluster.heap",
}  # fmt: skip
"""Texts that are names, are compared, sent or counted, and that nobody opens or runs."""
LOOKED_AT = {
    "load.rate.replay.file",
    "load.payload.file.path", "load.payload.weighted.payload.file.path", "load.keys.file.path",
    "load.payload.function.name", "load.payload.weighted.payload.function.name",
    "consume.processing.function",
    "pipeline.job.function.call", "pipeline.job.function.expects",
    "pipeline.sink.table", "pipeline.checkpoint", "pipeline.master",
}  # fmt: skip
MAPPINGS = {
    "topic.configs",
    "topic.idle.configs",
    "topic.client",
    "cluster.configs",
    "load.client",
    "consume.client",
    "pipeline.settings",
    "expect",
}
"""The settings of clients, of Spark and of embedded brokers are looked at; those of topics reach brokers only, and
expectations nobody."""


def texts(kind: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all fields that are free texts, or mappings with free keys."""
    if get_origin(kind) is Literal:
        return
    if kind is str or kind is Any or kind is object or get_origin(kind) is dict:
        yield path
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield from texts(field.annotation, (*path, field.alias or name))
    else:
        for each in get_args(kind):
            yield from texts(each, path)


def test_of_every_text_somebody_has_decided_what_it_may_do() -> None:
    """A new field that is a text belongs to one of the two: nobody may forget that it could be a file or a program."""
    found = {".".join(path) for path in texts(Scenario)}

    assert found == HARMLESS | LOOKED_AT | MAPPINGS
