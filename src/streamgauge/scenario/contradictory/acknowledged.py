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
