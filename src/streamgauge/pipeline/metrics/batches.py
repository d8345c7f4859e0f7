"""The metrics `batch` and `flush_wait`: how long producers that wait for all reports take for a batch, and wait.

Between two batches lies a round trip to the broker, so they are few.
"""

import numpy as np
import pyarrow as pa

from streamgauge.delivery.rows import Measure
from streamgauge.pipeline.metrics.spans import Spans
from streamgauge.pipeline.read.silver import ticks

BATCH = "batch"
FLUSH_WAIT = "flush_wait"


def read(rows: pa.Table, measure: Measure) -> tuple[Spans, Spans]:
    """Both metrics from the rows of `batches`; a batch is selected by when it began."""
    names = ("began_ns", "waited_ns", "ended_ns")
    began_ns, waited_ns, ended_ns = (rows.column(name).to_numpy().astype(np.int64) for name in names)
    tick = ticks(began_ns, measure)
    return Spans(BATCH, ended_ns - began_ns, tick), Spans(FLUSH_WAIT, ended_ns - waited_ns, tick)
