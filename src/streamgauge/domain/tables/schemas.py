"""The gold tables, one schema for each.

`scope` is what a row covers: `run` (everything, including warm-up and drain), `measure` (the measure phase), `window`
(one second; `second` counts from the start of the measure phase, so warm-up is negative), `partition` (one partition,
measure phase), `topic` or `group` (one of several, measure phase), `step` (a step of a load).
Times are in the unit of their name; unknown values are null.
"""

from collections.abc import Mapping
from types import MappingProxyType

from streamgauge.domain.tables import delivery, latency, machine, pressure, query, throughput
from streamgauge.domain.tables.schema import Schema, Type, may, must

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
            throughput.THROUGHPUT, throughput.STEPS, latency.LATENCY_BUCKETS, latency.LATENCY, latency.BOUNDS,
            latency.LATENCY_WIDTHS, latency.SAMPLING, latency.CDF, latency.PERCENTILE_CURVE, latency.HEAT,
            delivery.DELIVERY, delivery.PROBLEMS, delivery.PROBLEM_COUNTS, throughput.POLLS_BY_CONSUMER,
            machine.RESOURCES_BY_INTERVAL, machine.GC, latency.SCHEDULE_DELAY,
            delivery.TRANSACTIONS_BY_OUTCOME, delivery.RESENDS_BY_ERROR,
            throughput.PROCESSING, machine.CONNECTIONS_BY_KIND, machine.WIRE, machine.CLIENT_BY_INTERVAL,
            pressure.LAG_SAMPLES, pressure.LAG_HEAT, pressure.OUTSTANDING, pressure.BACKPRESSURE, pressure.FAULTS,
            pressure.RECOVERY, pressure.REBALANCES, pressure.REPLICATION, pressure.PARTITION_REPLICAS,
            pressure.FOLLOWERS_BY_NODE, pressure.FAULT_SCORES, pressure.FAULT_PARTITIONS,
            throughput.TOPIC_THROUGHPUT, throughput.WORKER_THROUGHPUT,
            delivery.REDELIVERY, delivery.DELIVERIES_BY_NUMBER,
            *query.QUERY_TABLES, SET_ASIDE, VERDICT,
        )
    }
)  # fmt: skip
