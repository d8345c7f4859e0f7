"""Compiler threads of a JVM, and how soon they get a core."""

import os
import subprocess
import sys
from pathlib import Path

from streamgauge.processes.jvm.compilers import compile_when_idle, compilers_of


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
