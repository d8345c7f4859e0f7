"""Requests that are sent again: what a client must do in between."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streamgauge.domain.errors import BrokerError
from streamgauge.kafka import asking
from streamgauge.kafka.asking import Asker


class Admin:
    """Asks with the leaders that it knows, until it is told to look for others."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.knows_leader = False

    def list_topics(self, *, timeout: float) -> None:
        self.knows_leader = True

    def poll(self, _: float) -> None:
        """Nothing was said."""

    def send(self, asked: Any, *, request_timeout: float) -> dict[Any, Future[Any]]:
        answer: Future[Any] = Future()
        if self.knows_leader:
            answer.set_result(7)
        else:
            answer.set_exception(KafkaException(KafkaError(self.code)))
        return {asked: answer}


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError._NOENT,
    ],
)
def test_a_client_that_knows_an_old_leader_looks_for_the_new_one(code: int) -> None:
    """A broker that was killed comes back with another epoch, and the client would not ask for it by itself.

    One that gave up the directory of a log leads it no longer, either.
    """
    asker = Asker({"bootstrap.servers": "127.0.0.1:1"}, 1, 1)
    asker.admin = admin = Admin(code)

    assert asker.ask("ends", admin.send, "t") == {"t": 7}


def test_who_asks_once_is_told_the_error_and_finds_the_leader_the_next_time() -> None:
    asker = Asker({"bootstrap.servers": "127.0.0.1:1"}, 1, 0)
    asker.admin = admin = Admin(KafkaError.FENCED_LEADER_EPOCH)

    with pytest.raises(BrokerError, match=r"^ends: "):
        asker.ask("ends", admin.send, "t")
    assert asker.ask("ends", admin.send, "t") == {"t": 7}


@pytest.mark.parametrize("patience_seconds", [0, 60])
def test_a_request_that_never_ends_is_told_in_time_and_the_next_one_has_another_client(
    patience_seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As librdkafka's for the coordinator of a group, while brokers restart."""
    monkeypatch.setattr(asking, "_GRACE_SECONDS", 0.0)
    asker = Asker({"bootstrap.servers": "127.0.0.1:1"}, 0.05, patience_seconds)
    before, never = asker.admin, Future[Any]()

    with pytest.raises(BrokerError, match=r"^the coordinator: the client did not answer"):
        asker.ask("the coordinator", lambda asked, **_: {asked: never}, "group")
    assert asker.admin is not before
