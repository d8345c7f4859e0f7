"""When a consumer commits what it stored, and the rows that tell of it."""

from dataclasses import dataclass, field

import numpy as np

from streamgauge.domain.blocks import NULL_INT64, Block
from streamgauge.engine.ports import ConsumerClient, Sink
from streamgauge.scenario.model.consume import Commit, CommitWay


@dataclass(slots=True)
class Committer:
    """Commits for one consumer in one way; `auto` leaves it to the client, and `never` to nobody."""

    client: ConsumerClient
    way: CommitWay | Commit
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

    def stored(self, messages: int, polls: int) -> None:
        """So many more messages are stored, and with them so many polls are."""
        self._messages += messages
        self._polls += polls

    def turn(self, now_ns: int) -> None:
        """Commit where it is time, and record what became of earlier commits."""
        if self._is_own and (self._messages or self._polls) and self._is_time(now_ns):
            self._commit(now_ns, asynchronous=isinstance(self.way, Commit) and self.way.asynchronous)
        committed = self.client.commits()
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
        if self._is_own and (self._messages or self._polls):
            self._commit(now_ns, asynchronous=not wait)
        self.turn(now_ns)

    def _commit(self, now_ns: int, *, asynchronous: bool) -> None:
        self.client.commit(asynchronous=asynchronous)
        self._messages = self._polls = 0
        self._since_ns = now_ns

    def _is_time(self, now_ns: int) -> bool:
        if not isinstance(self.way, Commit):
            return self._polls > 0
        if self.way.messages is not None:
            return self._messages >= self.way.messages
        return self.way.interval is not None and now_ns - self._since_ns >= self.way.interval
