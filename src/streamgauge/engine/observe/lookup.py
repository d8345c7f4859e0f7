"""The reader of a table that grows: asks it the same question again and again, and records how long that took."""

from collections.abc import Callable
from dataclasses import dataclass

from streamgauge.domain import clock
from streamgauge.domain.errors import RecordError
from streamgauge.engine.board import Order
from streamgauge.engine.observe.regular import regularly
from streamgauge.engine.ports.query import TableReader
from streamgauge.engine.ports.rows import Sink


@dataclass(slots=True)
class Lookups:
    """Asks on an absolute schedule until the run is over; what was missed meanwhile is not made up for."""

    reader: TableReader
    every_ns: int
    sink: Sink
    order: Callable[[], Order]
    now_ns: Callable[[], int] = clock.monotonic_ns
    sleep: Callable[[float], None] = clock.sleep_seconds

    def run(self) -> None:
        """Ask until the supervisor wants the end."""
        regularly(self.every_ns, self.ask, self.order, self.now_ns, self.sleep)

    def ask(self) -> None:
        """Ask once; what went wrong is a row, too."""
        at_ns, error = self.now_ns(), None
        rows, files, newest_ns = 0, 0, None
        try:
            rows, files, newest_ns = self.reader.look()
        except RecordError as failure:
            error = str(failure)
        took_ns = self.now_ns() - at_ns
        self.sink.append(
            {"at_ns": at_ns, "took_ns": took_ns, "rows": rows, "files": files, "newest_ns": newest_ns, "error": error},
            1,
        )
