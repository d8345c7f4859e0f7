"""What a broker's archive of classes is when it stops, and whether one that was there is used."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import until

from streamgauge.cluster import embedded, registry
from streamgauge.cluster.embedded import start_cluster
from streamgauge.cluster.nodes import broker as nodes
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.layout import ClusterPlan, Member
from streamgauge.cluster.nodes.node import Node
from streamgauge.processes.identity import identify
from streamgauge.processes.jvm.archive import Archive
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.jvm.spark import spark_home

WRITES = """
import pathlib, signal, sys
signal.signal(signal.SIGTERM, lambda *_: None)
pathlib.Path(sys.argv[1]).write_text("ha")
while True:
    signal.pause()
"""


def test_the_archive_of_a_broker_that_takes_too_long_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed after that, and may have written half of it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(nodes, "_ARCHIVE_SECONDS", 0.2)
    archive = Archive(tmp_path / "archives" / "broker-1.jsa")
    archive.path.parent.mkdir()
    process = subprocess.Popen([sys.executable, "-S", "-c", WRITES, str(archive.draft)])
    until(lambda: archive.draft.is_file() and archive.draft.read_text() == "ha")
    data = tmp_path / "data"
    node = Node(
        "broker-1", Member(1, "broker-1"), data, tmp_path, Java(Path("java"), "17", 17), [], "1g", detached=False
    )
    entry = registry.Entry(
        name="broker-1", process=identify(process.pid), owner=identify(os.getpid()), bootstrap="127.0.0.1:9",
        version="4", data=data, temporary=False, log=node.log,
    )  # fmt: skip
    broker = EmbeddedBroker(entry, process, node)
    broker.archive = archive
    broker.stop()

    assert broker.exit_code == -signal.SIGKILL
    assert list(archive.path.parent.iterdir()) == []


@pytest.mark.kafka
@pytest.mark.skipif(sys.platform != "linux", reason="Java 17 says nothing of a damaged one")
@pytest.mark.parametrize("is_damaged", [True, False], ids=["damaged", "of another class path"])
def test_a_broker_that_cannot_use_its_archive_says_so(
    java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_damaged: bool
) -> None:
    """And starts without it."""
    archive = Archive(tmp_path / "archives" / "broker-1.jsa")
    archive.path.parent.mkdir()
    if is_damaged:
        archive.draft.write_bytes(b"no archive" * 10_000)
    else:
        (source,) = (spark_home() / "jars").glob("py4j-*.jar")
        jar = shutil.copy(source, tmp_path)
        # It says how it is called, and ends with 1.
        command = [java.path, *archive.making, "-cp", jar, "py4j.GatewayServer", "--no-such"]
        subprocess.run(command, capture_output=True, check=False)
    assert archive.keep(0)
    monkeypatch.setattr(embedded, "archive_of", lambda *_: archive)
    with start_cluster(ClusterPlan(heap="256m"), logs=tmp_path / "logs", java=java) as cluster:
        log = cluster.nodes[0].entry.log.read_text()
        assert not cluster.uses_archive
        assert (is_damaged and java.major == 17) or "Unable to use shared archive" in log or "[cds] Not a valid" in log
