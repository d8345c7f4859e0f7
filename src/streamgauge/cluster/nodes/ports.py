"""Ports for brokers: free, known to nobody else, and never given to clients by the system.

A client's own end of a connection has a port of the ephemeral range. On a dead broker's port there, a client that
tries to reach the broker again may reach itself, and the broker could not be started again.
"""

import random
import socket
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from streamgauge.domain.errors import BrokerError
from streamgauge.domain.text.address import LOOPBACK

TAKEN: Final = "Address already in use"
"""What a process says that cannot open its port."""
_FIRST: Final = 10_240
_EPHEMERAL: Final = (32_768, 60_999)
"""The range of Linux, where the system does not tell; that of macOS and Windows lies above."""
_TOLD: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LAST: Final = 65_535


class PortTaken(BrokerError):
    """Somebody else took a port between our choosing it and its being opened."""


def free_ports(count: int, taken: Collection[int] = ()) -> list[int]:
    """Ports on loopback that were free a moment ago, no two of them the same; none of `taken`.

    Raises OSError if there are not so many.
    """
    candidates = list(_outside(ephemeral_range()))
    random.shuffle(candidates)
    found: list[int] = []
    with ExitStack() as held:
        for port in candidates:
            if len(found) < count and port not in taken and (bound := _bound(port)):
                held.enter_context(bound)
                found.append(port)
    if len(found) == count:
        return found
    raise OSError(f"fewer than {count} ports of {_FIRST} to {_LAST} outside the ephemeral range are free")


def ephemeral_range(told: Path = _TOLD) -> tuple[int, int]:
    """The first and the last port that the system gives to clients."""
    try:
        first, last = map(int, told.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return _EPHEMERAL
    return first, last


def _outside(ephemeral: tuple[int, int]) -> Iterator[int]:
    """Ports that no client is given; where clients may be given any, all that need no privilege."""
    first, last = ephemeral
    outside = [port for port in range(_FIRST, _LAST + 1) if not first <= port <= last]
    yield from outside or range(_FIRST, _LAST + 1)


def _bound(port: int) -> socket.socket | None:
    """A socket that holds a port; None where somebody else has it."""
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError:
        return None
