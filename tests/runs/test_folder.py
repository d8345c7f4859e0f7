"""The folder of a new run."""

from pathlib import Path

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.runs.conduct.folder import make_folder


def test_a_second_run_within_a_second_gets_a_number(tmp_path: Path) -> None:
    made = [make_folder(tmp_path, "id").root.name for _ in range(3)]

    assert made == ["id", "id-2", "id-3"]


def test_a_thousand_runs_within_a_second_are_enough(tmp_path: Path) -> None:
    for number in range(1, 1001):
        (tmp_path / ("id" if number == 1 else f"id-{number}")).mkdir()

    with pytest.raises(BadInput, match=r"contains 1,000 runs with this timestamp\. Name another folder"):
        make_folder(tmp_path, "id")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match="file: cannot be written: Not a directory"):
        make_folder(tmp_path / "file", "id")
