"""The table `processing`: how long consumers took to process, beside how long they were asked to take."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.rows import Measure
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.buckets import Int64s
from streamgauge.domain.latency.percentiles import Buckets, Moments, summarise
from streamgauge.pipeline.audit import judging
from streamgauge.pipeline.metrics.buckets import bucket
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.knowledge import Knowledge
from streamgauge.scenario.profile.model import Delay

Row = dict[str, Any]
_UNPROCESSED = -2
"""In place of a bucket, all of which are larger, where nothing was processed."""
_AGGREGATES = {"count": "count(*)", "sum": "sum(cast(took as double))", "low": "min(took)", "high": "max(took)"}


def counted(deliveries: DataFrame, measure: Measure, delays: Sequence[Delay]) -> DataFrame:
    """One row per consumer, phase (which of the delays applied) and bucket of the time taken.

    What was processed in the measure phase, and what was received in it and never processed. Columns consumer, phase,
    bucket (null where there was no processing), count, sum, low and high in ns.
    """
    begun = "coalesce(started_ns, received_ns)"
    passed = [f"if({begun} >= {measure.from_ns + delay.from_ns}L, 1, 0)" for delay in delays[1:]]
    return (
        deliveries.where("(if(processed, done_tick, received_tick) & 1) = 1")
        .selectExpr("consumer", f"{' + '.join(passed) or '0'} as phase", "processed_ns - started_ns as took")
        .selectExpr("consumer", "phase", "took", f"{bucket('took')} as bucket")
        .groupBy("consumer", "phase", "bucket")
        .agg(*(F.expr(f"{sql} as {name}") for name, sql in _AGGREGATES.items()))
    )


def rows_of(knows: Knowledge, bronze: Bronze, counts: pa.Table, measure: Measure) -> list[Row]:
    """Rows of `processing` from what `counted` gave, with the slots that consumers had."""
    at_once = slots(knows, judging.marks(bronze, ("moment", "consumer")))
    return processing_rows(counts, knows.delays, at_once, measure)


def slots(knows: Knowledge, positions: pa.Table) -> Mapping[int, int]:
    """How many messages each consumer processes at once, from the rows of `lag`.

    Where that is one for each partition, those count that it had at the end; a consumer that died is not in it.
    """
    chosen = pc.and_(pc.is_valid(positions.column("consumer")), pc.equal(positions.column("moment"), "final"))
    had = Counter(positions.filter(chosen).column("consumer").to_pylist())
    return {consumer: partitions if knows.slots is None else knows.slots for consumer, partitions in had.items()}


def processing_rows(
    counts: pa.Table, delays: Sequence[Delay], at_once: Mapping[int, int], measure: Measure
) -> list[Row]:
    """Rows of `processing`: all together, each consumer, and each phase; none where nothing was processed."""
    if not counts.num_rows:
        return []
    taken = _Taken.of(counts)
    consumers, phases = (np.unique(column).tolist() for column in (taken.consumer, taken.phase))
    known = [at_once.get(consumer) for consumer in consumers]
    all_slots = None if None in known else sum(filter(None, known))
    length_ns = measure.to_ns - measure.from_ns
    return [
        _row(taken, delays) | {"busy_share": _share(taken.total_ns, length_ns, all_slots)},
        *(
            _row(mine, delays) | {"consumer": consumer, "busy_share": _share(mine.total_ns, length_ns, slots_)}
            for consumer, slots_ in zip(consumers, known, strict=True)
            for mine in [taken.where(taken.consumer == consumer)]
        ),
        *(
            _row(taken.where(taken.phase == phase), delays)
            | {"phase": phase, "asked_stddev_ms": delays[phase].stddev_ns / NS_PER_MS if delays else None}
            for phase in phases
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Taken:
    """What `counted` gave, in memory."""

    consumer: Int64s
    phase: Int64s
    bucket: Int64s
    count: Int64s
    low: Int64s
    high: Int64s
    took_ns: NDArray[np.float64]
    """Time taken by all messages of the row."""

    @classmethod
    def of(cls, counts: pa.Table) -> "_Taken":
        names = ("consumer", "phase", "bucket", "count", "low", "high")
        whole = {name: counts.column(name).fill_null(_UNPROCESSED).to_numpy().astype(np.int64) for name in names}
        return cls(**whole, took_ns=counts.column("sum").fill_null(0.0).to_numpy())

    def where(self, chosen: Any) -> "_Taken":
        return _Taken(
            self.consumer[chosen], self.phase[chosen], self.bucket[chosen], self.count[chosen], self.low[chosen],
            self.high[chosen], self.took_ns[chosen],
        )  # fmt: skip

    @property
    def total_ns(self) -> float:
        """Time taken by all of it."""
        return float(self.took_ns.sum())


def _row(taken: _Taken, delays: Sequence[Delay]) -> Row:
    done = taken.where(taken.bucket != _UNPROCESSED)
    processed = int(done.count.sum())
    low, high = (int(done.low.min()), int(done.high.max())) if processed else (None, None)
    moments = Moments(processed, low, high, done.total_ns, 0.0)
    shown = summarise(Buckets.merged(done.bucket, done.count), moments, "").as_result()
    asked_ns = sum(float(done.count[done.phase == phase].sum()) * delay.mean_ns for phase, delay in enumerate(delays))
    return {
        "consumer": None,
        "phase": None,
        "processed": processed,
        "unprocessed": int(taken.count.sum()) - processed,
        **{name: shown[name] for name in ("mean_ms", "p50_ms", "p99_ms", "max_ms")},
        "asked_ms": asked_ns / processed / NS_PER_MS if delays and processed else None,
        "asked_stddev_ms": None,
        "busy_share": None,
    }


def _share(took_ns: float, length_ns: int, at_once: int | None) -> float | None:
    return took_ns / (length_ns * at_once) if length_ns and at_once else None
