"""The topic of markers: made for a topic of messages, and checked before it is relied on."""

from typing import Final

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.kafka.admin import Cluster

SUFFIX: Final = "-markers"
"""What the name of a topic of markers ends with, by default."""
_TIME: Final = "message.timestamp.type"
_BY_BROKER: Final = "LogAppendTime"
_CREATE: Final = "Create it first"


def make_marker_topic(cluster: Cluster, topic: str, markers: str | None = None, replication: int = -1) -> str:
    """Make the topic of markers of a topic, unless it is there, and check it; returns its name.

    It has as many partitions as the topic, and records get their time from the broker. Raises BadInput where the topics
    do not fit each other, BrokerError where the cluster refuses or does not answer.
    """
    markers, partitions = markers or f"{topic}{SUFFIX}", cluster.partitions_of(topic)
    if partitions is None:
        raise BadInput.single(f"topic {topic}", "does not exist", _CREATE)
    if cluster.partitions_of(markers) is None:
        cluster.create_topic(markers, partitions, replication, {_TIME: _BY_BROKER})
    check_marker_topic(cluster, topic, markers)
    return markers


def check_marker_topic(cluster: Cluster, topic: str, markers: str) -> int:
    """The number of partitions that both topics have; raises BadInput with every reason why they do not fit."""
    counts = {name: cluster.partitions_of(name) for name in (topic, markers)}
    faults = [Fault(f"topic {name}", "does not exist", _CREATE) for name, count in counts.items() if count is None]
    if not faults and counts[topic] != counts[markers]:
        what = f"has {counts[markers]} partitions, but {topic} has {counts[topic]}"
        faults.append(Fault(f"topic {markers}", what, "Give both topics the same number of partitions"))
    if counts[markers] is not None and (time := cluster.setting_of(markers, _TIME)) != _BY_BROKER:
        what = f"has {_TIME} {time}, but deadlines need the clock of the broker"
        faults.append(Fault(f"topic {markers}", what, f"Set {_TIME} to {_BY_BROKER}"))
    if faults:
        raise BadInput(faults)
    return counts[topic] or 0
