"""What a JVM makes of an archive: one that fits is used, any other is refused, and its log says so."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from tests.waiting import until

from streamgauge.processes.jvm.archive import Archive, uses
from streamgauge.processes.jvm.java import Java
from streamgauge.processes.jvm.spark import SparkJvm, spark_home

WAITS: Final = ("py4j.GatewayServer", "0")
"""A program that serves until it is asked to end, and prints its port."""
LINUX: Final = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has mapped")

Started = Callable[[list[str], Path], tuple["subprocess.Popen[bytes]", str]]


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    """Its jar, in a place of its own."""
    (source,) = (spark_home() / "jars").glob("py4j-*.jar")
    return Path(shutil.copy(source, tmp_path / "a.jar"))


@pytest.fixture
def started(java: Java, tmp_path: Path) -> Iterator[Started]:
    """Starts a JVM with options and a jar; its process, and its log when its program serves."""
    with ExitStack() as ended:

        def start(options: list[str], jar: Path) -> tuple["subprocess.Popen[bytes]", str]:
            log = tmp_path / "jvm.log"
            with log.open("wb") as output:
                process = subprocess.Popen([java.path, *options, "-cp", jar, *WAITS], stdout=output, stderr=output)
            ended.enter_context(process)
            ended.callback(process.kill)
            until(lambda: log.read_text().endswith("\n") and log.read_text().split()[-1].isdigit(), seconds=20)
            return process, log.read_text()

        yield start


@pytest.fixture
def archive(tmp_path: Path, jar: Path, started: Started) -> Archive:
    """One that a JVM with the jar made."""
    made = Archive(tmp_path / "archives" / "kind-1.jsa")
    made.path.parent.mkdir()
    process, said = started(made.making, jar)
    process.terminate()
    assert made.keep(process.wait(30))
    assert "cds" not in said
    return made


def test_one_that_fits_is_used_and_nothing_is_said(archive: Archive, jar: Path, started: Started) -> None:
    """Also when it is gone from its folder: what is mapped stays."""
    options = archive.using
    process, said = started(archive.using, jar)

    assert uses(options, process.pid, said)
    assert "cds" not in said
    assert not uses(archive.making, process.pid, said)
    archive.path.unlink()
    assert uses(options, process.pid, said)


@LINUX
def test_one_behind_a_link_is_used(tmp_path: Path, archive: Archive, jar: Path, started: Started) -> None:
    """As where a user's cache lies on another disk."""
    (tmp_path / "link").symlink_to(archive.path.parent)
    linked = Archive(tmp_path / "link" / archive.path.name)

    process, said = started(linked.using, jar)
    assert uses(linked.using, process.pid, said)


def test_one_of_another_class_path_is_refused_and_its_log_says_so(
    tmp_path: Path, archive: Archive, jar: Path, started: Started
) -> None:
    process, said = started(archive.using, Path(shutil.copy(jar, tmp_path / "b.jar")))

    assert "[warning][cds,dynamic] Unable to use shared archive" in said
    assert not uses(archive.using, process.pid, said)


@LINUX
@pytest.mark.parametrize("content", [b"", b"no archive" * 10_000], ids=["empty", "of something else"])
def test_a_damaged_one_is_not_used(tmp_path: Path, java: Java, jar: Path, started: Started, content: bytes) -> None:
    """Java 17 does not say so."""
    archive = Archive(tmp_path / "kind-1.jsa")
    archive.draft.write_bytes(content)
    assert archive.keep(0)
    process, said = started(archive.using, jar)

    assert java.major == 17 or "cds" in said
    assert not uses(archive.using, process.pid, said)


@LINUX
def test_a_jvm_that_has_ended_uses_none(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "kind-1.jsa")
    archive.draft.touch()
    assert archive.keep(0)
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()

    assert not uses(archive.using, process.pid, "")


def test_its_warnings_are_not_why_spark_does_not_start(tmp_path: Path) -> None:
    """Of what a JVM says first, they are what it can do without."""
    log = tmp_path / "spark.log"
    log.write_text(
        "[0.004s][warning][cds] Unable to use shared archive file.\n"
        "[                    ] The saved state is different from runtime, CDS will be disabled.\n"
        "[0.012s][error  ][cds] Loading dynamic archive failed.\n"
        "WARNING: Using incubator modules\n"
        "Error: Unable to initialize main class\n"
    )
    process = subprocess.Popen([sys.executable, "-S", "-c", "exit(1)"])
    process.wait()

    with pytest.raises(Exception, match=r"^Spark could not be started: exit code 1: Error: Unable to initialize"):
        SparkJvm(process, log, 0, tmp_path / "gateway").address()
