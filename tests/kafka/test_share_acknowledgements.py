"""What becomes of the answers of a broker, which name offsets: against a client that answers as a test says."""

from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import numpy as np
import pytest
from confluent_kafka import IllegalStateException, KafkaError, KafkaException, TopicPartition

from streamgauge.domain.blocks import Block
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.kafka.carriers.share.acknowledgements import ShareAcknowledgements

TOPICS = ("s", "t")
REFUSED, BROKEN = (
    KafkaException(KafkaError(code)) for code in (KafkaError.INVALID_RECORD_STATE, KafkaError._TRANSPORT)
)


class Client:
    """Notes what it is told; messages are their offsets."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Any]] = []
        self.is_gone = False

    def acknowledge(self, message: int, way: Any) -> None:
        if self.is_gone:
            raise IllegalStateException("the message is no longer in flight")
        self.told.append((message, way))

    def commit_async(self) -> None:
        """Nothing to do."""


class Letters:
    """Dead letters that are written, or not, when a test says."""

    def __init__(self) -> None:
        self.asked: list[Callable[[bool], None]] = []
        self.waiting = 0

    def write(self, message: int, deliveries: int, told: Callable[[bool], None]) -> None:
        assert deliveries == 3
        self.asked.append(told)

    def flush(self, seconds: float) -> None:
        """Nothing to do."""


class Polled:
    """Acknowledgements of a poll of partition 0 of both topics, with the offsets 0 to 4 each."""

    def __init__(self, *, letters: bool = False) -> None:
        self.client, self.letters = Client(), Letters()
        self.told = ShareAcknowledgements(self.client, TOPICS, 3, self.letters if letters else None)  # type: ignore[arg-type]
        for topic in (0, 1):
            self.told._open[topic, 0] = {offset: offset for offset in range(5)}
        self.told._until_ns = monotonic_ns() + 60 * NS_PER_SECOND

    def settle(self, topic: int, offsets: list[int], accepted: bool = True, number: int = 1) -> None:
        found: Block = {
            "topic": topic, "partition": 0, "offset": np.array(offsets), "producer": 3, "seq": np.array(offsets) + 10,
            "delivery_count": number,
        }  # fmt: skip
        self.told.settle(found, np.full(len(offsets), accepted))

    def answer(self, topic: int, offsets: set[int], error: KafkaException | None = None) -> list[tuple[Any, ...]]:
        self.told.on_answer({TopicPartition(TOPICS[topic], 0): offsets}, error)
        return self.rows()

    def is_open(self) -> bool:
        return self.told.is_open

    def rows(self) -> list[tuple[Any, ...]]:
        block, count = self.told.answered()
        names = ("topic", "offset", "seq", "attempt", "outcome")
        return sorted(zip(*(block[name] for name in names), strict=True)) if count else []


@pytest.fixture
def polled() -> Polled:
    return Polled()


def test_answers_may_come_in_parts_and_together(polled: Polled) -> None:
    """Of each topic those that were told of it; the client polls when all is told, not when all is answered."""
    polled.settle(0, [0, 1, 2])
    polled.settle(0, [3, 4], accepted=False)
    assert polled.is_open()
    polled.settle(1, [0, 1, 2, 3, 4])
    assert not polled.is_open()
    assert polled.answer(1, {4}) == [(1, 4, 14, 1, "accepted")]
    assert polled.answer(0, {1, 3}) == [(0, 1, 11, 1, "accepted"), (0, 3, 13, 1, "released")]
    assert polled.answer(0, {0, 2, 4, 77}) == [
        (0, 0, 10, 1, "accepted"), (0, 2, 12, 1, "accepted"), (0, 4, 14, 1, "released"),
    ]  # fmt: skip
    assert polled.answer(0, {0, 99}) == []
    assert len(polled.answer(1, {0, 1, 2, 3})) == 4
    assert polled.told.finish() == ({}, 0)


def test_of_one_offset_the_first_answer_is_for_what_was_told_first(polled: Polled) -> None:
    """It was too late, and the message came again before the broker had said so."""
    polled.settle(0, [2])
    polled.told._open[0, 0][2] = 2
    polled.settle(0, [2], number=2)
    assert polled.answer(0, {2}, REFUSED) == [(0, 2, 12, 1, "timed_out")]
    assert polled.answer(0, {2}) == [(0, 2, 12, 2, "accepted")]


@pytest.mark.parametrize("accepted", [True, False])
def test_what_is_told_when_the_lock_is_over_is_not_taken(polled: Polled, accepted: bool) -> None:
    """The broker says nothing against it where the message has a final outcome already."""
    polled.settle(0, [0, 1], accepted)
    polled.told._until_ns = 0
    polled.settle(0, [2, 3], accepted)
    in_time = "accepted" if accepted else "released"
    assert polled.answer(0, {0, 1, 2, 3}) == [
        (0, 0, 10, 1, in_time), (0, 1, 11, 1, in_time), (0, 2, 12, 1, "timed_out"), (0, 3, 13, 1, "timed_out"),
    ]  # fmt: skip


def test_an_error_that_tells_no_outcome_leaves_deliveries_unanswered(polled: Polled) -> None:
    polled.settle(0, [0, 1])
    assert polled.answer(0, {0, 1}, BROKEN) == []
    assert polled.told.finish() == ({}, 0)


def test_messages_that_went_to_another_consumer_are_not_waited_for(polled: Polled) -> None:
    polled.client.is_gone = True
    for topic in (0, 1):
        polled.settle(topic, [0, 1, 2, 3, 4])
    assert not polled.is_open()
    assert polled.told.finish() == ({}, 0)


@pytest.mark.parametrize("is_written", [True, False])
def test_the_last_delivery_is_over_when_its_dead_letter_is(is_written: bool) -> None:
    """One that cannot be written leaves the message to the broker, which archives it."""
    polled = Polled(letters=True)
    polled.settle(0, [0, 1, 2, 3], accepted=False, number=2)
    polled.settle(0, [4], accepted=False, number=3)
    polled.settle(1, [0, 1, 2, 3, 4], number=3)
    assert polled.is_open()
    assert {offset for offset, way in polled.client.told if way == ck.AcknowledgeType.RELEASE} == {0, 1, 2, 3}
    (written,) = polled.letters.asked
    written(is_written)
    assert not polled.is_open()
    way = ck.AcknowledgeType.REJECT if is_written else ck.AcknowledgeType.RELEASE
    assert polled.client.told[-1] == (4, way)
    dead = [(0, 4, 14, 3, "dead_letter")] if is_written else []
    assert polled.rows() == dead
    assert polled.answer(0, {4}) == [(0, 4, 14, 3, "rejected" if is_written else "released")]
