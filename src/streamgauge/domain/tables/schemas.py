"""The gold tables, one schema for each.

`scope` is what a row covers: `run` (everything, including warm-up and drain), `measure` (the measure phase), `window`
(one second; `second` counts from the start of the measure phase, so warm-up is negative), `partition` (one partition,
measure phase), `topic` or `group` (one of several, measure phase). Times are in the unit of their name; unknown values
are null.
"""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.tables.delivery import DELIVERY, PROBLEMS, RESENDS_BY_ERROR, TRANSACTIONS_BY_OUTCOME
from streamgauge.domain.tables.latency import (
    BOUNDS,
    CDF,
    HEAT,
    LATENCY,
    LATENCY_BUCKETS,
    PERCENTILE_CURVE,
    SAMPLING,
    SCHEDULE_DELAY,
)
from streamgauge.domain.tables.machine import CLIENT_BY_INTERVAL, CONNECTIONS_BY_KIND, GC, RESOURCES_BY_INTERVAL, WIRE
from streamgauge.domain.tables.pressure import (
    BACKPRESSURE,
    FAULTS,
    LAG_HEAT,
    LAG_SAMPLES,
    OUTSTANDING,
    REBALANCES,
    RECOVERY,
)
from streamgauge.domain.tables.query import QUERY_TABLES
from streamgauge.domain.tables.schema import Schema, Type, may, must
from streamgauge.domain.tables.throughput import (
    POLLS_BY_CONSUMER,
    PROCESSING,
    THROUGHPUT,
    TOPIC_THROUGHPUT,
    WORKER_THROUGHPUT,
)

_I64, _STR = Type.INT64, Type.STRING

SET_ASIDE = Schema(
    "set_aside",
    "Recorded rows and files that could not be used.",
    (
        must("kind", _STR, "kind of event"),
        must("source", _STR, "file, relative to the run folder, or worker"),
        must("reason", _STR, "why"),
        may("rows", _I64, "number of rows; null if unknown"),
    ),
)

VERDICT = Schema(
    "verdict",
    "The checks, each with evidence and advice.",
    (
        must("name", _STR, "name of the check"),
        must("about", _STR, "`instrument` or `system`"),
        must("status", _STR, "`pass`, `warn`, `fail` or `unknown`"),
        must("evidence", _STR, "what was measured: numbers with units"),
        must("advice", _STR, "what to do; empty if it passed"),
    ),
)

TABLES: Mapping[str, Schema] = MappingProxyType(
    {
        schema.name: schema
        for schema in (
            THROUGHPUT, LATENCY_BUCKETS, LATENCY, BOUNDS, SAMPLING, CDF, PERCENTILE_CURVE, HEAT, DELIVERY, PROBLEMS,
            POLLS_BY_CONSUMER, RESOURCES_BY_INTERVAL, GC, SCHEDULE_DELAY, TRANSACTIONS_BY_OUTCOME, RESENDS_BY_ERROR,
            PROCESSING, CONNECTIONS_BY_KIND, WIRE, CLIENT_BY_INTERVAL, LAG_SAMPLES, LAG_HEAT, OUTSTANDING, BACKPRESSURE,
            FAULTS, RECOVERY, REBALANCES, TOPIC_THROUGHPUT, WORKER_THROUGHPUT, *QUERY_TABLES, SET_ASIDE, VERDICT,
        )
    }
)  # fmt: skip
