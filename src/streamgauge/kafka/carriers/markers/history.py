"""Where a tracker begins in a partition of markers, and what in it is history: written before it began."""

from collections.abc import Mapping, Sequence
from typing import Final

import confluent_kafka as ck
from confluent_kafka import KafkaException, TopicPartition

from streamgauge.delivery.markers.tracking import Tracking
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.messages import note_error, words_of

UNKNOWN_END: Final = 1 << 62
"""In place of the end of a partition that could not be asked for: nothing of it is due before that is known."""
_ANSWER_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 0.5
"""A leader is waited for so long when another one, or itself before, did not answer."""


def begins(consumer: ck.Consumer, given: Sequence[TopicPartition]) -> list[tuple[TopicPartition, int]]:
    """Where to begin in partitions that a tracker was given, and where each ends now.

    A leader that does not answer is no reason to give up: its end is unknown then. Raises BrokerError where nobody says
    what was committed.
    """
    try:
        places = consumer.committed([TopicPartition(each.topic, each.partition) for each in given], _ANSWER_SECONDS)
    except KafkaException as error:
        raise BrokerError(f"commits of markers were not read: {words_of(error)}") from error
    begun = []
    seconds = _ANSWER_SECONDS
    for place in places:
        low, end = _extent(consumer, place, seconds)
        # Without a commit the offset is negative.
        place.offset = max(low, place.offset)
        begun.append((place, end))
        seconds = _AGAIN_SECONDS if end == UNKNOWN_END else seconds
    return begun


def _extent(consumer: ck.Consumer, place: TopicPartition, seconds: float) -> tuple[int, int]:
    """First offset and end of a partition; 0 and `UNKNOWN_END` where its leader does not answer in time."""
    try:
        low, end = consumer.get_watermark_offsets(place, seconds)
    except KafkaException as error:
        note_error(error.args[0])
        return 0, UNKNOWN_END
    return low, end


def learn_ends(consumer: ck.Consumer, markers: str, partitions: Mapping[int, Tracking]) -> None:
    """Ask again for ends that are unknown."""
    for partition, tracking in partitions.items():
        if tracking.history_end == UNKNOWN_END:
            _, tracking.history_end = _extent(consumer, TopicPartition(markers, partition), _AGAIN_SECONDS)
