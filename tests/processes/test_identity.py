"""Which process is meant, whatever the wall clock does and whoever else has its number."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from streamgauge.processes.identity import ProcessId, Stat, identify, is_alive, is_gone, parse_stat

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
NOBODY = 2**22 - 3
REST = "1 2 3 0 -1 4194560 9 8 7 6 5 4 3 2 20 0 1 0 {start} 1000 100"


@pytest.mark.parametrize("name", ["java", "a b", "a) Z 1 (b", ")", "(", "", ") R 1 1 1"])
def test_a_command_may_be_called_anything(name: str) -> None:
    assert parse_stat(f"42 ({name}) S {REST.format(start=4711)}") == Stat("S", 4711)


def proc(
    tmp_path: Path, state: str | None = "S", *, start: int = 100, boot: str = "this", namespace: str = "pid:[1]"
) -> Path:
    """A /proc in which process 7 is so, or is not."""
    root = tmp_path / "proc"
    (root / "sys/kernel/random").mkdir(parents=True)
    (root / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
    (root / "self/ns").mkdir(parents=True)
    (root / "self/ns/pid").symlink_to(namespace)
    if state:
        (root / "7").mkdir()
        (root / "7/stat").write_text(f"7 (java) {state} {REST.format(start=start)}")
    return root


def known(start: int | None = 100, boot: str = "this", namespace: str = "pid:[1]", host: str = "") -> ProcessId:
    return ProcessId(
        pid=7, start_ticks=start, boot=boot, namespace=namespace, host=host or socket.gethostname(), created=None
    )


CASES = [
    pytest.param("S", known(), True, False, id="it runs"),
    pytest.param("T", known(), True, False, id="it is paused"),
    pytest.param("D", known(), True, False, id="it waits for a disk"),
    pytest.param("Z", known(), False, True, id="it is a zombie"),
    pytest.param(None, known(), False, True, id="it has ended"),
    pytest.param("S", known(start=99), False, True, id="its number is used again"),
    pytest.param("S", known(boot="before"), False, True, id="the machine was started again"),
    pytest.param(None, known(boot="before"), False, True, id="it ran before the machine was started again"),
    pytest.param(None, known(boot="other", host="other"), False, False, id="it runs on another machine"),
    pytest.param(None, known(namespace="pid:[2]"), False, False, id="it runs in a container"),
    pytest.param("S", known(namespace="pid:[2]"), False, False, id="a container has another of its number"),
    pytest.param("S", known(start=None), True, False, id="an earlier version wrote it, and its number lives"),
    pytest.param(None, known(start=None), False, True, id="an earlier version wrote it, and it has ended"),
]


@linux
@pytest.mark.parametrize(("state", "wanted", "alive", "gone"), CASES)
def test_what_is_known_of_a_process(
    tmp_path: Path, state: str | None, wanted: ProcessId, alive: bool, gone: bool
) -> None:
    """Alive and gone are not each other's opposite: of what runs elsewhere neither is known."""
    root = proc(tmp_path, state)

    assert (is_alive(wanted, root), is_gone(wanted, root)) == (alive, gone)


@linux
def test_where_the_system_tells_little_a_process_is_known_by_its_start(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text(f"7 (java) S {REST.format(start=100)}")

    found = identify(7, tmp_path)

    assert (found.start_ticks, found.boot, found.namespace) == (100, None, None)
    assert is_alive(found, tmp_path)


@pytest.fixture
def process() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that does nothing for a long time."""
    with subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"]) as started:
        yield started
        started.kill()


def test_a_process_is_known_for_certain(process: "subprocess.Popen[bytes]") -> None:
    found = identify(process.pid)

    assert found == identify(process.pid) != identify(os.getpid())
    assert (is_alive(found), is_gone(found)) == (True, False)
    assert ProcessId.model_validate_json(found.model_dump_json()) == found
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
    assert (is_alive(found), is_gone(found)) == (False, True)
    process.wait()
    assert (is_alive(found), is_gone(found)) == (False, True)


def test_nobody_has_no_identity() -> None:
    with pytest.raises(psutil.NoSuchProcess):
        identify(NOBODY)


def test_elsewhere_than_on_linux_the_time_of_creation_tells(
    process: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = identify(process.pid)
    assert found.created is not None
    other = found.model_copy(update={"created": found.created - 60})

    assert (found.start_ticks, found.is_exact) == (None, True)
    assert (is_alive(found), is_gone(found)) == (True, False)
    assert (is_alive(other), is_gone(other)) == (False, True)
    assert is_gone(found.model_copy(update={"pid": NOBODY}))
