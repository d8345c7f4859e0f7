"""Folders of runs whose supervisor was killed: who may touch them, and what their cells still say."""

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import BrokerFacts, Phase, RunFacts, RunFolder, WorkerFacts
from streamgauge.engine.board import Cell, Slot
from streamgauge.engine.ports.workers import BoardSpec
from streamgauge.engine.supervise.cells import KILLED, PREFIX
from streamgauge.engine.supervise.local import LocalLauncher
from streamgauge.processes.lock import FolderLock
from streamgauge.record.facts import read_facts, write_facts
from streamgauge.record.parts import hold
from streamgauge.runs.rows.recover import alone, completed, own, recovered, sweep

SCENARIO = {
    "name": "x", "topic": {"name": "x"}, "load": {"rate": "10/s", "producers": 1, "size": 64},
    "phases": {"warmup": "1s", "measure": "2s"},
}  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


@pytest.fixture
def folder(tmp_path: Path, memory: Path) -> RunFolder:
    """A run that was killed two seconds after its load began."""
    folder = RunFolder(tmp_path / "run")
    folder.root.mkdir()
    folder.events.mkdir()
    worker = WorkerFacts(name="producer-0", role="producer", number=0, members=[0])
    phases = [Phase(name="warmup", from_ns=0, to_ns=10**9), Phase(name="measure", from_ns=10**9, to_ns=3 * 10**9)]
    values: dict[str, Any] = {
        "id": "r", "name": "x", "tag": 1, "created": "2026-01-01T00:00:00Z", "wall_ns": 1, "monotonic_ns": 2,
        "command": ["streamgauge"], "scenario": SCENARIO, "versions": {}, "machine": {},
        "broker": BrokerFacts(embedded=True, bootstrap="127.0.0.1:9"), "topics": [], "groups": [],
        "workers": [worker], "phases": phases, "cells": str(memory / f"{PREFIX}1"),
    }  # fmt: skip
    write_facts(folder, RunFacts(**values), reserve=True)
    return folder


def make_cells(file: Path, run: Path) -> LocalLauncher:
    """Cells of a run whose producer has taken up 17 messages; whoever has them lives."""
    launcher = LocalLauncher(file)
    cells = launcher.board(BoardSpec(run, 1, 1, 1, {0: 0}))
    cells.slots[0, Slot.NEXT_SEQ] = 17
    cells.control[Cell.ALIVE_NS] = 2 * 10**9
    return launcher


@pytest.fixture
def cells(folder: RunFolder, memory: Path) -> Path:
    """The cells of the run, which nobody has any more."""
    make_cells(memory / f"{PREFIX}1", folder.root).close()
    return memory / f"{PREFIX}1"


def test_a_folder_whose_run_goes_on_is_left_alone(folder: RunFolder) -> None:
    """In one sentence, with what to do; afterwards anybody may have it, one at a time."""
    with hold(folder), pytest.raises(BadInput, match=r"still active. Wait until it has ended"):
        alone(folder)
    with alone(folder), pytest.raises(BadInput, match="its run, or another analysis or report, is still active"):
        alone(folder)
    alone(folder).close()


def test_nobody_comes_between_the_load_of_a_run_and_its_analysis(folder: RunFolder) -> None:
    """The run owns its folder while no worker holds it any more, and gets it alone without waiting."""
    with own(folder):
        with pytest.raises(BadInput, match="is still active"):
            alone(folder)
        with hold(folder), pytest.raises(BadInput, match="is still active"):
            alone(folder, owned=True)
        alone(folder, owned=True).close()
    alone(folder).close()


def test_a_folder_without_events_can_be_held(folder: RunFolder) -> None:
    """A report needs none."""
    shutil.rmtree(folder.events)
    alone(folder).close()


def test_what_is_no_run_is_not_held(tmp_path: Path) -> None:
    """The message is that of a folder without run.json."""
    with pytest.raises(BadInput, match=r"not a run folder"):
        alone(RunFolder(tmp_path / "nowhere"))


def test_claims_of_the_dead_are_written_down_once(folder: RunFolder, cells: Path, memory: Path) -> None:
    """And their file goes."""
    facts = recovered(folder)

    assert facts.workers[0].next_seqs == [17]
    assert facts.load_ended_ns == 2 * 10**9
    assert facts.reasons == [KILLED]
    assert list(memory.iterdir()) == []
    assert read_facts(folder) == facts == recovered(folder)


