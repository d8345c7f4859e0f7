"""The table `rebalances`: when partitions went from one consumer of a group to another, from what was delivered.

The rows of `received` may be many: each part is read alone, of few columns, and only what is first in a second is kept.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.pipeline.read.rows import Row
from streamgauge.pipeline.read.silver import Span

COLUMNS: Final = ("group", "topic", "partition", "consumer", "received_ns")
_READER: Final = ["group", "topic", "partition", "consumer", "second"]


def rebalance_rows(parts: Iterable[pa.Table], span: Span) -> list[Row]:
    """Rows of `rebalances` from the deliveries of each part, with the columns above."""
    reads = [found for part in parts if (found := _first_of_seconds(part, span)).num_rows]
    if not reads:
        return []
    order = [(name, "ascending") for name in ("group", "topic", "partition", "received_ns_min", "consumer")]
    found = pa.concat_tables(reads).sort_by(order)
    moved: Counter[tuple[int, int]] = Counter()
    before: tuple[int, ...] = ()
    reader = -1
    columns = (found.column(name).to_pylist() for name in ("group", "topic", "partition", "second", "consumer"))
    for group, topic, partition, second, consumer in zip(*columns, strict=True):
        place = (group, topic, partition)
        if place == before and consumer != reader:
            moved[group, second] += 1
        before, reader = place, consumer
    return [{"second": second, "group": group, "partitions": moved[group, second]} for group, second in sorted(moved)]


def _first_of_seconds(part: pa.Table, span: Span) -> pa.Table:
    """Of each second in which a consumer read a partition its first delivery."""
    since_ns = pc.subtract(part.column("received_ns"), span.measure.from_ns)
    seconds = pc.floor(pc.divide(since_ns.cast(pa.float64()), NS_PER_SECOND)).cast(pa.int64())
    with_seconds = part.append_column("second", seconds)
    return with_seconds.group_by(_READER).aggregate([("received_ns", "min")])
