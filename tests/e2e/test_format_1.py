"""Whole runs that a version of format 1 recorded: today they are told as that version told them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Call
from tests.result.figures import Differences, other_figures

import streamgauge
from streamgauge.result.formats import upgraded
from streamgauge.verdict.exits import Exit

pytestmark = pytest.mark.e2e

RUNS = Path(__file__).parents[1] / "data" / "format-1"
NAMES = ("consumers", "pipeline")
EXITS = {"consumers": Exit.NOT_VALID, "pipeline": Exit.DONE}
DIFFERENT: dict[str, Differences] = {
    "consumers": {
        # `consume.buffer` and `consume.processing.skip` have these values today.
        "run.scenario.consume.in_hand": (60, None),
        "run.scenario.consume.processing.drop": (0.02, None),
        # Two messages were written twice. Each delivery used to count as processed, so that in the end fewer messages
        # than none were outstanding; a message counts once today.
        "timeline.2.outstanding": (155, 157),
        "timeline.3.outstanding": (25, 27),
        "timeline.4.outstanding": (-2, 0),
    },
    "pipeline": {"run.scenario.consume.in_hand": (1000, None)},
}
"""Figures that are others on purpose."""
ROUNDED = ("stddev_ms", "variance_ms2")
"""Ends of the names of figures that are sums of fractions, which depend on the order in which they are added."""

Made = Callable[[str], Path]


@pytest.fixture
def copied(tmp_path: Path) -> Made:
    """Copies a run, so that a test may write into it."""
    return lambda name: Path(shutil.copytree(RUNS / name, tmp_path / name))


def written(name: str) -> Any:
    """What the version that recorded a run said of it, in the names of today."""
    return upgraded(json.loads((RUNS / name / "result.json").read_bytes()))


def statuses(result: Any) -> dict[str, tuple[str, str]]:
    return {check["name"]: (check["status"], check["about"]) for check in result["verdict"]["checks"]}


def is_rounding(figure: str, old: float, new: float | None) -> bool:
    return figure.endswith(ROUNDED) and new == pytest.approx(old, rel=1e-9)


@pytest.mark.spark
@pytest.mark.usefixtures("warm_spark")
@pytest.mark.parametrize("name", NAMES)
def test_an_analysis_says_what_it_said_then(name: str, copied: Made, call: Call) -> None:
    """Every figure, every check, and every expectation; `audit` counts the same, too."""
    folder, before = copied(name), written(name)

    said = call("analyse", str(folder), "--json", "--quiet")
    assert (said.code, said.err) == (EXITS[name], "")
    today = json.loads(said.out)
    assert json.loads((folder / "result.json").read_bytes()) == today
    found = other_figures(before, today)
    assert {where: both for where, both in found.items() if not is_rounding(where, *both)} == DIFFERENT[name]
    assert statuses(today) == statuses(before)
    assert [(each["path"], each["passed"]) for each in today["expectations"]] == [
        (each["path"], each["passed"]) for each in before["expectations"]
    ]

    run = streamgauge.open(folder)
    assert run.result.document() == today
    assert run.table("schedule_delay").num_rows > 0
    assert not [path.name for path in (folder / "tables").glob("lateness*")]
    counts = json.loads(call("audit", str(folder), "--json").out)["counts"]
    assert counts == {count: before["delivery"].get(count, 0) for count in counts}
    assert counts["sent"] == run.events("sent").num_rows
    call("report", str(folder))
    assert (folder / "report.html").stat().st_size > 500_000


@pytest.mark.parametrize("name", NAMES)
def test_a_report_needs_no_analysis(name: str, copied: Made, call: Call) -> None:
    """Nor does `audit`: result.json has the counts, and says in the report that it is old."""
    folder, before = copied(name), written(name)

    said = call("report", str(folder))
    assert (said.code, said.err) == (0, "writing the report\n")
    assert f"{before['delivery']['sent']:,} sent" in said.out
    assert "analysed by an older version" in (folder / "report.html").read_text()
    counts = json.loads(call("audit", str(folder), "--json").out)["counts"]
    assert counts == {count: before["delivery"][count] for count in counts}
    assert other_figures(before, streamgauge.open(folder).result.document()) == {}


def test_recorded_events_have_the_names_of_today() -> None:
    """Kinds, and their columns."""
    consumers, pipeline = (streamgauge.open(RUNS / name) for name in NAMES)

    assert consumers.events("resends").column("error").to_pylist() == ["_MSG_TIMED_OUT"] * 8
    assert pipeline.events("query")["event"].to_pylist() == ["started", "ready", "died", "started", "ready", "ended"]
    assert pipeline.events("progress")["committed_lag"].to_pylist() == [0, None, None, 0]
    assert pipeline.events("resends").num_rows == 0
    assert consumers.facts.scenario["consume"]["buffer"] == 60
    assert consumers.facts.scenario["consume"]["processing"]["skip"] == 0.02
