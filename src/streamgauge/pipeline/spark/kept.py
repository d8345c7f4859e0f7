"""A JVM of ours with its session, and how PySpark is made to take it for that of this process while it is used."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from streamgauge.pipeline.spark.settings import Sizing
from streamgauge.processes.jvm.archive import Archive
from streamgauge.processes.jvm.spark import SparkJvm
from streamgauge.processes.scratch import Scratch

END_SECONDS: Final = 10.0
"""How long a JVM may take to end: one that was killed is still there for a moment."""
_OUT_OF_MEMORY: Final = 52
"""Spark ends with it when a task runs out of memory (its SparkExitCode.OOM)."""
_MEMORY_ERROR: Final = re.compile(rb"\w*OutOf\w*MemoryError: [^\n]*")
_LOG_BYTES: Final = 1 << 20
"""So much of the end of a log is searched for the error: a task that fails writes some pages."""


class Current(NamedTuple):
    """What PySpark takes for the session and the JVM of this process."""

    session: SparkSession | None = None
    active: SparkSession | None = None
    context: SparkContext | None = None
    gateway: Any = None
    jvm: Any = None

    @classmethod
    def now(cls) -> Self:
        """What it takes for them now."""
        # PySpark has one of each, and no other names for them.
        return cls(
            SparkSession._instantiatedSession,
            SparkSession._activeSession,
            SparkContext._active_spark_context,
            SparkContext._gateway,
            SparkContext._jvm,
        )

    def put(self) -> None:
        """Let PySpark take these for them."""
        SparkSession._instantiatedSession, SparkSession._activeSession = self.session, self.active
        SparkContext._active_spark_context, SparkContext._gateway, SparkContext._jvm = self[2:]


@dataclass(slots=True)
class Kept:
    """A JVM of ours, and the session in it once somebody asked for it."""

    size: Sizing
    master: str | None
    scratch: Scratch
    jvm: SparkJvm
    archive: Archive | None
    spark: SparkSession | None = None
    current: Current = Current()  # noqa: RUF009 - immutable
    """What PySpark knows of it, while nobody uses it."""
    served: int = 0
    """How many analyses it has carried out."""

    @contextmanager
    def used(self) -> Iterator[None]:
        """PySpark takes the session for that of this process within the block, and forgets it afterwards.

        So a user who asks PySpark for a session never gets ours, which has other settings and ends when we want.
        """
        before = Current.now()
        if self.spark is not None and before.session is self.spark:
            # Who uses it already also puts back what was there before.
            yield
            return
        self.current.put()
        try:
            yield
        finally:
            self.current = Current.now()
            before.put()

    def fits(self, size: Sizing, master: str | None) -> bool:
        """Whether an analysis of this size can run in it: one for large runs serves small ones, too."""
        is_large_enough = self.size.java_options == size.java_options or size.is_small
        return self.jvm.process.poll() is None and self.master == master and is_large_enough

    def how_ended(self) -> str | None:
        """How its JVM ended; None while it answers."""
        if self.spark is not None:
            try:
                self.spark.sparkContext._gateway.jvm.System.nanoTime()  # type: ignore[union-attr]
            except (Py4JError, OSError):
                # A process that dies closes its connections first.
                with suppress(subprocess.TimeoutExpired):
                    return self._said(self.jvm.process.wait(END_SECONDS))
        code = self.jvm.process.poll()
        return None if code is None else self._said(code)

    @property
    def is_worn_out(self) -> bool:
        """Whether it ran out of memory after it had served others, which may have left what a new one has not."""
        return self.served > 0 and self.jvm.process.poll() == _OUT_OF_MEMORY

    def _said(self, exit_code: int) -> str:
        if exit_code == _OUT_OF_MEMORY:
            return f"it ran out of memory{_memory_error(self.jvm.log)}"
        if exit_code == -signal.SIGKILL:
            return "it was killed, which the system also does when memory runs out"
        return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


def _memory_error(log: Path) -> str:
    """The last error of memory in a log, in brackets; nothing where there is none."""
    with suppress(OSError), log.open("rb") as lines:
        lines.seek(max(0, lines.seek(0, os.SEEK_END) - _LOG_BYTES))
        if found := _MEMORY_ERROR.findall(lines.read()):
            return f" ({found[-1].decode(errors='replace').strip()})"
    return ""
