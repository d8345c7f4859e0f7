"""Which answers of a cluster are asked for again, and for how long."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException

from streamgauge.kafka.patience import is_passing, patiently

FENCED = "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their log directories cordoned."  # fmt: skip # noqa: E501
TOO_FEW = "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered."  # fmt: skip # noqa: E501


@pytest.mark.parametrize(
    ("code", "text", "passing"),
    [
        (KafkaError.NOT_COORDINATOR, None, True),
        (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, None, True),
        (KafkaError.INVALID_REPLICATION_FACTOR, FENCED, True),
        (KafkaError.INVALID_REPLICATION_FACTOR, TOO_FEW, False),
        (KafkaError.TOPIC_ALREADY_EXISTS, "the fenced one", False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, None, False),
    ],
)
def test_what_passes(code: int, text: str | None, passing: bool) -> None:
    assert is_passing(KafkaError(code, text)) is passing


def answering(*codes: int) -> Callable[[], int]:
    """Fails once with each code, then says how often it was asked."""
    left = list(codes)

    def once() -> int:
        if left:
            raise KafkaException(KafkaError(left.pop(0)))
        return len(codes) + 1

    return once


def test_it_asks_until_there_is_an_answer() -> None:
    assert patiently(answering(KafkaError.NOT_COORDINATOR, KafkaError.NOT_COORDINATOR), 30) == 3


@pytest.mark.parametrize(
    ("codes", "seconds"),
    [((KafkaError.NOT_COORDINATOR,) * 3, 0), ((KafkaError.TOPIC_ALREADY_EXISTS,), 30)],
    ids=["too-late", "will-not-pass"],
)
def test_it_gives_up(codes: tuple[int, ...], seconds: float) -> None:
    with pytest.raises(KafkaException) as raised:
        patiently(answering(*codes), seconds)

    assert raised.value.args[0].code() == codes[0]
