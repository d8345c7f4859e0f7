"""Acknowledgement of single messages that contradicts the rest of a scenario."""

from collections.abc import Iterator

from streamgauge.domain.errors import Fault
from streamgauge.scenario.model.acknowledge import Markers
from streamgauge.scenario.model.consume import Consume
from streamgauge.scenario.model.scenario import Scenario

_WHERE = "consume.acknowledge"


def acknowledged(scenario: Scenario, consume: Consume) -> Iterator[Fault]:
    """Everything about acknowledgement that cannot be."""
    processing = consume.processing
    if consume.share:
        yield from _with_share(scenario, consume)
        return
    if consume.markers is None:
        if processing and processing.overrun:
            what = "nothing is delivered again after a timeout with acknowledge: offsets"
            yield Fault("consume.processing.overrun", what, "Leave it out, or write `acknowledge: {markers: {}}`")
        return
    yield from _with_markers(scenario, consume, consume.markers)


def _with_markers(scenario: Scenario, consume: Consume, markers: Markers) -> Iterator[Fault]:
    if scenario.pipeline:
        yield Fault(f"{_WHERE}.markers", "markers and a pipeline cannot be combined", "Leave one of them out")
    if consume.groups > 1:
        what = f"{consume.groups} groups: each group would need markers of its own"
        yield Fault("consume.groups", what, "Write 1, or `acknowledge: offsets`")
    if consume.commit != "auto":
        what = "polled positions are committed when their markers are written"
        yield Fault("consume.commit", what, "Leave it out, or write `acknowledge: offsets`")
    if scenario.backpressure and scenario.backpressure.credit:
        what = "credit counts offsets, and messages that are delivered again take further ones"
        yield Fault("backpressure.credit", what, "Write hysteresis, or `acknowledge: offsets`")
    if markers.trackers > scenario.topic.partitions:
        what = f"{markers.trackers} trackers share {scenario.topic.partitions} partitions: some would have none"
        yield Fault(f"{_WHERE}.markers.trackers", what, f"Write at most {scenario.topic.partitions}")
    if scenario.topic.is_compacted:
        what = "a compacted topic may lose messages before they are delivered again"
        yield Fault("topic.configs.cleanup.policy", what, "Leave it out, or write `acknowledge: offsets`")


def _with_share(scenario: Scenario, consume: Consume) -> Iterator[Fault]:
    where, offsets = f"{_WHERE}.share", "`acknowledge: offsets`"
    if scenario.pipeline:
        yield Fault(where, "a share group and a pipeline cannot be combined", "Leave one of them out")
    if scenario.load and scenario.load.transactions:
        what = "the ends of transactions are no messages, and a share group does not tell that it has passed them"
        yield Fault("load.transactions", what, f"Leave it out, or write {offsets}")
    if consume.groups > 1:
        what = f"{consume.groups} share groups would write dead letters of the same messages to one topic"
        yield Fault("consume.groups", what, f"Write 1, or {offsets}")
    if consume.commit != "auto":
        what = "a share group commits no offsets: each message is acknowledged by itself"
        yield Fault("consume.commit", what, f"Leave it out, or write {offsets}")
    if consume.partitions is not None or not isinstance(consume.consumers, int):
        what = "a share group gives several consumers messages of the same partition, and nobody partitions of his own"
        given = "consumers" if consume.partitions is None else "partitions"
        yield Fault(f"consume.{given}", what, f"Write a number of consumers alone, or {offsets}")
    if scenario.backpressure and scenario.backpressure.credit:
        what = "credit counts offsets, and a share group is done with messages in any order"
        yield Fault("backpressure.credit", what, f"Write hysteresis, or {offsets}")
    if scenario.topic.is_compacted:
        what = "a compacted topic may lose messages before they are delivered again"
        yield Fault("topic.configs.cleanup.policy", what, f"Leave it out, or write {offsets}")
    if consume.processing and consume.processing.drop:
        what = "a share consumer polls nothing more until each message of its last poll is acknowledged"
        yield Fault("consume.processing.drop", what, f"Write fail, or {offsets}")
