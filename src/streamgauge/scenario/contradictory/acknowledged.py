"""Acknowledgement of single messages that contradicts the rest of a scenario."""

from collections.abc import Iterator

from streamgauge.domain.errors import Fault
from streamgauge.scenario.model.acknowledge import Acknowledge, Markers, Retry
from streamgauge.scenario.model.consume import Consume
from streamgauge.scenario.model.scenario import Scenario
from streamgauge.scenario.topic_names import LONGEST_NAME

_WHERE = "consume.acknowledge"
MOST_WITH_RETRIES = 500
"""Topics of a run, retry topics among them."""


def acknowledged(scenario: Scenario, consume: Consume) -> Iterator[Fault]:
    """Everything about acknowledgement that cannot be."""
    processing = consume.processing
    if consume.carrier:
        yield from _of_names(scenario, consume.carrier)
    if consume.markers:
        yield from _with_markers(scenario, consume, consume.markers)
        return
    if consume.share:
        yield from _with_share(scenario, consume)
        return
    if processing and processing.overrun and processing.overrun.takes is None:
        carrier = "retry" if consume.retry else "offsets"
        what = f"acknowledge: {carrier} has no timeout, of which `by` is a multiple"
        mend = "Write how long they take, like `takes: 500ms`, or `acknowledge: {markers: {}}`"
        yield Fault("consume.processing.overrun", what, mend)
    if consume.retry:
        yield from _with_retry(scenario, consume, consume.retry)


def _of_names(scenario: Scenario, carrier: Acknowledge) -> Iterator[Fault]:
    """What is too long for Kafka among the names of the topics that are made beside those of messages."""
    endings = {"-markers": carrier.markers is not None, "__undelivered": carrier.has_dead_letters}
    beside = (f"{name}{ending}" for name in scenario.sent_topics for ending, is_made in endings.items() if is_made)
    longest = max((*scenario.retry_topics, *beside), key=len, default="")
    if len(longest) > LONGEST_NAME:
        what = f"the topic {longest} would have a name of {len(longest)} characters; Kafka takes {LONGEST_NAME}"
        yield Fault("topic.name", what, "Write a shorter one")


def _with_retry(scenario: Scenario, consume: Consume, retry: Retry) -> Iterator[Fault]:
    yield from _redelivered(scenario, consume, "retry", "retry topics")
    if consume.commit == "never":
        what = "never: a message is acknowledged by a commit"
        yield Fault("consume.commit", what, "Write auto, batch or an interval, or leave it out")
    if consume.processing and consume.processing.skip:
        what = "a message that is left out neither succeeds nor fails, and would not come again"
        yield Fault("consume.processing.skip", what, "Write fail, or `acknowledge: offsets`")
    if len(scenario.topic_names) > MOST_WITH_RETRIES:
        what = (
            f"{len(retry.delays)} delays for {len(scenario.sent_topics)} topics make {len(scenario.topic_names)} topics"
        )
        yield Fault(f"{_WHERE}.retry.delays", what, f"Write fewer: all together may be {MOST_WITH_RETRIES}")


def _with_markers(scenario: Scenario, consume: Consume, markers: Markers) -> Iterator[Fault]:
    yield from _redelivered(scenario, consume, "markers", "markers")
    if consume.commit != "auto":
        what = "polled positions are committed when their markers are written"
        yield Fault("consume.commit", what, "Leave it out, or write `acknowledge: offsets`")
    if markers.trackers > scenario.topic.partitions:
        what = f"{markers.trackers} trackers share {scenario.topic.partitions} partitions: some would have none"
        yield Fault(f"{_WHERE}.markers.trackers", what, f"Write at most {scenario.topic.partitions}")


def _redelivered(scenario: Scenario, consume: Consume, carrier: str, words: str) -> Iterator[Fault]:
    """What no carrier that writes messages again goes together with."""
    yield from _again(scenario, carrier, words)
    if consume.groups > 1:
        what = f"{consume.groups} groups: each group would need {words} of its own"
        yield Fault("consume.groups", what, "Write 1, or `acknowledge: offsets`")
    if scenario.backpressure and scenario.backpressure.credit:
        what = "credit counts offsets, and messages that are delivered again take further ones"
        yield Fault("backpressure.credit", what, "Write hysteresis, or `acknowledge: offsets`")


def _again(scenario: Scenario, carrier: str, words: str) -> Iterator[Fault]:
    """What no carrier that delivers messages again goes together with."""
    if scenario.pipeline:
        yield Fault(f"{_WHERE}.{carrier}", f"{words} and a pipeline cannot be combined", "Leave one of them out")
    if scenario.topic.is_compacted:
        what = "a compacted topic may lose messages before they are delivered again"
        yield Fault("topic.configs.cleanup.policy", what, "Leave it out, or write `acknowledge: offsets`")


def _with_share(scenario: Scenario, consume: Consume) -> Iterator[Fault]:
    yield from _again(scenario, "share", "a share group")
    offsets = "`acknowledge: offsets`"
    if scenario.load and scenario.load.transactions:
        what = "transactions write control records, and a share group does not report that it has passed them"
        yield Fault("load.transactions", what, f"Leave it out, or write {offsets}")
    if consume.groups > 1:
        what = f"{consume.groups} share groups would write dead letters of the same messages to one topic"
        yield Fault("consume.groups", what, f"Write 1, or {offsets}")
    if consume.commit != "auto":
        what = "a share group commits no offsets: each message is acknowledged by itself"
        yield Fault("consume.commit", what, f"Leave it out, or write {offsets}")
    if consume.partitions is not None or not isinstance(consume.consumers, int):
        what = "a share group shares each partition among its consumers, so none has partitions of its own"
        given = "consumers" if consume.partitions is None else "partitions"
        yield Fault(f"consume.{given}", what, f"Write a number of consumers alone, or {offsets}")
    if scenario.backpressure and scenario.backpressure.credit:
        what = "credit counts offsets, and a share group is done with messages in any order"
        yield Fault("backpressure.credit", what, f"Write hysteresis, or {offsets}")
    if consume.processing and consume.processing.skip:
        what = "a share consumer polls nothing more until each message of its last poll is acknowledged"
        yield Fault("consume.processing.skip", what, f"Write fail, or {offsets}")
