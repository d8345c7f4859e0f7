"""Spark schemas of rows, derived from the schemas in `domain.events` and `domain.tables.schemas`."""

from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from streamgauge.domain.tables.schema import Schema, Type

SPARK_TYPES: Mapping[Type, DataType] = MappingProxyType(
    {
        Type.INT32: IntegerType(),
        Type.INT64: LongType(),
        Type.FLOAT64: DoubleType(),
        Type.BOOL: BooleanType(),
        Type.STRING: StringType(),
    }
)


def spark_schema(schema: Schema) -> StructType:
    """The Spark schema of one kind of event or one table, nullability included."""
    return StructType(
        [StructField(column.name, SPARK_TYPES[column.type], column.nullable) for column in schema.columns]
    )
