"""Connections to a cluster, made for their own sake: opened, held and used; every failure is the name of an error.

What they cost, measured on two cores: opening one over a plain socket takes 0.15 ms of CPU and less than a millisecond;
a client with its metadata 1.6 ms of CPU and 3 ms. A client of librdkafka that is held has three to four threads and
0.4 MB; a hundred of them use a seventieth of a core while they are idle, and 0.2 to 0.6 ms for each use.
"""

import errno
import json
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import confluent_kafka as ck
import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.kafka.clients.messages import log, note_error, words_of
from streamgauge.kafka.clients.settings import Settings
from streamgauge.processes.patience import let_go
from streamgauge.scenario.model.connections import TIMEOUT_SECONDS, ConnectionKind

REACH_SECONDS: Final = 15.0
Address = tuple[int, Any]
"""Family and address, as sockets take them."""
Ended = tuple[int, str | None]
"""When an operation was answered or failed, on the monotonic clock; and the name of the error if it failed."""
_PLAIN: Final = "plaintext"
_API_VERSIONS: Final = 18
_REQUEST: Final = struct.Struct(">ihhih")
"""Length, key and version of the request, number of the request, length of the client's name, which follows."""
_ANSWER: Final = struct.Struct(">iih")
"""Length, number of the request, error; what the broker speaks follows."""
_LENGTH_BYTES: Final = 4
# Names of librdkafka's own errors.
_TIMED_OUT: Final = "_TIMED_OUT"
_TRANSPORT: Final = "_TRANSPORT"
_NONE_LEFT: Final = "_ALL_BROKERS_DOWN"
_AT_END: Final = "_PARTITION_EOF"
_QUIET: Final = {"log_level": 0}
"""Failures are rows; a line in the log for each attempt would add nothing."""
_ONCE: Final = {**_QUIET, "enable.sparse.connections": False}
"""A client that connects only where it must waits for 50 ms between its first two connections, which would hide
what the cluster takes. This one connects to every broker at once."""
_AT_ITS_END: Final = {
    **_QUIET,
    "group.id": "none",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    # Where there is nothing to read, the broker answers at once.
    "fetch.wait.max.ms": 0,
    # Beside a load, it fetches what one answer holds and no more.
    "queued.min.messages": 1,
    "max.partition.fetch.bytes": 1024,
    # An answer that is not fetched from the queue yet keeps the next one waiting: by default for a second.
    "fetch.queue.backoff.ms": 1,
}

# The module does not say which of its names are meant for others, so that mypy takes none of them.
_admin: Final[Any] = confluent_kafka.admin


class KafkaConnections:
    """Connections to the cluster and the first topic of `spec`; raises BrokerError when no broker answers."""

    def __init__(self, spec: ClientSpec, reach_seconds: float = REACH_SECONDS) -> None:
        self._settings = spec.settings
        self._topic = spec.topics[0]
        self._held: dict[tuple[ConnectionKind, int], _Asking | _Polling] = {}
        try:
            client = _admin.AdminClient({**spec.settings, "error_cb": note_error}, logger=log)
            brokers = client.list_topics(self._topic, timeout=reach_seconds).brokers.values()
        except KafkaException as error:
            raise BrokerError(f"{spec.worker}: {words_of(error)}") from error
        self._opener = opener_of(spec, [(each.host, each.port) for each in brokers])

    def use(self, kind: ConnectionKind, number: int) -> Ended:
        """Carry out one operation; what it leaves is closed after it has ended."""
        try:
            match kind:
                case ConnectionKind.OPEN:
                    return self._opener.open(number)
                case ConnectionKind.METADATA:
                    client = _Asking(_admin.AdminClient, {**self._settings, **_ONCE}, self._topic)
                    return client.use(TIMEOUT_SECONDS[kind])
                case _:
                    return self._use_held(kind, number)
        except KafkaException as error:
            return _ended(_name_of(error))

    def close(self) -> None:
        """Close what is held."""
        while self._held:
            self._held.popitem()[1].close()

    def _use_held(self, kind: ConnectionKind, number: int) -> Ended:
        held = self._held.get((kind, number))
        if held is None:
            settings = {**self._settings, **_QUIET}
            if kind is ConnectionKind.HOLD_CONSUMER:
                held = _Polling(settings, self._topic, number)
            else:
                held = _Asking(
                    ck.Producer if kind is ConnectionKind.HOLD_PRODUCER else _admin.AdminClient, settings, self._topic
                )
            self._held[kind, number] = held
        ended = held.use(TIMEOUT_SECONDS[kind])
        if ended[1]:
            del self._held[kind, number]
            held.close()
        return ended


