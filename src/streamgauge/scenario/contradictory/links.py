"""Faults of the network that do not fit the rest of a scenario."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from streamgauge.domain.errors import Fault
from streamgauge.domain.text.numbers import listed
from streamgauge.scenario.contradictory.injected import of_role
from streamgauge.scenario.model.environment.faults.kinds import link_of
from streamgauge.scenario.model.environment.faults.links import CLIENTS, CUT, LinkFault, groups_of, is_of_node
from streamgauge.scenario.model.environment.faults.schedule import Occurrence, occurrences
from streamgauge.scenario.model.environment.security import ClusterSecurity
from streamgauge.scenario.model.scenario import Scenario

_NAME = "Name clients or nodes that the run has"


def links(scenario: Scenario) -> Iterator[Fault]:
    """The two sides must be there and connect, and only one thing can be done to a link at a time."""
    groups = groups_of(scenario.brokers, scenario.cluster.controllers)
    known = _known(scenario, groups)
    faults = {place: link for place, each in enumerate(scenario.faults) if (link := link_of(each))}
    security = scenario.cluster.security
    if faults and security != ClusterSecurity():
        what = f"{security.protocol}: the listeners of links that have faults are not secured"
        yield Fault("cluster.security.protocol", what, "Leave it out, or the faults of the network")
    for where, fault in ((f"faults.{place}", fault) for place, fault in faults.items()):
        for name, wanted in fault.roles.items():
            yield from of_role(scenario, name, wanted, f"{where}.between")
        if wrong := _wrong(fault, groups, known):
            yield Fault(f"{where}.between", *wrong)
    done = occurrences(scenario.faults, scenario.phases.measure_ns, scenario.seed)
    turns = {place: [turn for turn in done if turn.place == place and _is_of_link(turn)] for place in faults}
    for one, other in combinations(faults, 2):
        shared = faults[one].ways(groups) & faults[other].ways(groups)
        if shared and _meet(turns[one], turns[other]):
            sender, receiver = min(shared)
            what = f"another fault is still on between {sender} and {receiver}"
            yield Fault(f"faults.{other}", what, "Let one end before the other begins")


def _is_of_link(turn: Occurrence) -> bool:
    """Whether it is a fault of the network: a nemesis draws others, too."""
    return isinstance(turn.fault, LinkFault)


def _known(scenario: Scenario, groups: Mapping[str, Sequence[str]]) -> set[str]:
    """The ends of links that a run has."""
    there = {"producers": scenario.load, "consumers": scenario.consume, "pipeline": scenario.pipeline}
    clients = {name for name, asked in there.items() if asked is not None}
    return clients | {*groups["brokers"], *groups["controllers"]}


def _wrong(fault: LinkFault, groups: Mapping[str, Sequence[str]], known: set[str]) -> tuple[str, str] | None:
    """What is wrong with the sides of a fault, and what mends it."""
    for name in (name for side in fault.between for name in side):
        if not is_of_node(name) and not known & set(groups.get(name, (name,))):
            return f"{name}: the run has {_has(name, groups)}", _NAME
    first, second = fault.sides(groups)
    if same := _same(fault, groups):
        return same
    if set(first) <= set(CLIENTS) and set(second) <= set(CLIENTS):
        return "clients do not connect with each other", "Write a node on one side"
    one_of_clients, controllers = set(CLIENTS) & {*first, *second}, set(groups["controllers"])
    if one_of_clients and (set(first) <= controllers or set(second) <= controllers):
        return "clients do not connect to controllers", "Write a broker instead"
    if fault.kind == CUT and fault.one_way and set(second) <= set(CLIENTS):
        return "brokers open no connections to clients", "Write the clients first, or leave `one_way` out"
    return None


def _same(fault: LinkFault, groups: Mapping[str, Sequence[str]]) -> tuple[str, str] | None:
    """The same of ends that are on both sides."""
    one, other = ({end for name in side for end in _named(name, groups)} for side in fault.between)
    if shared := sorted(one & other):
        return f"{shared[0]} is on both sides", "Name it on one side"
    if not fault.ways(groups):
        return f"{fault.sides(groups)[0][0]} is the only node", "Name clients on one side, or raise cluster.brokers"
    return None


def _named(name: str, groups: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """What is known of a name before the run: who has a role then may be anybody."""
    return (name,) if is_of_node(name) else groups.get(name, (name,))


def _has(name: str, groups: Mapping[str, Sequence[str]]) -> str:
    if name in {*CLIENTS, "clients"}:
        return "none"
    return listed(list(groups[f"{name.partition('-')[0].removesuffix('s')}s"])) or "none apart from the brokers"


def _meet(one: Sequence[Occurrence], other: Sequence[Occurrence]) -> bool:
    """Whether one of two faults ever begins while the other is on."""
    each = ((turn.at_ns, turn.at_ns + turn.lasts_ns, whose) for whose, mine in enumerate((one, other)) for turn in mine)
    ends = [0, 0]
    for begin, end, whose in sorted(each):
        if begin < ends[1 - whose]:
            return True
        ends[whose] = end
    return False
