"""The process that carries the links: a TCP proxy that does to them what it is told, and ends with who started it.

Its first line of input says which links there are, and each line after it what is done to them from now on, as JSON.
Each is answered by a line: nothing if it was done, or the reason. The end of the input ends the process.

Bytes stay in order, the end of a stream ends only its direction, a reset is a reset at the other end, too, and who
sends more than is taken is made to wait. An end of a link that cannot be reached looks like a connection that is reset
at once: the system has accepted it before the proxy is asked. In a black hole neither reset passes before it ends.
"""

import asyncio
import json
import os
import random
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from streamgauge.cluster.links.shaping import Impairment, Shaper

Direction = tuple[str, str]
"""Who sends, and who receives."""

MOST_QUEUED: Final = 32 << 20
"""Bytes of one direction of a connection that are delayed at most; who sends more is made to wait."""
_AT_ONCE: Final = struct.pack("ii", 1, 0)
_BACKLOG: Final = 1024


class Link(NamedTuple):
    """Where connections of one end of a link to the other are accepted, and where they go."""

    opener: str
    """Who opens them."""
    to: str
    address: str
    port: int
    to_address: str
    to_port: int


@dataclass(slots=True)
class Done:
    """What is done to links now."""

    shapers: dict[Direction, Shaper] = field(default_factory=dict)
    cut: set[Direction] = field(default_factory=set)
    connections: set["Connection"] = field(default_factory=set)

    def do(self, ways: Iterable[Direction], kind: str, impairment: Mapping[str, Any]) -> None:
        """Begin something, end it with the kind `end`, or everything with `undo`."""
        if kind == "undo":
            self.shapers.clear()
            self.cut.clear()
        for sender, receiver in ways:
            way = (sender, receiver)
            self.shapers.pop(way, None)
            self.cut.discard(way)
            if kind == "cut":
                self.cut.add(way)
            elif kind == "impair":
                self.shapers[way] = Shaper(Impairment(**impairment), random.Random(f"{way}"))  # noqa: S311 - no secret
        for each in [*self.connections]:
            each.adjust()


