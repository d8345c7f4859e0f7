"""The table `processing`: how long consumers took to process, beside how long they were asked to take."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

from streamgauge.delivery.rows import MeasureSpan
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.latency.percentiles import Buckets, Moments, summarise
from streamgauge.pipeline.audit import judging
from streamgauge.pipeline.columns import CONSUMER
from streamgauge.pipeline.metrics.aggregates.buckets import bucket, exponent
from streamgauge.pipeline.metrics.aggregates.sums import Sums
from streamgauge.pipeline.read.bronze import Bronze
from streamgauge.pipeline.read.rows import Row, share
from streamgauge.pipeline.read.traits import RunTraits
from streamgauge.scenario.profile.model import Delay

_UNPROCESSED = -2
"""In place of a bucket, all of which are larger, where nothing was processed."""
_AGGREGATES = {"count": "count(*)", "sum": "sum(cast(took as double))", "low": "min(took)", "high": "max(took)"}


def counted(deliveries: DataFrame, measure: MeasureSpan, delays: Sequence[Delay]) -> DataFrame:
    """One row per consumer, phase (which of the delays applied) and bucket of the time taken.

    What was processed in the measure phase, and what was received in it and never processed. Columns consumer, phase,
    bucket (null where there was no processing), count, sum, low and high in ns.
    """
    begun = "coalesce(started_ns, received_ns)"
    passed = [f"if({begun} >= {measure.from_ns + delay.from_ns}L, 1, 0)" for delay in delays[1:]]
    return (
        deliveries.where("(if(processed, done_tick, received_tick) & 1) = 1")
        .selectExpr(CONSUMER, f"{' + '.join(passed) or '0'} as phase", "processed_ns - started_ns as took")
        .selectExpr("*", f"{exponent('took')} as exponent")
        .selectExpr(CONSUMER, "phase", "took", f"{bucket('took', 'exponent')} as bucket")
        .groupBy(CONSUMER, "phase", "bucket")
        .agg(*(F.expr(f"{sql} as {name}") for name, sql in _AGGREGATES.items()))
    )


def rows_of(traits: RunTraits, bronze: Bronze, counts: pa.Table, measure: MeasureSpan) -> list[Row]:
    """Rows of `processing` from what `counted` gave, with the slots that consumers had."""
    at_once = slots(traits, judging.end_rows(bronze, ("moment", CONSUMER)))
    return processing_rows(counts, traits.delays, at_once, measure)


def slots(traits: RunTraits, positions: pa.Table) -> Mapping[int, int]:
    """How many messages each consumer processes at once, from the rows of `lag`.

    Where that is one for each partition, those count that it had at the end; a consumer that died is not in it.
    """
    chosen = pc.and_(pc.is_valid(positions.column("consumer")), pc.equal(positions.column("moment"), "final"))
    had = Counter(positions.filter(chosen).column("consumer").to_pylist())
    return {consumer: partitions if traits.slots is None else traits.slots for consumer, partitions in had.items()}


def processing_rows(
    counts: pa.Table, delays: Sequence[Delay], at_once: Mapping[int, int], measure: MeasureSpan
) -> list[Row]:
    """Rows of `processing`: all together, each consumer, and each phase; none where nothing was processed."""
    if not counts.num_rows:
        return []
    taken = Sums(counts)
    consumers, phases = (np.unique(taken.column(name)).tolist() for name in (CONSUMER, "phase"))
    known = [at_once.get(consumer) for consumer in consumers]
    all_slots = None if None in known else sum(filter(None, known))
    length_ns = measure.to_ns - measure.from_ns
    return [
        _row(taken, delays) | {"busy_share": _busy(taken, length_ns, all_slots)},
        *(
            _row(mine, delays) | {"consumer": consumer, "busy_share": _busy(mine, length_ns, slots_)}
            for consumer, slots_ in zip(consumers, known, strict=True)
            for mine in [taken.where(taken.column(CONSUMER) == consumer)]
        ),
        *(
            _row(taken.where(taken.column("phase") == phase), delays)
            | {"phase": phase, "target_stddev_ms": delays[phase].stddev_ns / NS_PER_MS if delays else None}
            for phase in phases
        ),
    ]


def _took_ns(taken: Sums) -> float:
    """Time taken by all of it."""
    return float(taken.table.column("sum").fill_null(0.0).to_numpy().sum())


def _row(taken: Sums, delays: Sequence[Delay]) -> Row:
    done = taken.where(taken.column("bucket", _UNPROCESSED) != _UNPROCESSED)
    processed, phases, count = done.total("count"), done.column("phase"), done.column("count")
    low, high = (int(done.column("low").min()), int(done.column("high").max())) if processed else (None, None)
    moments = Moments(processed, low, high, _took_ns(done), 0.0)
    shown = summarise(Buckets.merged(done.column("bucket"), count), moments, "").as_result()
    asked_ns = sum(float(count[phases == phase].sum()) * delay.mean_ns for phase, delay in enumerate(delays))
    return {
        "processed": processed,
        "unprocessed": taken.total("count") - processed,
        **{name: shown[name] for name in ("mean_ms", "p50_ms", "p99_ms", "max_ms")},
        "target_ms": asked_ns / processed / NS_PER_MS if delays and processed else None,
    }


def _busy(taken: Sums, length_ns: int, at_once: int | None) -> float | None:
    return share(_took_ns(taken), at_once and length_ns * at_once)
