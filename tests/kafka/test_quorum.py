"""The client of controller and followers: what it says where nobody answers."""

import gc
import socket
import threading

import pytest
from tests.waiting import until

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.metadata.quorum import KafkaQuorum


def test_where_nobody_listens_there_is_one_clear_error_and_no_thread_is_left() -> None:
    before = threading.active_count()
    with socket.socket() as bound:
        # Bound, and not listening: nobody else takes the port, and nobody answers on it.
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        quorum = KafkaQuorum(ClientSpec("test", ("t",), {"bootstrap.servers": f"127.0.0.1:{port}"}), 3, 0.2)
        with pytest.raises(BrokerError, match="followers were not read"):
            quorum.look()
        quorum.close()
    until(lambda: threading.active_count() <= before)
    del quorum
    gc.collect()
