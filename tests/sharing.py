"""A share group without a broker: what the contract of readers asks of one, for tests of whoever reads."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamgauge.delivery.attempts import ACCEPTED, DEAD_LETTER, REJECTED, RELEASED, TIMED_OUT
from streamgauge.domain import clock, stamp
from streamgauge.domain.blocks import Block, Fetched, Place
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.engine.fake import FakeLog

_ROWS: Final = ("at_ns", "topic", "partition", "offset", "producer", "seq", "attempt")


@dataclass(slots=True)
class _Lock:
    """A message that was delivered, and has no final outcome yet."""

    number: int
    """Of its last delivery."""
    owner: object = None
    """Whose it is; None for nobody's."""
    until_ns: int = 0


@dataclass(slots=True)
class FakeShareGroup:
    """Gives members messages of one topic, in order, each to one of them, and again when it is not accepted."""

    log: FakeLog
    lock_ns: int
    deliveries: int
    """How often a message is delivered at most."""
    now_ns: Callable[[], int] = clock.monotonic_ns
    final: dict[Place, object] = field(default_factory=dict)
    """Partition and offset of messages that are accepted, rejected or archived, and the member that had each last."""
    dead: list[Place] = field(default_factory=list)
    """Those of which members wrote dead letters."""
    _locks: dict[Place, _Lock] = field(default_factory=dict)

    @property
    def lag(self) -> int:
        """Messages without a final outcome."""
        self._expire()
        return sum(self.log.ends()) - len(self.final)

    def take(self, owner: object, most: int) -> list[tuple[Place, int]]:
        """Partition, offset and number of messages that are nobody's, which are this member's now."""
        self._expire()
        found: list[tuple[Place, int]] = []
        for partition, end in enumerate(self.log.ends()):
            for offset in range(end):
                place = (partition, offset)
                held = self._locks.setdefault(place, _Lock(0))
                if place not in self.final and held.owner is None and len(found) < most:
                    held.number, held.owner, held.until_ns = held.number + 1, owner, self.now_ns() + self.lock_ns
                    found.append((place, held.number))
        return found

    def tell(self, owner: object, place: Place, outcome: str) -> bool:
        """A member tells what became of a message; False where that is no longer its business."""
        self._expire()
        held = self._locks[place]
        if held.owner is not owner:
            return False
        held.owner = None
        if outcome != RELEASED or held.number >= self.deliveries:
            self.final[place] = owner
        return True

    def leave(self, owner: object) -> None:
        """A member is gone: what it had is nobody's."""
        for place, held in self._locks.items():
            if held.owner is owner:
                self._free(place, held)

    def _expire(self) -> None:
        for place, held in self._locks.items():
            if held.owner is not None and held.until_ns <= self.now_ns():
                self._free(place, held)

    def _free(self, place: Place, held: _Lock) -> None:
        last, held.owner = held.owner, None
        if held.number >= self.deliveries:
            self.final[place] = last


class FakeShareReader:
    """A member of such a group, with its acknowledgements."""

    def __init__(
        self,
        group: FakeShareGroup,
        *,
        batch: int = 100,
        dead_letters: bool = True,
        sleep: Callable[[float], None] = clock.sleep_seconds,
    ) -> None:
        """`batch` is how many messages it takes at once."""
        self.group = group
        self.commits: None = None
        self._batch = batch
        self._letters = dead_letters
        self._sleep = sleep
        self._ahead_ns = clock.clock_pair().wall_ns - group.now_ns()
        self._stock: deque[tuple[Place, int]] = deque()
        self._open: set[Place] = set()
        self._held = False
        self._known: list[tuple[tuple[int, ...], str]] = []

    @property
    def acknowledgements(self) -> "FakeShareReader":
        """Itself."""
        return self

    @property
    def unwritten(self) -> int:
        """None: the group delivers again."""
        return 0

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """What is left of the last batch, and then, once all of that is acknowledged, the next."""
        if not self._stock and not self._open and limit and not self._held:
            self._stock.extend(self.group.take(self, self._batch))
            self._open = {place for place, _ in self._stock}
        left: dict[int, int] = {}
        taken: list[tuple[Place, int]] = []
        for entry in list(self._stock):
            partition = entry[0][0]
            left.setdefault(partition, limit if room is None else room((0, partition)))
            if left[partition] > 0 and len(taken) < limit:
                left[partition] -= 1
                taken.append(entry)
                self._stock.remove(entry)
        if not taken:
            self._sleep(timeout_seconds)
            return None
        return self._fetched(taken)

    def settle(self, deliveries: Block, accepted: NDArray[np.bool_]) -> None:
        """Tell the group, and note its answers."""
        columns = [np.broadcast_to(np.asarray(deliveries[name]), len(accepted)).tolist() for name in deliveries]
        for delivery, is_accepted in zip(zip(*columns, strict=True), accepted.tolist(), strict=True):
            place = delivery[1:3]
            is_last = self._letters and delivery[5] >= self.group.deliveries
            outcome = ACCEPTED if is_accepted else REJECTED if is_last else RELEASED
            if outcome == REJECTED:
                self.group.dead.append(place)
                self._note(delivery, DEAD_LETTER)
            self._open.discard(place)
            self._note(delivery, outcome if self.group.tell(self, place, outcome) else TIMED_OUT)

    def answered(self) -> tuple[Block, int]:
        """What the group answered since the last call."""
        known, self._known = self._known, []
        if not known:
            return {}, 0
        block: dict[str, Any] = dict(zip(_ROWS, np.array([row for row, _ in known], np.int64).T, strict=True))
        return {**block, "outcome": [outcome for _, outcome in known]}, len(known)

    def finish(self) -> tuple[Block, int]:
        """The same: it answers at once."""
        return self.answered()

    def ends(self) -> list[tuple[int, int, int]]:
        """None."""
        return []

    def positions(self) -> list[tuple[int, int, int | None]]:
        """None."""
        return []

    def assigned(self) -> int:
        """All partitions."""
        return self.group.log.partitions

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages."""
        self._held = held

    def statistics(self) -> tuple[Block, int]:
        """Nothing."""
        return {}, 0

    def close(self) -> None:
        """Leave the group."""
        self.group.leave(self)

    def _note(self, delivery: tuple[int, ...], outcome: str) -> None:
        self._known.append(((self.group.now_ns(), *delivery), outcome))

    def _fetched(self, taken: list[tuple[Place, int]]) -> Fetched:
        values = [self.group.log.records[partition][offset][0] for (partition, offset), _ in taken]
        numbers = np.array([(*place, number) for place, number in taken], np.int64)
        deadline_ms = (self.group.now_ns() + self._ahead_ns + self.group.lock_ns) // NS_PER_MS
        return Fetched(
            partition=numbers[:, 0].astype(np.int32),
            offset=numbers[:, 1],
            append_ms=None,
            size_bytes=np.fromiter(map(len, values), np.int32, len(values)),
            stamps=stamp.decode(b"".join(value[: stamp.SIZE].ljust(stamp.SIZE, b"\0") for value in values)),
            values=values,
            in_header=False,
            deliveries=numbers[:, 2].astype(np.int32),
            deadline_ms=np.full(len(values), deadline_ms, np.int64),
            contents=lambda: [(value, None) for value in values],
        )
