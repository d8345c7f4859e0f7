"""The examples of the Python API, as its guide shows them, and what they leave behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import streamgauge
from streamgauge.domain.errors import BadInput

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "how-to" / "python.md"
GOLDEN = ROOT / "tests" / "report" / "golden" / "format-1"


@pytest.mark.e2e
@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_examples_of_the_guide(tmp_path: Path) -> None:
    """All of them, in order; no broker and no data of one are left."""
    # Other tests keep the machine busy, and each run of an experiment would wait half a minute for it to be quiet.
    program = "from streamgauge.runs.experiment import settle; settle.QUIET_SHARE = 0.0\n"
    program += "from tests.e2e.program import prime_briefly; prime_briefly()\n"
    program += f"import doctest, sys; sys.exit(doctest.testfile({str(GUIDE)!r}, module_relative=False)[0])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=800,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip

    assert done.stdout == ""
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "runs").glob("broker-*")) == []
    assert not any((each / "broker").exists() for each in (tmp_path / "runs").iterdir())


def test_a_folder_that_is_no_run_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"run\.json"):
        streamgauge.open(tmp_path)


def test_a_run_of_an_older_format_can_be_read() -> None:
    """Its result has the names of today."""
    run = streamgauge.open(GOLDEN)

    assert run.valid in {True, False}
    assert run.result.throughput.target_per_second is not None
    assert run.table("latency").num_rows > 0
    assert run.table("schedule_delay").num_rows > 0
    assert run.events("sent").column_names[:3] == ["topic", "producer", "seq"]


@pytest.mark.parametrize(("ask", "known"), [("table", "latency"), ("events", "sent")])
def test_a_name_that_is_not_known_is_told_with_those_that_are(ask: str, known: str) -> None:
    with pytest.raises(BadInput, match=f"none: no .* of this name. Known: .*{known}"):
        getattr(streamgauge.open(GOLDEN), ask)("none")


def test_a_notebook_shows_verdict_and_figures_and_escapes_what_comes_from_outside() -> None:
    run = streamgauge.open(GOLDEN)
    named = run.result.run.model_copy(update={"name": "<script>"})
    run.__dict__["result"] = run.result.model_copy(update={"run": named})
    shown = run._repr_html_()

    assert "VALID" in shown
    assert "p99" in shown
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_a_run_without_a_result_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((GOLDEN / "run.json").read_bytes())
    run = streamgauge.open(tmp_path)

    assert "streamgauge.open" in run._repr_html_()
    with pytest.raises(BadInput, match=r"Call Run\.analyse"):
        _ = run.result
    with pytest.raises(BadInput, match="has no table latency"):
        run.table("latency")


def test_the_package_loads_nothing_before_it_is_used() -> None:
    """Workers import it, too."""
    assert {"Run", "broker", "open", "run", "sql"} <= set(dir(streamgauge))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = streamgauge.nothing
