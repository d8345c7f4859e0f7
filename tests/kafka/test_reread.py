"""When a partition that is read again has been read to its end; no cluster is asked."""

from dataclasses import dataclass

import pytest
from confluent_kafka import KafkaError

from streamgauge.kafka.reread import _wanted


@dataclass(frozen=True)
class Polled:
    """A message, or the end of a partition."""

    at: int
    is_end: bool = False

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self.is_end else None

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at


@pytest.mark.parametrize(
    ("polled", "found", "is_read"),
    [
        ([Polled(3), Polled(4)], [3, 4], True),
        ([Polled(3), Polled(5)], [3], True),
        # Behind the last message lies the end of a transaction.
        ([Polled(3), Polled(5, is_end=True)], [3], True),
        # A transaction is open, or another leader has less: what is behind may still come.
        ([Polled(3), Polled(4, is_end=True)], [3], False),
        ([Polled(3), Polled(4, is_end=True), Polled(5, is_end=True)], [3], True),
    ],
)
def test_a_partition_is_read_once_its_end_is_reached(polled: list[Polled], found: list[int], is_read: bool) -> None:
    left = {0: 5}

    assert [message.offset() for message in _wanted(polled, left)] == found
    assert (left == {}) is is_read
