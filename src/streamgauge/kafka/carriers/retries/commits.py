"""Commits of a consumer that writes messages which failed again: below the first one that is not written yet."""

from collections.abc import Callable, Sequence

from streamgauge.domain.blocks import Committed, Place
from streamgauge.kafka.carriers.retries.writing import RetryTopics
from streamgauge.kafka.clients.commits import KafkaCommits


class WrittenCommits:
    """Stores offsets as far as everything below is processed, or written where it comes again."""

    def __init__(self, commits: KafkaCommits, written: RetryTopics) -> None:
        self._commits, self._written = commits, written
        self._wanted: dict[Place, int] = {}
        """How far partitions are done with."""
        self._stored: dict[Place, int] = {}
        self._owes = False
        """Whether a commit was asked for while it could not cover all."""
        commits.covers = written.covered

    def watch(self, revoked: Callable[[Sequence[Place]], None]) -> None:
        """Call this, in a poll, before partitions go to others; what failed by then is written first."""

        def leave(places: Sequence[Place]) -> None:
            revoked(places)
            if not self._commits.is_lost:
                self._written.flush()
                if self._store():
                    self._commits.commit(asynchronous=False)
            self._written.forget(places, is_lost=self._commits.is_lost)
            for place in places:
                self._wanted.pop(place, None)
                self._stored.pop(place, None)

        self._commits.watch(leave)

    def store(self, offsets: Sequence[tuple[int, int, int]]) -> None:
        """Note how far partitions are done with."""
        self._wanted.update({(topic, partition): offset for topic, partition, offset in offsets})
        self._store()

    def commit(self, *, asynchronous: bool) -> None:
        """Commit what is stored; one that waits also waits for what is being written."""
        if not asynchronous and not self._commits.is_lost:
            self._written.flush()
            self._store()
        self._owes = self._wanted != self._stored
        self._commits.commit(asynchronous=asynchronous)

    def turn(self) -> None:
        """Store what was held back, and is written by now; commit it where that was asked for."""
        if self._wanted == self._stored:
            return
        self._store()
        if self._owes and self._wanted == self._stored:
            self._owes = False
            self._commits.commit(asynchronous=True)

    def committed(self) -> list[Committed]:
        """Commits that were answered since the last call."""
        return self._commits.committed()

    def _store(self) -> bool:
        """Store what may be committed; whether that is more than before."""
        may = {place: self._written.held.allowed(place, offset) for place, offset in self._wanted.items()}
        more = [(*place, offset) for place, offset in may.items() if self._stored.get(place) != offset]
        if more:
            self._commits.store(more)
            self._stored |= may
        return bool(more)
