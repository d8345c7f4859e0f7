"""The histograms of many runs, added up: what percentiles of their messages together are taken of.

In Arrow, file by file. Spark takes many times as long: each run has a file of its own, most of whose rows are of single
partitions and of seconds outside the measure phase, and what is left of them is a few thousand buckets.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.domain.errors import AnalysisError
from streamgauge.domain.tables.latency import LATENCY_BUCKETS
from streamgauge.pipeline.many.views import NamedRun

POOLED: Final = pa.schema(
    [("pool", pa.int32()), ("bucket", pa.int64()), ("censored", pa.bool_()), ("count", pa.int64())]
)
_KEYS: Final = ("pool", "bucket", "censored")
_READ: Final = ("metric", "second", "measured", "bucket", "censored", "count")
_AT_ONCE: Final = 50
"""Of how many runs counts are held until they are added up."""

Pools = Mapping[str, Mapping[str, Sequence[int]]]
"""By run and latency: the numbers of the pools that its measured messages belong to."""


def pooled_counts(runs: Sequence[NamedRun], pools: Pools) -> pa.Table:
    """Measured messages by pool and bucket, of all runs that have a table of them.

    Raises AnalysisError where a table cannot be read.
    """
    counts = [POOLED.empty_table()]
    for run in runs:
        path = run.folder.table(LATENCY_BUCKETS.name)
        if run.name in pools and path.exists():
            counts.append(_counts(path, pools[run.name]))
        if len(counts) > _AT_ONCE:
            counts = [_added(counts)]
    return _added(counts)


def _counts(path: Path, pools: Mapping[str, Sequence[int]]) -> pa.Table:
    """The measured messages of one run, of all seconds together; none of a table of other columns."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            if not {*_READ} <= {*file.schema_arrow.names}:
                return POOLED.empty_table()
            rows = file.read(columns=list(_READ), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise AnalysisError(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    measured = rows.filter(pc.and_(rows["measured"], pc.is_valid(rows["second"])))
    members = [{"metric": latency, "pool": pool} for latency, numbers in pools.items() for pool in numbers]
    named = pa.Table.from_pylist(members, pa.schema([("metric", pa.string()), ("pool", pa.int32())]))
    return _added([measured.join(named, "metric", join_type="inner", use_threads=False).select(POOLED.names)])


def _added(counts: Sequence[pa.Table]) -> pa.Table:
    grouped = pa.concat_tables(counts).group_by(list(_KEYS), use_threads=False).aggregate([("count", "sum")])
    return grouped.select([*_KEYS, "count_sum"]).rename_columns(POOLED.names).cast(POOLED)
