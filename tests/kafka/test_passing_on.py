"""Messages of others that are written again, in any size; no cluster is asked."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import confluent_kafka as ck
import pytest

from streamgauge.domain.blocks import Settings
from streamgauge.domain.query import QuerySpec
from streamgauge.kafka.carriers.markers.clients import ANY_PARTITION, PASSES_ON, hand_over
from streamgauge.kafka.carriers.share.letters import DeadLetters
from streamgauge.kafka.forward import Forwarder
from streamgauge.kafka.offsets import KafkaOffsets

NOWHERE: Settings = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


class Large:
    """A message that is larger than librdkafka writes by default."""

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7

    def key(self) -> None:
        """None."""

    def value(self) -> bytes:
        return bytes(2 << 20)

    def headers(self) -> None:
        """None."""


@pytest.mark.parametrize(("settings", "refused"), [({}, ["MSG_SIZE_TOO_LARGE"]), (PASSES_ON, [])])
def test_a_message_that_the_client_refuses_is_told_of(settings: dict[str, Any], refused: list[str]) -> None:
    """As one that a broker refuses: whoever hands it over is not ended by it."""
    told: list[str] = []
    producer = ck.Producer({**settings, **NOWHERE})

    hand_over(producer, "t", bytes(2 << 20), None, ANY_PARTITION, lambda error, _message: told.append(error.name()))

    assert told == refused
    producer.purge()


def test_a_large_message_becomes_a_dead_letter() -> None:
    letters, told = DeadLetters(NOWHERE, "consumer-0"), list[bool]()

    letters.write(Large(), 3, told.append)

    assert (letters.waiting, told) == (1, [])


def test_a_plain_client_passes_large_messages_on(
    make_spec: Callable[..., QuerySpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KafkaOffsets, "committed", lambda *_: [None, None])
    with closing(Forwarder(make_spec(engine="client", starts=(3, 4), connection=NOWHERE))) as forwarder:
        forwarder._pass(Large())

        assert forwarder._batch.sent == 1
