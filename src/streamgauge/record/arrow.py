"""Arrow schemas, derived from the schemas in `domain.events` and `domain.tables.schemas`."""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from streamgauge.domain.tables.schema import Schema, Type

ARROW_TYPES: Mapping[Type, pa.DataType] = MappingProxyType(
    {
        Type.INT32: pa.int32(),
        Type.INT64: pa.int64(),
        Type.FLOAT64: pa.float64(),
        Type.BOOL: pa.bool_(),
        Type.STRING: pa.string(),
    }
)


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of one kind of event or one table, nullability included."""
    return pa.schema(
        [pa.field(column.name, ARROW_TYPES[column.type], nullable=column.nullable) for column in schema.columns]
    )
