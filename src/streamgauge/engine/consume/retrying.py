"""A reader without a broker whose messages come again from retry topics: it passes the contract tests of the real one.

Its logs outlive it: a reader that is opened on them again goes on where the one before had committed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.delivery.attempts import ACCEPTED, DEAD_LETTER, REDELIVERED, REJECTED, RELEASED
from streamgauge.delivery.deliveries import DeliveryKey, attempt_rows, each_settled
from streamgauge.delivery.retries.decisions import HeldBack, Retries, after_failure, due_ms, level_of, ripe
from streamgauge.domain.blocks import NULL_INT64, Block, Committed, Fetched, Place
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.engine.fake import FakeLog, FakeReader

_Place = tuple[int, int, int]
"""Topic, partition and offset of a message."""


@dataclass(slots=True)
class FakeRetryLogs:
    """One topic, its retry topics and its topic of dead letters; and what their group has committed."""

    retries: Retries
    partitions: int = 1
    topics: list[FakeLog] = field(init=False)
    dead: FakeLog = field(init=False)
    told: dict[_Place, tuple[int, int]] = field(default_factory=dict)
    """Of each message in a retry topic, which delivery is next, and when it is due in milliseconds."""
    committed: dict[Place, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the topics, empty."""
        self.topics = [FakeLog(self.partitions) for _ in range(1 + len(self.retries.delays_ns))]
        self.dead = FakeLog(self.partitions)


class FakeRetryReader:
    """Reads all partitions of such logs; what failed is written again by the next poll."""

    def __init__(self, logs: FakeRetryLogs, now_ns: Callable[[], int], sleep: Callable[[float], None]) -> None:
        self._logs, self._now_ns = logs, now_ns
        first, *further = logs.topics
        begin = dict(logs.committed)
        self._reader = FakeReader(
            first, range(logs.partitions), None, further=further, next_offset=begin, now_ns=now_ns, sleep=sleep
        )
        self.acknowledgements = FakeRetryTopics(logs, now_ns)
        self.commits = FakeRetryCommits(self.acknowledgements)

    def poll(self, timeout_seconds: float, limit: int, room: Callable[[Place], int] | None = None) -> Fetched | None:
        """The next messages of a partition of which some are due."""
        self.acknowledgements.write()
        self.commits.turn()
        now_ms = self._now_ns() // NS_PER_MS

        def ready(place: Place) -> int:
            most = limit if room is None else min(limit, room(place))
            if level_of(place[0], 1) == 0:
                return most
            end, begin = self._logs.topics[place[0]].ends()[place[1]], self._next(place)
            dues = (self._logs.told[*place, offset][1] for offset in range(begin, min(end, begin + most)))
            return ripe(dues, now_ms)

        fetched = self._reader.poll(timeout_seconds, limit, ready)
        if fetched is None:
            return None
        partition, topic = int(fetched.partition[0]), int(np.asarray(fetched.topic))
        first = (1, NULL_INT64)
        told = [self._logs.told.get((topic, partition, offset), first) for offset in fetched.offset.tolist()]
        numbers, dues = np.array(told, np.int64).T
        return replace(fetched, deliveries=numbers.astype(np.int32), deadline_ms=dues)

    def ends(self) -> list[tuple[int, int, int]]:
        """None: there are no transactions here."""
        return self._reader.ends()

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Next offset of each partition."""
        return self._reader.positions()

    def assigned(self) -> int:
        """All partitions."""
        return self._reader.assigned()

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages."""
        self._reader.hold(held=held)

    def statistics(self) -> tuple[Block, int]:
        """Nothing."""
        return self._reader.statistics()

    def close(self) -> None:
        """Leave the logs as they are."""
        self._reader.close()

    def _next(self, place: Place) -> int:
        return self._reader.next_offset.get(place, 0)


class FakeRetryTopics:
    """Writes what failed where it comes again, and tells of it."""

    def __init__(self, logs: FakeRetryLogs, now_ns: Callable[[], int]) -> None:
        self.held = HeldBack()
        self._logs, self._now_ns = logs, now_ns
        self._failed: list[tuple[int, DeliveryKey]] = []
        self._accepted: list[DeliveryKey] = []
        self._known: list[tuple[int, DeliveryKey, str]] = []

    @property
    def unwritten(self) -> int:
        """Messages that failed and are not yet written again."""
        return len(self.held)

    def settle(self, deliveries: Block, accepted: NDArray[np.bool_]) -> None:
        """Note what became of deliveries."""
        now_ns = self._now_ns()
        for delivery, is_accepted in each_settled(deliveries, accepted):
            if is_accepted:
                self._accepted.append(delivery)
                continue
            self.held.add(delivery[:2], delivery[2])
            self._failed.append((now_ns, delivery))
            outcome = RELEASED if after_failure(delivery[5], self._logs.retries) else REJECTED
            self._known.append((now_ns, delivery, outcome))

    def write(self) -> None:
        """Write what failed."""
        failed, self._failed = self._failed, []
        for failed_ns, delivery in failed:
            topic, partition, offset = delivery[:3]
            record = self._logs.topics[topic].records[partition][offset]
            again = after_failure(delivery[5], self._logs.retries)
            log = self._logs.topics[again.level] if again else self._logs.dead
            if again:
                at = again.level, partition, log.ends()[partition]
                self._logs.told[at] = delivery[5] + 1, due_ms(failed_ns, again.delay_ns)
            log.records[partition].append(record)
            self.held.written((topic, partition), offset)
            self._known.append((self._now_ns(), delivery, REDELIVERED if again else DEAD_LETTER))

    def confirm(self, offsets: dict[Place, int]) -> None:
        """These offsets are committed."""
        self._logs.committed.update(offsets)
        now_ns, left = self._now_ns(), []
        for delivery in self._accepted:
            if delivery[2] < self._logs.committed.get(delivery[:2], 0):
                self._known.append((now_ns, delivery, ACCEPTED))
            else:
                left.append(delivery)
        self._accepted = left

    def answered(self) -> tuple[Block, int]:
        """Rows of `attempts` of what became known since the last call."""
        known, self._known = self._known, []
        return attempt_rows(known)

    def finish(self) -> tuple[Block, int]:
        """The same, once everything is written."""
        self.write()
        return self.answered()


class FakeRetryCommits:
    """Commits below the first message that failed and is not written again."""

    def __init__(self, topics: FakeRetryTopics) -> None:
        self._topics = topics
        self._wanted: dict[Place, int] = {}
        self._owes = False

    def watch(self, _revoked: Callable[[Sequence[Place]], None]) -> None:
        """Nobody else reads here."""

    def store(self, offsets: Sequence[tuple[int, int, int]]) -> None:
        """Note how far partitions are done with."""
        self._wanted.update({(topic, partition): offset for topic, partition, offset in offsets})

    def commit(self, *, asynchronous: bool) -> None:
        """Commit at once; one that waits also waits for what is being written."""
        if not asynchronous:
            self._topics.write()
        may = {place: self._topics.held.allowed(place, offset) for place, offset in self._wanted.items()}
        self._topics.confirm(may)
        self._owes = may != self._wanted

    def turn(self) -> None:
        """Commit what could not be committed when it was asked for."""
        if self._owes:
            self.commit(asynchronous=True)

    def committed(self) -> list[Committed]:
        """Nothing is told of commits."""
        return []