def test_the_rows_that_the_dead_owe_are_written(folder: RunFolder, cells: Path) -> None:
    """What was taken up is of unknown fate; the schedule goes on until the supervisor was last seen."""
    completed(folder, lambda _: None)

    assert [path.name for path in folder.events.glob("sent/*/*.parquet")] == ["part-0.parquet"]


def test_what_the_scenario_changed_until_then_is_written_once(folder: RunFolder, cells: Path) -> None:
    """Bursts of 200 ms in every 400 ms of the second that was measured; a second look adds nothing."""
    burst = {"base": "10/s", "burst": "20/s", "every": "400ms", "for": "200ms"}
    facts = read_facts(folder)
    load = {**SCENARIO["load"], "rate": {"burst": burst}}  # type: ignore[dict-item]
    write_facts(folder, facts.model_copy(update={"scenario": {**SCENARIO, "load": load}}))
    completed(folder, lambda _: None)
    completed(folder, lambda _: None)

    (part,) = folder.events.glob("faults/*/*.parquet")
    rows = pq.read_table(part).to_pylist()
    assert [(row["at_ns"] // 10**6, row["action"]) for row in rows] == [
        (1000, "begin"), (1200, "end"), (1400, "begin"), (1600, "end"), (1800, "begin"),
    ]  # fmt: skip


def test_without_its_cells_a_run_is_told_as_killed(folder: RunFolder) -> None:
    """After a restart of the machine nobody knows how far its producers were."""
    assert recovered(folder).reasons == [KILLED]
    assert read_facts(folder).workers[0].next_seqs is None
    completed(folder, lambda _: None)
    assert not list(folder.events.iterdir())


def test_a_copy_of_a_living_run_does_not_take_its_cells(folder: RunFolder, cells: Path, tmp_path: Path) -> None:
    """What they say now is used, and they stay."""
    copy = RunFolder(tmp_path / "copy")
    copy.root.mkdir()
    copy.facts.write_bytes(folder.facts.read_bytes())

    assert recovered(copy).workers[0].next_seqs == [17]
    assert Path(read_facts(folder).cells or "").exists()


def test_a_folder_that_was_moved_still_finds_its_cells(folder: RunFolder, cells: Path, memory: Path) -> None:
    """Nobody else can need them."""
    moved = RunFolder(folder.root.rename(folder.root.with_name("moved")))

    assert recovered(moved).workers[0].next_seqs == [17]
    assert list(memory.iterdir()) == []


def test_sweeping_leaves_the_living_alone(folder: RunFolder, cells: Path, memory: Path) -> None:
    """Whoever has the cells or the folder lives; afterwards what the cells say is written down, and they go."""
    with FolderLock.shared(cells) or pytest.fail("nobody has them alone"):
        sweep(memory)
    with hold(folder):
        sweep(memory)
    assert cells.exists()
    assert read_facts(folder).workers[0].next_seqs is None

    sweep(memory)
    assert list(memory.iterdir()) == []
    assert read_facts(folder).workers[0].next_seqs == [17]


def test_sweeping_removes_what_is_nobodys(memory: Path) -> None:
    """Cells whose folder is gone, files that are none, drafts that never got their names; nothing of others."""
    make_cells(memory / f"{PREFIX}gone", Path("/nowhere/run")).close()
    (memory / f"{PREFIX}garbage").write_bytes(b"x")
    old, new, other = (memory / name for name in (f"_{PREFIX}old", f"_{PREFIX}new", "others"))
    for file in (old, new, other):
        file.write_bytes(b"")
    os.utime(old, (1, 1))

    sweep(memory)

    assert sorted(path.name for path in memory.iterdir()) == [new.name, other.name]


def test_cells_are_locked_as_long_as_anybody_has_them(folder: RunFolder, memory: Path) -> None:
    """A worker has the descriptor that it inherited, when the supervisor is gone."""
    file = memory / f"{PREFIX}2"
    launcher = make_cells(file, folder.root)
    inherited = os.dup(launcher._descriptor)
    launcher.close()
    assert FolderLock.exclusive(file) is None

    os.close(inherited)
    lock = FolderLock.exclusive(file)
    assert lock
    lock.close()
