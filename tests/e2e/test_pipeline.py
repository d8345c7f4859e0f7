"""A pipeline in the measured path, on a real broker: what comes out, also when its parts are killed."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.piped import PIPED, acked, assert_followed, came_out, happened, rows
from tests.e2e.runs import Conducted, conducting
from tests.e2e.standalone import standalone

from streamgauge.cluster.embedded import archive_of_broker
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.runs.conduct.conduct import conduct
from streamgauge.runs.request.request import Request
from streamgauge.runs.request.scenario_file import load_scenario, shipped

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]


@pytest.fixture
def conducted(broker: EmbeddedBroker, java: Java, tmp_path: Path, quick_spark: dict[str, str]) -> Conducted:
    """Carries out a scenario with a pipeline, whose JVMs are ready soon where it is one of Spark."""
    run = conducting(broker, java, tmp_path, PIPED)

    def carry_out(*, pipeline: dict[str, Any], **given: Any) -> RunFolder:
        if "job" in pipeline:
            pipeline = {**pipeline, "settings": {**quick_spark, **pipeline.get("settings", {})}}
        return run(pipeline=pipeline, **given)

    return carry_out


def test_a_plain_client_passes_everything_on(conducted: Conducted) -> None:
    """Once, with its stamp; lag of the query and of the consumers is sampled apart."""
    folder = conducted(pipeline={"engine": "client"})

    facts = read_facts(folder)
    assert (facts.ending, facts.drained) == ("finished", True)
    assert came_out(folder) == Counter(acked(folder))
    assert_followed(folder)
    assert happened(folder) == ["started", "ready", "ended"]
    read = {(row["group"], row["topic"]) for row in rows(folder, "lag", "group", "topic")}
    # Of no group is the log of the source, which was read again.
    assert read == {(0, 1), (1, 0), (None, 0)}
    assert [group.name.endswith("-query") for group in facts.groups] == [False, True]
    assert [topic.name.endswith("-out") for topic in facts.topics] == [False, True]
    assert {row["topic"] for row in rows(folder, "received", "topic")} == {1}
    assert {row["role"] for row in rows(folder, "resources", "role")} >= {"driver", "query", "consumer"}


def test_a_broker_that_is_killed_comes_back_and_nothing_is_lost(conducted: Conducted, java: Java) -> None:
    """With what it has on its disk; its second life has a name of its own, here and in the logs."""
    archive = archive_of_broker(java)
    from_archive = archive is not None and archive.is_whole
    folder = conducted(
        pipeline={"engine": "client"},
        embedded=True,
        load={"rate": "500/s", "producers": 1, "size": 200, "client": {"enable.idempotence": True, "linger.ms": 2}},
        faults=[{"at": "1s", "kind": "kill", "target": "broker", "for": "1s"}],
        phases={"warmup": "500ms", "measure": "5s", "drain": "60s"},
    )

    facts = read_facts(folder)
    assert facts.reasons == []
    assert facts.ending == "finished"
    assert facts.broker.processes == ["broker-1", "broker-1.2"]
    assert facts.broker.class_archive is from_archive
    assert (folder.logs / "broker-1.2.log").exists()
    assert acked(folder) == set(came_out(folder))
    assert len(acked(folder)) == 2750
    marks = [(row["kind"], row["action"]) for row in rows(folder, "faults", "kind", "action")]
    assert marks == [("kill", "begin"), ("kill", "end")]
    assert {"broker-1", "broker-1.2"} <= {row["process"] for row in rows(folder, "resources", "process")}


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param({"job": "pass", "max_offsets": 2000}, marks=[pytest.mark.spark, pytest.mark.soak], id="topic"),
        pytest.param(
            {"job": "pass", "max_offsets": 2000, "sink": {"table": "passed"}}, marks=pytest.mark.spark, id="table"
        ),
        pytest.param({"engine": "client"}, id="client"),
    ],
)
def test_a_driver_that_is_killed_goes_on_from_what_it_has_committed(
    pipeline: dict[str, Any], conducted: Conducted
) -> None:
    """A topic is written at least once: what comes twice is counted, and nothing is missing. A table exactly once."""
    folder = conducted(
        pipeline=pipeline,
        faults=[{"at": "2s", "kind": "kill", "target": "driver"}],
        phases={"warmup": "2s", "measure": "4s", "drain": "90s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    assert happened(folder) == ["started", "ready", "died", "started", "ready", "ended"]
    assert set(came_out(folder)) == acked(folder)
    if "sink" in pipeline:
        assert set(came_out(folder).values()) == {1}
    assert_followed(folder)
    assert [row["target"] for row in rows(folder, "faults", "target")] == ["driver"]


@pytest.fixture(params=[pytest.param("processes", marks=pytest.mark.soak), "standalone"])
def executors(request: pytest.FixtureRequest, java: Java, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Two executors of one core each: of a cluster that the run starts, and of one that is there."""
    if request.param == "processes":
        yield {"master": "local-cluster[2,1,1024]"}
        return
    with standalone(tmp_path, java) as master:
        # One that is killed cannot remove its native libraries.
        java_options = f"-Djava.io.tmpdir={tmp_path}"
        yield {
            "master": master,
            "settings": {"spark.executor.cores": 1, "spark.executor.extraJavaOptions": java_options},
        }


