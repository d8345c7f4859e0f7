"""Shipped scenarios for clusters that break, each shortened, on a cluster of its own: what they promise is kept."""

from pathlib import Path
from typing import Any, Final

import pytest
from tests.e2e.conftest import Call
from tests.e2e.runs import finished

from streamgauge.cluster.disks.mounts import why_not
from streamgauge.runs.request.scenario_file import load_scenario
from streamgauge.scenario import Scenario, document

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.e2e]

SHORT: Final = ("phases.warmup=1s", "judge_by=[delivery]")
"""A machine that a cluster takes for itself measures no latencies; what became of messages it tells all the same."""
KILL: Final = "{{at: 3s, kind: kill, target: {target}, for: 5s}}"
BEHIND: Final = (
    "{at: 0s, kind: delay, between: [broker-1, [broker-2, broker-3]], delay: 50ms, for: 14s}",
    "{at: 0s, kind: delay, between: [broker-2, broker-3], delay: 50ms, for: 14s}",
)
BREAKING: Final = {
    "coordinator-kill": ("14s", KILL.format(target="coordinator")),
    "disk-fails": ("20s", "{at: 3s, kind: disk-fails, target: broker-2, for: 10s}"),
    "nemesis": (
        "24s", "{kind: nemesis, at: 1s, kinds: [kill, pause, restart, move-leader], pace: 6s, for: 3s}",
    ),
    "rf3-acks-1-leader-kill": ("14s", *BEHIND, KILL.format(target='"leader-of:0"')),
    "rf3-baseline": ("5s",),
    # On a slow machine, a broker that shares two cores with the others is in sync again after half a minute.
    "rolling-restart": ("100s", "{at: 1s, kind: rolling-restart, target: brokers, between: 1s}"),
    "transactions-under-kill": ("14s", KILL.format(target='"leader-of:0"')),
    # The second one is dead until the first one, which lacks messages, has been the leader for a while.
    "unclean-election": (
        "30s", "{at: 1s, kind: kill, target: broker-2, for: 11s}", "{at: 8s, kind: kill, target: broker-1, for: 16s}",
    ),
    "unreadable-directory": ("16s", "{at: 3s, kind: dir-unreadable, target: broker-1, directory: 2, for: 8s}"),
}  # fmt: skip
"""How long each lasts, and what is done meanwhile: the same as it says, sooner and for a shorter time."""
LOSING: Final = {"rf3-acks-1-leader-kill", "unclean-election"}


@pytest.mark.parametrize("name", BREAKING)
def test_a_shortened_scenario_breaks_what_the_shipped_one_breaks(name: str) -> None:
    """What is done to whom is the same, but for the times, and whether messages are lost is said."""
    shipped, short = load_scenario(name, []), load_scenario(name, settings_of(name))

    assert without_times(short) == without_times(shipped)
    assert short.reads_log
    assert short.expect == shipped.expect
    wanted = ">= 1" if name in LOSING else 0
    assert shipped.expect["delivery.truncated"] == wanted


def without_times(scenario: Scenario) -> list[dict[str, Any]]:
    """The faults of a scenario, without when and for how long; `between` is a time of a rolling restart."""
    faults: list[dict[str, Any]] = document(scenario).get("faults", [])
    return [
        {
            name: value
            for name, value in fault.items()
            if name not in {"at", "for", "pace"} and not (name == "between" and isinstance(value, str))
        }
        for fault in faults
    ]


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_own_state")
@pytest.mark.parametrize("name", BREAKING)
def test_a_scenario_that_breaks_a_cluster_keeps_what_it_promises(name: str, call: Call, tmp_path: Path) -> None:
    """Nothing is lost, or what it says is, and every fault is carried out."""
    if name == "unreadable-directory" and (reason := why_not()):
        pytest.skip(reason)

    _, result = finished(call, tmp_path, name, settings_of(name), len(load_scenario(name, []).faults))

    assert result.expectations
    assert [each for each in result.expectations if not each.passed] == []
    delivery = result.delivery
    assert delivery.sent
    assert (delivery.undelivered, delivery.unknown) == (0, 0)
    # What a broker acknowledged and lost has vanished for nobody else than who had received it.
    assert bool(delivery.truncated) is (name in LOSING)
    assert (delivery.truncated or 0) >= (delivery.lost or 0)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("_own_state")
def test_controllers_apart_from_the_brokers_die_and_producers_go_on(call: Call, tmp_path: Path) -> None:
    """One by its role and one by its name: another one leads, and no partition gets another leader."""
    kills = ("at: 2s, target: active-controller", "at: 9s, target: controller-1")
    faults = ", ".join(f"{{kind: kill, for: 4s, {each}}}" for each in kills)
    settings = [*SHORT, "phases.measure=16s", "load.rate=500", "topic.replication=2", f"faults=[{faults}]"]
    settings += ["cluster.brokers=2", "cluster.controllers=3"]

    _, result = finished(call, tmp_path, "baseline", settings, 2)

    first, second = (each for each in result.faults or [] if each.action == "begin")
    assert first.target in {"controller-1", "controller-2", "controller-3"}
    assert (first.detail, second.target) == ("active-controller", "controller-1")
    replication, delivery = result.replication, result.delivery
    assert replication
    assert (replication.controller_changes or 0) >= 1
    assert replication.leader_changes == 0
    assert delivery.sent
    assert delivery.acked == delivery.sent
    assert (delivery.lost, delivery.undelivered, delivery.truncated) == (0, 0, 0)


def settings_of(name: str) -> list[str]:
    """The settings that make a scenario short."""
    lasts, *faults = BREAKING[name]
    done = [f"faults=[{', '.join(faults)}]"] if faults else []
    return [*SHORT, f"phases.measure={lasts}", *done]
