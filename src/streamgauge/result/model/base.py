"""What all parts of the result share: how they are read, and the numbers in them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A number as it was found: a whole one is not made a fraction."""
Amount = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)], WithJsonSchema({"type": "number", "minimum": 0})
]
Share = Annotated[
    Annotated[int, Field(ge=0, le=1)] | Annotated[float, Field(ge=0, le=1)],
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Count = Annotated[int, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
Reasons = Annotated[dict[str, Text], Field(description="Why a value is null, by its key.")]


class Section(BaseModel):
    """One object of the result. What was never set is left out of the document; keys that a later version added are
    ignored.
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
    """An object that keeps what it does not know: run.json tells more than is described here."""

    model_config = ConfigDict(extra="allow", json_schema_extra={})
