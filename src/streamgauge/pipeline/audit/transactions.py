"""The table `transactions`, and how each transaction ended."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.events import ABORTED, COMMITTED, UNDECIDED
from streamgauge.pipeline.columns import PRODUCER
from streamgauge.pipeline.metrics.spans import figures
from streamgauge.pipeline.read.rows import Row, measured
from streamgauge.pipeline.read.silver import Span

_KEY = [PRODUCER, "transaction"]


def outcomes(rows: pa.Table) -> pa.Table:
    """Columns producer, transaction and outcome: every transaction once; of several outcomes none is believed."""
    ended = rows.group_by(_KEY).aggregate([("outcome", "min"), ("outcome", "max")])
    agreed = pc.equal(ended.column("outcome_min"), ended.column("outcome_max"))
    return ended.select(_KEY).append_column("outcome", pc.if_else(agreed, ended.column("outcome_min"), UNDECIDED))


def transaction_rows(rows: pa.Table, span: Span) -> list[Row]:
    """Rows of `transactions` from those of the event; none where there are none."""
    if not rows.num_rows:
        return []
    scopes = {
        "run": (rows, span.run_ns),
        "measure": (measured(rows, "ended_ns", span.measure), span.measure_ns),
    }
    return [
        {"scope": scope, "outcome": outcome} | _told(of_scope.filter(pc.equal(of_scope["outcome"], outcome)), length_ns)
        for scope, (of_scope, length_ns) in scopes.items()
        for outcome in (COMMITTED, ABORTED, UNDECIDED)
    ]


def _told(rows: pa.Table, length_ns: int) -> Row:
    took = pc.subtract(rows.column("ended_ns"), rows.column("began_ns")).drop_null().to_numpy().astype(np.int64)
    messages = pc.sum(rows.column("messages")).as_py() or 0
    return {
        "count": rows.num_rows,
        "per_second": rows.num_rows * NS_PER_SECOND / length_ns if length_ns else None,
        "messages": messages,
        "mean_messages": messages / rows.num_rows if rows.num_rows else None,
        **figures(took, "p50_ms", "p99_ms", "max_ms"),
    }
