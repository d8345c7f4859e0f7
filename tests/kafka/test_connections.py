"""Connections made for their own sake: against librdkafka's mock cluster, and against what is no broker."""

import errno
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka import KafkaError, KafkaException
from tests.waiting import until

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.blocks import TIMEOUT_SECONDS, ClientSpec, ConnectionKind
from streamgauge.domain.clock import monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.connections import KafkaConnections, partitions_of
from streamgauge.kafka.clients.openers import NotedUse, PlainOpener, SecuredOpener, opener_of
from streamgauge.scenario import Setting

HELD = (ConnectionKind.HOLD_PRODUCER, ConnectionKind.HOLD_CONSUMER, ConnectionKind.HOLD_METADATA)
SHORT = 0.05
TASKS = Path("/proc/self/task")
Server = Callable[[socket.socket], None]


@pytest.fixture
def mock_cluster() -> Iterator[str]:
    mock = ck.Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = mock.list_topics("t", timeout=30).brokers.values()
    yield f"{broker.host}:{broker.port}"
    mock.flush(0)


@pytest.fixture
def connections(mock_cluster: str) -> Iterator[KafkaConnections]:
    opened = KafkaConnections(ClientSpec("connector-0", ("t",), {"bootstrap.servers": mock_cluster}))
    yield opened
    opened.close()


@contextmanager
def served_by(answer: Server) -> Iterator[tuple[int, Any]]:
    """The address of a server that takes one connection and does with it what is asked."""

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        try:
            yield listener.family, listener.getsockname()
        finally:
            server.join(30)


def threads() -> int:
    """Threads of this process, those of clients among them."""
    return len(list(TASKS.iterdir()))


@pytest.mark.parametrize("kind", ConnectionKind)
def test_every_kind_is_answered_again_and_again(connections: KafkaConnections, kind: ConnectionKind) -> None:
    """And tells when that was."""
    for number in (0, 1, 0, 1):
        began_ns = monotonic_ns()
        ended_ns, error = connections.use(kind, number)
        assert error is None
        assert began_ns < ended_ns <= monotonic_ns()


def test_an_answer_is_read_to_its_end(mock_cluster: str) -> None:
    """So that the broker sees a connection that is closed, not one that is broken."""
    host, port = mock_cluster.split(":")
    opener = PlainOpener([(socket.AF_INET, (host, int(port)))], "client")

    assert [opener.open(number)[1] for number in range(50)] == [None] * 50


def test_brokers_have_their_turns() -> None:
    """One connection each."""
    with served_by(lambda _: None) as one, served_by(lambda _: None) as other:
        opener = PlainOpener([one, other], "client")
        assert [opener.open(number)[1] for number in (0, 1)] == ["_TRANSPORT", "_TRANSPORT"]


def silent(connection: socket.socket) -> None:
    """Say nothing until the other side gives up."""
    connection.recv(1)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (silent, "_TIMED_OUT"),
        (lambda connection: None, "_TRANSPORT"),
        (lambda connection: connection.sendall(b"\0\0\0\6\0\0\0\0\0\0"), None),
        (lambda connection: connection.sendall(b"\0\0\0\6\0\0\0\0\0\x23"), "UNSUPPORTED_VERSION"),
        (lambda connection: connection.sendall(b"\0\0\0\7\0\0\0\0\0\0"), "_TRANSPORT"),
        (lambda connection: connection.sendall(b"\0\0\0"), "_TRANSPORT"),
    ],
    ids=["silent", "hangs-up", "answers", "refuses", "cut-off", "cut-off-early"],
)
def test_what_a_broker_answers_is_told(monkeypatch: pytest.MonkeyPatch, answer: Server, error: str | None) -> None:
    """By the client's names, whatever it is."""
    if error == "_TIMED_OUT":
        monkeypatch.setitem(TIMEOUT_SECONDS, ConnectionKind.OPEN, SHORT)
    with served_by(answer) as address:
        assert PlainOpener([address], "client").open(0)[1] == error


