"""Processes that had to wait for a core: in which seconds for long, and how much of the tail this can explain.

Threads that waited for a share of the time may have delayed this share of the messages, and what queued behind them.
What the waits of a worker's own thread did is in the bounds of each message: it sent or polled late. The threads
of its Kafka client send, fetch and report behind its back, so their waits are in no bound.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from streamgauge.domain.text.numbers import listed, percent
from streamgauge.verdict.evidence import Evidence, Row, largest
from streamgauge.verdict.trust import limits
from streamgauge.verdict.trust.seconds import RECEIVED, TIMES, Seconds, looks, seconds

OWN: Final = "run_delay_share"
CLIENT: Final = "client_run_delay_share"
_CLIENTS: Final[Mapping[str, tuple[Sequence[str], tuple[str, ...]]]] = {
    "producer": ((CLIENT,), TIMES),
    "consumer": ((CLIENT,), RECEIVED),
    "connector": ((OWN, CLIENT), ("connections.",)),
}
"""Workers by role: whose waits are in no bound, and what they may have delayed. A connector's own threads wait, too."""


class CoreWait(NamedTuple):
    """Threads that waited for a core."""

    share: float
    """Of the time, and so of the messages that this can explain."""
    who: str
    """They and what they waited, in words."""


def starved(run: Evidence, role: str, threads: Sequence[str] = (OWN,)) -> list[Row]:
    """Samples of processes whose threads waited for a core for long, and for longer than the process ran."""
    return [row for row in looks(run, role) if _is_starved(_waited(row, threads), row.get("cpu_cores") or 0.0)]


def _is_starved(waited: float, ran: float) -> bool:
    return waited >= limits.STARVED_SHARE and waited > ran


def of_clients(run: Evidence) -> list[Seconds]:
    """Seconds in which the threads of workers' Kafka clients had no core for long, by role."""
    found = {role: starved(run, role, threads) for role, (threads, _) in _CLIENTS.items()}
    return [seconds(run, _clients(rows), rows, _CLIENTS[role][1]) for role, rows in found.items() if rows]


def of_workers(run: Evidence) -> CoreWait:
    """The waits of producers and consumers.

    Each message passes one worker of each role, so the workers of a role that waited for longest count.
    """
    roles = [run.processes(role) for role in ("producer", "consumer")]
    own, client = (min(1.0, sum(largest(rows, name) or 0.0 for rows in roles)) for name in (OWN, CLIENT))
    share = min(1.0, own + client)
    whose = f"the workers' threads waited for a core for {percent(own)} of the time, those of their Kafka clients for"
    return CoreWait(share, f"{whose} {percent(client)}")


def of_processes(run: Evidence, roles: Iterable[str]) -> float:
    """The share of the time that the threads of these processes waited for a core, at most 1."""
    rows = [row for role in roles for row in run.processes(role)]
    return min(1.0, sum(_waited(row, (OWN,)) for row in rows))


def explained(*waits: CoreWait) -> str:
    """What waits can explain, in words."""
    share = f"this can explain the slowest {percent(waits[0].share)} of the messages"
    what = share if len(waits) == 1 else "each can explain that share of the slowest messages"
    return f"{'; '.join(wait.who for wait in waits)}: {what}, and what queued behind them"


def _waited(look: Row, threads: Sequence[str]) -> float:
    return sum(look.get(name) or 0.0 for name in threads)


def _clients(rows: Sequence[Row]) -> str:
    return f"the Kafka client of {listed(sorted({str(row['process']) for row in rows}))} had too little CPU"
