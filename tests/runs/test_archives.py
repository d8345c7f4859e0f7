"""Archives of Java classes: who makes them gives way to runs and to Ctrl-C, and costs nobody anything."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.waiting import until

from streamgauge.domain.errors import BrokerError, CtrlC, Interrupted
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.archive import Archive
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.lock import FolderLock
from streamgauge.runs.machine import archives

JAVA = Java(Path("/jdk/bin/java"), "17.0.1", 17)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are kept, for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(archives, "are_made", lambda _: False)
    return tmp_path / "streamgauge" / "archives"


def test_those_that_are_damaged_are_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they are made again: brokers and analyses would start slowly for ever."""
    of_broker, of_analysis = (Archive(tmp_path / f"{kind}-1.jsa") for kind in ("broker", "analysis"))
    monkeypatch.setattr(archives, "archive_of_broker", lambda _: of_broker)
    monkeypatch.setattr("streamgauge.pipeline.spark.session.archive_of_analysis", lambda _: of_analysis)
    for made in (of_broker, of_analysis):
        assert not archives.are_made(JAVA)
        made.draft.write_bytes(b"classes" * 1000)
        assert made.keep(0)

    assert archives.are_made(JAVA)
    os.truncate(of_analysis.path, 5000)
    assert not archives.are_made(JAVA)


def test_a_run_that_begins_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was half made goes, and so does the request."""
    began, seen = threading.Event(), []

    def trained(_: Java, __: Path, place: Path, interrupts: Interrupts) -> None:
        (place / "broker-1.new").touch()
        began.set()
        until(lambda: interrupts.count == 2)
        seen.append(interrupts.at_once)
        raise Interrupted("a run begins")

    said: list[str] = []
    monkeypatch.setattr(archives, "_trained", trained)
    making = threading.Thread(target=archives.make, args=(JAVA, said.append))
    making.start()
    assert began.wait(30)
    archives.make_way()
    making.join(30)

    assert (seen, said[1:]) == ([True], ["creating Java class data sharing archives was postponed"])
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CtrlC(), "creating Java class data sharing archives was postponed"),
        (KeyboardInterrupt(), "creating Java class data sharing archives was postponed"),
        (BrokerError("it fell over"), "Java class data sharing archives could not be created: it fell over"),
    ],
)
def test_what_goes_wrong_is_told_and_no_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, said: str
) -> None:
    """The run before it is over, and has its exit code."""

    def fails(*_: object) -> None:
        raise error

    told: list[str] = []
    monkeypatch.setattr(archives, "_trained", fails)
    assert not archives.make(JAVA, told.append)
    assert told[1:] == [said]
    assert list(folder.iterdir()) == []


def test_one_makes_them_at_a_time(folder: Path) -> None:
    folder.mkdir(parents=True)
    told: list[str] = []
    with FolderLock.exclusive(folder) or pytest.fail("somebody holds it"):
        assert not archives.make(JAVA, told.append)
    assert told == ["another process is creating Java class data sharing archives"]


def test_without_a_folder_there_is_nobody_to_wait_for(folder: Path) -> None:
    archives.make_way()
    assert not folder.exists()


TRAINING = """
import os, sys
from pathlib import Path
from streamgauge.cluster import embedded
from streamgauge.pipeline.spark import session
from streamgauge.pipeline.spark.settings import SMALL_ROWS, sizing
from streamgauge.processes.jvm.java import find_java
from streamgauge.runs.machine import archives

for module in (embedded, session, archives):
    module.archive_folder = lambda: Path(sys.argv[1])
java = find_java(os.environ)
made = archives.make(java, print)
of_analysis = session.archive_of_analysis(java).path
print(made, embedded.archive_of_broker(java).path, of_analysis, sep="\\n")
with embedded.start_cluster(logs=Path(sys.argv[2]).parent, java=java) as cluster:
    print(cluster.uses_archive)
with session.SESSIONS.session(sizing(SMALL_ROWS + 1, 2), None, Path(sys.argv[2])) as spark:
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    print(str(of_analysis) in Path(f"/proc/{pid}/maps").read_text())
"""
"""With the jars of the user's cache, in a process of its own: the suite's session is in use."""


@pytest.mark.kafka
@pytest.mark.spark
def test_brokers_and_analyses_start_from_what_was_made(tmp_path: Path) -> None:
    """Large analyses, too, though a small one wrote the archive."""
    folder = tmp_path / "archives"
    command = [sys.executable, "-c", TRAINING, str(folder), str(tmp_path / "spark.log")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)

    assert done.returncode == 0, done.stderr
    told, made, *paths, is_used_by_a_broker, is_mapped_by_a_large_one = done.stdout.splitlines()
    assert "creating Java class data sharing archives" in told
    assert made == "True"
    for path in map(Path, paths):
        assert path.parent == folder
        assert path.stat().st_size > 20_000_000
    assert len(paths) == 2
    assert is_used_by_a_broker == "True"
    assert is_mapped_by_a_large_one == "True"
