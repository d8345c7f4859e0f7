"""Run folders of what other tools measured: all of them, or none."""

from pathlib import Path

import pytest
from tests.foreign.results.given import SAMPLES

from streamgauge.domain.errors import BadInput
from streamgauge.foreign.results.asked import Asked
from streamgauge.runs.foreign.imported import import_results


def test_each_run_is_told_with_its_folder(tmp_path: Path) -> None:
    found = import_results(
        [SAMPLES / "e2e.log", SAMPLES / "omb.json"], tmp_path / "runs", Asked(), command=["x"], progress=print
    )

    assert [(each.tool, each.folder.result.exists()) for each in found] == [
        ("kafka-e2e-latency", True),
        ("OpenMessaging Benchmark", True),
    ]
    assert {each.folder.root for each in found} == set((tmp_path / "runs").iterdir())


def test_nothing_is_left_of_files_that_cannot_all_be_read(tmp_path: Path) -> None:
    """Each that is wrong is told, and those that are right are not written."""
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_bytes((SAMPLES / "e2e.log").read_bytes())
    bad.write_bytes(b"hello")

    with pytest.raises(BadInput) as found:
        import_results([good, bad, tmp_path / "none", tmp_path], tmp_path / "runs", Asked(), command=[], progress=print)

    assert [fault.where for fault in found.value.faults] == [f"RESULT {tmp_path / 'none'}"]
    assert not (tmp_path / "runs").exists()
