"""A query on Spark, as the engine sees it: started, asked for news, stopped or killed, and started again."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from streamgauge.domain import clock
from streamgauge.domain.errors import RecordError
from streamgauge.domain.query import Advance, News, Progress, QuerySpec
from streamgauge.jobs import checkpoint
from streamgauge.jobs.news import LIMIT, STOP, Processes, order, read

_COMMAND: Final = ("-m", "streamgauge.jobs.driver")
_READ_BYTES: Final = 1 << 16


class SparkQuery:
    """One query; may be started again when it is over, and then goes on from its checkpoint.

    No method waits, but for `close` and `kill`, which wait for processes that are killed.
    """

    def __init__(self, spec: QuerySpec) -> None:
        self.spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._rest = b""
        self._processes: Mapping[str, int] = {}
        self._told: set[int] | None = None
        self._torn: set[int] = set()
        """Batches that were begun and not done when the query died."""
        """Numbers of the batches that were told, or were there before we began."""
        self._ends: tuple[int, ...] | None = None

    def start(self) -> None:
        """Start the driver's process; news that were not asked for are forgotten. Raises OSError."""
        self.close()
        if self._told is None:
            self._told = self._there_already()
        for path in (self.spec.log, self.spec.raw):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._scratch = tempfile.TemporaryDirectory(prefix="streamgauge-query-", ignore_cleanup_errors=True)
        self._rest, self._processes = b"", {}
        with Path(self.spec.log).open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *_COMMAND],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C in the terminal is not for it to hear.
                start_new_session=True,
            )
        os.set_blocking(_pipe(self._process.stdout).fileno(), False)
        self._say(order(self.spec, self._scratch.name))

    def _there_already(self) -> set[int]:
        try:
            return {batch.number for batch in self._batches() if batch.committed}
        except RecordError:
            # The driver says so, as it says everything else that is wrong.
            return set()

    def news(self) -> list[News]:
        """What was told since the last call, of what has died too."""
        if self._process is None or _pipe(self._process.stdout).closed:
            return []
        pipe = _pipe(self._process.stdout).fileno()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe, _READ_BYTES):
                self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [news for line in lines for news in self._heard(line)]

    def _heard(self, line: bytes) -> list[News]:
        said = read(line.decode())
        if isinstance(said, Processes):
            self._processes = said.found
            return []
        if isinstance(said, Progress):
            self._note(said)
        return [said]

    def _note(self, progress: Progress) -> None:
        if self._told is not None:
            self._told.add(progress.batch)
        if len(progress.advances) == self.spec.partitions:
            self._ends = tuple(advance.to_offset for advance in progress.advances)

    def alive(self) -> bool:
        """Whether the driver's process has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How it ended: 0 when it was over, 1 when it failed, 137 where its JVM was killed; None while it lives."""
        return self._process.poll() if self._process else None

    @property
    def pid(self) -> int | None:
        """The driver's process, which only conducts; the work is done by `processes`."""
        return self._process.pid if self._process else None

    def processes(self) -> Mapping[str, int]:
        """Process ids of the driver's JVM, `driver`, and of executors in this machine, `executor-<id>`."""
        return self._processes if self.alive() else {}

    def stop(self) -> None:
        """Ask for the end: when the batch that runs is done, or in real-time mode at once."""
        self._say(STOP)

    def limit(self, messages: int) -> None:
        """Let batches hold so many messages from now on, after another start, too."""
        self.spec = replace(self.spec, max_offsets=messages)
        self._say(f"{LIMIT} {messages}")

    def kill(self) -> None:
        """End all its processes at once."""
        if self._process is None:
            return
        if self._process.poll() is None:
            # It leads a group of its own, which its JVM and the executors of that belong to.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._clear()

    def close(self) -> None:
        """End what still runs, and let go of everything."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout) if self._process else ():
            with contextlib.suppress(BrokenPipeError):
                _pipe(pipe).close()

    def left_behind(self) -> list[Progress]:
        """The batches that the checkpoint knows and that were never told, each once; one that is not done, too.

        Ask when the query has ended and its last news were read. Raises RecordError for a broken checkpoint.
        """
        told = set() if self._told is None else self._told
        before, found = self.spec.starts, []
        for batch in self._batches():
            if batch.number not in told and not (batch.number in self._torn and not batch.committed):
                ends = zip(range(len(batch.ends)), _padded(before, batch.ends), batch.ends, strict=True)
                advances = [Advance(partition, begin, end, None) for partition, begin, end in ends]
                rows = sum(each.to_offset - each.from_offset for each in advances)
                now_ns, numbers = clock.monotonic_ns(), {"rows": rows}
                found.append(
                    Progress(now_ns, batch.number, batch.began_ms, numbers, advances, "checkpoint", batch.committed)
                )
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

    def _batches(self) -> list[checkpoint.Batch]:
        return checkpoint.batches(self.spec.checkpoint, self.spec.source)

    def _say(self, line: str) -> None:
        """Tell the driver; one that has died hears nothing."""
        if self._process is not None and not _pipe(self._process.stdin).closed:
            pipe = _pipe(self._process.stdin)
            with contextlib.suppress(BrokenPipeError):
                pipe.write(line.encode() + b"\n")
                pipe.flush()

    def _clear(self) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _padded(begins: tuple[int, ...], ends: tuple[int, ...]) -> tuple[int, ...]:
    """Where a batch began; partitions that came later begin at 0."""
    return (begins + (0,) * len(ends))[: len(ends)]
