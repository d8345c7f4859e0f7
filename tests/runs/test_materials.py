"""What a scenario names outside itself, when it is there; what is said when it is not stands in `test_plan`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadInput
from streamgauge.runs.request.materials import arrivals_of, check_settings, read_materials, replayed_rate
from streamgauge.scenario import Scenario, parse


def scenario(**parts: Any) -> Scenario:
    return parse({"name": "x", **parts})


def replaying(file: Path) -> Scenario:
    return scenario(load={"rate": {"replay": {"file": str(file)}}})


def test_the_arrivals_of_a_replay_are_read(tmp_path: Path) -> None:
    (tmp_path / "arrivals.txt").write_text("0.5\n0.75\n2\n")

    found = read_materials(replaying(tmp_path / "arrivals.txt"))

    assert found is not None
    assert (found - found[0]).tolist() == [0, 250_000_000, 1_500_000_000]


@pytest.mark.parametrize("load", ["off", {}, {"rate": "5k/s"}, {"rate": "max"}])
def test_a_load_that_replays_nothing_has_none(load: Any) -> None:
    assert arrivals_of(scenario(load=load)) is None
    assert read_materials(scenario(load=load)) is None


def test_everything_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    missing = scenario(
        load={"rate": {"replay": {"file": str(tmp_path / "no.txt")}}, "keys": {"file": {"path": "no.keys"}}},
        consume={"processing": {"function": "no_such:f"}},
        pipeline={"job": {"function": {"call": "no_such:job", "expects": "no_such:expected", "does": "subset"}}},
    )

    with pytest.raises(BadInput) as caught:
        read_materials(missing)

    assert [fault.where.partition(":")[0] for fault in caught.value.faults] == [
        "load.rate.replay.file", "load", "consume.processing.function", "pipeline.job.function.call",
        "pipeline.job.function.expects",
    ]  # fmt: skip


def test_settings_are_asked_about_beside_the_connection() -> None:
    """What contradicts the connection is found; what the load needs by itself is no fault."""
    check_settings(scenario(load={"transactions": {"messages": 10}}), {"security.protocol": "PLAINTEXT"})

    with pytest.raises(BadInput, match=r"load\.client"):
        check_settings(scenario(load={"client": {"linger.ms": 50, "delivery.timeout.ms": 10}}))


@pytest.mark.parametrize(
    ("arrivals_s", "scale", "expected"),
    [([0.0, 0.5, 2.0], 1.0, 1.0), ([0.0, 0.5, 2.0], 4.0, 4.0), ([1.0, 1.0], 1.0, None), ([], 1.0, None)],
)
def test_a_replay_has_a_mean_rate(
    tmp_path: Path, arrivals_s: list[float], scale: float, expected: float | None
) -> None:
    load = {"rate": {"replay": {"file": str(tmp_path / "a.txt"), "scale": scale}}}
    arrivals = (np.array(arrivals_s) * NS_PER_SECOND).astype(np.int64)

    assert replayed_rate(scenario(load=load), arrivals) == expected
    assert replayed_rate(scenario(load={"rate": "1k/s"}), None) is None
