"""A query in the measured path, and the table that one may write; `jobs.query` and `kafka.forward` are real queries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from streamgauge.domain.query import News, QueryProgress, QuerySpec


class Query(Protocol):
    """A query that stands between two topics, in processes of its own; it may be started again after it ended."""

    @property
    def exit_code(self) -> int | None:
        """How its process ended, negative for a signal; None while it lives, and before it was started."""
        ...

    def start(self) -> None:
        """Start it: from its checkpoint, where there is one."""
        ...

    def alive(self) -> bool:
        """Whether its process lives."""
        ...

    def news(self) -> Sequence[News]:
        """What it told since the last call; does not wait."""
        ...

    def processes(self) -> Mapping[str, int]:
        """Process ids of what carries it out now, by names like `driver` and `executor-0`."""
        ...

    def stop(self) -> None:
        """Ask it to end; `ended` is among its news when it has."""
        ...

    def limit(self, messages: int) -> None:
        """Let batches hold so many messages from now on; those under way may hold what was allowed before."""
        ...

    def kill(self) -> None:
        """End all its processes at once."""
        ...

    def left_behind(self) -> Sequence[QueryProgress]:
        """Batches that its checkpoint knows and that it never told; each once. Of use when it has ended."""
        ...

    def committed(self) -> Sequence[int] | None:
        """First offset of each partition that is not done, by its checkpoint; None where that is not known."""
        ...

    def checkpoint_bytes(self) -> int:
        """How large its checkpoint is."""
        ...

    def close(self) -> None:
        """Let go of it; what still lives is ended."""
        ...


class TableReader(Protocol):
    """Asks a table that grows how much there is in it."""

    def look(self) -> tuple[int, int, int | None]:
        """Rows, files, and the due time of the newest message that any row comes from; RecordError if it fails."""
        ...


OpenQuery = Callable[[QuerySpec], Query]
