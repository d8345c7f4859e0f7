"""What the proxy of links costs when no fault is on: its delay, and its throughput, beside a direct connection."""

import argparse
import multiprocessing
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.common import heading, idle_share, spread
from streamgauge.cluster.links.network import Network
from streamgauge.cluster.links.proxy import Link
from streamgauge.domain.clock import NS_PER_SECOND, NS_PER_US, monotonic_ns

WORD = bytes(512)
PIECE = bytes(1 << 18)
DIRECT, PROXIED = "127.0.0.1", "127.77.250.1"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--words", type=int, default=5_000)
    options.add_argument("--mebibytes", type=int, default=2_048)
    chosen = options.parse_args()
    heading("Proxy of links: 512 bytes there and back, and a stream one way, direct and through the proxy in turn")
    print(f"The machine was {idle_share():.0%} idle before.\n")
    trips: dict[str, list[list[float]]] = {DIRECT: [], PROXIED: []}
    rates: dict[str, list[float]] = {DIRECT: [], PROXIED: []}
    with _served() as port:
        for _ in range(chosen.rounds):
            for address in (DIRECT, PROXIED):
                trips[address].append(_round_trips_us(address, port, chosen.words))
                rates[address].append(_megabytes_per_second(address, port, chosen.mebibytes))
    print("| | round trip p50, us | p99, us | MB/s |")
    print("|---|---|---|---|")
    for name, address in (("direct", DIRECT), ("through the proxy", PROXIED)):
        p50, p99 = zip(*trips[address], strict=True)
        print(f"| {name} | {spread(p50, digits=0)} | {spread(p99, digits=0)} | {spread(rates[address], digits=0)} |")
    pairs = zip(trips[PROXIED], trips[DIRECT], strict=True)
    added = [[(through - direct) / 2 for through, direct in zip(*pair, strict=True)] for pair in pairs]
    p50, p99 = zip(*added, strict=True)
    print(f"\nAdded to each way, round by round: p50 {spread(p50, digits=0)} us, p99 {spread(p99, digits=0)} us.")


@contextmanager
def _served() -> Iterator[int]:
    """The port of a server in a process of its own, which is behind a proxy, too."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=_serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        link = Link("clients", "server", PROXIED, port, DIRECT, port)
        network = Network.start([link], {}, Path(folder) / "links.log")
        try:
            yield port
        finally:
            network.stop()
            server.kill()
            server.join()


def _serve(parent: Connection) -> None:
    with socket.create_server((DIRECT, 0)) as listening:
        parent.send(listening.getsockname()[1])
        while True:
            accepted, _ = listening.accept()
            threading.Thread(target=_answer, args=(accepted,), daemon=True).start()


def _answer(accepted: socket.socket) -> None:
    """Words go back; of more than a word, only the number of bytes does, at its end."""
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buffer, total = bytearray(PIECE), 0
    with accepted:
        while count := accepted.recv_into(buffer):
            total += count
            if count == len(WORD):
                accepted.sendall(WORD)
        accepted.sendall(str(total).encode())


def _round_trips_us(address: str, port: int, words: int) -> list[float]:
    """Percentiles 50 and 99."""
    took_ns = []
    with closing(socket.create_connection((address, port))) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(words):
            began_ns = monotonic_ns()
            client.sendall(WORD)
            client.recv(len(WORD), socket.MSG_WAITALL)
            took_ns.append(monotonic_ns() - began_ns)
    return [float(each) / NS_PER_US for each in np.percentile(took_ns, (50, 99))]


def _megabytes_per_second(address: str, port: int, mebibytes: int) -> float:
    total = mebibytes << 20
    with closing(socket.create_connection((address, port))) as client:
        began_ns = monotonic_ns()
        for _ in range(total // len(PIECE)):
            client.sendall(PIECE)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    # A piece that happened to come as one word was answered with one.
    if not answer.endswith(str(total).encode()):
        raise SystemExit(f"{total} bytes were sent, the answer is {answer[-20:]!r}")
    return total / (monotonic_ns() - began_ns) * NS_PER_SECOND / 1e6


if __name__ == "__main__":
    main()
