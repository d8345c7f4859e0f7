"""Where a tracker begins when leaders do not answer; no cluster is asked."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.delivery.markers.tracking import Tracking
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.carriers.markers.history import UNKNOWN_END, begins, learn_ends

TIMED_OUT = KafkaException(KafkaError(KafkaError._TIMED_OUT))


class Asked:
    """A consumer of three partitions, committed at 5 and of the last never, some of whose leaders do not answer."""

    def __init__(self, *silent: int, is_coordinated: bool = True) -> None:
        self.silent = set(silent)
        self.is_coordinated = is_coordinated
        self.waited: list[float] = []

    def committed(self, places: list[TopicPartition], _seconds: float) -> list[TopicPartition]:
        if not self.is_coordinated:
            raise TIMED_OUT
        return [TopicPartition(each.topic, each.partition, 5 if each.partition < 2 else -1001) for each in places]

    def get_watermark_offsets(self, place: TopicPartition, seconds: float) -> tuple[int, int]:
        self.waited.append(seconds)
        if place.partition in self.silent:
            raise TIMED_OUT
        return 2, 9


PLACES = [TopicPartition("t-markers", number) for number in range(3)]


@pytest.mark.parametrize(
    ("silent", "begun"),
    [
        ((), [(5, 9), (5, 9), (2, 9)]),
        ((0,), [(5, UNKNOWN_END), (5, 9), (2, 9)]),
        ((0, 2), [(5, UNKNOWN_END), (5, 9), (0, UNKNOWN_END)]),
    ],
)
def test_a_leader_that_does_not_answer_leaves_its_end_unknown(
    silent: tuple[int, ...], begun: list[tuple[int, int]]
) -> None:
    """The tracker begins where it had committed, and waits for no other leader as long."""
    consumer: Any = Asked(*silent)

    assert [(place.offset, end) for place, end in begins(consumer, PLACES)] == begun
    assert (consumer.waited[1] < consumer.waited[0]) is bool(silent)


def test_an_end_that_is_unknown_is_asked_for_again() -> None:
    """Until then the tracker is not current, and nothing of the partition is due."""
    consumer: Any = Asked(1)
    partitions = {place.partition: Tracking(end, 50, place.offset) for place, end in begins(consumer, PLACES)}
    partitions[1].pass_over(9)
    assert not partitions[1].is_current
    learn_ends(consumer, "t-markers", partitions)
    assert partitions[1].history_end == UNKNOWN_END

    consumer.silent.clear()
    learn_ends(consumer, "t-markers", partitions)

    assert partitions[1].is_current


def test_commits_that_are_not_known_are_an_error() -> None:
    consumer: Any = Asked(is_coordinated=False)
    with pytest.raises(BrokerError, match="commits of markers were not read"):
        begins(consumer, PLACES)
