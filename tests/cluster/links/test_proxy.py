"""The proxy of links, on real sockets: what comes out of it is what was put in, however long that takes."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.waiting import until

from streamgauge.cluster.links.network import Network
from streamgauge.cluster.links.proxy import Link
from streamgauge.cluster.nodes.ports import PortTaken
from streamgauge.domain.clock import NS_PER_MS, monotonic_ns
from streamgauge.domain.errors import BrokerError
from streamgauge.scenario.model.environment.faults.links import LinkFault

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have one address of loopback only")

SECONDS: Final = 60
"""No socket waits longer."""
LINKS: Final = ("producers", "consumers")


class Ends:
    """A network with two links to one server."""

    def __init__(self, network: Network, server: socket.socket, port: int) -> None:
        self.network = network
        self.server = server
        self.port = port

    @contextmanager
    def connected(self, opener: str = "producers") -> Iterator[tuple[socket.socket, socket.socket]]:
        """Both ends of a connection through a link."""
        with ExitStack() as held:
            client = held.enter_context(closing(self.knock(opener)))
            accepted, _ = self.server.accept()
            accepted.settimeout(SECONDS)
            yield client, held.enter_context(closing(accepted))

    def knock(self, opener: str = "producers") -> socket.socket:
        """The client's end of a connection, which may go no further."""
        return socket.create_connection((f"127.78.0.{LINKS.index(opener)}", self.port), SECONDS)

    @contextmanager
    def under(self, kind: str, between: tuple[str, str] = ("producers", "broker-1"), **more: Any) -> Iterator[None]:
        """A fault of a link, while the block lasts."""
        fault = LinkFault.model_validate({"at": 0, "for": "1s", "kind": kind, "between": between, **more})
        self.network.begin(fault)
        try:
            yield
        finally:
            self.network.end(fault)


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    log = tmp_path_factory.mktemp("proxy") / "links.log"
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(SECONDS)
        port = server.getsockname()[1]
        links = [Link(name, "broker-1", f"127.78.0.{at}", port, "127.0.0.1", port) for at, name in enumerate(LINKS)]
        network = Network.start(links, {"clients": LINKS}, log)
        yield Ends(network, server, port)
        network.stop()
        assert not network.alive
        assert log.read_text() == ""


def heard(address: tuple[str, int]) -> bytes:
    """What a new connection hears; its reset may come before it is told to be open."""
    with closing(socket.create_connection(address, SECONDS)) as client:
        return client.recv(1)


def received(sock: socket.socket, size: int | None = None) -> bytes:
    """So many bytes, or all to the end of the stream."""
    found = bytearray()
    while (size is None or len(found) < size) and (data := sock.recv(1 << 16 if size is None else size - len(found))):
        found += data
    return bytes(found)


def echoed(client: socket.socket, server: socket.socket) -> None:
    """A word goes there and back."""
    for sender, receiver in ((client, server), (server, client)):
        sender.sendall(b"word")
        assert received(receiver, 4) == b"word"


def sent_aside(sock: socket.socket, chunks: list[bytes]) -> threading.Thread:
    """Send in a thread of its own, and end the stream."""

    def send() -> None:
        for chunk in chunks:
            sock.sendall(chunk)
        sock.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


CHUNKS = st.lists(st.integers(1, 200_000), max_size=6)
BLACK_HOLE: Final = {"kind": "black-hole"}
IMPAIRED: Final[list[dict[str, Any]]] = [
    {"kind": "delay", "delay": "3ms", "jitter": "3ms"},
    {"kind": "rate-limit", "rate": "20MB/s"},
    {"kind": "stall", "loss": 0.01, "delay": "2ms"},
    {"kind": "slow-close", "delay": "5ms"},
    BLACK_HOLE,
]


@settings(max_examples=25, deadline=None)
@given(there=CHUNKS, back=CHUNKS, faults=st.lists(st.sampled_from(IMPAIRED), max_size=4))
def test_a_stream_comes_out_as_it_went_in(
    ends: Ends, there: list[int], back: list[int], faults: list[dict[str, Any]]
) -> None:
    """In both directions at once, whatever begins and ends meanwhile; the end of one does not end the other."""
    recorded = [[bytes([place % 251]) * size for place, size in enumerate(sizes)] for sizes in (there, back)]
    with ends.connected() as (client, server), ExitStack() as last:
        sending = sent_aside(client, recorded[0])
        for fault in faults:
            with ends.under(**fault):
                pass
        if faults and faults[-1] != BLACK_HOLE:
            last.enter_context(ends.under(**faults[-1]))
        assert received(server) == b"".join(recorded[0])
        answering = sent_aside(server, recorded[1])
        assert received(client) == b"".join(recorded[1])
        for thread in (sending, answering):
            thread.join(SECONDS)


