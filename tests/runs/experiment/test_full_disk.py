"""Experiments and searches whose record cannot be written: one sentence is told, nothing that is done is lost."""

import errno
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import changed
from tests.report.conftest import told as told_by
from tests.runs.experiment.test_conduct import SIZES, Made, outcomes
from tests.runs.experiment.test_search import System

import streamgauge
from streamgauge.domain.errors import CtrlC, Interrupted, RecordError
from streamgauge.experiments.paths import ExperimentFolder
from streamgauge.runs.experiment.conduct import conduct
from streamgauge.runs.experiment.folder import read_record, read_search
from streamgauge.runs.experiment.request import ExperimentRequest
from streamgauge.runs.experiment.told import ExperimentView
from streamgauge.verdict.exits import Exit

FULL = "No space left on device"


@pytest.fixture(scope="module")
def healthy_run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told_by(changed(tmp_path_factory.mktemp("healthy") / "run"))


class Disk:
    """Has room unless it `is_full`."""

    def __init__(self, sync: Callable[[int], None]) -> None:
        self.is_full, self._sync = False, sync

    def sync(self, descriptor: int) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, FULL)
        self._sync(descriptor)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    found = Disk(os.fsync)
    monkeypatch.setattr(os, "fsync", found.sync)
    return found


@pytest.fixture
def made(tmp_path: Path, healthy_run: dict[str, Any], disk: Disk) -> Made:
    """The disk is full from the third run on."""

    def fill(number: int) -> None:
        disk.is_full |= number == 2

    return Made(tmp_path / "experiments", healthy_run, before=fill)


def drafts(folder: ExperimentFolder) -> list[str]:
    return [path.name for path in folder.root.iterdir() if path.name.startswith("_")]


def test_what_was_measured_is_answered_and_one_sentence_says_what_to_do(made: Made) -> None:
    """The third run had ended when its record could not be written."""
    ended = made.carry_out(repeat=2)
    sentence = f"{ended.folder.record} cannot be written: {FULL}; mend that, then resume with: {ended.folder.resume}"
    assert (ended.code, ended.record.ending, ended.record.reasons) == (Exit.FAILED, "failed", [sentence])
    assert made.said == [sentence]
    assert ended.found is not None
    assert sorted(len(each.runs) for each in ended.found.variants) == [1, 2]
    assert drafts(ended.folder) == []


def test_it_goes_on_where_it_was_and_nothing_is_lost(made: Made, disk: Disk) -> None:
    """The record of before says that the third run is under way: its folder tells that it had ended."""
    ended = made.carry_out(repeat=2)
    assert outcomes(read_record(ended.folder)) == ["measured", "measured", "under_way"]
    facts = json.loads(changed(made.out / "elsewhere").facts.read_text())
    (ended.folder.runs / "run-2" / "run.json").write_text(json.dumps(facts))
    disk.is_full = False

    again = made.go_on(ended.folder)

    assert (again.code, again.record.ending, outcomes(again.record)) == (Exit.DONE, "finished", ["measured"] * 4)
    assert [run.folder for run in again.record.runs] == ["run-0", "run-1", "run-2", "run-3"]
    assert (len(made.requests), again.record.reasons) == (4, [])
    assert json.loads(again.folder.result.read_text())["experiment"]["ending"] == "finished"


def test_room_that_the_broker_gives_back_is_used(made: Made, disk: Disk) -> None:
    """Its data are gone before the record is written for the last time."""
    broker = made.broker

    class Emptied:
        def __init__(self, *given: Any) -> None:
            self.inner = broker(*given)

        def __enter__(self) -> Any:
            return self.inner.__enter__()

        def __exit__(self, *error: Any) -> Any:
            disk.is_full = False
            return self.inner.__exit__(*error)

    made.broker = Emptied  # type: ignore[method-assign, assignment]
    ended = made.carry_out(repeat=2)
    assert read_record(ended.folder) == ended.record
    assert (ended.record.ending, outcomes(ended.record)) == ("failed", ["measured"] * 3)
    assert json.loads(ended.folder.result.read_text())["experiment"]["reasons"] == ended.record.reasons
    assert made.go_on(ended.folder).record.ending == "finished"
    assert len(made.requests) == 4


