"""When a consumer commits what it stored, and the rows that tell of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamgauge.domain.blocks import NULL_INT64, Block
from streamgauge.engine.ports.clients import OffsetCommits
from streamgauge.engine.ports.rows import Sink


@dataclass(frozen=True, slots=True)
class CommitEvery:
    """Commits after so many messages, or after so long."""

    messages: int | None = None
    interval_ns: int | None = None
    asynchronous: bool = False


@dataclass(slots=True)
class Committer:
    """Commits for one consumer in one way; `auto` leaves it to the client, and `never` to nobody.

    A reader without a group has no commits: then nothing is stored, and nothing committed.
    """

    commits: OffsetCommits | None
    way: str | CommitEvery
    """`auto`, `batch` (after the messages of each poll), `never`, or a rule."""
    sink: Sink | None
    _since_ns: int
    _messages: int = 0
    """Messages stored and not committed."""
    _polls: int = 0
    """Of these: polls of which every message is."""
    _is_own: bool = field(init=False)

    def __post_init__(self) -> None:
        """Find out who commits."""
        self._is_own = self.way not in {"auto", "never"}

    def store(self, offsets: Sequence[tuple[int, int, int]], messages: int, polls: int) -> None:
        """Store how far partitions are done with: so many more messages, and with them so many polls."""
        if self.commits:
            self.commits.store(offsets)
            self._messages += messages
            self._polls += polls

    def turn(self, now_ns: int) -> None:
        """Commit where it is time, and record what became of earlier commits."""
        if self._has_more and self._is_time(now_ns):
            self._commit(now_ns, asynchronous=isinstance(self.way, CommitEvery) and self.way.asynchronous)
        committed = self.commits.committed() if self.commits else []
        if committed and self.sink:
            at_ns, took_ns, asynchronous, error = zip(*committed, strict=True)
            known = [NULL_INT64 if took is None else took for took in took_ns]
            block: Block = {
                "at_ns": np.array(at_ns, np.int64),
                "took_ns": np.array(known, np.int64),
                "asynchronous": np.array(asynchronous, np.int8),
                "error": error,
            }
            self.sink.append(block, len(committed))

    def finish(self, now_ns: int, *, wait: bool) -> None:
        """Commit all that is stored, before partitions go or the client is closed; `never` stays never.

        Closing waits for a commit that is under way, in bounded time.
        """
        if self._has_more:
            self._commit(now_ns, asynchronous=not wait)
        self.turn(now_ns)

    @property
    def _has_more(self) -> bool:
        """Whether something is stored that is ours to commit."""
        return self._is_own and bool(self._messages or self._polls)

    def _commit(self, now_ns: int, *, asynchronous: bool) -> None:
        if self.commits:
            self.commits.commit(asynchronous=asynchronous)
        self._messages = self._polls = 0
        self._since_ns = now_ns

    def _is_time(self, now_ns: int) -> bool:
        if not isinstance(self.way, CommitEvery):
            return self._polls > 0
        if self.way.messages is not None:
            return self._messages >= self.way.messages
        return self.way.interval_ns is not None and now_ns - self._since_ns >= self.way.interval_ns
