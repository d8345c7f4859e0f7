"""What a killed experiment left behind is cleared away when it goes on."""

from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import changed
from tests.report.conftest import told as told_by
from tests.runs.experiment.test_conduct import Made, killed, outcomes


@pytest.fixture
def made(tmp_path: Path) -> Made:
    healthy: dict[str, Any] = told_by(changed(tmp_path / "healthy"))
    return Made(tmp_path / "experiments", healthy)


def test_data_of_brokers_that_were_killed_are_removed(made: Made) -> None:
    """They may be larger than all that was recorded."""
    ended = made.carry_out(repeat=1)
    killed(made, ended)
    left = [ended.folder.root / "broker-x1", ended.folder.runs / "run-1" / "broker"]
    for each in left:
        (each / "data").mkdir(parents=True)
        (each / "data" / "0.log").touch()

    again = made.go_on(ended.folder)

    assert outcomes(again.record) == ["measured", "interrupted", "measured"]
    assert not any(each.exists() for each in left)
    assert (ended.folder.runs / "run-1" / "result.json").exists()