@pytest.mark.spark
def test_an_executor_that_is_killed_is_made_up_for(conducted: Conducted, executors: dict[str, Any]) -> None:
    """Its tasks are done again by others; the query goes on, and what it had written may come twice."""
    folder = conducted(
        pipeline={"job": "pass", **executors},
        faults=[{"at": "2s", "kind": "kill", "target": "executor-0"}],
        phases={"warmup": "2s", "measure": "6s", "drain": "90s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    assert happened(folder) == ["started", "ready", "ended"]
    assert [(row["target"], row["error"]) for row in rows(folder, "faults", "target", "error")] == [
        ("executor-0", None)
    ]
    assert set(came_out(folder)) == acked(folder)
    assert_followed(folder)
    processes = {row["process"] for row in rows(folder, "resources", "process")}
    assert {"driver", "executor-0", "executor-1", "executor-2"} <= processes


@pytest.mark.spark
def test_what_stands_twice_in_the_source_comes_out_of_dedup_once(conducted: Conducted) -> None:
    """A producer that asks again while the broker stands still writes twice; every message is expected, once."""
    folder = conducted(
        pipeline={"job": {"dedup": {"watermark": "60s"}}},
        embedded=True,
        load={
            "rate": "1k/s",
            "producers": 1,
            "size": 200,
            "resend": 20,
            # So long a message is under way, and nobody knows where, before it is sent again.
            "client": {"linger.ms": 2, "acks": 1, "message.timeout.ms": 600},
        },
        faults=[{"at": "1s", "kind": "pause", "target": "broker", "for": "2s"}],
        phases={"warmup": "2s", "measure": "6s", "drain": "90s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.drained) == ("finished", True)
    appended = rows(folder, "appended", "producer", "seq", "expected")
    stood = Counter((row["producer"], row["seq"]) for row in appended)
    assert max(stood.values()) > 1
    assert Counter((row["producer"], row["seq"]) for row in appended if row["expected"]) == Counter(set(stood))
    assert came_out(folder) == Counter(set(stood))


@pytest.mark.spark
def test_batches_are_made_as_large_as_they_may_be_long(conducted: Conducted) -> None:
    """A backlog and small batches at the begin: the size grows, every change is recorded, nothing comes twice."""
    folder = conducted(
        pipeline={"job": "pass", "max_offsets": {"batch": "2s", "begin": 100, "least": 10}},
        phases={"warmup": "3s", "measure": "8s", "drain": "90s"},
    )

    assert read_facts(folder).drained
    changes = [row["detail"] for row in rows(folder, "query", "event", "detail") if row["event"] == "limited"]
    assert changes
    limits = [row["max_offsets"] for row in rows(folder, "progress", "max_offsets")]
    assert limits[0] == 100
    assert max(limits) >= 400
    assert came_out(folder) == Counter(acked(folder))


@pytest.mark.spark
def test_a_table_grows_and_is_read_and_asked_meanwhile(conducted: Conducted) -> None:
    """Exactly once: the file sink notes what belongs to the table."""
    folder = conducted(
        pipeline={
            "job": {"feature-store": {"window": "1s", "watermark": "500ms"}},
            "sink": {"table": "features", "queried": "100ms"},
        },
        load={
            "rate": "1k/s",
            "producers": 1,
            "size": 200,
            "keys": {"uniform": {"keys": 10}},
            "client": {"linger.ms": 2},
        },
        phases={"warmup": "2s", "measure": "5s", "drain": "90s"},
    )

    assert read_facts(folder).ending == "finished"
    received = rows(folder, "received", "producer", "seq", "topic", "partition", "offset")
    assert {(row["topic"], row["partition"]) for row in received} == {(1, 0)}
    assert sorted(row["offset"] for row in received) == list(range(len(received)))
    assert {(row["producer"], row["seq"]) for row in received} <= acked(folder)
    lookups = rows(folder, "lookups", "rows", "error", "took_ns", "newest_ns")
    assert {row["error"] for row in lookups} == {None}
    seen = [row["rows"] for row in lookups]
    assert seen == sorted(seen)
    assert seen[-1] == len(received) > 0


@pytest.mark.spark
def test_a_pipeline_that_cannot_begin_says_so_in_a_line(conducted: Conducted) -> None:
    """Nothing was sent yet; the folder keeps what there is."""
    folder = conducted(pipeline={"job": {"function": {"call": "nowhere:at_all", "does": "same"}}})
    facts = read_facts(folder)
    assert facts.ending == "failed"
    assert "nowhere" in facts.reasons[0]
    assert len(facts.reasons) == 1


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("spark-pass-realtime", ["pipeline.engine.real-time.batch=5s", "phases.measure=6s"]),
        ("spark-count", ["pipeline.job.count.window=1s", "phases.measure=4s"]),
    ],
)
def test_a_shipped_pipeline_runs(
    name: str, settings: list[str], broker: EmbeddedBroker, java: Java, tmp_path: Path
) -> None:
    """Shortened: what comes out carries stamps of what went in."""
    short = ["phases.warmup=1s", "phases.drain=60s", f"topic.name=shipped-{monotonic_ns()}", *settings]
    request = Request(load_scenario(name, short), tmp_path, ["test"], java, bootstrap=broker.bootstrap)
    folder = conduct(request, Interrupts(), lambda _: None)

    facts = read_facts(folder)
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    out = came_out(folder)
    assert set(out) <= acked(folder)
    assert (len(out) == len(acked(folder))) is (name == "spark-pass-realtime")
    assert_followed(folder)


@pytest.mark.parametrize("name", [name for name, text in shipped().items() if "\npipeline:" in text])
def test_every_shipped_pipeline_is_one(name: str) -> None:
    """And what it says of itself is said with room to spare: a batch ends within the drain."""
    found = load_scenario(name)
    assert found.pipeline is not None
    assert found.phases.drain >= 60 * NS_PER_SECOND


def test_a_cluster_that_is_given_is_not_ours_to_kill(conducted: Conducted) -> None:
    with pytest.raises(BadInput, match="is done to the cluster"):
        conducted(pipeline={"engine": "client"}, faults=[{"at": "1s", "kind": "kill", "target": "broker", "for": "1s"}])
