"""Compiler threads of a JVM, and how soon they get a core."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from streamgauge.processes.jvm.compilers import CompilerTime, compile_when_idle, compilers_of


def _named(root: Path, thread: int, name: str) -> None:
    place = root / "7" / "task" / str(thread)
    place.mkdir(parents=True)
    (place / "comm").write_text(f"{name}\n")


def test_compilers_are_found_by_the_names_that_hotspot_gives_them(tmp_path: Path) -> None:
    for thread, name in {7: "java", 10: "C2 CompilerThre", 9: "C1 CompilerThre", 11: "C2", 12: "VM Thread"}.items():
        _named(tmp_path, thread, name)
    (tmp_path / "7" / "task" / "13").mkdir()

    assert compilers_of(7, tmp_path) == [9, 10]
    assert compilers_of(8, tmp_path) == []


def test_a_process_that_is_gone_or_no_jvm_stays_as_it_is() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    before = os.getpriority(os.PRIO_PROCESS, 0)

    compile_when_idle(ended.pid)
    compile_when_idle(os.getpid())

    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def _used(root: Path, pid: int, thread: int, used_ns: int) -> None:
    place = root / str(pid) / "task" / str(thread)
    place.mkdir(parents=True, exist_ok=True)
    (place / "comm").write_text("C2 CompilerThre\n")
    (place / "schedstat").write_text(f"{used_ns} 5 9\n")


def test_the_time_of_compilers_is_added_up_over_processes_and_over_threads_that_end(tmp_path: Path) -> None:
    compilers = CompilerTime([7, 8], tmp_path)
    assert compilers.used_ns() is None

    _used(tmp_path, 7, 70, 100)
    _used(tmp_path, 8, 80, 30)
    _named(tmp_path, 71, "VM Thread")
    assert compilers.used_ns() == 130
    _used(tmp_path, 7, 70, 150)
    assert compilers.used_ns() == 180
    # A thread has ended; another has its number and has used less.
    shutil.rmtree(tmp_path / "8")
    _used(tmp_path, 7, 70, 20)
    assert compilers.used_ns() == 200
    shutil.rmtree(tmp_path / "7")
    assert compilers.used_ns() == 200
    _used(tmp_path, 7, 70, 5)
    assert compilers.used_ns() == 205


@pytest.mark.parametrize("schedstat", ["", "many 5 9"])
def test_compilers_whose_time_is_not_counted_are_not_known(tmp_path: Path, schedstat: str) -> None:
    _used(tmp_path, 7, 70, 100)
    (tmp_path / "7" / "task" / "70" / "schedstat").write_text(schedstat)

    assert CompilerTime([7], tmp_path).used_ns() is None
