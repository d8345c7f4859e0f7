"""The source of a query: the messages of one topic."""

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamgauge.domain.errors import WorkerError
from streamgauge.domain.query import QuerySpec
from streamgauge.jobs.driver.security import kafka_options
from streamgauge.jobs.schema import given


def source_options(spec: QuerySpec) -> dict[str, str]:
    """Options of Spark's Kafka source; raises BadInput where the cluster cannot be reached from Java."""
    starts = {spec.source: {str(partition): offset for partition, offset in enumerate(spec.starts)}}
    options = {
        **kafka_options(spec.connection),
        "subscribe": spec.source,
        "startingOffsets": json.dumps(starts),
        "includeHeaders": str(spec.in_headers).lower(),
        # What is gone before it was read is told, not passed over.
        "failOnDataLoss": "true",
        "kafka.isolation.level": "read_committed" if spec.read_committed else "read_uncommitted",
    }
    return options if spec.max_offsets is None else options | {"maxOffsetsPerTrigger": str(spec.max_offsets)}


def limit(spark: SparkSession, query: StreamingQuery, messages: int) -> None:
    """Let batches of a query that runs hold so many messages, from the next one that is planned.

    Spark has no word for it: what `maxOffsetsPerTrigger` said at the start is kept beside each source of the running
    query, and replaced there. A source that was given no such limit keeps none. Raises WorkerError where there is no
    limit to replace.
    """
    execution = query._jsq.streamingQuery()
    limits = execution.uniqueSources()
    jvm: Any = spark._jvm
    made = jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit.maxRows(messages)
    limited = [each._1() for each in _pairs(limits) if each._2().getClass().equals(made.getClass())]
    if not limited:
        raise WorkerError("the query has no batch limit that could be changed while it runs")
    for each in limited:
        limits = limits.updated(each, made)
    getattr(execution, "uniqueSources_$eq")(limits)


def _pairs(limits: Any) -> Iterator[Any]:
    pairs = limits.iterator()
    while pairs.hasNext():
        yield pairs.next()


def messages(spark: SparkSession, spec: QuerySpec) -> DataFrame:
    """The stream that the job is given."""
    loaded = spark.readStream.format("kafka").options(**source_options(spec)).load()
    return given(loaded, in_headers=spec.in_headers)
