"""The source of a query: the messages of one topic."""

import json

from pyspark.sql import DataFrame, SparkSession

from streamgauge.domain.query import QuerySpec
from streamgauge.jobs.schema import given
from streamgauge.jobs.security import kafka_options


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


def messages(spark: SparkSession, spec: QuerySpec) -> DataFrame:
    """The stream that the job is given."""
    loaded = spark.readStream.format("kafka").options(**source_options(spec)).load()
    return given(loaded, in_headers=spec.in_headers)
