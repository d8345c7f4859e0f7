"""The file of calibrations: kept whole, replaced by machine, version and rate, and never in the way."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.domain.errors import RecordError
from streamgauge.record.calibrations import calibrations_file, keep_calibrations, read_calibrations
from streamgauge.verdict.calibration import Calibration

MADE = Calibration({"cores": 2}, "1.0", 1000.0, 1_795_449_761_872_241_725, {"ack.response.p50": 0.25}, ("lost",))


def test_what_is_kept_is_read(tmp_path: Path) -> None:
    """With its date, for people."""
    file = tmp_path / "state" / "calibrations.json"
    assert read_calibrations(file) == []
    assert keep_calibrations([MADE], file) == file
    assert read_calibrations(file) == [MADE]
    assert json.loads(file.read_text(encoding="utf-8"))["calibrations"][0]["at"] == "2026-11-23T16:02:41Z"
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_new_one_replaces_that_of_its_machine_version_and_rate(tmp_path: Path) -> None:
    """And no other."""
    file = tmp_path / "calibrations.json"
    others = [replace(MADE, machine={"cores": 4}), replace(MADE, version="0.9"), replace(MADE, rate=10_000.0)]
    keep_calibrations([MADE, *others], file)
    new = replace(MADE, wall_ns=MADE.wall_ns + 1, miscounted=())
    keep_calibrations([new], file)
    assert read_calibrations(file) == [*others, new]


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"calibrations": 3}', '{"calibrations": [3]}', '{"calibrations": [{"rate": 1000}]}',
        '{"calibrations": [{"machine": {}, "version": "", "rate": 0, "wall_ns": 1, "errors_ms": {}}]}',
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_understood_says_nothing(tmp_path: Path, content: str) -> None:
    """It is replaced by the next calibration."""
    file = tmp_path / "calibrations.json"
    file.write_text(content, encoding="utf-8")
    assert read_calibrations(file) == []
    keep_calibrations([MADE], file)
    assert read_calibrations(file) == [MADE]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """That names it."""
    (tmp_path / "state").write_text("not a folder", encoding="utf-8")
    with pytest.raises(RecordError, match=r"calibrations\.json: cannot be written"):
        keep_calibrations([MADE], tmp_path / "state" / "calibrations.json")


def test_it_is_in_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert calibrations_file() == tmp_path / "streamgauge" / "calibrations.json"
