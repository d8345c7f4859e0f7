"""What is asked about leaders where nobody answers: an error in bounded time, and nothing that goes on."""

import socket
import threading
from collections.abc import Callable

import pytest

from streamgauge.domain import clock
from streamgauge.domain.blocks import PartitionPlace
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.metadata.leadership import KafkaLeadership

SECONDS = 0.3
CALLS: list[tuple[Callable[[KafkaLeadership], object], str]] = [
    (lambda asked: asked.controller(), "the controller could not be determined"),
    (lambda asked: asked.reassign({PartitionPlace("t", 0): (1, 2)}), "replicas could not be reassigned"),
    (lambda asked: asked.elect_preferred([PartitionPlace("t", 0)]), "preferred leaders could not be elected"),
    (lambda asked: asked.coordinator("g"), "the coordinator of g could not be determined"),
    (lambda asked: asked.partitions(), "leaders were not read"),
]


@pytest.mark.parametrize(("call", "what"), CALLS)
def test_nobody_who_answers_is_an_error_soon(call: Callable[[KafkaLeadership], object], what: str) -> None:
    """Also where a connection is accepted, as by a paused broker, and nothing is said."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(5)
        asked = KafkaLeadership({"bootstrap.servers": f"127.0.0.1:{silent.getsockname()[1]}"}, ("t",), SECONDS)
        begun_ns = clock.monotonic_ns()

        with pytest.raises(BrokerError, match=what):
            call(asked)

        assert clock.monotonic_ns() - begun_ns < 20 * clock.NS_PER_SECOND
    assert not [each for each in threading.enumerate() if each.name.startswith("kafka-io")]
