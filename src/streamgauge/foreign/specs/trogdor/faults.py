"""Trogdor's faults, as faults to inject into a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.write.translation import Draft, duration
from streamgauge.scenario.model.environment.embedded import brokers_for

_UNREADABLE: Final = "dir-unreadable"
EVERYONE: Final = ["clients", "brokers"]
"""All that a node sends to; the node itself is left out once it is known how many brokers there are."""
_KILOBIT: Final = 125
"""Bytes."""
_EIO: Final = 5
_WHOLE_DIRECTORY: Final = "no file of one of the broker's two log directories can be read"


@dataclass(frozen=True, slots=True)
class TrogdorFault:
    """What one specification of a fault comes to."""

    spec: str
    start_ms: int
    injected: tuple[dict[str, Any], ...]
    """Each without its begin."""


@dataclass(frozen=True, slots=True)
class FaultyCluster:
    """The embedded cluster that faults are done to."""

    brokers: int
    document: dict[str, int]
    """What a scenario says of it; empty where the topics say enough."""


def cluster_of(faults: Sequence[TrogdorFault], nodes: int, topics: Mapping[str, Any]) -> FaultyCluster:
    """The cluster with a broker for each of the nodes that the faults name, and as many as the topics need."""
    highest = max((broker for each in topics.get("assignments", ()) for broker in each), default=1)
    started = brokers_for(max(topics.get("replication", 1), highest))
    document = {"brokers": nodes} if nodes > started else {}
    if any(each["kind"] == _UNREADABLE for fault in faults for each in fault.injected):
        document["data_dirs"] = 2
    return FaultyCluster(max(nodes, started), document)


def injected_in(faults: Sequence[TrogdorFault], cluster: FaultyCluster, load_ms: int) -> list[dict[str, Any]]:
    """The faults of a scenario whose load begins at `load_ms` in the time of the specifications."""
    return [
        {"at": duration(max(0, fault.start_ms - load_ms) if fault.start_ms else 0), **_between(each, cluster.brokers)}
        for fault in faults
        for each in fault.injected
    ]


def _between(each: dict[str, Any], brokers: int) -> dict[str, Any]:
    """A fault of what a node sends to everyone, with the names of those to whom it sends."""
    if not each.get("one_way"):
        return each
    [node], _ = each["between"]
    others = [name for name in (f"broker-{number}" for number in range(1, brokers + 1)) if name != node]
    return {**each, "between": [[node], ["clients", *others]]}


def fault_of(draft: Draft, kind: str, fields: SpecFields, nodes: dict[str, str]) -> TrogdorFault:
    """The faults to inject that a specification means.

    `nodes` has the broker that stands for each node; nodes that are new are added.
    """
    start_ms = fields.whole("startMs", 0, least=0)
    length_ms = fields.whole("durationMs", 0, least=0)
    if not length_ms:
        draft.refuse(fields.place("durationMs"), "a fault of no length", "Write durationMs")
    lasting = {"for": duration(max(1, length_ms))}
    made = [{**each, **lasting} for each in FAULTS[kind](fields, nodes)]
    fields.close()
    return TrogdorFault(kind, start_ms, tuple(made))


def _brokers(draft: Draft, where: str, named: Iterable[str], nodes: dict[str, str]) -> dict[str, str]:
    """Nodes are the brokers of the embedded cluster, in the order in which they are first named."""
    found = {node: nodes.setdefault(node, f"broker-{len(nodes) + 1}") for node in named}
    if found:
        told = ", ".join(f"{one_line(node)} is {broker}" for node, broker in list(found.items())[:5])
        draft.differs(where, f"nodes are brokers of the embedded cluster: {told}")
    return found


def _stop(fields: SpecFields, nodes: dict[str, str]) -> list[dict[str, Any]]:
    fields.required("nodeNames", "javaProcessName")
    process = fields.text("javaProcessName")
    if process and "kafka" not in process.lower():
        what = f"{one_line(process)}: the processes of a run are brokers, producers and consumers"
        fields.draft.refuse(fields.place("javaProcessName"), what, "Write kafka.Kafka for brokers")
    names = _brokers(fields.draft, fields.place("nodeNames"), fields.texts("nodeNames"), nodes)
    return [{"kind": "pause", "target": broker} for broker in names.values()]


def _partition(fields: SpecFields, nodes: dict[str, str]) -> list[dict[str, Any]]:
    """Nothing gets through between the sets: rules on each side drop what the other sends."""
    fields.required("partitions")
    sets = [each for each in fields.items("partitions") if isinstance(each, list)]
    named = [node for each in sets for node in each if isinstance(node, str)]
    if len(set(named)) < len(named):
        fields.draft.refuse(fields.place("partitions"), "names a node twice", "Write each node once")
    if len(sets) < 2 or not all(sets):
        fields.draft.refuse(fields.place("partitions"), "not two sets of nodes or more", "Write [[node1], [node2]]")
    names = _brokers(fields.draft, fields.place("partitions"), named, nodes)
    sides = [[names[node] for node in each if isinstance(node, str)] for each in sets]
    return [
        {"kind": "black-hole", "between": [one, other]}
        for place, one in enumerate(sides)
        for other in sides[place + 1 :]
    ]


def _degraded(fields: SpecFields, nodes: dict[str, str]) -> list[dict[str, Any]]:
    """What nodes send is delayed, with the root of the delay as deviation, and limited to a rate of bytes."""
    fields.required("nodeSpecs")
    specs = fields.mapping("nodeSpecs")
    names = _brokers(fields.draft, fields.place("nodeSpecs"), list(specs), nodes)
    made: list[dict[str, Any]] = []
    for node, given in specs.items():
        each = SpecFields(fields.draft, given, fields.place(f"nodeSpecs.{one_line(node)}"), "a node")
        each.ignored("the links of a broker are degraded, whichever device they use", "networkDevice")
        latency, kilobits = each.whole("latencyMs", 0, least=0), each.whole("rateLimitKbit", 0, least=0)
        each.close()
        rate = {"rate": f"{kilobits * _KILOBIT}/s"} if kilobits else {}
        sent = {"between": [[names[node]], EVERYONE], "one_way": True}
        if latency:
            jitter = {"jitter": f"{max(1, isqrt(latency))}ms", "distribution": "normal"}
            made.append({"kind": "delay", "delay": f"{latency}ms", **jitter, **rate, **sent})
            fields.draft.differs(each.place("latencyMs"), "of a normal distribution; there of paretonormal")
        elif kilobits:
            made.append({"kind": "rate-limit", **rate, **sent})
        if kilobits:
            fields.draft.unit(each.place("rateLimitKbit"), f"{kilobits} kbit/s are {kilobits * _KILOBIT} bytes/s")
    if specs and not made and not fields.draft.faults:
        fields.draft.refuse(fields.place("nodeSpecs"), "degrades nothing", "Write latencyMs or rateLimitKbit")
    return made


def _unreadable(fields: SpecFields, nodes: dict[str, str]) -> list[dict[str, Any]]:
    fields.required("nodeNames")
    names = _brokers(fields.draft, fields.place("nodeNames"), fields.texts("nodeNames"), nodes)
    fields.ignored(_WHOLE_DIRECTORY, "mountPath", "prefix")
    if fields.whole("errorCode", _EIO) != _EIO:
        fields.draft.differs(fields.place("errorCode"), f"reads fail with EIO, {_EIO}")
    return [{"kind": _UNREADABLE, "target": broker} for broker in names.values()]


FAULTS: Final[Mapping[str, Callable[[SpecFields, dict[str, str]], list[dict[str, Any]]]]] = {
    "ProcessStopFaultSpec": _stop,
    "NetworkPartitionFaultSpec": _partition,
    "DegradedNetworkFaultSpec": _degraded,
    "FilesUnreadableFaultSpec": _unreadable,
}
