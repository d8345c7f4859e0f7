"""The end of a run on a disk that is full: what cannot be written is told, and how the run ended is written anyhow."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.domain.folder.facts import BrokerFacts, RunFacts, RunFolder, WorkerFacts
from streamgauge.engine.supervise.plan import Interrupts, Outcome
from streamgauge.record.facts import read_facts, write_facts
from streamgauge.runs.conduct import conduct
from streamgauge.runs.conduct.prepare import prepare_run
from streamgauge.runs.request.request import Request
from streamgauge.runs.rows.parent import Stands
from streamgauge.scenario import parse

SCENARIO = parse({"name": "x", "load": {"rate": "10/s", "producers": 1, "size": 64}, "phases": {"measure": "1s"}})


@pytest.fixture
def ended(tmp_path: Path) -> Any:
    """A run whose load is over; its supervisor is about to write down the rest."""
    folder, cells = RunFolder(tmp_path / "run"), tmp_path / "cells"
    folder.root.mkdir()
    cells.touch()
    facts = RunFacts(
        id="r", name="x", tag=1, created="2026-01-01T00:00:00Z", wall_ns=1, monotonic_ns=2, command=["streamgauge"],
        scenario={}, versions={}, machine={}, broker=BrokerFacts(embedded=True, bootstrap="127.0.0.1:9"), topics=[],
        groups=[], cells=str(cells),
    )  # fmt: skip
    write_facts(folder, facts, reserve=True)
    topics: Any = SimpleNamespace(scenario=SCENARIO, groups=(), reads=lambda _: [0])
    plan: Any = SimpleNamespace(producers=[])
    worker = WorkerFacts(name="producer-0", role="producer", number=0, exit_code=1, dropped_rows=7, next_seqs=[0])
    outcome = Outcome(workers=[worker], ending="failed", reasons=["producer-0 died: disk full"])
    java: Any = SimpleNamespace()
    run = prepare_run(Request(SCENARIO, tmp_path, [], java))
    begun = conduct._Begun(run, folder, facts, plan, topics, cells, Stands(4, [0], [0], {}))
    done = conduct._Done(begun, facts, outcome, Stands(5, [0], [3], {}))
    return SimpleNamespace(folder=folder, done=done, cells=cells)


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_rows_that_cannot_be_written_are_told_with_what_to_do(ended: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All facts stand in run.json: who died, of what, how many rows, and how to go on."""
    monkeypatch.setattr(os, "writev", full)

    conduct._conclude(ended.done)

    facts = read_facts(ended.folder)
    assert facts.ending == "failed"
    assert facts.reasons[0] == "producer-0 died: disk full"
    assert "supervisor: " in facts.reasons[1]
    assert "No space left on device" in facts.reasons[1]
    assert f"streamgauge analyse {ended.folder.root}" in facts.reasons[1]
    assert (facts.workers[0].dropped_rows, facts.workers[0].next_seqs) == (7, [0])
    assert not ended.cells.exists()


def test_where_there_is_room_everything_is_written(ended: Any) -> None:
    """And the cells go, since run.json says what they said."""
    conduct._conclude(ended.done)

    assert read_facts(ended.folder).reasons == ["producer-0 died: disk full"]
    assert [path.name for path in ended.folder.events.glob("lag/*")] == ["worker=supervisor-final"]
    assert read_facts(ended.folder).cells is None
    assert not ended.cells.exists()


@pytest.mark.parametrize(("began", "kept"), [(False, False), (True, True)])
def test_cells_are_kept_once_run_json_names_them(began: bool, kept: bool, tmp_path: Path) -> None:
    """Whatever goes wrong: before the load nobody would find them."""
    cells, interrupts = tmp_path / "cells", Interrupts()
    cells.touch()
    if began:
        interrupts.begin_load()
    with pytest.raises(OSError, match="closed"), conduct._removed_in_vain(cells, interrupts):
        raise OSError("the terminal was closed")

    assert cells.exists() is kept
