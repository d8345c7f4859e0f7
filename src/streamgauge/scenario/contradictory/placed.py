"""Faults of how partitions are placed on brokers."""

from collections.abc import Iterator
from itertools import pairwise

from streamgauge.domain.errors import Fault
from streamgauge.scenario.model.environment.topic import IdleTopic, Topic
from streamgauge.scenario.model.scenario import Scenario


def placed(scenario: Scenario) -> Iterator[Fault]:
    """Replicas that the brokers of the scenario cannot hold, and assignments that contradict it or themselves."""
    topic, brokers = scenario.topic, scenario.cluster.brokers
    yield from _placed("topic", topic, brokers)
    if topic.assignments is not None and topic.adopt:
        what = "an adopted topic keeps the brokers that it has"
        yield Fault("topic.assignments", what, "Leave it out, or leave topic.adopt out")
    taken = set(scenario.topic_names)
    for number, idle in enumerate(topic.idle):
        where = f"topic.idle.{number}"
        yield from _placed(where, idle, brokers)
        if both := [name for name in idle.names if name in taken]:
            yield Fault(f"{where}.name", f"{both[0]} is a topic of the run already", "Name another topic")
        taken.update(idle.names)


def _placed(where: str, topic: Topic | IdleTopic, brokers: int | None) -> Iterator[Fault]:
    if brokers is not None and topic.replication > brokers:
        what = f"{topic.replication} replicas need {topic.replication} brokers; cluster.brokers is {brokers}"
        mend = f"Write {brokers} or less, or more brokers, or leave brokers out"
        yield Fault(f"{where}.replication", what, mend)
    if topic.assignments is None:
        return
    assigned = f"{where}.assignments"
    if topic.partitions != len(topic.assignments):
        what = f"{topic.partitions}, but {assigned} has {len(topic.assignments)}"
        yield Fault(f"{where}.partitions", what, f"Write {len(topic.assignments)}, or leave it out")
    if topic.replication != len(topic.assignments[0]):
        what = f"{topic.replication}, but {assigned} names {len(topic.assignments[0])}"
        yield Fault(f"{where}.replication", what, f"Write {len(topic.assignments[0])}, or leave it out")
    if any(len(one) != len(next_) for one, next_ in pairwise(topic.assignments)):
        yield Fault(assigned, "partitions with different numbers of replicas", "Name as many brokers for each")
    for partition, each in enumerate(topic.assignments):
        if len(set(each)) < len(each):
            yield Fault(f"{assigned}.{partition}", "names a broker twice", "Name each broker once")
    highest = max(max(each) for each in topic.assignments)
    if brokers is not None and highest > brokers:
        yield Fault(assigned, f"broker {highest}: cluster.brokers is {brokers}", "Name brokers that the cluster has")