def test_who_sends_more_than_is_taken_waits(ends: Ends) -> None:
    """And nothing is lost of it."""
    piece, accepted = bytes(1 << 16), 0
    with ends.connected() as (client, server):
        client.settimeout(0.5)
        with suppress(TimeoutError):
            while accepted < 1 << 28:
                accepted += client.send(piece)
        assert accepted < 1 << 25
        client.settimeout(SECONDS)
        sending = sent_aside(client, [piece])
        assert len(received(server)) == accepted + len(piece)
        sending.join(SECONDS)


def test_a_cut_resets_what_is_connected_and_what_connects(ends: Ends) -> None:
    """On its link only, and not afterwards."""
    with ends.connected() as (client, server), ends.connected("consumers") as others:
        with ends.under("cut"):
            for sock in (client, server):
                with pytest.raises(ConnectionResetError):
                    sock.recv(1)
            with pytest.raises(ConnectionResetError):
                heard(("127.78.0.0", ends.port))
            echoed(*others)
        with ends.connected() as both:
            echoed(*both)


def test_a_cut_waits_for_nothing_that_was_sent(ends: Ends) -> None:
    with ends.connected() as (client, server):
        client.settimeout(0.5)
        with suppress(TimeoutError):
            while True:
                client.send(bytes(1 << 16))
        client.settimeout(SECONDS)
        looking = select.poll()
        looking.register(server, 0)
        with ends.under("cut"), pytest.raises(ConnectionResetError):
            client.recv(1)
        until(lambda: looking.poll(0))


@pytest.mark.parametrize(
    ("more", "passes"), [({}, ""), ({"one_way": True}, "back"), ({"between": ("broker-1", "producers")}, "")]
)
def test_a_black_hole_is_connected_and_silent(ends: Ends, more: dict[str, Any], passes: str) -> None:
    """What was sent into it arrives when it ends, as what TCP sends again; so do new connections."""
    with ends.connected() as (client, server), ends.connected("consumers") as others:
        with ends.under("black-hole", **more):
            client.sendall(b"there")
            server.sendall(b"back")
            if passes:
                assert received(client, 4) == b"back"
            with ends.connected() as (late, _):
                late.sendall(b"late")
                # What went through the other link since then would have been overtaken.
                for _ in range(20):
                    echoed(*others)
                for sock in (server, *([] if passes else [client])):
                    sock.setblocking(False)
                    with pytest.raises(BlockingIOError):
                        sock.recv(1)
                    sock.settimeout(SECONDS)
        assert received(server, 5) == b"there"
        assert passes or received(client, 4) == b"back"


@pytest.mark.parametrize(
    ("fault", "least_ms"),
    [
        ({"kind": "delay", "delay": "30ms"}, 60),
        ({"kind": "delay", "delay": "30ms", "one_way": True}, 30),
        ({"kind": "stall", "loss": 1.0, "delay": "40ms", "one_way": True}, 40),
        ({"kind": "rate-limit", "rate": "200kB/s", "one_way": True}, 80),
        ({"kind": "slow-close", "delay": "50ms", "one_way": True}, 50),
    ],
)
def test_an_impairment_takes_its_time(ends: Ends, fault: dict[str, Any], least_ms: int) -> None:
    """20 kB there, the end of the stream, and a byte back."""
    with ends.connected() as (client, server), ends.under(**fault):
        began_ns = monotonic_ns()
        client.sendall(bytes(20_000))
        client.shutdown(socket.SHUT_WR)
        assert len(received(server)) == 20_000
        server.sendall(b"x")
        assert received(client, 1) == b"x"
        assert monotonic_ns() - began_ns >= least_ms * NS_PER_MS


def test_what_is_delayed_goes_on_at_once_when_the_fault_ends(ends: Ends) -> None:
    with ends.connected() as (client, server):
        with ends.under("delay", delay="1h"):
            client.sendall(b"word")
        assert received(server, 4) == b"word"
        echoed(client, server)


