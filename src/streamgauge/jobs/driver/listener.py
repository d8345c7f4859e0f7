"""What Spark tells of a query while it runs."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from streamgauge.domain import clock
from streamgauge.domain.query import QuerySpec
from streamgauge.jobs.driver.progress import progress_of
from streamgauge.processes.talk.lines import Told


class Listener(StreamingQueryListener):
    """Passes on what Spark says of batches, and wakes who waits for it."""

    def __init__(self, spec: QuerySpec, told: Told, wake: Callable[[], None]) -> None:
        self.batches = 0
        self.over = threading.Event()
        self._spec, self._told, self._wake = spec, told, wake
        self._raw = Path(spec.raw)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing: the query is not reading yet."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing: nothing happened."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """A batch is done."""
        at_ns = clock.monotonic_ns()
        line = event.progress.json
        with self._raw.open("a", encoding="utf-8") as raw:
            raw.write(line + "\n")
        self._told.tell(progress_of(json.loads(line), at_ns, self._spec.source, self._spec.starts))
        self.batches += 1
        self._wake()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802, ARG002 - Spark's names
        """All is told."""
        self.over.set()
        self._wake()
