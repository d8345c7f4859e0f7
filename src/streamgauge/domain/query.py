"""A query that stands in the measured path: what it is told to do, and what it tells of itself.

Plain values, which cross processes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

Setting = str | int | float | bool
"""The value of a setting of a client or of Spark."""


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """Everything that a query needs to know."""

    name: str
    job: str
    """`pass`, `filter`, `count`, `enrich`, `dedup`, `log-alert`, `feature-store` or `function`."""
    options: Mapping[str, Any]
    """Options of the job, by the names of the scenario; durations in ns."""
    does: str
    """What becomes of messages: `same`, `subset`, `changed` or `aggregate`."""
    engine: str
    """`micro-batch`, `available-now`, `real-time` or `client`."""
    interval_ns: int | None
    """Between the begins of two batches; None for as fast as possible."""
    source: str
    """Topic that it reads."""
    partitions: int
    """Of the source, and of the sink."""
    starts: tuple[int, ...]
    """Offset of each partition of the source where it begins, unless there is a checkpoint."""
    sink: str | None
    """Topic that it writes; None for a table."""
    table: str | None
    """Folder of the table that it writes; None for a topic."""
    checkpoint: str
    """Folder of its checkpoint."""
    connection: Mapping[str, Setting]
    """How to reach the cluster: settings by librdkafka's names, complete."""
    in_headers: bool
    """Whether stamps travel in a record header."""
    read_committed: bool
    """Whether messages of transactions that were aborted are hidden."""
    master: str | None
    """Spark cluster; None for one process."""
    parallelism: int
    """Tasks at once, where Spark runs in one process."""
    max_offsets: int | None
    """Messages of a batch, at most, at the begin; None for any number, which cannot be changed."""
    settings: Mapping[str, Setting]
    """Settings of Spark by its names."""
    jars: tuple[str, ...]
    """Paths of the jars that connect Spark with Kafka."""
    log: str
    """File that the query's processes print to."""
    raw: str
    """File for the lines of progress, as Spark gives them."""
    folder: str = "."
    """Where functions of the user's are looked for first."""


class Advance(NamedTuple):
    """How far one batch went in one partition of the source."""

    partition: int
    from_offset: int
    to_offset: int
    """First offset that is not in the batch."""
    latest: int | None
    """Log end when the batch was planned, where that was told."""


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """What was told of one batch: numbers by the names of the event `progress`, and how far it went."""

    at_ns: int
    """When it was told."""
    batch: int
    began_ms: int
    """Wall clock at which the batch began."""
    numbers: Mapping[str, int | float | None]
    advances: Sequence[Advance]
    source: str = "told"
    """`told` by the query while it ran, or read from its `checkpoint` after it had died."""
    committed: bool = True
    """Whether it is done; a checkpoint also knows the batch in which the query died."""

    @classmethod
    def untold(
        cls, at_ns: int, batch: int, began_ms: int, advances: Sequence[Advance], *, committed: bool = True
    ) -> "QueryProgress":
        """One that was never told: all that is known of it is how far it went."""
        numbers = {"rows": sum(each.to_offset - each.from_offset for each in advances)}
        return cls(at_ns, batch, began_ms, numbers, advances, "checkpoint", committed)


@dataclass(frozen=True, slots=True)
class Looked:
    """What Spark said of one executor."""

    at_ns: int
    executor: str
    numbers: Mapping[str, int | float | None]


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened to the query."""

    at_ns: int
    what: str
    """`ready`, once it reads; `ended`, after it was told to or had read what there was; `failed`."""
    detail: str | None = None
    """Why it failed, in one line."""


DRIVER: Final = "driver"
"""The process that drives a query, as events and faults name it."""
News = QueryProgress | Looked | Happened
