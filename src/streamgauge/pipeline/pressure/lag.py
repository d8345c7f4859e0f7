"""The tables `lag` and `lag_heat`: how far every group was behind in every partition, as sampled during the run.

A second of sampling has as many rows as there are groups and partitions, and may have been asked for twenty times: the
rows are answered as columns, and nobody makes Python objects of them.
"""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.arrow import arrow_schema
from streamgauge.domain.clock import NS_PER_MS, NS_PER_SECOND
from streamgauge.domain.tables.pressure import LAG_HEAT, LAG_SAMPLES
from streamgauge.pipeline.metrics.aggregates.curves import HEAT_COLUMNS
from streamgauge.pipeline.read.rows import numbers, shaped
from streamgauge.pipeline.read.silver import Span

SAMPLE: Final = "sample"
ENDS: Final = frozenset({"start", "final"})
"""Moments of the rows by which delivery is judged."""
GROUP: Final = "group"
_OFFSETS: Final = ("end", "committed", "position", "committed_lag", "position_lag")


def samples(rows: pa.Table) -> pa.Table:
    """The samples among the rows of the event, in the order of their times, with their lags."""
    rows = rows.filter(pc.equal(rows.column("moment"), SAMPLE))
    rows = rows.sort_by([(name, "ascending") for name in ("at_ns", "group", "topic", "partition")])
    for name in ("committed", "position"):
        # A position is read after the log ends, and may be ahead of them.
        behind = pc.subtract(rows.column("end"), rows.column(name))
        known = pc.if_else(pc.is_valid(behind), pc.max_element_wise(behind, 0), None)
        rows = rows.append_column(f"{name}_lag", known.cast(pa.int64()))
    return rows


def lag_table(sampled: pa.Table, span: Span) -> pa.Table:
    """The table `lag`: every group at every sample, then every partition."""
    return pa.concat_tables([_shaped(together(sampled), GROUP, span), _shaped(sampled, "partition", span)])


def heat(sampled: pa.Table, span: Span) -> pa.Table:
    """The table `lag_heat`: the largest lag of every partition in equally long columns of whole seconds."""
    seconds = (numbers(sampled, "at_ns") - span.measure.from_ns) // NS_PER_SECOND
    if not len(seconds):
        return arrow_schema(LAG_HEAT).empty_table()
    first = int(seconds.min())
    width = -(-(int(seconds.max()) - first + 1) // HEAT_COLUMNS)
    begins = first + (seconds - first) // width * width
    keys = ["group", "topic", "partition", "from_second"]
    cells = sampled.append_column("from_second", pa.array(begins, pa.int64()))
    found = cells.group_by(keys).aggregate([("committed_lag", "max"), ("position_lag", "max")])
    # Grouping promises no order.
    found = found.sort_by([(name, "ascending") for name in keys])
    known: dict[str, Any] = {name: found.column(name) for name in keys}
    known |= {"to_second": pc.add(found.column("from_second"), width)}
    known |= {name: found.column(f"{name}_max") for name in ("committed_lag", "position_lag")}
    return shaped(known, found.num_rows, arrow_schema(LAG_HEAT))


def together(sampled: pa.Table) -> pa.Table:
    """All partitions of a group at once; a sum is null where one of its values is not known."""
    sums = [(name, kind) for name in _OFFSETS for kind in ("sum", "count")]
    most = [("committed_lag", "max"), ("error", "max"), ("partition", "count"), ("answered_ns", "max")]
    found = sampled.group_by(["at_ns", "group"]).aggregate([*sums, *most])
    # Grouping promises no order.
    found = found.sort_by([("at_ns", "ascending"), ("group", "ascending")])
    columns = {name: found.column(name) for name in ("at_ns", "group")}
    for name in _OFFSETS:
        columns[name] = _whole(found, name, found.column(f"{name}_sum"))
    columns["worst_committed_lag"] = _whole(found, "committed_lag", found.column("committed_lag_max"))
    columns["error"] = found.column("error_max")
    took_ns = pc.subtract(found.column("answered_ns_max"), found.column("at_ns"))
    columns["took_ms"] = pc.divide(took_ns.cast(pa.float64()), NS_PER_MS)
    return pa.table(columns)


def _whole(found: pa.Table, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values of groups of which all partitions are known."""
    known = pc.equal(found.column(f"{name}_count"), found.column("partition_count"))
    return pc.if_else(known, values, None)


def _shaped(rows: pa.Table, scope: str, span: Span) -> pa.Table:
    since_ns = numbers(rows, "at_ns") - span.measure.from_ns
    known: dict[str, Any] = {name: rows.column(name) for name in rows.column_names}
    known |= {"second": since_ns / NS_PER_SECOND, "scope": [scope] * rows.num_rows}
    if scope == GROUP:
        known |= dict.fromkeys(("topic", "partition"))
    return shaped(known, rows.num_rows, arrow_schema(LAG_SAMPLES))