def test_a_reset_is_one_at_the_other_end_too(ends: Ends) -> None:
    with ends.connected() as (client, server):
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        server.close()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_where_nobody_is_behind_a_link_a_connection_is_reset(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
    network = Network.start([Link("producers", "broker-1", "127.78.0.3", port, "127.0.0.1", port)], {}, tmp_path / "l")
    try:
        with pytest.raises(ConnectionResetError):
            heard(("127.78.0.3", port))
    finally:
        network.stop()


@contextmanager
def down(tmp_path: Path, address: str) -> Iterator[tuple[Ends, Callable[[], socket.socket]]]:
    """A link to a server that does not listen until it is started."""
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        port = gone.getsockname()[1]
    log = tmp_path / "l"
    network = Network.start([Link("producers", "broker-1", address, port, "127.0.0.1", port)], {}, log)

    def start() -> socket.socket:
        server = socket.create_server(("127.0.0.1", port))
        server.settimeout(SECONDS)
        return server

    try:
        yield Ends(network, gone, port), start
    finally:
        network.stop()
    assert log.read_text() == ""


@pytest.mark.parametrize("more", [{}, {"one_way": True}, {"one_way": True, "between": ("broker-1", "producers")}])
def test_a_black_hole_is_silent_where_nobody_is_behind_it(tmp_path: Path, more: dict[str, Any]) -> None:
    """Nothing tells who opened that nobody is there, until the fault ends."""
    with down(tmp_path, "127.78.0.5") as (ends, _):
        with ends.under("black-hole", **more), suppress(TimeoutError):
            client = socket.create_connection(("127.78.0.5", ends.port), SECONDS)
            client.settimeout(0.3)
            client.recv(1)
            pytest.fail("a black hole told something")
        client.settimeout(SECONDS)
        with closing(client), pytest.raises(ConnectionResetError):
            client.recv(1)


def test_who_comes_back_behind_a_black_hole_is_reached_when_it_ends(tmp_path: Path) -> None:
    with down(tmp_path, "127.78.0.6") as (ends, start):
        with ends.under("black-hole"):
            client = socket.create_connection(("127.78.0.6", ends.port), SECONDS)
            client.sendall(b"there")
            client.settimeout(0.2)
            with pytest.raises(TimeoutError):
                client.recv(1)
            server = start()
        with closing(client), closing(server):
            client.settimeout(SECONDS)
            accepted, _ = server.accept()
            with closing(accepted):
                accepted.settimeout(SECONDS)
                assert received(accepted, 5) == b"there"
                echoed(client, accepted)


@pytest.mark.parametrize("which", ["client", "server"])
def test_a_reset_is_held_by_a_black_hole_too(ends: Ends, which: str) -> None:
    """As when a broker dies behind it, with what was sent to it unread."""
    with ends.connected() as (client, server):
        gone, other = (client, server) if which == "client" else (server, client)
        with ends.under("black-hole"):
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            gone.close()
            other.settimeout(0.3)
            with pytest.raises(TimeoutError):
                other.recv(1)
            other.settimeout(SECONDS)
        with pytest.raises(ConnectionResetError):
            other.recv(1)


def test_a_port_of_somebody_else_is_told(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.78.0.4", 0))) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match="Address already in use"):
            Network.start([Link("producers", "broker-1", "127.78.0.4", port, "127.0.0.1", port)], {}, tmp_path / "l")
    with pytest.raises(BrokerError, match="could not be started"):
        Network.start([Link("producers", "broker-1", "192.0.2.1", port, "127.0.0.1", port)], {}, tmp_path / "l")


def test_a_proxy_that_was_killed_does_nothing_more(tmp_path: Path) -> None:
    network = Network.start([], {}, tmp_path / "l")
    os.kill(network.pid, signal.SIGKILL)
    fault = LinkFault.model_validate({"at": 0, "for": "1s", "kind": "cut", "between": ["producers", "broker-1"]})
    with pytest.raises(OSError, match=r"ended|Broken pipe"):
        network.begin(fault)
    network.undo()
    network.stop()
    assert not network.alive


OWNER: Final = """
import signal
import sys
from pathlib import Path
from streamgauge.cluster.links.network import Network

# Whoever runs the tests may ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
print(Network.start([], {}, Path(sys.argv[1])).pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_proxy_ends_with_who_started_it(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path / "l")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:
        assert owner.stdout
        pid = int(owner.stdout.readline())
        assert psutil.pid_exists(pid)
        owner.send_signal(number)
        until(lambda: not psutil.pid_exists(pid))
