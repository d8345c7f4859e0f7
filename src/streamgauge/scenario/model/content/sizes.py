"""Sizes of values: fixed, or random by a law."""

from typing import Annotated, Final, NamedTuple

from pydantic import ConfigDict, Field, Tag, model_validator

from streamgauge.domain.blocks import MAX_SIZE_BYTES
from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import EITHER, MADE, PLAIN, OneOf, ScenarioPart, Size

DEVIATIONS: Final = 8
"""A gaussian size lies within so many deviations of its mean."""


class UniformSize(ScenarioPart):
    """Uniform distribution of sizes."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_: Size = Field(alias="from")
    """Smallest size in bytes."""
    to: Size
    """Largest size in bytes (inclusive), at most 100MiB."""

    @model_validator(mode="after")
    def _rises(self) -> "UniformSize":
        if self.from_ > self.to:
            raise BadValue(f"from {self.from_} to {self.to} falls", "Write the smaller size first")
        return self


class GaussianSize(ScenarioPart):
    """Normal distribution of sizes, truncated at 8 deviations, at 0 and at 100MiB."""

    mean: Size
    """Mean size in bytes."""
    deviation: Size
    """Standard deviation in bytes."""
    hold: int = Field(default=1, ge=1, le=1_000_000_000, strict=True)
    """Number of messages of a producer that share one random size."""


class MadeSize(OneOf):
    """Random sizes: one of these."""

    uniform: UniformSize | None = None
    """Uniform distribution of sizes, like `{from: 100, to: 2000}`."""
    gaussian: GaussianSize | None = None
    """Normal distribution of sizes, truncated at 8 deviations, at 0 and at 100MiB, like `{mean: 512, deviation: 100,
    hold: 10}`."""


Sizes = Annotated[Annotated[Size, Tag(PLAIN)] | Annotated[MadeSize, Tag(MADE)], EITHER]


class SizeExtent(NamedTuple):
    """How small and how large messages are, in bytes, and how large on average."""

    least: int
    mean: float
    most: int


def extent_of(size: Sizes) -> SizeExtent:
    """Between which bounds sizes lie; a fixed size is a range of one. TypeError for an unknown distribution."""
    if isinstance(size, int):
        return SizeExtent(size, size, size)
    match size.chosen:
        case _, UniformSize() as uniform:
            return SizeExtent(uniform.from_, (uniform.from_ + uniform.to) / 2, uniform.to)
        case _, GaussianSize() as gaussian:
            far = DEVIATIONS * gaussian.deviation
            return SizeExtent(max(0, gaussian.mean - far), gaussian.mean, min(MAX_SIZE_BYTES, gaussian.mean + far))
        case unknown:
            raise TypeError(f"unknown size distribution: {unknown}")
