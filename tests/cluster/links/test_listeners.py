"""Where nodes listen and what they tell, so that some links lead through proxies."""

from pathlib import Path

from streamgauge.cluster.links.listeners import Wiring, listeners_of
from streamgauge.cluster.links.proxy import Link
from streamgauge.cluster.nodes.layout import ClusterPlan, Ports, Storage, members_of, names_of, properties_of

STORAGE = Storage(Path("/data/topics"), Path("/data/metadata"))


def wired(plan: ClusterPlan) -> tuple[Wiring, list[dict[str, str]]]:
    """The wiring of a cluster, and the properties of its nodes."""
    members = members_of(plan, names_of(plan))
    more = listeners_of(plan.links)
    ports = {
        each.number: Ports(
            1000 + each.number,
            2000 + each.number,
            {name: 3000 + 100 * place + each.number for place, name in enumerate(more)},
        )
        for each in members
    }
    wiring = Wiring(members, plan.links, ports)
    plain = [properties_of(each, members, ports, STORAGE, plan) for each in members]
    return wiring, [found | wiring.settings(each, found) for each, found in zip(members, plain, strict=True)]


def test_without_links_nothing_is_different() -> None:
    plan = ClusterPlan(3)
    wiring, found = wired(plan)

    assert found == [properties_of(each, wiring.members, wiring.ports, STORAGE, plan) for each in wiring.members]
    assert [wiring.hosts(each) for each in wiring.members] == [""] * 3
    assert [wiring.bootstraps(each) for each in wiring.members] == [{}] * 3
    assert wiring.proxies() == []


def test_a_set_of_clients_has_a_listener_of_its_own_that_leads_through_a_proxy() -> None:
    """On the faulty link only; nodes find each other as before."""
    wiring, (first, second) = wired(ClusterPlan(2, links=frozenset({("producers", "broker-1")})))

    assert first["listeners"] == "PLAINTEXT://127.0.0.1:1001,CONTROLLER://127.0.0.1:2001,PRODUCERS://127.0.0.1:3001"
    assert first["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1001,PRODUCERS://127.77.201.1:3001"
    assert second["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1002,PRODUCERS://127.0.0.1:3002"
    assert first["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PRODUCERS:PLAINTEXT"
    assert first["inter.broker.listener.name"] == "PLAINTEXT"
    assert first["controller.quorum.voters"] == "1@127.0.0.1:2001"
    assert [wiring.bootstraps(each) for each in wiring.members] == [
        {"producers": "127.77.201.1:3001"},
        {"producers": "127.0.0.1:3002"},
    ]
    assert wiring.proxies() == [Link("producers", "broker-1", "127.77.201.1", 3001, "127.0.0.1", 3001)]


def test_nodes_have_their_own_addresses_for_each_other() -> None:
    """Replication and the quorum of the controllers; a link without a fault is as short as it was."""
    links = frozenset({("broker-1", "broker-2"), ("broker-2", "broker-1")})
    wiring, (first, _, third) = wired(ClusterPlan(3, links=links))

    assert first["inter.broker.listener.name"] == "REPLICATION"
    assert first["controller.quorum.voters"] == "1@broker-1:2001,2@broker-2:2002,3@broker-3:2003"
    advertised = "PLAINTEXT://127.0.0.1:1001,REPLICATION://broker-1:3001,CONTROLLER://broker-1:2001"
    assert first["advertised.listeners"] == advertised
    assert third["listeners"].endswith(",REPLICATION://127.0.0.1:3003")
    told = [[line.split() for line in wiring.hosts(each).splitlines()] for each in wiring.members]
    assert [[name for _, name in lines[2:]] for lines in told] == [["broker-1", "broker-2", "broker-3"]] * 3
    assert [[address for address, _ in [*lines[2:], lines[0]]] for lines in told] == [
        ["127.0.0.1", "127.77.1.2", "127.0.0.1", "127.0.0.1"],
        ["127.77.2.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"],
        ["127.0.0.1"] * 4,
    ]
    assert [(each.address, each.port) for each in wiring.proxies()] == [
        ("127.77.1.2", 3002), ("127.77.1.2", 2002), ("127.77.2.1", 3001), ("127.77.2.1", 2001),
    ]  # fmt: skip


def test_a_controller_apart_is_reached_through_proxies_too() -> None:
    wiring, (_, _, controller) = wired(ClusterPlan(2, 1, links=frozenset({("broker-1", "controller-1")})))

    assert controller["advertised.listeners"] == "CONTROLLER://controller-1:2003"
    assert "listener.security.protocol.map" not in controller
    assert wiring.proxies() == [Link("broker-1", "controller-1", "127.77.1.3", 2003, "127.0.0.1", 2003)]
