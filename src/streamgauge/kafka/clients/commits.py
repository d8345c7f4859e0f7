"""The offsets of a consumer over confluent-kafka: stored when what they cover is done with, and committed."""

from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamgauge.domain.blocks import Committed, Place
from streamgauge.domain.clock import monotonic_ns

_NOTHING_STORED: Final = "_NO_OFFSET"


class KafkaCommits:
    """Commits of one consumer, of the partitions that it has now: `places`, which its reader keeps."""

    def __init__(self, topics: Sequence[str], places: AbstractSet[Place], note: Callable[[KafkaError], None]) -> None:
        self.client: Any = None
        """The consumer of confluent-kafka, which tells `answered` of its commits."""
        self.revoked: Callable[[Sequence[Place]], None] = lambda _places: None
        """Called before partitions go to others."""
        self.covers: Callable[[Sequence[TopicPartition]], None] = lambda _partitions: None
        """Called with the offsets of each commit that the group has confirmed."""
        self.is_lost = False
        """Whether others have these partitions already: nobody takes a commit of them."""
        self._topics = topics
        self._places = places
        self._note = note
        self._under_way: deque[int] = deque()
        self._committed: list[Committed] = []

    def watch(self, revoked: Callable[[Sequence[Place]], None]) -> None:
        """Call this, in a poll, before partitions go to others."""
        self.revoked = revoked

    def store(self, offsets: Sequence[tuple[int, int, int]]) -> None:
        """Store offsets for the next commit."""
        mine = [TopicPartition(self._topics[each[0]], *each[1:]) for each in offsets if each[:2] in self._places]
        try:
            self.client.store_offsets(offsets=mine)
        except KafkaException as error:
            # The partition went to another member meanwhile, which reads these messages again.
            self._note(error.args[0])

    def commit(self, *, asynchronous: bool) -> None:
        """Commit what is stored."""
        if self.is_lost:
            return
        began_ns = monotonic_ns()
        if asynchronous:
            self._under_way.append(began_ns)
            self.client.commit(asynchronous=True)
            return
        error: KafkaError | None = None
        try:
            answers = self.client.commit(asynchronous=False) or []
            error = next((answer.error for answer in answers if answer.error), None)
            self._confirm(answers)
        except KafkaException as raised:
            error = raised.args[0]
        self._take(Committed(began_ns, monotonic_ns() - began_ns, False, error.name() if error else None))

    def committed(self) -> list[Committed]:
        """Commits that were answered since the last call."""
        if not self._committed:
            return []
        out, self._committed = self._committed, []
        return out

    def answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """A commit that nobody waited for was answered: one of ours, in the order of the calls, or the client's own."""
        now_ns = monotonic_ns()
        began_ns = self._under_way.popleft() if self._under_way else None
        took_ns = None if began_ns is None else now_ns - began_ns
        self._take(Committed(began_ns or now_ns, took_ns, True, error.name() if error else None))
        if error is None:
            self._confirm(partitions)

    def _confirm(self, partitions: Sequence[TopicPartition]) -> None:
        self.covers([each for each in partitions if each.error is None and each.offset >= 0])

    def _take(self, committed: Committed) -> None:
        if committed.error != _NOTHING_STORED:
            self._committed.append(committed)
