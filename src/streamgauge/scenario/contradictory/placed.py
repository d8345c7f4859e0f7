"""Faults of how partitions are placed on brokers."""

from collections.abc import Iterator
from itertools import pairwise

from streamgauge.domain.errors import Fault
from streamgauge.scenario.model.scenario import Scenario

_ASSIGNED = "topic.assignments"


def placed(scenario: Scenario) -> Iterator[Fault]:
    """Replicas that the brokers of the scenario cannot hold, and assignments that contradict it or themselves."""
    topic, brokers = scenario.topic, scenario.cluster.brokers
    if brokers is not None and topic.replication > brokers:
        what = f"{topic.replication} replicas need {topic.replication} brokers; cluster.brokers is {brokers}"
        yield Fault("topic.replication", what, f"Write {brokers} or less, or more brokers, or leave brokers out")
    if topic.assignments is None:
        return
    if topic.partitions != len(topic.assignments):
        what = f"{topic.partitions}, but topic.assignments has {len(topic.assignments)}"
        yield Fault("topic.partitions", what, f"Write {len(topic.assignments)}, or leave it out")
    if topic.replication != len(topic.assignments[0]):
        what = f"{topic.replication}, but topic.assignments names {len(topic.assignments[0])}"
        yield Fault("topic.replication", what, f"Write {len(topic.assignments[0])}, or leave it out")
    if any(len(one) != len(next_) for one, next_ in pairwise(topic.assignments)):
        yield Fault(_ASSIGNED, "partitions with different numbers of replicas", "Name as many brokers for each")
    for partition, each in enumerate(topic.assignments):
        if len(set(each)) < len(each):
            yield Fault(f"{_ASSIGNED}.{partition}", "names a broker twice", "Name each broker once")
    if topic.adopt:
        what = "an adopted topic keeps the brokers that it has"
        yield Fault(_ASSIGNED, what, "Leave it out, or leave topic.adopt out")
    highest = max(max(each) for each in topic.assignments)
    if brokers is not None and highest > brokers:
        yield Fault(_ASSIGNED, f"broker {highest}: cluster.brokers is {brokers}", "Name brokers that the cluster has")
