"""The files of an embedded broker, as far as they can be told without one."""

from pathlib import Path

import psutil
import pytest

from streamgauge.cluster.nodes import node as nodes
from streamgauge.cluster.nodes.layout import Member
from streamgauge.cluster.nodes.node import Node, is_full, log_end, prepare
from streamgauge.domain.errors import BrokerError, Interrupted
from streamgauge.processes.disk import free_bytes
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.jvm.properties import properties_in, properties_text


def test_paths_are_written_as_java_reads_them() -> None:
    given = {"log.dirs": "/a b/\u00fc/\U0001f600/c\\d\n", "listeners": "PLAINTEXT://127.0.0.1:9"}
    text = properties_text(given)
    assert properties_in(text) == given

    assert text == ("log.dirs=/a\\u0020b/\\u00fc/\\ud83d\\ude00/c\\u005cd\\u000a\nlisteners=PLAINTEXT://127.0.0.1:9\n")


def node(tmp_path: Path, script: str = "exit 0", log: str = "") -> Node:
    """A broker-to-be whose Java is a script; its log says something already."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "broker-1.log").write_text(log, encoding="utf-8")
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    java.chmod(0o755)
    member, known = Member(1, "broker-1"), Java(java, "17", 17)
    return Node("broker-1", member, tmp_path / "data", tmp_path / "logs", known, [], "1g", detached=False)


def processes_of(tmp_path: Path) -> list[int]:
    return [each.pid for each in psutil.Process().children() if str(tmp_path) in " ".join(each.cmdline())]


def test_formatting_can_be_given_up(tmp_path: Path) -> None:
    """Java may stand still for any reason: a disk that does not answer, a signal that paused it."""
    times = iter(range(3))

    def check() -> None:
        if next(times, None) is None:
            raise Interrupted("enough")

    with pytest.raises(Interrupted, match="enough"):
        prepare(node(tmp_path, "sleep 60"), {}, None, check)

    assert processes_of(tmp_path) == []


def test_formatting_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_FORMAT_SECONDS", 0.05)

    with pytest.raises(BrokerError, match="the storage of broker-1 could not be formatted"):
        prepare(node(tmp_path, "sleep 60"), {}, None, lambda: None)

    assert processes_of(tmp_path) == []


LOG = """ERROR Error while appending records
java.io.IOException: No space left on device
	at java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
	at kafka.Kafka.main(Kafka.scala)
ERROR Shutdown broker because all log dirs have failed
"""


def test_the_end_of_a_log_says_first_that_the_disk_was_full(tmp_path: Path) -> None:
    full = node(tmp_path, log=LOG)

    assert is_full(full)
    assert log_end(full).splitlines() == [
        f"No space left on device: free space for {full.data} and {full.logs}. The end of {full.log}:",
        "  ERROR Error while appending records",
        "  java.io.IOException: No space left on device",
        "  ERROR Shutdown broker because all log dirs have failed",
    ]


def test_a_log_on_the_full_disk_itself_cannot_tell_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said_nothing = node(tmp_path, log="INFO started\n")
    assert not is_full(said_nothing)
    assert log_end(said_nothing).startswith("The end of ")

    monkeypatch.setattr(nodes, "free_bytes", lambda _folder: 4096)

    assert is_full(said_nothing)


def test_what_is_free_is_known_of_folders_that_are_still_to_be_made(tmp_path: Path) -> None:
    free = free_bytes(tmp_path)

    assert free is not None
    assert free > 0
    assert free_bytes(tmp_path / "a" / "b") is not None
    assert free_bytes(tmp_path / ("x" * 300)) is None
