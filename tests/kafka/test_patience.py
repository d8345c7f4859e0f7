"""Which answers of a cluster are asked for again, and for how long."""

from collections.abc import Callable, Iterator
from functools import partial
from threading import Barrier, Event, active_count

import pytest
from confluent_kafka import KafkaError, KafkaException
from tests.waiting import until

from streamgauge.domain.errors import Interrupted
from streamgauge.kafka.patience import is_passing, patiently
from streamgauge.processes.patience import awaited, let_go, side_by_side

FENCED = "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their log directories cordoned."  # fmt: skip # noqa: E501
TOO_FEW = "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered."  # fmt: skip # noqa: E501


@pytest.mark.parametrize(
    ("code", "text", "passing"),
    [
        (KafkaError.NOT_COORDINATOR, None, True),
        (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, None, True),
        (KafkaError.KAFKA_STORAGE_ERROR, None, True),
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


@pytest.fixture
def stuck() -> Iterator[Callable[[], str]]:
    """A call that returns when the test is over, as one of librdkafka does that waits for a broker."""
    over = Event()

    def wait() -> str:
        over.wait(60)
        return "over"

    yield wait
    over.set()


def asked_often(times: int) -> Callable[[], None]:
    """A check that gives up when it is asked for the last time."""
    left = list(range(times))

    def check() -> None:
        left.pop()
        if not left:
            raise Interrupted("enough")

    return check


def test_a_call_that_waits_can_be_given_up(stuck: Callable[[], str]) -> None:
    with pytest.raises(Interrupted, match="enough"):
        awaited(stuck, asked_often(3))


def test_what_a_call_returns_and_raises_comes_through() -> None:
    assert awaited(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        awaited(lambda: 1 // 0)


def test_patience_ends_with_its_check() -> None:
    """Else a cluster that is not ready would be asked again for as long as it is not."""
    with pytest.raises(Interrupted, match="enough"):
        patiently(answering(*[KafkaError.NOT_COORDINATOR] * 9), 60, asked_often(3))


def test_calls_side_by_side_are_so_many_at_once_and_answered_in_order() -> None:
    pairs = Barrier(2)

    def meet(number: int) -> int:
        pairs.wait(20)
        return number

    assert side_by_side([partial(meet, number) for number in range(6)], 2) == list(range(6))
    assert side_by_side([], 2) == []


def test_after_a_failure_or_the_end_of_patience_no_call_is_begun() -> None:
    begun, over, threads = list[int](), Event(), active_count()

    def fail() -> None:
        raise ZeroDivisionError

    def wait() -> None:
        over.wait(60)

    others: list[Callable[[], None]] = [partial(begun.append, number) for number in range(9)]
    with pytest.raises(ZeroDivisionError):
        side_by_side([fail, *others], 1)
    with pytest.raises(Interrupted):
        side_by_side([wait, *others], 1, asked_often(2))
    over.set()
    until(lambda: active_count() == threads)

    assert begun == []


def test_clients_are_let_go_side_by_side_and_not_waited_for(stuck: Callable[[], str]) -> None:
    """A consumer of a broker that is dead or paused closes in 45 s, in minutes, or never."""
    closed: list[str] = []

    assert let_go([partial(closed.append, "one"), partial(closed.append, "two")])
    assert sorted(closed) == ["one", "two"]
    assert not let_go([stuck, partial(closed.append, "three")], 0.05)
    assert closed[-1] == "three"