class PlainOpener:
    """Opens plain connections to these addresses in turn; each asks which requests its broker knows."""

    def __init__(self, addresses: Sequence[Address], client: str) -> None:
        self._addresses = addresses
        name = client.encode()
        self._request = _REQUEST.pack(_REQUEST.size - _LENGTH_BYTES + len(name), _API_VERSIONS, 0, 0, len(name)) + name

    def open(self, number: int) -> Ended:
        """Open a connection, ask, read all of the answer, and close."""
        family, address = self._addresses[number % len(self._addresses)]
        limit_ns = _limit_ns(TIMEOUT_SECONDS[ConnectionKind.OPEN])
        try:
            with socket.socket(family, socket.SOCK_STREAM) as connection:
                connection.settimeout(_left(limit_ns))
                connection.connect(address)
                connection.sendall(self._request)
                length, _, error = _ANSWER.unpack(_read(connection, _ANSWER.size, limit_ns))
                _read(connection, length + _LENGTH_BYTES - _ANSWER.size, limit_ns)
                return _ended(str(KafkaError(error).name()) if error else None)
        except TimeoutError:
            return _ended(_TIMED_OUT)
        except OSError as failure:
            return _ended(errno.errorcode.get(failure.errno or 0, _TRANSPORT))


class SecuredOpener:
    """Opens connections that are encrypted or authenticated: librdkafka does that, and tells when one is up.

    It tells once in a millisecond, and takes a whole client for each: 1.1 ms of CPU.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, _number: int) -> Ended:
        """Make a client, wait until a broker has answered it, and close it."""
        noted, is_up = NotedUse(), _IsUp()
        own = {**_QUIET, "statistics.interval.ms": 1, "stats_cb": is_up, "error_cb": noted}
        client = _admin.AdminClient({**self._settings, **own})
        limit_ns = _limit_ns(TIMEOUT_SECONDS[ConnectionKind.OPEN])
        while not is_up.known and noted.name is None and (left := _left(limit_ns)):
            client.poll(left)
        return _ended(None if is_up.known else noted.name or _TIMED_OUT)


def opener_of(spec: ClientSpec, brokers: Iterable[tuple[str, int]]) -> PlainOpener | SecuredOpener:
    """What opens connections to these brokers, given by host and port; raises BrokerError where one takes none."""
    settings = spec.settings
    if str(settings.get("security.protocol", _PLAIN)).lower() != _PLAIN:
        return SecuredOpener(settings)
    addresses = [_address(spec.worker, host, port) for host, port in brokers]
    return PlainOpener(addresses, str(settings.get("client.id", spec.worker)))


def _address(worker: str, host: str, port: int) -> Address:
    """The address at which a broker answers, looked up once: names are no part of what is measured."""
    try:
        with socket.create_connection((host, port), REACH_SECONDS) as connection:
            return connection.family, connection.getpeername()
    except OSError as error:
        raise BrokerError(f"{worker}: the broker at {host}:{port} refuses connections: {error}") from error


def _read(connection: socket.socket, count: int, limit_ns: int) -> bytes:
    """So many bytes; TimeoutError when they are not there in time, OSError when the broker hangs up before."""
    found = b""
    while len(found) < count:
        left = _left(limit_ns)
        if not left:
            raise TimeoutError
        connection.settimeout(left)
        more = connection.recv(count - len(found))
        if not more:
            raise OSError("the broker closed the connection")
        found += more
    return found


def _ended(error_name: str | None) -> Ended:
    return monotonic_ns(), error_name


def _limit_ns(seconds: float) -> int:
    return monotonic_ns() + int(seconds * NS_PER_SECOND)


def _left(limit_ns: int) -> float:
    """Seconds until then; 0 when it is over."""
    return max(0, limit_ns - monotonic_ns()) / NS_PER_SECOND


class NotedUse:
    """Notes the first error that a client tells and that says more than that no broker is left.

    It does not know its client: a ring of references would keep a client that nobody holds.
    """

    def __init__(self) -> None:
        self.name: str | None = None

    def __call__(self, error: KafkaError) -> None:
        """Note it."""
        if self.name is None and error.name() != _NONE_LEFT:
            self.name = error.name()

    def forget(self) -> None:
        """What was told so far is over."""
        self.name = None


class _IsUp:
    """Learns from a client's statistics that a broker has answered; one with a number was told of by another."""

    def __init__(self) -> None:
        self.known = False

    def __call__(self, statistics: str) -> None:
        brokers = json.loads(statistics)["brokers"].values()
        self.known = self.known or any(broker["state"] == "UP" or broker["nodeid"] >= 0 for broker in brokers)


