"""Which archive belongs to a JVM, and what becomes of one that was written."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import until

from streamgauge.processes.jvm.archive import Archive, archive_of
from streamgauge.processes.jvm.java import Java


@pytest.fixture
def java(tmp_path: Path) -> Java:
    home = tmp_path / "jdk"
    for name in ("bin/java", "lib/modules"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    return Java(home / "bin" / "java", "17.0.1", 17)


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "a.jar", tmp_path / "b.jar"]
    for path in found:
        path.write_text(path.name)
    return found


def archive(tmp_path: Path, java: Java, jars: list[Path], *options: str) -> Archive:
    found = archive_of("broker", tmp_path / "archives", java, jars, options)
    assert found
    return found


def test_an_archive_belongs_to_one_java_one_class_path_and_its_options(
    tmp_path: Path, java: Java, jars: list[Path]
) -> None:
    """Whatever of them changes, another archive is looked for; the order of jars is not what changes."""
    first = archive(tmp_path, java, jars, "-XX:+UseG1GC")
    assert archive(tmp_path, java, jars[::-1], "-XX:+UseG1GC") == first
    others = [
        archive(tmp_path, java, jars, "-XX:+UseSerialGC"),
        archive(tmp_path, java, jars[:1], "-XX:+UseG1GC"),
        archive(tmp_path, Java(java.path, "17.0.2", 17), jars, "-XX:+UseG1GC"),
    ]
    os.utime(jars[0], ns=(1, 1))
    others.append(archive(tmp_path, java, jars, "-XX:+UseG1GC"))
    (java.path.parents[1] / "lib" / "modules").write_text("updated in place")
    others.append(archive(tmp_path, java, jars, "-XX:+UseG1GC"))
    assert len({first.path, *(each.path for each in others)}) == 6


def test_a_class_path_with_a_folder_of_files_has_no_archive(tmp_path: Path, java: Java, jars: list[Path]) -> None:
    """Java refuses it; an empty folder is none on the class path. Nor has one with a jar that is missing."""
    (tmp_path / "conf").mkdir()
    assert archive_of("broker", tmp_path, java, [*jars, tmp_path / "conf"], ()) is not None
    (tmp_path / "conf" / "log4j2.xml").touch()
    assert archive_of("broker", tmp_path, java, [*jars, tmp_path / "conf"], ()) is None
    assert archive_of("broker", tmp_path, java, [*jars, tmp_path / "gone.jar"], ()) is None


def test_an_archive_is_used_once_it_is_kept(tmp_path: Path, java: Java, jars: list[Path]) -> None:
    """Until then it has a name of its own, so that nobody maps half of one."""
    made = archive(tmp_path, java, jars)
    made.path.parent.mkdir()
    assert (made.using, made.keep(0)) == ([], False)
    assert f"-XX:ArchiveClassesAtExit={made.draft}" in made.making

    made.draft.touch()
    assert made.using == []
    assert made.keep(0)
    assert made.using[:2] == [f"-XX:SharedArchiveFile={made.path}", "-Xshare:auto"]
    assert set(made.path.parent.iterdir()) == {made.path, made.seal}


MIB = 1 << 20
CONTENT = bytes(range(256)) * 20_000
"""5 MB."""


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda made: os.truncate(made.path, len(CONTENT) - 1), id="a byte is missing"),
        pytest.param(lambda made: os.truncate(made.path, len(CONTENT) // 2), id="half of it is missing"),
        pytest.param(lambda made: os.truncate(made.path, 0), id="empty"),
        pytest.param(lambda made: made.path.write_bytes(CONTENT[:MIB] + bytes(len(CONTENT) - MIB)), id="no end"),
        pytest.param(lambda made: made.path.write_bytes(bytes(4096) + CONTENT[4096:]), id="no head"),
        pytest.param(lambda made: made.path.unlink(), id="gone"),
        pytest.param(lambda made: made.seal.unlink(), id="of a version that sealed none"),
        pytest.param(lambda made: made.seal.write_bytes(b"\xff"), id="damaged seal"),
    ],
)
def test_a_damaged_one_is_not_used_and_is_replaced(
    tmp_path: Path, java: Java, jars: list[Path], damage: Callable[[Archive], object]
) -> None:
    """Java would say nothing of it, and start slowly or die."""
    made = archive(tmp_path, java, jars)
    made.path.parent.mkdir()
    made.draft.write_bytes(CONTENT)
    assert made.keep(0)
    assert made.using

    damage(made)
    assert made.using == []

    made.draft.write_bytes(CONTENT)
    assert made.keep(0)
    assert made.is_whole


def test_one_that_cannot_be_sealed_is_not_kept(tmp_path: Path, java: Java, jars: list[Path]) -> None:
    """As on a full disk."""
    made = archive(tmp_path, java, jars)
    made.path.parent.mkdir()
    made.draft.touch()
    made.seal.mkdir()

    assert not made.keep(0)
    assert list(made.path.parent.iterdir()) == [made.seal]


def test_old_archives_of_the_same_kind_go(tmp_path: Path, java: Java, jars: list[Path]) -> None:
    """A few stay, for other environments."""
    made = archive(tmp_path, java, jars)
    made.path.parent.mkdir()
    for age, name in enumerate(("broker-1.jsa", "broker-2.jsa", "broker-3.jsa", "broker-4.jsa", "analysis-1.jsa")):
        (made.path.parent / name).touch()
        os.utime(made.path.parent / name, (age, age))
    for name in ("broker-1.seal", "broker-2.seal"):
        (made.path.parent / name).touch()
    made.draft.touch()
    assert made.keep(0)
    left = {path.name for path in made.path.parent.iterdir()}
    others = {"broker-2.jsa", "broker-2.seal", "broker-3.jsa", "broker-4.jsa", "analysis-1.jsa"}
    assert left == {*others, made.path.name, made.seal.name}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=lambda number: signal.Signals(number).name)
def test_what_a_killed_process_left_is_not_kept(
    tmp_path: Path, java: Java, jars: list[Path], number: signal.Signals
) -> None:
    """It may be half an archive. The one that was there before stays."""
    made = archive(tmp_path, java, jars)
    made.path.parent.mkdir()
    made.path.write_text("whole")
    writes = "import pathlib, signal, sys; pathlib.Path(sys.argv[1]).write_text('ha'); signal.pause()"
    process = subprocess.Popen([sys.executable, "-S", "-c", writes, str(made.draft)])
    until(lambda: made.draft.is_file() and made.draft.read_text() == "ha")
    process.send_signal(number)

    assert not made.keep(process.wait(30))
    assert [path.name for path in made.path.parent.iterdir()] == [made.path.name]
    assert made.path.read_text() == "whole"


@pytest.mark.parametrize(("code", "is_kept"), [(0, True), (143, True), (1, False), (134, False), (None, False)])
def test_what_a_jvm_wrote_that_ended_in_order_is_kept(
    tmp_path: Path, java: Java, jars: list[Path], code: int | None, is_kept: bool
) -> None:
    """Of its own accord, or as it was asked to (SIGTERM); not one that fell over, or that has not ended."""
    made = archive(tmp_path, java, jars)
    made.path.parent.mkdir()
    made.draft.touch()

    assert made.keep(code) is is_kept
    assert set(made.path.parent.iterdir()) == ({made.path, made.seal} if is_kept else set())