def refused() -> tuple[str, int]:
    """An address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        return host, port


def test_a_port_where_nobody_listens() -> None:
    """The system's name of the error; with a client it is the client's."""
    host, port = refused()

    assert PlainOpener([(socket.AF_INET, (host, port))], "client").open(0)[1] == "ECONNREFUSED"
    assert SecuredOpener({"bootstrap.servers": f"{host}:{port}"}).open(0)[1] in {"_TRANSPORT", "_TIMED_OUT"}


def test_a_machine_without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as what it is."""

    def full(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(socket, "socket", full)

    assert PlainOpener([(socket.AF_INET, ("127.0.0.1", 9))], "client").open(0)[1] == "EMFILE"


def test_a_client_opens_what_is_secured(mock_cluster: str) -> None:
    """It tells when the broker has answered, and what went wrong where nobody speaks TLS."""
    assert SecuredOpener({"bootstrap.servers": mock_cluster}).open(0)[1] is None
    assert SecuredOpener({"bootstrap.servers": mock_cluster, "security.protocol": "ssl"}).open(0)[1] in {
        "_SSL",
        "_TRANSPORT",
        "_TIMED_OUT",
    }


@pytest.mark.parametrize(
    ("protocol", "opener"),
    [
        ({}, PlainOpener),
        ({"security.protocol": "PLAINTEXT"}, PlainOpener),
        ({"security.protocol": "ssl"}, SecuredOpener),
        ({"security.protocol": "sasl_plaintext"}, SecuredOpener),
    ],
)
def test_what_is_secured_is_not_opened_by_a_plain_socket(
    mock_cluster: str, protocol: dict[str, Setting], opener: type
) -> None:
    """The settings decide."""
    host, port = mock_cluster.split(":")
    spec = ClientSpec("connector-0", ("t",), {"bootstrap.servers": mock_cluster, **protocol})

    assert isinstance(opener_of(spec, [(host, int(port))]), opener)


def test_every_broker_must_take_connections() -> None:
    """One that is told of and cannot be reached from here would fail every time."""
    with pytest.raises(BrokerError, match=r"connector-0: the broker at 127\.0\.0\.1:\d+ refuses connections"):
        opener_of(ClientSpec("connector-0", ("t",), {}), [refused()])


def test_settings_that_no_client_takes_are_a_failure(mock_cluster: str) -> None:
    """Though they should have been refused before."""
    assert SecuredOpener({"bootstrap.servers": mock_cluster, "statistics.interval.ms": 1}).open(0)[1] is None
    connections = KafkaConnections(ClientSpec("connector-0", ("t",), {"bootstrap.servers": mock_cluster}))
    connections._settings = {"no.such.setting": 1}

    assert [connections.use(kind, 0)[1] for kind in (ConnectionKind.METADATA, *HELD)] == ["_INVALID_ARG"] * 4


def test_without_a_broker_it_cannot_begin() -> None:
    """A worker that never could do its work says so at once."""
    host, port = refused()

    with pytest.raises(BrokerError, match="connector-0"):
        KafkaConnections(ClientSpec("connector-0", ("t",), {"bootstrap.servers": f"{host}:{port}"}), SHORT)


@pytest.mark.parametrize("kind", [ConnectionKind.METADATA, *HELD])
def test_no_answer_is_a_failure(
    connections: KafkaConnections, monkeypatch: pytest.MonkeyPatch, kind: ConnectionKind
) -> None:
    """Within its time; a held connection is closed, and made again when it is used again."""
    reachable, (host, port) = connections._settings, refused()
    connections._settings = {"bootstrap.servers": f"{host}:{port}"}
    with monkeypatch.context() as patch:
        patch.setitem(TIMEOUT_SECONDS, kind, SHORT)
        assert connections.use(kind, 3)[1] in {"_TRANSPORT", "_TIMED_OUT"}
    assert connections._held == {}
    connections._settings = reachable

    assert connections.use(kind, 3)[1] is None
    assert list(connections._held) == [(kind, 3)] * (kind in HELD)


@dataclass
class Unanswered:
    """A client whose question fails, and which then tells of errors."""

    fails: int
    tells: tuple[int, ...]
    noted: NotedUse = field(default_factory=NotedUse)
    is_asked: bool = False

    def poll(self, _seconds: float) -> None:
        """Tell; before the question, of what is over."""
        for error in self.tells if self.is_asked else (KafkaError.SASL_AUTHENTICATION_FAILED,):
            self.noted(KafkaError(error))

    def list_topics(self, _topic: str, timeout: float) -> Any:
        """Fail."""
        self.is_asked = True
        raise KafkaException(KafkaError(self.fails))


@pytest.mark.parametrize(
    ("fails", "tells", "name"),
    [
        (KafkaError._TRANSPORT, (), "_TIMED_OUT"),
        (KafkaError._TRANSPORT, (KafkaError._ALL_BROKERS_DOWN,), "_TIMED_OUT"),
        (KafkaError._TRANSPORT, (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT), "_TRANSPORT"),
        (KafkaError._TRANSPORT, (KafkaError._SSL, KafkaError._TRANSPORT), "_SSL"),
        (KafkaError._TIMED_OUT, (KafkaError._RESOLVE,), "_RESOLVE"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, (), "TOPIC_AUTHORIZATION_FAILED"),
    ],
)
def test_a_failure_has_the_name_that_says_most(fails: int, tells: tuple[int, ...], name: str) -> None:
    """The question itself says little; what the client told since it was asked says why."""
    client = Unanswered(fails, tells)

    assert partitions_of(client, "t", 1, client.noted) == (0, name)


@pytest.mark.kafka
def test_a_broker_knows_what_it_does_not_have(broker: EmbeddedBroker, fresh_topic: Callable[[int], str]) -> None:
    """A topic that is not there is a failure by the broker's name; with one that is, all is answered."""
    settings: dict[str, Setting] = {"bootstrap.servers": broker.bootstrap, "allow.auto.create.topics": False}
    there = KafkaConnections(ClientSpec("connector-0", (fresh_topic(3),), settings))
    absent = KafkaConnections(ClientSpec("connector-0", ("never-made",), settings))

    assert [there.use(kind, 7)[1] for kind in ConnectionKind] == [None] * len(ConnectionKind)
    assert [absent.use(kind, 7)[1] for kind in ConnectionKind] == [None] + ["UNKNOWN_TOPIC_OR_PART"] * 4
    assert absent._held == {}
    there.close()


def test_a_held_consumer_takes_a_message_for_an_answer(connections: KafkaConnections, mock_cluster: str) -> None:
    """Beside a load there is not always an end to be reached; and nothing piles up that it did not ask for."""
    stop = threading.Event()
    producer = ck.Producer({"bootstrap.servers": mock_cluster, "linger.ms": 0})

    def load() -> None:
        while not stop.is_set():
            producer.produce("t", b"x" * 100, partition=0)
            producer.poll(0.001)

    loading = threading.Thread(target=load)
    loading.start()
    try:
        assert [connections.use(ConnectionKind.HOLD_CONSUMER, 0)[1] for _ in range(50)] == [None] * 50
    finally:
        stop.set()
        loading.join()
        producer.flush(10)


@pytest.mark.skipif(not TASKS.is_dir(), reason="threads are counted on Linux")
@pytest.mark.parametrize("kind", ConnectionKind)
def test_nothing_is_left_behind(mock_cluster: str, kind: ConnectionKind) -> None:
    """No client outlives its use, nor a held one the end: every one would keep its threads."""
    connections = KafkaConnections(ClientSpec("connector-0", ("t",), {"bootstrap.servers": mock_cluster}))
    before = threads()
    for number in range(5):
        assert connections.use(kind, number)[1] is None

    held = threads() - before
    connections.close()

    assert (held >= 10) == (kind in HELD)
    # The system takes a moment to forget a thread that has ended.
    until(lambda: threads() <= before)
