"""A query on Spark, as the engine sees it: started, asked for news, stopped or killed, and started again."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from streamgauge.domain import clock
from streamgauge.domain.errors import RecordError
from streamgauge.domain.query import Advance, News, QueryProgress, QuerySpec
from streamgauge.jobs import checkpoint
from streamgauge.processes.scratch import QUERY, Scratch
from streamgauge.processes.talk.lines import Child
from streamgauge.processes.talk.news import LIMIT, STOP, order

_DRIVER: Final = ("-m", "streamgauge.jobs.driver.main")


class SparkQuery:
    """One query; may be started again when it is over, and then goes on from its checkpoint.

    No method waits, but for `close` and `kill`, which wait for processes that are killed.
    """

    def __init__(self, spec: QuerySpec) -> None:
        self.spec = spec
        self._child = Child(_DRIVER)
        self._scratch: Scratch | None = None
        self._told: set[int] | None = None
        """Numbers of the batches that were told, or were there before we began."""
        self._torn: set[int] = set()
        """Batches that were begun and not done when the query died."""
        self._ends: tuple[int, ...] | None = None

    def start(self) -> None:
        """Start the driver's process; news that were not asked for are forgotten. Raises OSError."""
        self.close()
        if self._told is None:
            self._told = self._there_already()
        for path in (self.spec.log, self.spec.raw):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._scratch = Scratch(QUERY)
        self._child.start(order(self.spec, str(self._scratch.path)), Path(self.spec.log))

    def _there_already(self) -> set[int]:
        try:
            return {batch.number for batch in self._batches() if batch.committed}
        except RecordError:
            # The driver says so, as it says everything else that is wrong.
            return set()

    def news(self) -> list[News]:
        """What was told since the last call, of what has died too."""
        news = self._child.news()
        for each in news:
            if isinstance(each, QueryProgress):
                self._note(each)
        return news

    def _note(self, progress: QueryProgress) -> None:
        if self._told is not None:
            self._told.add(progress.batch)
        if len(progress.advances) == self.spec.partitions:
            self._ends = tuple(advance.to_offset for advance in progress.advances)

    def alive(self) -> bool:
        """Whether the driver's process has not ended."""
        return self._child.alive()

    @property
    def exit_code(self) -> int | None:
        """How it ended: 0 when it was over, 1 when it failed, 137 where its JVM was killed; None while it lives."""
        return self._child.exit_code

    @property
    def pid(self) -> int | None:
        """The driver's process, which only conducts; the work is done by `processes`."""
        return self._child.pid

    def processes(self) -> Mapping[str, int]:
        """Process ids of the driver's JVM, `driver`, and of executors in this machine, `executor-<id>`."""
        return self._child.processes()

    def stop(self) -> None:
        """Ask for the end: when the batch that runs is done, or in real-time mode at once."""
        self._child.say(STOP)

    def limit(self, messages: int) -> None:
        """Let batches hold so many messages from now on, after another start, too."""
        self.spec = replace(self.spec, max_offsets=messages)
        self._child.say(f"{LIMIT} {messages}")

    def kill(self) -> None:
        """End all its processes at once."""
        self._child.kill()
        self._clear()

    def close(self) -> None:
        """End what still runs, and let go of everything."""
        self.kill()
        self._child.close()

    def left_behind(self) -> list[QueryProgress]:
        """The batches that the checkpoint knows and that were never told, each once; one that is not done, too.

        Ask when the query has ended and its last news were read. Raises RecordError for a broken checkpoint.
        """
        told = set() if self._told is None else self._told
        before, found = self.spec.starts, []
        for batch in self._batches():
            if batch.number not in told and not (batch.number in self._torn and not batch.committed):
                ends = zip(range(len(batch.ends)), _padded(before, batch.ends), batch.ends, strict=True)
                advances = [Advance(partition, begin, end, None) for partition, begin, end in ends]
                now_ns, done = clock.monotonic_ns(), batch.committed
                found.append(QueryProgress.untold(now_ns, batch.number, batch.began_ms, advances, committed=done))
                (told if batch.committed else self._torn).add(batch.number)
            before = batch.ends
        return found

    def committed(self) -> tuple[int, ...] | None:
        """How far each partition of the source is done, by the checkpoint or by what was told; None for not at all."""
        try:
            ends = checkpoint.committed_ends(self.spec.checkpoint, self.spec.source)
        except RecordError:
            return self._ends
        return ends or self._ends

    def checkpoint_bytes(self) -> int:
        """Bytes of the checkpoint; 0 where it is not in this machine."""
        return checkpoint.size_bytes(self.spec.checkpoint)

    def _batches(self) -> list[checkpoint.CheckpointBatch]:
        return checkpoint.batches(self.spec.checkpoint, self.spec.source)

    def _clear(self) -> None:
        if self._scratch is not None:
            self._scratch.close()
            self._scratch = None


def _padded(begins: tuple[int, ...], ends: tuple[int, ...]) -> tuple[int, ...]:
    """Where a batch began; partitions that came later begin at 0."""
    return (begins + (0,) * len(ends))[: len(ends)]
