"""A JVM of ours with its session, and how PySpark is made to take it for that of this process while it is used."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
                    return _said(self.jvm.process.wait(END_SECONDS))
        code = self.jvm.process.poll()
        return None if code is None else _said(code)


def _said(exit_code: int) -> str:
    if exit_code == -signal.SIGKILL:
        return "it was killed, which the system also does when memory runs out"
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
