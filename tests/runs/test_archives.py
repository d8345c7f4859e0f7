"""Archives of Java classes: who makes them gives way to runs and to Ctrl-C, and costs nobody anything."""

import os
import threading
from pathlib import Path

import pytest
from tests.waiting import until

from streamgauge.cluster.embedded import archive_of_broker
from streamgauge.domain.errors import BrokerError, CtrlC, Interrupted
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import Java, find_java
from streamgauge.processes.lock import FolderLock
from streamgauge.runs import archives

JAVA = Java(Path("/jdk/bin/java"), "17.0.1", 17)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are kept, for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(archives, "are_made", lambda _: False)
    return tmp_path / "streamgauge" / "archives"


def test_a_run_that_begins_ends_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was half made goes, and so does the request."""
    began, seen = threading.Event(), []

    def trained(_: Java, __: Path, place: Path, interrupts: Interrupts) -> None:
        (place / "broker-1.new").touch()
        began.set()
        until(lambda: interrupts.count == 2, 30)
        seen.append(interrupts.at_once)
        raise Interrupted("a run begins")

    said: list[str] = []
    monkeypatch.setattr(archives, "_trained", trained)
    making = threading.Thread(target=archives.make, args=(JAVA, said.append))
    making.start()
    assert began.wait(30)
    archives.make_way()
    making.join(30)

    assert (seen, said[1:]) == ([True], ["archives of Java classes are left for another time"])
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CtrlC(), "archives of Java classes are left for another time"),
        (KeyboardInterrupt(), "archives of Java classes are left for another time"),
        (BrokerError("it fell over"), "archives of Java classes could not be made: it fell over"),
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
    assert told == ["archives of Java classes are being made by another process"]


def test_without_a_folder_there_is_nobody_to_wait_for(folder: Path) -> None:
    archives.make_way()
    assert not folder.exists()


@pytest.mark.kafka
@pytest.mark.spark
def test_brokers_and_analyses_start_from_what_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the jars of the user's cache, into a folder of this test."""
    from streamgauge.pipeline.spark.session import archive_of_analysis

    monkeypatch.setattr("streamgauge.runs.archives.archive_folder", lambda: tmp_path)
    monkeypatch.setattr("streamgauge.pipeline.spark.session.archive_folder", lambda: tmp_path)
    monkeypatch.setattr("streamgauge.cluster.embedded.archive_folder", lambda: tmp_path)
    java, told = find_java(os.environ), list[str]()

    assert archives.make(java, told.append), told
    for archive in (archive_of_broker(java), archive_of_analysis(java)):
        assert archive
        assert archive.path.parent == tmp_path
        assert archive.path.stat().st_size > 20_000_000
    assert len(told) == 1
