"""Brokers that run by themselves, by their names: which are free for new ones, and which of them a user means."""

import re
from collections.abc import Container, Iterator
from itertools import count, islice

from streamgauge.cluster.nodes.layout import ClusterPlan, names_of
from streamgauge.cluster.registry import Entry
from streamgauge.domain.errors import BadInput


def free_names(asked: str | None, plan: ClusterPlan, running: list[Entry]) -> list[str]:
    """Names made of the one asked for, or the first `broker-N` and `controller-N` that are free.

    Raises BadInput for one that is taken or unusable.
    """
    taken = {entry.name: entry for entry in running}
    if asked is None:
        wanted = (("broker", plan.brokers), ("controller", plan.controllers))
        return [name for role, nodes in wanted for name in islice(_free(role, taken), nodes)]
    if not re.fullmatch(r"[A-Za-z0-9_-]+", asked):
        raise BadInput.single("--name", f"{asked!r} is not a name", "Use letters, digits, `-` and `_`")
    names = names_of(plan, asked)
    for name in names:
        if name in taken:
            what = f"{name} is already running, at {taken[name].bootstrap}"
            raise BadInput.single("--name", what, "Choose another name, or stop that broker")
    return names


def _free(role: str, taken: Container[str]) -> Iterator[str]:
    return (name for number in count(1) if (name := f"{role}-{number}") not in taken)


def meant(name: str | None, running: list[Entry]) -> list[Entry]:
    """The one broker that is meant; raises BadInput where that is not clear, or not for us to stop."""
    if name is None:
        ours = [entry for entry in running if entry.owner is None]
        if any(entry not in nodes_of(ours[0], running) for entry in ours):
            names = ", ".join(entry.name for entry in ours)
            raise BadInput.single("NAME", f"several brokers are running: {names}", "Name one of them, or use --all")
        return ours
    named = next((entry for entry in running if entry.name == name), None)
    if named is None:
        names = ", ".join(entry.name for entry in running) or "none"
        raise BadInput.single("NAME", f"no broker {name} is running", f"Running: {names}")
    if named.owner:
        what = f"{name} belongs to process {named.owner.pid}"
        raise BadInput.single("NAME", what, "End that process (a run: with Ctrl-C); its broker stops with it")
    return nodes_of(named, running)


def nodes_of(entry: Entry, running: list[Entry]) -> list[Entry]:
    """The nodes of its cluster, itself among them."""
    return [each for each in running if each == entry or (entry.cluster and each.cluster == entry.cluster)]
