"""Arrow schemas of rows, derived from the schemas in `domain.events` and `domain.tables.schemas`."""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from streamgauge.domain.tables.schema import Schema, Type

ARROW_TYPES: Mapping[Type, pa.DataType] = MappingProxyType({each: pa.type_for_alias(each) for each in Type})


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of one kind of event or one table, nullability included."""
    return pa.schema(
        [pa.field(column.name, ARROW_TYPES[column.type], nullable=column.nullable) for column in schema.columns]
    )
