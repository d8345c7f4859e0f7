"""Trogdor's faults, as faults to inject into a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.read.fields import SpecFields
from streamgauge.foreign.specs.write.translation import Draft, duration
from streamgauge.scenario.model.environment.faults.kinds import Injected

_LANGUAGE: Final[TypeAdapter[Any]] = TypeAdapter(Injected)
_KILOBIT: Final = 125
"""Bytes."""


@dataclass(frozen=True, slots=True)
class TrogdorFault:
    """What one specification of a fault comes to."""

    spec: str
    start_ms: int
    injected: tuple[dict[str, Any], ...]
    """Each without its begin."""


Knows = Callable[[Mapping[str, Any]], bool]


def scenario_knows(fault: Mapping[str, Any]) -> bool:
    """Whether the language of scenarios can say a fault: what it cannot is refused, until it can."""
    try:
        _LANGUAGE.validate_python({**fault, "at": "0s"})
    except ValidationError:
        return False
    return True


def fault_of(draft: Draft, kind: str, fields: SpecFields, knows: Knows = scenario_knows) -> TrogdorFault:
    """The faults to inject that a specification means."""
    start_ms = fields.whole("startMs", 0, least=0)
    length_ms = fields.whole("durationMs", 0, least=0)
    if not length_ms:
        draft.refuse(fields.place("durationMs"), "a fault of no length", "Write durationMs")
    lasting = {"for": duration(max(1, length_ms))}
    made = [{**each, **lasting} for each in FAULTS[kind](fields)]
    fields.close()
    if made and not draft.faults and not all(map(knows, made)):
        draft.refuse(
            "class", f"{kind}: scenarios have no fault of kind {made[0]['kind']}", "Leave it out, or stop processes"
        )
    return TrogdorFault(kind, start_ms, tuple(made))


def brokers_of(draft: Draft, where: str, nodes: Sequence[str]) -> dict[str, str]:
    """Nodes are the brokers of the embedded cluster, in the order in which they are named."""
    named = {node: f"broker-{place}" for place, node in enumerate(dict.fromkeys(nodes), start=1)}
    if named:
        told = ", ".join(f"{one_line(node)} is {broker}" for node, broker in list(named.items())[:5])
        draft.differs(where, f"nodes are brokers of the embedded cluster: {told}")
    return named


def _stop(fields: SpecFields) -> list[dict[str, Any]]:
    fields.required("nodeNames", "javaProcessName")
    process = fields.text("javaProcessName")
    if process and "kafka" not in process.lower():
        what = f"{one_line(process)}: the processes of a run are brokers, producers and consumers"
        fields.draft.refuse(fields.place("javaProcessName"), what, "Write kafka.Kafka for brokers")
    names = brokers_of(fields.draft, fields.place("nodeNames"), fields.texts("nodeNames"))
    return [{"kind": "pause", "target": broker} for broker in names.values()]


def _partition(fields: SpecFields) -> list[dict[str, Any]]:
    """Nothing gets through between the sets: rules on each side drop what the other sends."""
    fields.required("partitions")
    sets = [each for each in fields.items("partitions") if isinstance(each, list)]
    nodes = [node for each in sets for node in each if isinstance(node, str)]
    if len(set(nodes)) < len(nodes):
        fields.draft.refuse(fields.place("partitions"), "names a node twice", "Write each node once")
    if len(sets) < 2 or not all(sets):
        fields.draft.refuse(fields.place("partitions"), "not two sets of nodes or more", "Write [[node1], [node2]]")
    names = brokers_of(fields.draft, fields.place("partitions"), nodes)
    sides = [[names[node] for node in each if isinstance(node, str)] for each in sets]
    return [
        {"kind": "black-hole", "between": [one, other]}
        for place, one in enumerate(sides)
        for other in sides[place + 1 :]
    ]


def _degraded(fields: SpecFields) -> list[dict[str, Any]]:
    """Delays as netem draws them, of which the deviation is the root of the delay, and rates of bytes."""
    fields.required("nodeSpecs")
    specs = fields.mapping("nodeSpecs")
    names = brokers_of(fields.draft, fields.place("nodeSpecs"), list(specs))
    made: list[dict[str, Any]] = []
    for node, given in specs.items():
        each = SpecFields(fields.draft, given, fields.place(f"nodeSpecs.{one_line(node)}"), "a node")
        each.ignored("the links of a broker are degraded, whichever device they use", "networkDevice")
        latency, kilobits = each.whole("latencyMs", 0, least=0), each.whole("rateLimitKbit", 0, least=0)
        each.close()
        between = {"between": [["clients", "brokers"], [names[node]]]}
        if latency:
            jitter = {"jitter": f"{max(1, isqrt(latency))}ms", "distribution": "normal"}
            made.append({"kind": "delay", "delay": f"{latency}ms", **jitter, **between})
        if kilobits:
            made.append({"kind": "rate-limit", "rate": f"{kilobits * _KILOBIT}/s", **between})
            fields.draft.unit(each.place("rateLimitKbit"), f"{kilobits} kbit/s are {kilobits * _KILOBIT} bytes/s")
    if specs and not made and not fields.draft.faults:
        fields.draft.refuse(fields.place("nodeSpecs"), "degrades nothing", "Write latencyMs or rateLimitKbit")
    return made


def _unreadable(fields: SpecFields) -> list[dict[str, Any]]:
    fields.required("nodeNames")
    names = brokers_of(fields.draft, fields.place("nodeNames"), fields.texts("nodeNames"))
    fields.ignored("the embedded cluster has no FUSE file system", "mountPath", "prefix", "errorCode")
    return [{"kind": "unreadable", "target": broker} for broker in names.values()]


FAULTS: Final[Mapping[str, Callable[[SpecFields], list[dict[str, Any]]]]] = {
    "ProcessStopFaultSpec": _stop,
    "NetworkPartitionFaultSpec": _partition,
    "DegradedNetworkFaultSpec": _degraded,
    "FilesUnreadableFaultSpec": _unreadable,
}
