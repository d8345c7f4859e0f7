"""Brokers that run by themselves, by their names."""

import os
from pathlib import Path

import pytest

from streamgauge.cluster.named import free_names, meant
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.cluster.registry import Entry
from streamgauge.domain.errors import BadInput
from streamgauge.processes.identity import identify

ME = identify(os.getpid())


def entry(name: str, cluster: str | None = None, *, owned: bool = False) -> Entry:
    return Entry(
        name=name, process=ME, owner=ME if owned else None, bootstrap="127.0.0.1:9", version="4.3.1",
        data=Path("/data"), temporary=False, log=Path("/data/x.log"), cluster=Path(cluster) if cluster else None,
    )  # fmt: skip


ONE, TWO, OTHER, OWNED = entry("b-1", "/b"), entry("b-2", "/b"), entry("broker-2", "/c"), entry("x", "/x", owned=True)


@pytest.mark.parametrize(
    ("asked", "brokers", "names"),
    [
        (None, 1, ["broker-1"]),
        (None, 3, ["broker-1", "broker-3", "broker-4"]),
        ("mine", 1, ["mine"]),
        ("mine", 2, ["mine-1", "mine-2"]),
        ("b", 1, ["b"]),
        ("b", 2, "b-1 is already running, at 127.0.0.1:9"),
        ("", 1, "'' is not a name"),
        ("a b", 1, "'a b' is not a name"),
    ],
)
def test_names_of_new_brokers(asked: str | None, brokers: int, names: list[str] | str) -> None:
    running = [ONE, TWO, OTHER]
    if isinstance(names, str):
        with pytest.raises(BadInput, match=names):
            free_names(asked, ClusterPlan(brokers), running)
    else:
        assert free_names(asked, ClusterPlan(brokers), running) == names


def test_controllers_apart_are_numbered_by_themselves() -> None:
    plan = ClusterPlan(2, controllers=2)

    assert free_names(None, plan, [OTHER, entry("controller-1")]) == [
        "broker-1", "broker-3", "controller-2", "controller-3",
    ]  # fmt: skip
    assert free_names("mine", plan, []) == ["mine-1", "mine-2", "mine-3", "mine-4"]


@pytest.mark.parametrize(
    ("name", "running", "found"),
    [
        (None, [], []),
        (None, [OWNED], []),
        (None, [ONE, TWO, OWNED], [ONE, TWO]),
        (None, [ONE, TWO, OTHER], "several brokers are running: b-1, b-2, broker-2"),
        ("b-2", [ONE, TWO, OTHER], [ONE, TWO]),
        ("broker-2", [ONE, TWO, OTHER], [OTHER]),
        ("b-3", [ONE, OWNED], "no broker b-3 is running. Running: b-1, x"),
        ("b-3", [], "Running: none"),
        ("x", [ONE, OWNED], "x belongs to process"),
    ],
)
def test_who_is_meant(name: str | None, running: list[Entry], found: list[Entry] | str) -> None:
    """A broker of a run is nobody's to stop."""
    if isinstance(found, str):
        with pytest.raises(BadInput, match=found):
            meant(name, running)
    else:
        assert meant(name, running) == found
