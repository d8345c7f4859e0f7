"""Shared parts of all sections of the result: base classes and number types."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A number as it was read: an integer stays an integer."""
# Limits are for those who read: a figure that breaks one is shown as it is, and loses no result.
Amount = Annotated[int | float, WithJsonSchema({"type": "number", "minimum": 0})]
Share = Annotated[int | float, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
Count = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 0})]
Text = Annotated[str, WithJsonSchema({"type": "string", "minLength": 1})]
Reasons = Annotated[dict[str, Text], Field(description="Why a value is null, by its key.")]


class Section(BaseModel):
    """One object of the result. Values that were never set are left out of the document; unknown keys, added by later
    versions, are ignored.
    """

    model_config = ConfigDict(
        extra="ignore",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        validate_by_name=True,
        validate_by_alias=True,
        json_schema_extra={"additionalProperties": False},
    )


class OpenSection(Section):
    """An object that keeps unknown keys: run.json has more than is described here."""

    model_config = ConfigDict(extra="allow", json_schema_extra={})
