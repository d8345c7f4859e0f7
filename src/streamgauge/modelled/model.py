"""When a modelled broker acknowledges each message and lets it be read, and what becomes of it: pure functions.

Each partition is a first-in-first-out server: a message departs at the later of its arrival and the departure before
it, plus its service time. Acknowledged and readable it is some fixed delays later, in the order of the partition. All
of this follows from arrivals and sequences alone: sending earlier ends no message later, and shifting all arrivals
shifts all releases. A stall is a message of long service, so all of that is true of stalls, too.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from streamgauge.workload.pacing import Int64s

PERIOD: Final = 2_048
"""After so many sequences of a producer, partitions, service times, delays and anomalies repeat."""
ANOMALY_LANES: Final = 3
"""Messages with an anomaly are in the first so many partitions of a producer."""
NEVER: Final = 1 << 62
_BEFORE: Final = -NEVER


class Anomaly(IntEnum):
    """What is wrong with how a message is delivered."""

    NONE = 0
    LOST = 1
    """Acknowledged, and never to be read."""
    DUPLICATED = 2
    """Written twice, with the same stamp."""
    REORDERED = 3
    """Written after the next message of its partition, and readable with that."""
    CORRUPTED = 4
    """One byte is flipped."""


@dataclass(frozen=True, slots=True)
class Server:
    """One partition of a producer. A message takes one of the pairs of delays by its sequence, each as likely."""

    share: float
    """Of the messages of the producer."""
    acked_ns: tuple[int, ...] = (0,)
    readable_ns: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Model:
    """What happens to the messages of one producer."""

    servers: tuple[Server, ...]
    seed: int = 42
    service_ns: tuple[int, int] = (5_000, 25_000)
    """Least and most; drawn uniformly."""
    stalls: tuple[tuple[int, int], ...] = ()
    """Sequences, and how much longer the service of each takes."""
    anomalies: tuple[Anomaly, ...] = ()
    """Planted once in the first half of each period."""
    anomalous_until: int = NEVER
    """From this sequence on all messages are whole."""


class Pattern(NamedTuple):
    """What the sequences of one period are given."""

    lane: Int64s
    service_ns: Int64s
    acked_ns: Int64s
    readable_ns: Int64s
    anomaly: Int64s


@lru_cache
def pattern(model: Model) -> Pattern:
    """What each sequence of a period is given."""
    draws = np.random.default_rng(model.seed)
    edges = np.round(np.cumsum([0.0, *(server.share for server in model.servers)]) * PERIOD).astype(np.int64)
    lane = draws.permutation(np.repeat(np.arange(len(model.servers)), np.diff(edges)))
    service_ns = draws.integers(*model.service_ns, PERIOD, endpoint=True)
    acked_ns, readable_ns = np.zeros(PERIOD, np.int64), np.zeros(PERIOD, np.int64)
    for number, server in enumerate(model.servers):
        mine = lane == number
        drawn = draws.integers(len(server.acked_ns), size=np.count_nonzero(mine))
        acked_ns[mine] = np.array(server.acked_ns)[drawn]
        readable_ns[mine] = np.array(server.readable_ns)[drawn]
    anomaly = np.zeros(PERIOD, np.int64)
    lanes = min(ANOMALY_LANES, len(model.servers))
    # Of each partition every other message, so that the one after a message with an anomaly has none.
    free = [draws.permutation(np.flatnonzero(lane[: PERIOD // 2] == number)[::2]).tolist() for number in range(lanes)]
    for turn, planted in enumerate(model.anomalies):
        anomaly[free[turn % lanes].pop()] = planted
    return Pattern(lane, service_ns, acked_ns, readable_ns, anomaly)


def next_in(model: Model, lane: int, seq: int) -> int:
    """The first sequence from `seq` on that goes to a partition."""
    lanes = pattern(model).lane
    return next(each for each in range(seq, seq + PERIOD) if lanes[each % PERIOD] == lane)


@dataclass(slots=True)
class Carry:
    """Where the partitions of a producer stand after some messages: the last departure and releases of each."""

    departed_ns: Int64s
    acked_ns: Int64s
    readable_ns: Int64s

    @classmethod
    def empty(cls, model: Model) -> "Carry":
        """Before the first message."""
        return cls(*(np.full(len(model.servers), _BEFORE) for _ in range(3)))


class Releases(NamedTuple):
    """What becomes of some messages of one producer."""

    acked_ns: Int64s
    readable_ns: Int64s
    anomaly: Int64s
    lane: Int64s


def releases(arrivals_ns: Int64s, seqs: Int64s, model: Model, carry: Carry | None = None) -> Releases:
    """What becomes of messages that arrive in the order of their sequences; `carry` is read, and brought up to date.

    That a reordered message is readable with the next one only is told by `in_order`: it may not have arrived yet.
    """
    carry = carry or Carry.empty(model)
    given, place = pattern(model), seqs % PERIOD
    lanes, service_ns = given.lane[place], given.service_ns[place]
    for seq, more_ns in model.stalls:
        service_ns = np.where(seqs == seq, service_ns + more_ns, service_ns)
    acked_ns, readable_ns = np.empty_like(arrivals_ns), np.empty_like(arrivals_ns)
    for lane in np.unique(lanes).tolist():
        mine = np.flatnonzero(lanes == lane)
        served = np.cumsum(service_ns[mine])
        # D[k] = max(A[k], D[k-1]) + S[k], without a loop: less what was served by then, it only ever rises.
        begun = np.maximum.accumulate(arrivals_ns[mine] - served + service_ns[mine])
        departed = np.maximum(begun, carry.departed_ns[lane]) + served
        for out, delay, last in (
            (acked_ns, given.acked_ns, carry.acked_ns),
            (readable_ns, given.readable_ns, carry.readable_ns),
        ):
            out[mine] = np.maximum(np.maximum.accumulate(departed + delay[place[mine]]), last[lane])
            last[lane] = out[mine[-1]]
        carry.departed_ns[lane] = departed[-1]
    return Releases(
        acked_ns, readable_ns, np.where(seqs < model.anomalous_until, given.anomaly[place], Anomaly.NONE), lanes
    )


def in_order(found: Releases) -> Int64s:
    """When each of these messages, all of a producer, can be read: in the order of offsets, and `NEVER` if it is lost.

    A reordered message waits for the next one of its partition.
    """
    readable_ns = np.where(found.anomaly == Anomaly.LOST, NEVER, found.readable_ns)
    for lane in np.unique(found.lane).tolist():
        mine = np.flatnonzero(found.lane == lane)
        late = np.flatnonzero(found.anomaly[mine] == Anomaly.REORDERED)
        following = np.append(found.readable_ns[mine], NEVER)
        readable_ns[mine[late]] = following[late + 1]
    return readable_ns


@dataclass(slots=True)
class Releaser:
    """The same as `releases`, one message at a time: numpy's cost per call would hold up a producer of few."""

    model: Model
    _given: tuple[list[int], ...] = field(init=False)
    _stalls: dict[int, int] = field(init=False)
    _carry: tuple[list[int], ...] = field(init=False)

    def __post_init__(self) -> None:
        """Nothing has arrived yet."""
        self._given = tuple(column.tolist() for column in pattern(self.model))
        self._stalls = dict(self.model.stalls)
        self._carry = tuple([_BEFORE] * len(self.model.servers) for _ in range(3))

    def lane(self, seq: int) -> int:
        """The partition of a message, counted from the first of its producer."""
        return self._given[0][seq % PERIOD]

    def take(self, arrived_ns: int, seq: int) -> tuple[int, int, int]:
        """When a message is acknowledged and may be read, and its anomaly."""
        lanes, services, acks, reads, anomalies = self._given
        departed, acked, readable = self._carry
        place = seq % PERIOD
        lane, service_ns = lanes[place], services[place]
        if seq in self._stalls:
            service_ns += self._stalls[seq]
        departed_ns = departed[lane] = max(arrived_ns, departed[lane]) + service_ns
        acked_ns = acked[lane] = max(acked[lane], departed_ns + acks[place])
        readable_ns = readable[lane] = max(readable[lane], departed_ns + reads[place])
        return acked_ns, readable_ns, anomalies[place] if seq < self.model.anomalous_until else Anomaly.NONE
