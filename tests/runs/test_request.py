"""Scenarios that are looked at without a run: what it would refuse is refused, and nothing of theirs is run or read."""

from pathlib import Path

import pytest

from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.options import checked_scenario
from streamgauge.runs.request.scenario_file import shipped


@pytest.mark.parametrize("name", sorted(shipped()))
def test_a_shipped_scenario_is_not_refused(name: str) -> None:
    assert checked_scenario(name).name == name


@pytest.mark.parametrize(
    "content",
    [
        "load: {client: {plugin.library.paths: /nowhere/library.so}}",
        "load: {payload: {function: {name: 'nowhere:made'}}}",
        "load: {payload: {file: {path: /nowhere/lines.txt}}}",
        "load: {rate: {replay: {file: /nowhere/arrivals.csv}}}",
        "consume: {processing: {function: 'nowhere:handle'}}",
        "topic: {replication: 8}",
    ],
)
def test_what_depends_on_the_options_of_a_run_is_not_looked_at(tmp_path: Path, content: str) -> None:
    """So that a scenario of somebody else can be read before it is trusted."""
    path = tmp_path / "theirs.yaml"
    path.write_text(f"name: x\n{content}\n")

    assert checked_scenario(str(path)).name == "x"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["load.client.lingr.ms=5"], "load.client.lingr.ms: No such configuration property"),
        (["consume.client.fetch.min.bytes=-1"], "consume.client.fetch.min.bytes: -1: "),
        (["load.client.buffer.memory=1"], "load.client.buffer.memory: is a setting of the Java client"),
        (["expect.delivery.lots=0"], "expect.delivery.lots: delivery has no `lots`"),
        (["judge_by=[throughputs]"], "judge_by.0: throughputs: the result has no `throughputs`. Did you mean"),
        (["phases.start_at=2026-01-01T00:00:00Z"], "phases.start_at: 2026-01-01T00:00:00Z has passed"),
        (['load.client.sasl.password="***"'], "load.client.sasl.password: *** stands for a masked secret"),
        (["rate=5"], "rate: no such key. Its place is `load.rate`"),
    ],
)
def test_what_a_run_would_refuse_is_refused(settings: list[str], says: str) -> None:
    with pytest.raises(BadInput) as caught:
        checked_scenario("baseline", settings)

    assert [str(fault) for fault in caught.value.faults if str(fault).startswith(says)], caught.value