class Flow(asyncio.Protocol):
    """One direction of a connection: takes what `sends` gives, and hands it to the other flow's end."""

    def __init__(self, connection: "Connection", way: Direction) -> None:
        self.way = way
        self.sends: asyncio.Transport | None = None
        """The end of the connection whose bytes are taken."""
        self.takes: asyncio.Transport | None = None
        """The end that is given them."""
        self.is_over = False
        """Whether the end of the stream was handed on."""
        self._connection = connection
        self._loop = connection.loop
        self._queue: deque[tuple[float, bytes]] = deque()
        self._queued = 0
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.is_reset = False
        """Whether the end that sends is gone, and the other one has not heard of it."""
        self._ended = self._is_full = self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The end that sends is there."""
        assert isinstance(transport, asyncio.Transport)
        self.sends = transport
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection.connected(self)

    def data_received(self, data: bytes) -> None:
        """Hand on what has come, or keep it until it is due."""
        shaper = self._shaper
        if shaper is None and not self._queue:
            self._give(data)
            return
        step = (shaper.piece if shaper else None) or len(data)
        for begin in range(0, len(data), step):
            self._keep(data[begin : begin + step], shaper)
        self.turn()

    def eof_received(self) -> bool:
        """The end of a stream follows what came before it, and ends this direction only."""
        self._ended = True
        self._keep(b"", self._shaper)
        self.turn()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """A reset is one for the other end, too."""
        self._connection.lost(self, reset=exc is not None or not self.is_over)

    def pause_writing(self) -> None:
        """The end that sends this way takes no more of what the other flow gives it."""
        self._connection.other(self).fill(is_full=True)

    def resume_writing(self) -> None:
        """It takes more."""
        self._connection.other(self).fill(is_full=False)

    def fill(self, *, is_full: bool) -> None:
        """Whether the end that takes can be given more."""
        self._is_full = is_full
        self.turn()

    def turn(self) -> None:
        """Hand on what is due, and take more if there is room."""
        shaper, now = self._shaper, self._loop.time()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._queue and not self._is_full and not self.is_held and (shaper is None or self._queue[0][0] <= now):
            _, data = self._queue.popleft()
            self._queued -= len(data)
            self._give(data)
        if self._queue and not self._is_full and not self.is_held:
            self._timer = self._loop.call_at(self._queue[0][0], self.turn)
        self._read(shaper)

    def _read(self, shaper: Shaper | None) -> None:
        """Take more, or let the end that sends wait."""
        most = 1 if shaper and shaper.piece else MOST_QUEUED
        wanted = not (self.takes is None or self._is_full or self.is_held or self._queued >= most)
        # After its end a stream has nothing to give, and would tell of its end again.
        if self.sends and not self._ended and not self.sends.is_closing() and wanted == self._paused:
            self._paused = not wanted
            (self.sends.resume_reading if wanted else self.sends.pause_reading)()

    @property
    def _shaper(self) -> Shaper | None:
        return self._connection.done.shapers.get(self.way)

    @property
    def is_held(self) -> bool:
        """Whether nothing goes on this way."""
        shaper = self._shaper
        return shaper is not None and shaper.impairment.held

    def _keep(self, data: bytes, shaper: Shaper | None) -> None:
        now = self._loop.time()
        self._last = shaper.leaves(now, len(data), self._last) if shaper else max(now, self._last)
        self._queue.append((self._last, data))
        self._queued += len(data)

    def _give(self, data: bytes) -> None:
        assert self.takes
        if data:
            # An end that was lost while its own way is held takes nothing more.
            if not self.takes.is_closing():
                self.takes.write(data)
        else:
            self.is_over = True
            if not self.takes.is_closing():
                self.takes.write_eof()
            self._connection.half_over()


class Connection:
    """A connection through a link: from who opened it to the proxy, and from there on."""

    def __init__(self, link: Link, done: Done) -> None:
        self.loop = asyncio.get_running_loop()
        self.done = done
        self.there, self.back = Flow(self, (link.opener, link.to)), Flow(self, (link.to, link.opener))
        self._link = link
        self._task: asyncio.Task[None] | None = None
        self._passes = asyncio.Event()
        """Set while no way is held."""
        self._is_reset = False
        done.connections.add(self)

    def other(self, flow: Flow) -> Flow:
        """The other direction."""
        return self.back if flow is self.there else self.there

    def connected(self, flow: Flow) -> None:
        """One end is there: that of the opener comes first."""
        if flow is self.back:
            self.there.takes, self.back.takes = self.back.sends, self.there.sends
        else:
            self._task = self.loop.create_task(self._open())
        self.adjust()

    async def _open(self) -> None:
        while not self._is_reset:
            try:
                await self.loop.create_connection(lambda: self.back, self._link.to_address, self._link.to_port)
            except OSError:
                if self._passes.is_set():
                    self.reset()
                # Nobody hears of that in a black hole; when it ends, the other end may be there.
                await self._passes.wait()
            else:
                return

    def adjust(self) -> None:
        """Something else is done to the link from now on."""
        flows = (self.there, self.back)
        is_told = any(flow.is_reset and not flow.is_held for flow in flows)
        if self._is_reset or is_told or self.there.way in self.done.cut:
            self.reset()
            return
        (self._passes.clear if any(flow.is_held for flow in flows) else self._passes.set)()
        for flow in flows:
            flow.turn()

    def half_over(self) -> None:
        """One direction has ended; with the other, the connection is over."""
        if self.there.is_over and self.back.is_over:
            for flow in (self.there, self.back):
                if flow.sends:
                    flow.sends.close()

    def lost(self, flow: Flow, *, reset: bool) -> None:
        """The end that sends this way is gone."""
        if reset and flow.is_held and not self._is_reset:
            flow.is_reset = True
            return
        if reset:
            self.reset()
        self.done.connections.discard(self)

    def reset(self) -> None:
        """End both ends at once, as a network does that has forgotten a connection."""
        self._is_reset = True
        self._passes.set()
        self.done.connections.discard(self)
        for flow in (self.there, self.back):
            if flow.sends and not flow.sends.is_closing():
                flow.sends.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                flow.sends.abort()


async def _serve(links: Sequence[Link], done: Done) -> None:
    loop = asyncio.get_running_loop()
    for link in links:

        def opened(link: Link = link) -> Flow:
            return Connection(link, done).there

        await loop.create_server(opened, link.address, link.port, backlog=_BACKLOG)


async def _obey(lines: asyncio.StreamReader, answer: Callable[[str], object]) -> None:
    """Do what each line says, until there are no more."""
    done = Done()
    try:
        await _serve([Link(*each) for each in json.loads(await lines.readline() or "[]")], done)
        answer("")
    except OSError as error:
        # asyncio has words of its own for some.
        answer(os.strerror(error.errno) if error.errno else str(error))
    while line := await lines.readline():
        done.do(**json.loads(line))
        answer("")


async def _main() -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    await _obey(lines, lambda text: os.write(sys.stdout.fileno(), f"{text}\n".encode()))


if __name__ == "__main__":
    asyncio.run(_main())