class _Asking:
    """A client that asks for the topic's metadata.

    Not for a description of the cluster: a request of the administrator during which the connection breaks can abort
    the process (librdkafka's issue 4605).
    """

    def __init__(self, make: Callable[[dict[str, Any]], Any], settings: Settings, topic: str) -> None:
        self._noted = NotedUse()
        self._topic = topic
        self._client = make({**settings, "error_cb": self._noted})

    def use(self, seconds: float) -> Ended:
        """Ask."""
        return _ended(partitions_of(self._client, self._topic, seconds, self._noted)[1])

    def close(self) -> None:
        """Nothing to do: it is closed with the last reference to it."""


class _Polling:
    """A consumer of no group, which polls one partition at its end."""

    def __init__(self, settings: Settings, topic: str, number: int) -> None:
        self._noted = NotedUse()
        self._topic, self._number = topic, number
        self._place: TopicPartition | None = None
        self._client = ck.Consumer({**settings, **_AT_ITS_END, "error_cb": self._noted})

    def use(self, seconds: float) -> Ended:
        """Ask where the partition ends, and fetch from there: a message is an answer, and so is the end."""
        limit_ns = _limit_ns(seconds)
        self._noted.forget()
        if self._place is None:
            # What is assigned before its leader is known is looked for again half a second later.
            partitions, error_name = partitions_of(self._client, self._topic, seconds, self._noted)
            if error_name:
                return _ended(error_name)
            self._place = TopicPartition(self._topic, self._number % partitions, ck.OFFSET_END)
        try:
            self._client.assign([self._place])
            answer = self._client.poll(_left(limit_ns))
            ended = _ended(self._noted.name or _TIMED_OUT if answer is None else _error_of(answer))
            self._client.unassign()
        except KafkaException as error:
            return _ended(_name_of(error))
        return ended

    def close(self) -> None:
        """Close it; there is no group to leave."""
        let_go([self._client.close])


def _error_of(answer: Any) -> str | None:
    error = answer.error()
    return None if error is None or error.name() == _AT_END else str(error.name())


def partitions_of(client: Any, topic: str, seconds: float, noted: NotedUse) -> tuple[int, str | None]:
    """How many partitions a topic has, and the name of the error if the cluster did not tell."""
    client.poll(0)
    noted.forget()
    try:
        found = client.list_topics(topic, timeout=seconds).topics[topic]
    except KafkaException as error:
        client.poll(0)
        # The client says that much too when nobody answered at all.
        name = _name_of(error)
        return 0, noted.name or (_TIMED_OUT if name == _TRANSPORT else name)
    return len(found.partitions), None if found.error is None else str(found.error.name())


def _name_of(error: KafkaException) -> str:
    return str(error.args[0].name())
