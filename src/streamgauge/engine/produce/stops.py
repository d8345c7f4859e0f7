"""What interrupts a stream of messages: waiting for all reports after so many, and the ends of transactions."""

from array import array
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.domain.blocks import Block, Outcome
from streamgauge.workload.pacing import NEVER, Int64s

_FLUSHES, _ABORTS = 11, 12
"""What is drawn, in the seed of each: no two kinds of draws share their numbers."""
_DEVIATIONS: Final = 8


@dataclass(frozen=True, slots=True)
class FlushPolicy:
    """After how many messages all reports are waited for: a number, or draws around it."""

    mean: float
    deviation: float = 0.0
    hurries: bool = True
    """Whether messages that linger are sent at once, as a flush does and a wait for reports does not."""
    extent: tuple[int, int] | None = None
    """The fewest and the most messages, where every number in between is as probable."""


@dataclass(slots=True)
class Batches:
    """The batches of one producer: what lies between two waits for all reports.

    Sizes are drawn from a normal distribution, cut at 1 and at eight deviations above the mean, and rounded; or from a
    uniform one.
    """

    flush: FlushPolicy
    producer: int
    seed: int
    _number: int = 0
    _first_seq: int = 0
    _size: int = field(init=False)
    _began_ns: int | None = None
    _draws: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        """Draw the first size."""
        self._draws = np.random.default_rng([self.seed, _FLUSHES, self.producer])
        self._size = self._draw()

    @property
    def hurries(self) -> bool:
        """Whether messages that linger are sent at once."""
        return self.flush.hurries

    @property
    def next_seq(self) -> int:
        """The message before which all reports are waited for."""
        return self._first_seq + self._size

    @property
    def is_open(self) -> bool:
        """Whether a message of the batch was sent."""
        return self._began_ns is not None

    def begin(self, now_ns: int) -> None:
        """A message is about to be sent: the first one begins the batch."""
        if self._began_ns is None:
            self._began_ns = now_ns

    def end(self, seq: int, waited_ns: int, now_ns: int) -> tuple[Block, int]:
        """All reports are there, before message `seq`: the row of `batches`, but for the producer; what it took, ns."""
        began_ns = waited_ns if self._began_ns is None else self._began_ns
        row: Block = {
            "batch": self._number,
            "first_seq": self._first_seq,
            "messages": seq - self._first_seq,
            "began_ns": began_ns,
            "waited_ns": waited_ns,
            "ended_ns": now_ns,
        }
        self._number += 1
        self._first_seq, self._size, self._began_ns = seq, self._draw(), None
        return row, now_ns - began_ns

    def _draw(self) -> int:
        if self.flush.extent:
            least, most = self.flush.extent
            return int(self._draws.integers(least, most + 1))
        mean, deviation = self.flush.mean, self.flush.deviation
        drawn = self._draws.normal(mean, deviation) if deviation else mean
        return max(1, round(min(drawn, mean + _DEVIATIONS * deviation)))


@dataclass(frozen=True, slots=True)
class TransactionPolicy:
    """How many messages, or how long, a transaction lasts, and the share that is aborted."""

    messages: int | None = None
    interval_ns: int | None = None
    abort_share: float = 0.0


@dataclass(slots=True)
class Transacted:
    """The transactions of one producer, and which message belongs to which."""

    transactions: TransactionPolicy
    producer: int
    seed: int
    aborts: bool = False
    """Whether the transaction under way is to be aborted."""
    _began_ns: int = 0
    _firsts: "array[int]" = field(default_factory=lambda: array("q"))
    """The first message of each transaction."""
    _draws: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        """Seed the draws."""
        self._draws = np.random.default_rng([self.seed, _ABORTS, self.producer])

    @property
    def first_seq(self) -> int:
        """The first message of the transaction under way."""
        return self._firsts[-1]

    @property
    def next_seq(self) -> int:
        """The message before which the transaction ends; far away where time ends it."""
        messages = self.transactions.messages
        return NEVER if messages is None else self.first_seq + messages

    @property
    def end_ns(self) -> int:
        """When the transaction ends; far away where the number of its messages does."""
        interval_ns = self.transactions.interval_ns
        return NEVER if interval_ns is None else self._began_ns + interval_ns

    def is_over(self, seq: int, now_ns: int) -> bool:
        """Whether the transaction ends before message `seq`, or now."""
        return seq >= self.next_seq or now_ns >= self.end_ns

    def begin(self, seq: int, now_ns: int) -> None:
        """A transaction begins with message `seq`; one in which nothing was sent goes on as this one."""
        self._began_ns = now_ns
        self.aborts = bool(self._draws.random() < self.transactions.abort_share)
        if not self._firsts or self.first_seq < seq:
            self._firsts.append(seq)

    def end(self, seq: int, ending_ns: int, now_ns: int, outcome: Outcome) -> Block:
        """The transaction is over before message `seq`: its row of `transactions`, but for the producer.

        From `ending_ns` on its end was asked for.
        """
        return {
            "transaction": len(self._firsts) - 1,
            "began_ns": self._began_ns,
            "ending_ns": ending_ns,
            "ended_ns": now_ns,
            "outcome": outcome,
            "messages": seq - self.first_seq,
        }

    def of(self, seqs: Int64s) -> NDArray[np.int32]:
        """The transaction of each message."""
        return (np.searchsorted(np.frombuffer(self._firsts, np.int64), seqs, "right") - 1).astype(np.int32)