def test_a_run_that_cannot_be_recorded_is_none_of_the_variant(made: Made, disk: Disk) -> None:
    """It says nothing of what is compared, and the next run would meet the same: it is done anew."""
    made.before = lambda _: None
    made.outcomes = [10.0, 20.0, RecordError(f"run.json: cannot be written: {FULL}")]
    ended = made.carry_out(repeat=2)
    sentence = f"run.json: cannot be written: {FULL}; mend that, then resume with: {ended.folder.resume}"
    assert (ended.code, ended.record.reasons, made.said) == (Exit.FAILED, [sentence], [sentence])
    assert outcomes(read_record(ended.folder)) == ["measured", "measured", "interrupted"]

    again = made.go_on(ended.folder)
    assert outcomes(again.record) == ["measured", "measured", "interrupted", "measured", "measured"]
    assert (again.code, again.record.ending) == (Exit.DONE, "finished")


def test_results_that_cannot_be_written_are_told_and_the_answer_stands(made: Made, disk: Disk) -> None:
    def no_room_for_results(number: int) -> None:
        (made.out / "x").mkdir(parents=True, exist_ok=True)
        if number == 3:
            next(made.out.glob("*-sizes")).joinpath("result.json").mkdir()

    made.before = no_room_for_results
    ended = made.carry_out(repeat=2)
    assert ended.found is not None
    assert ended.code is Exit.FAILED
    assert len(made.said) == 1
    assert made.said[0].startswith(f"{ended.folder.result} cannot be written: ")
    ended.folder.result.rmdir()

    again = made.go_on(ended.folder)
    assert (again.code, len(made.requests)) == (Exit.DONE, 4)
    assert again.folder.result.is_file()


def carried_out(made: Made, request: ExperimentRequest, view: ExperimentView, command: Sequence[str]) -> Any:
    return conduct(request, view, command, made.means)


def test_the_python_api_has_the_record_that_the_folder_lacks(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamgauge.runs.experiment.api.conduct", lambda *given: carried_out(made, *given))
    found = streamgauge.experiment({**SIZES, "repeat": 2}, out=made.out)
    assert (found.record.ending, outcomes(found.record)) == ("failed", ["measured"] * 3)
    assert found.answer is not None
    assert read_record(found.folder).ending is None


def test_who_interrupts_it_then_is_told_both(made: Made) -> None:
    made.outcomes = [10.0, 20.0, CtrlC()]
    ended = made.carry_out(repeat=2)
    assert (ended.code, len(ended.record.reasons)) == (Exit.INTERRUPTED, 2)
    assert ended.record.reasons[0].startswith("stopped between two runs; resume with: ")
    assert ended.record.reasons[1].startswith(f"{ended.folder.record} cannot be written: {FULL}; ")


def test_a_disk_that_is_full_from_the_begin_on_leaves_nothing_to_resume(made: Made, disk: Disk) -> None:
    disk.is_full = True
    with pytest.raises(RecordError, match=rf"experiment\.json cannot be written: {FULL}$"):
        made.carry_out(repeat=2)
    assert made.requests == []


def test_who_interrupts_it_before_it_goes_on_is_told(made: Made, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it looks at what was under way."""
    ended = made.carry_out(repeat=2)
    disk.is_full = False
    monkeypatch.setattr("streamgauge.runs.experiment.recorder.read_facts", interrupting)
    with pytest.raises(Interrupted, match="stopped between two runs; resume with: "):
        made.go_on(ended.folder)
    assert read_record(ended.folder).ending == "interrupted"


def interrupting(_: object) -> None:
    raise CtrlC


def test_a_search_tells_and_keeps_the_same(tmp_path: Path, healthy_run: dict[str, Any], disk: Disk) -> None:
    system = System(tmp_path / "experiments", healthy_run)
    system.fails = {3: RecordError(f"run.json: cannot be written: {FULL}")}
    ended = system.search()
    sentence = f"run.json: cannot be written: {FULL}; mend that, then resume with: {ended.folder.resume}"
    assert (ended.code, ended.record.ending, ended.record.reasons) == (Exit.FAILED, "failed", [sentence])
    assert [step.outcome for step in read_search(ended.folder).steps] == ["done", "done", "done", "interrupted"]

    disk.is_full = True
    with pytest.raises(RecordError, match=rf"search\.json cannot be written: {FULL}$"):
        system.go_on(ended.folder)
    disk.is_full = False
    assert system.go_on(ended.folder).record.ending == "narrow"
    assert system.rates[3] == system.rates[4]
