"""A pipeline in the measured path, on a real broker: what comes out, also when its parts are killed."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from streamgauge.cli.conduct import Request, conduct
from streamgauge.cli.scenario_file import load_scenario, shipped
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BadInput
from streamgauge.domain.runfolder import RunFolder
from streamgauge.domain.scenario import parse
from streamgauge.engine.plan import Interrupts
from streamgauge.kafka.embedded import EmbeddedBroker
from streamgauge.kafka.java import Java
from streamgauge.record.facts import read_facts
from streamgauge.record.parts import close_left_open

pytestmark = [pytest.mark.kafka, pytest.mark.e2e]

Conducted = Callable[..., RunFolder]
Stamp = tuple[int, int]


@pytest.fixture
def conducted(broker: EmbeddedBroker, java: Java, tmp_path: Path) -> Conducted:
    """Carries out a scenario with a pipeline."""

    def run(pipeline: Any, *, embedded: bool = False, **given: Any) -> RunFolder:
        scenario = {
            "name": f"piped-{monotonic_ns()}",
            "topic": {"partitions": 2},
            "load": {"rate": "1k/s", "producers": 1, "size": 200, "client": {"linger.ms": 2}},
            "consume": {"consumers": 1},
            "pipeline": pipeline,
            "lag": {"every": "200ms"},
            "phases": {"warmup": "500ms", "measure": "3s", "drain": "60s"},
        }
        request = Request(
            parse({**scenario, **given}), tmp_path, ["test"], java, bootstrap=None if embedded else broker.bootstrap
        )
        folder = conduct(request, Interrupts(), lambda _: None)
        close_left_open(folder)
        return folder

    return run


def rows(folder: RunFolder, kind: str, *names: str) -> list[dict[str, Any]]:
    files = [str(path) for path in folder.events.glob(f"{kind}/worker=*/part-*.parquet")]
    table: pa.Table = ds.dataset(files).to_table(columns=list(names))
    return list(table.to_pylist())


def acked(folder: RunFolder) -> set[Stamp]:
    return {
        (row["producer"], row["seq"]) for row in rows(folder, "sent", "producer", "seq", "error") if not row["error"]
    }


def came_out(folder: RunFolder) -> Counter[Stamp]:
    return Counter((row["producer"], row["seq"]) for row in rows(folder, "received", "producer", "seq"))


def happened(folder: RunFolder) -> list[str]:
    return [row["what"] for row in sorted(rows(folder, "query", "what", "at_ns"), key=lambda row: row["at_ns"])]


def assert_followed(folder: RunFolder, partitions: int = 2) -> None:
    """What a query did follows from its rows: batches without gaps up to the log end, the source as it stands."""
    ends = {row["partition"]: row["end"] for row in rows(folder, "lag", "moment", "topic", "partition", "end")
            if row["moment"] == "final" and row["topic"] == 0}  # fmt: skip
    assert len(ends) == partitions
    advances = rows(folder, "advances", "partition", "from_offset", "to_offset", "batch")
    for partition, end in ends.items():
        steps = sorted((row["from_offset"], row["to_offset"]) for row in advances if row["partition"] == partition)
        reached = 0
        for begin, to in steps:
            assert begin <= reached
            reached = max(reached, to)
        assert reached == end
    appended = rows(folder, "appended", "producer", "seq", "append_ms", "offset", "partition")
    assert {(row["producer"], row["seq"]) for row in appended} >= acked(folder)
    assert len(appended) == sum(ends.values())
    assert all(row["append_ms"] for row in appended)


def test_a_plain_client_passes_everything_on(conducted: Conducted) -> None:
    """Once, with its stamp; lag of the query and of the consumers is sampled apart."""
    folder = conducted({"engine": "client"})

    facts = read_facts(folder)
    assert (facts.ending, facts.drained) == ("finished", True)
    assert came_out(folder) == Counter(acked(folder))
    assert_followed(folder)
    assert happened(folder) == ["started", "ready", "ended"]
    read = {(row["group"], row["topic"]) for row in rows(folder, "lag", "group", "topic")}
    assert read == {(0, 1), (1, 0)}
    assert [group.name.endswith("-query") for group in facts.groups] == [False, True]
    assert [topic.name.endswith("-out") for topic in facts.topics] == [False, True]
    assert {row["topic"] for row in rows(folder, "received", "topic")} == {1}
    assert {row["role"] for row in rows(folder, "resources", "role")} >= {"driver", "query", "consumer"}


def test_a_broker_that_is_killed_comes_back_and_nothing_is_lost(conducted: Conducted) -> None:
    """With what it has on its disk; its second life has a name of its own, here and in the logs."""
    folder = conducted(
        {"engine": "client"},
        embedded=True,
        load={"rate": "500/s", "producers": 1, "size": 200, "client": {"enable.idempotence": True, "linger.ms": 2}},
        faults=[{"at": "1s", "kind": "kill", "target": "broker", "for": "1s"}],
        phases={"warmup": "500ms", "measure": "5s", "drain": "60s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.reasons) == ("finished", [])
    assert facts.broker.processes == ["broker-1", "broker-1.2"]
    assert (folder.logs / "broker-1.2.log").exists()
    assert acked(folder) == set(came_out(folder))
    assert len(acked(folder)) == 2750
    marks = [(row["kind"], row["action"]) for row in rows(folder, "faults", "kind", "action")]
    assert marks == [("kill", "begin"), ("kill", "end")]
    assert {"broker-1", "broker-1.2"} <= {row["process"] for row in rows(folder, "resources", "process")}


@pytest.mark.spark
def test_a_driver_that_is_killed_goes_on_from_its_checkpoint(conducted: Conducted) -> None:
    """At least once: what comes twice is counted, and nothing is missing."""
    folder = conducted(
        {"job": "pass", "max_offsets": 2000},
        faults=[{"at": "2s", "kind": "kill", "target": "driver"}],
        phases={"warmup": "2s", "measure": "4s", "drain": "90s"},
    )

    facts = read_facts(folder)
    assert (facts.ending, facts.drained, facts.reasons) == ("finished", True, [])
    assert happened(folder) == ["started", "ready", "died", "started", "ready", "ended"]
    assert set(came_out(folder)) == acked(folder)
    assert_followed(folder)
    assert [row["target"] for row in rows(folder, "faults", "target")] == ["driver"]


@pytest.mark.spark
def test_a_table_grows_and_is_read_and_asked_meanwhile(conducted: Conducted) -> None:
    """Exactly once: the file sink notes what belongs to the table."""
    folder = conducted(
        {
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
    folder = conducted({"job": {"function": {"call": "nowhere:at_all", "does": "same"}}})
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
    with pytest.raises(BadInput, match="only an embedded broker"):
        conducted({"engine": "client"}, faults=[{"at": "1s", "kind": "kill", "target": "broker", "for": "1s"}])
