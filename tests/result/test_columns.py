"""What the result takes from gold tables fits: no value of a column makes a result that cannot be."""

from typing import Any, get_args

import pytest

from streamgauge.domain.tables.schemas import TABLES
from streamgauge.result.model import (
    clients,
    delivery,
    latency,
    pipeline,
    pressure,
    resources,
    throughput,
    verdict,
)
from streamgauge.result.model.base import Section

FILLED: list[tuple[type[Section], str]] = [
    (pipeline.PipelineSection, "pipeline"),
    (pipeline.PipelineStage, "waterfall"),
    (pipeline.PipelineEvent, "query"),
    (pipeline.PipelineExecutor, "executors"),
    (pipeline.PipelineLookups, "lookups"),
    (pipeline.PipelineGroup, "pipeline_delivery"),
    (pressure.BackpressureSection, "backpressure"),
    (pressure.FaultAction, "faults"),
    (pressure.RecoveryScore, "recovery"),
    (pressure.ThrottleWait, "latency"),
    (clients.ConsumerProcessing, "processing"),
    (clients.DelayProcessing, "processing"),
    (clients.WireTraffic, "wire"),
    (clients.ConnectionsOfKind, "connections"),
    (latency.RecordAge, "latency"),
    (latency.CdfPoint, "cdf"),
    (latency.ProducerDelay, "schedule_delay"),
    (throughput.SecondLatency, "latency"),
    (throughput.TimelineSecond, "throughput"),
    (resources.ProcessUsage, "resources"),
    (resources.HostUsage, "resources"),
    (resources.ConsumerPolls, "polls"),
    (delivery.EndedTransactions, "transactions"),
    (delivery.MissingMessage, "problems"),
    (delivery.DeliveryCounts, "delivery"),
    (verdict.CheckResult, "verdict"),
]
CHOSEN = {"consumer", "phase", "producer", "second", "group"}
"""Columns by whose values rows are chosen, or that are given names: where they stand in the result, they are known."""
NAMED = {"group", "topic"}
"""Numbers in tables, names in the result."""
OTHER_NAMES = {
    "target_ms": "target_ms",
    "target_per_second": "target_per_second",
    "schedule_delay_p99_ms": "schedule_delay_p99_ms",
    "schedule_delay_max_ms": "schedule_delay_max_ms",
    "credits_used_max": "credits_used_max",
    "committed_lag": "committed_lag",
    "event": "what",
}
WHOLE = {int}
KINDS: dict[str, set[Any]] = {"int32": WHOLE, "int64": WHOLE, "float64": {int, float}, "bool": {bool}, "string": {str}}


def kinds_of(annotation: Any) -> set[Any]:
    """The plain types that a field takes."""
    parts = get_args(annotation)
    if not parts:
        return {annotation if isinstance(annotation, type) else type(annotation)}
    return {kind for part in parts for kind in kinds_of(part) if not hasattr(part, "json_schema")}


@pytest.mark.parametrize(("section", "table"), FILLED, ids=[section.__name__ for section, _ in FILLED])
def test_a_column_fits_the_field_that_it_fills(section: type[Section], table: str) -> None:
    """Fractions have room, and so has what is not known."""
    columns = {column.name: column for column in TABLES[table].columns}
    sources = {name: OTHER_NAMES.get(name, field.alias or name) for name, field in section.model_fields.items()}
    filled = {name: columns[source] for name, source in sources.items() if source in columns}

    assert filled
    for name, column in filled.items():
        kinds = kinds_of(section.model_fields[name].annotation)
        assert name in CHOSEN or not column.nullable or type(None) in kinds, name
        assert name in NAMED or KINDS[str(column.type)] <= kinds, (name, column.type, kinds)
