"""Where nodes listen, and what addresses they tell, so that some links lead through proxies; arithmetic only.

A broker tells one address of a listener to all who ask. So each set of clients has a listener of its own, whose address
is that of a proxy. Nodes tell each other names, and each node has its own addresses for them. A proxy listens on the
port of the node behind it, on an address that no other link has.
"""

import socket
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from streamgauge.cluster.links.proxy import Direction, Link
from streamgauge.cluster.nodes.layout import Member, Ports
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.scenario.model.environment.faults.links import CLIENTS

_PEERS: Final = "REPLICATION"
_CONTROLLER: Final = "CONTROLLER"
_PREFIX: Final = "127.77"
_FIRST_CLIENT: Final = 201
"""In an address, the number of the first set of clients; those of nodes are lower."""


def listeners_of(links: AbstractSet[Direction]) -> tuple[str, ...]:
    """The listeners that each broker has besides that for everybody."""
    openers = {opener for opener, _ in links}
    clients = tuple(_listener(name) for name in CLIENTS if name in openers)
    return clients + ((_PEERS,) if openers - set(CLIENTS) else ())


def _listener(clients: str) -> str:
    """The listener of a set of clients."""
    return clients.upper()


@dataclass(frozen=True, slots=True)
class Wiring:
    """How the nodes of a cluster, and their clients, find each other."""

    members: Sequence[Member]
    links: AbstractSet[Direction]
    """Who opens connections to which node through a proxy."""
    ports: Mapping[int, Ports] = field(default_factory=dict)
    """Of each node, by its number."""

    def hosts(self, member: Member) -> str:
        """The hosts file of a node: where it finds the others; empty where they need no names."""
        if _PEERS not in listeners_of(self.links):
            return ""
        lines = [f"{LOOPBACK} localhost", f"{LOOPBACK} {socket.gethostname()}"]
        lines += [f"{self._address((member.name, each.name))} {each.name}" for each in self.members]
        return "\n".join([*lines, ""])

    def settings(self, member: Member, found: Mapping[str, str]) -> dict[str, str]:
        """The settings of a node that differ from those that it was `found` to have without proxies."""
        more = listeners_of(self.links)
        own, has_peers = self.ports[member.number], _PEERS in more
        settings: dict[str, str] = {}
        told: list[str] = []
        if more and member.is_broker:
            hosts = {_listener(name): self._address((name, member.name)) for name in CLIENTS} | {_PEERS: member.name}
            listening = [found["listeners"], *(f"{name}://{LOOPBACK}:{own.more[name]}" for name in more)]
            told = [found["advertised.listeners"], *(f"{name}://{hosts[name]}:{own.more[name]}" for name in more)]
            protocol = found["inter.broker.listener.name"]
            protocols = {_CONTROLLER: "PLAINTEXT", protocol: protocol, **dict.fromkeys(more, protocol)}
            settings["listeners"] = ",".join(listening)
            settings["listener.security.protocol.map"] = ",".join(f"{name}:{each}" for name, each in protocols.items())
        if has_peers and member.is_broker:
            settings["inter.broker.listener.name"] = _PEERS
        if has_peers and member.is_controller:
            told.append(f"{_CONTROLLER}://{member.name}:{own.quorum}")
        if has_peers:
            voters = [(each, self.ports[each.number].quorum) for each in self.members if each.is_controller]
            settings["controller.quorum.voters"] = ",".join(
                f"{each.number}@{each.name}:{port}" for each, port in voters
            )
        return settings | ({"advertised.listeners": ",".join(told)} if told else {})

    def bootstraps(self, member: Member) -> dict[str, str]:
        """`host:port` of a broker for sets of clients that have links of their own."""
        own = self.ports[member.number].more
        found = [(name, own.get(_listener(name))) for name in CLIENTS if member.is_broker]
        return {name: f"{self._address((name, member.name))}:{port}" for name, port in found if port}

    def proxies(self) -> list[Link]:
        """What a proxy is to carry: between two nodes replication, and the controllers' quorum."""
        by_name = {each.name: each for each in self.members}
        found = []
        for opener, to in sorted(self.links):
            node = by_name[to]
            own = self.ports[node.number]
            if opener in CLIENTS:
                wanted = [own.more[_listener(opener)]]
            else:
                wanted = [own.more[_PEERS]] if node.is_broker else []
                wanted += [own.quorum] if node.is_controller else []
            found += [Link(opener, to, self._address((opener, to)), port, LOOPBACK, port) for port in wanted]
        return found

    def _address(self, link: Direction) -> str:
        """Where who opens a link finds the node at its other end: at a proxy, if the link has one."""
        if link not in self.links:
            return LOOPBACK
        numbers = {each.name: each.number for each in self.members}
        numbers |= {name: _FIRST_CLIENT + place for place, name in enumerate(CLIENTS)}
        return f"{_PREFIX}.{numbers[link[0]]}.{numbers[link[1]]}"
