"""What readers have in common that stand around a `KafkaReader`, and change only what they hand over."""

from streamgauge.domain.blocks import Block
from streamgauge.kafka.clients.reader import KafkaReader
from streamgauge.kafka.clients.statistics import Statistics, together
from streamgauge.processes.patience import let_go


class AroundReader:
    """Passes on whatever a reader is asked, but for `poll`."""

    _reader: KafkaReader
    _told: Statistics
    """What the producer beside it says of itself."""

    def ends(self) -> list[tuple[int, int, int]]:
        """Ends of logs, once everything below them is handed over."""
        return self._reader.ends()

    def positions(self) -> list[tuple[int, int, int | None]]:
        """Positions, below what is polled and not handed over."""
        return self._reader.positions()

    def assigned(self) -> int:
        """Partitions of all topics that this consumer has now."""
        return self._reader.assigned()

    def hold(self, *, held: bool) -> None:
        """Stop or let go the delivery of messages."""
        self._reader.hold(held=held)

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` of the consumer and of its producer since the last call, and their number."""
        return together([self._reader.statistics(), self._told.rows()])

    def close(self) -> None:
        """Leave the group. What is not acknowledged by now will be read, or delivered, again."""
        let_go([self._reader.close])
