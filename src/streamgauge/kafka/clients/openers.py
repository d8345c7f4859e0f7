"""Connections that are opened and closed: over a plain socket, or by a client of librdkafka where they are secured."""

import errno
import json
import socket
import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final

import confluent_kafka.admin
from confluent_kafka import KafkaError

from streamgauge.domain.blocks import TIMEOUT_SECONDS, ClientSpec, ConnectionKind, Settings
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError

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
TIMED_OUT: Final = "_TIMED_OUT"

TRANSPORT: Final = "_TRANSPORT"

_NONE_LEFT: Final = "_ALL_BROKERS_DOWN"

QUIET: Final = {"log_level": 0}
"""Failures are rows; a line in the log for each attempt would add nothing."""

# The module does not say which of its names are meant for others, so that mypy takes none of them.
admin: Final[Any] = confluent_kafka.admin


class PlainOpener:
    """Opens plain connections to these addresses in turn; each asks which requests its broker knows."""

    def __init__(self, addresses: Sequence[Address], client: str) -> None:
        self._addresses = addresses
        name = client.encode()
        self._request = _REQUEST.pack(_REQUEST.size - _LENGTH_BYTES + len(name), _API_VERSIONS, 0, 0, len(name)) + name

    def open(self, number: int) -> Ended:
        """Open a connection, ask, read all of the answer, and close."""
        family, address = self._addresses[number % len(self._addresses)]
        limit_ns = limit_after(TIMEOUT_SECONDS[ConnectionKind.OPEN])
        try:
            with socket.socket(family, socket.SOCK_STREAM) as connection:
                connection.settimeout(seconds_until(limit_ns))
                connection.connect(address)
                connection.sendall(self._request)
                length, _, error = _ANSWER.unpack(_read(connection, _ANSWER.size, limit_ns))
                _read(connection, length + _LENGTH_BYTES - _ANSWER.size, limit_ns)
                return ended_now(str(KafkaError(error).name()) if error else None)
        except TimeoutError:
            return ended_now(TIMED_OUT)
        except OSError as failure:
            return ended_now(errno.errorcode.get(failure.errno or 0, TRANSPORT))


class SecuredOpener:
    """Opens connections that are encrypted or authenticated: librdkafka does that, and tells when one is up.

    It tells once in a millisecond, and takes a whole client for each: 1.1 ms of CPU.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, _number: int) -> Ended:
        """Make a client, wait until a broker has answered it, and close it."""
        noted, is_up = NotedUse(), _IsUp()
        own = {**QUIET, "statistics.interval.ms": 1, "stats_cb": is_up, "error_cb": noted}
        client = admin.AdminClient({**self._settings, **own})
        limit_ns = limit_after(TIMEOUT_SECONDS[ConnectionKind.OPEN])
        while not is_up.known and noted.name is None and (left := seconds_until(limit_ns)):
            client.poll(left)
        return ended_now(None if is_up.known else noted.name or TIMED_OUT)


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
        left = seconds_until(limit_ns)
        if not left:
            raise TimeoutError
        connection.settimeout(left)
        more = connection.recv(count - len(found))
        if not more:
            raise OSError("the broker closed the connection")
        found += more
    return found


def ended_now(error_name: str | None) -> Ended:
    """It ended now, with that error if there is one."""
    return monotonic_ns(), error_name


def limit_after(seconds: float) -> int:
    """The moment so many seconds from now."""
    return monotonic_ns() + int(seconds * NS_PER_SECOND)


def seconds_until(limit_ns: int) -> float:
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
