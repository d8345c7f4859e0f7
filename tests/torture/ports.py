"""Ports: where a case listens, and who still does when it is over."""

import contextlib
from collections.abc import Collection

import psutil
from tests.marked import marked
from tests.torture.place import Place

from streamgauge.cluster import registry


def ports_of(place: Place) -> set[int]:
    """Where processes of a case listen now, and where its brokers are to."""
    found = set[int]()
    for process in marked(place.mark):
        with contextlib.suppress(psutil.NoSuchProcess):
            found |= {port for each in process.net_connections("tcp") if (port := _port(each))}
    with place.entered():
        return found | registry.reserved_ports()


def listeners(ports: Collection[int], place: Place) -> list[str]:
    """Who listens on these ports; those of other tests, who may have chosen the same, keep their state elsewhere."""
    found = []
    for each in psutil.net_connections("tcp"):
        if (port := _port(each)) in ports and each.pid is not None:
            try:
                process = psutil.Process(each.pid)
                words, state = process.cmdline(), process.environ().get("XDG_STATE_HOME")
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            if state in {None, str(place.state)}:
                found.append(f"port {port}, {' '.join(words)[:200]}")
    return found


def _port(connection: "psutil._ntuples.pconn | psutil._ntuples.sconn") -> int | None:
    """Where it listens; None for one that does not."""
    return connection.laddr.port if connection.laddr and connection.status == psutil.CONN_LISTEN else None
