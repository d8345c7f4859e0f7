"""A look at a run while it runs: counters of its workers, and coarse histograms of latency.

What is seen here is for whoever waits. Results come from the recorded rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import Int64s

Stage = Literal["starting", "warmup", "measure", "drain", "ending"]

STEPS_PER_DOUBLING: Final = 8
"""Buckets are an eighth of a power of two wide: a percentile is at most 12.5 % too high."""
_STEP_BITS: Final = 3
_LOWEST_BIT: Final = 14
"""2^14 ns, 16 us: what is faster shares the first bucket."""
_DOUBLINGS: Final = 24
"""Up to 2^38 ns, 275 s: what is slower shares the last bucket."""
BUCKETS: Final = _DOUBLINGS * STEPS_PER_DOUBLING
_MANTISSA_BITS: Final = 52
_EXPONENT_BIAS: Final = 1023
_FIRST: Final = _EXPONENT_BIAS + _LOWEST_BIT << _STEP_BITS


def live_buckets(latencies_ns: Int64s) -> Int64s:
    """The bucket of each latency; a float's own bits are exponent and leading fraction already."""
    bits = np.maximum(latencies_ns, 1).astype(np.float64).view(np.int64)
    places: Int64s = np.clip((bits >> (_MANTISSA_BITS - _STEP_BITS)) - _FIRST, 0, BUCKETS - 1)
    return places


def live_bucket(latency_ns: int) -> int:
    """The bucket of one latency, as `live_buckets` gives it; for few of them, where arrays would cost more."""
    bit = max(1, latency_ns).bit_length() - 1
    if bit < _LOWEST_BIT:
        return 0
    step = (latency_ns >> (bit - _STEP_BITS)) - STEPS_PER_DOUBLING
    return min((bit - _LOWEST_BIT) * STEPS_PER_DOUBLING + step, BUCKETS - 1)


def live_edges_ns() -> Int64s:
    """The upper edge of each bucket."""
    place = np.arange(BUCKETS)
    doubling, step = np.divmod(place, STEPS_PER_DOUBLING)
    edges: Int64s = (STEPS_PER_DOUBLING + step + 1) << (_LOWEST_BIT - _STEP_BITS + doubling)
    return edges


_EDGES_NS: Final = live_edges_ns()


def live_percentile_ms(counts: Int64s, share: float) -> float | None:
    """The upper edge of the bucket that holds the nearest rank; None where nothing was counted."""
    total = int(counts.sum())
    if total == 0:
        return None
    rank = max(1, int(np.ceil(share * total)))
    return float(_EDGES_NS[np.searchsorted(np.cumsum(counts), rank)] / NS_PER_MS)


@dataclass(frozen=True, slots=True)
class WorkerLook:
    """One worker as it was at some moment; counts since the start, None what its role does not have."""

    name: str
    role: str
    alive: bool
    messages: int = 0
    """Handed to the client, or received."""
    known: int | None = None
    """Producer: messages that are reported, failures among them."""
    failed: int = 0
    message_bytes: int = 0
    blocked_ns: int | None = None
    cpu_ns: int | None = None
    clients: int = 0
    """Producers, consumers or others that share its process."""
    done: int = 0
    """Those of them whose work is over."""
    buffered: int | None = None
    """Consumer: messages polled and not yet processed."""
    dropped: int = 0
    """Rows that could not be written."""


@dataclass(frozen=True, slots=True)
class Held:
    """How producers are held back: by pauses, or by credit; None what the policy does not have."""

    limit: int
    """Messages: the lag above which producers pause, or the credit that there is."""
    paused: bool | None = None
    in_use: int | None = None
    """Credit that is not free to be taken at once."""


@dataclass(frozen=True, slots=True)
class Look:
    """The whole run at some moment. Times are monotonic; `ack`, `end_to_end`, `batch` are counts by live bucket."""

    at_ns: int
    stage: Stage
    start_ns: int | None
    measure_ns: int | None
    end_ns: int | None
    """Planned end of the load; None, as the two before, while that is not known."""
    workers: Sequence[WorkerLook]
    ack: Int64s
    end_to_end: Int64s
    idle_ns: int | None = None
    """Idle time of all cores since the machine was started."""
    cores: int = 1
    lag: int | None = None
    """Committed lag of the group that is furthest behind, as it was last sampled; None until then."""
    held: Held | None = None
    """None where nothing holds producers back."""
    batch: Int64s = field(default_factory=lambda: np.zeros(BUCKETS, np.int64))
    """From the first send of a batch to the report of all its messages; all zero without batches."""
    run: str = ""
    """Name of the run folder."""
    is_constant: bool = True
    """Whether messages are due at one constant rate; a mean rate does not tell how many are due by now."""
    reads_once: bool = True
    """Whether all that is sent is to be received once: by one group, from no pipeline, and nothing again."""

    def total(self, role: str, name: str) -> int:
        """Sum of a count over the workers of a role; what is None counts nothing."""
        return sum(getattr(worker, name) or 0 for worker in self.workers if worker.role == role)

    @property
    def sent(self) -> int:
        """Messages handed to clients."""
        return self.total("producer", "messages")

    @property
    def failed(self) -> int:
        """Messages that failed."""
        return self.total("producer", "failed")

    @property
    def acked(self) -> int:
        """Messages acknowledged."""
        return self.total("producer", "known") - self.failed

    @property
    def received(self) -> int:
        """Messages received, every delivery counted."""
        return self.total("consumer", "messages")

    @property
    def outstanding(self) -> int | None:
        """Sent and not yet received; None where nothing is sent, nobody consumes, or not each message once."""
        is_known = self.reads_once and {"producer", "consumer"} <= {worker.role for worker in self.workers}
        return max(0, self.sent - self.failed - self.received) if is_known else None
