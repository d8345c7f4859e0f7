"""How many messages a producer of a closed loop sends before it waits: a number, or a random one for each batch."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, Tag, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import EITHER, MADE, PLAIN, OneOf, ScenarioPart

_BatchSize = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class UniformBatch(ScenarioPart):
    """Uniform distribution of batch sizes."""

    model_config = ConfigDict(serialize_by_alias=True)

    from_: _BatchSize = Field(alias="from")
    """Fewest messages of a batch."""
    to: _BatchSize
    """Most messages of a batch (inclusive)."""

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.from_ > self.to:
            raise BadValue(f"from {self.from_} to {self.to} falls", "Write the smaller size first")
        return self

    @property
    def mean(self) -> float:
        """Messages of a batch on average."""
        return (self.from_ + self.to) / 2


class GaussianBatch(ScenarioPart):
    """Normal distribution of batch sizes, truncated at 1."""

    mean: float = Field(ge=1, le=1_000_000)
    """Mean."""
    deviation: float = Field(ge=0, le=1_000_000)
    """Standard deviation."""


class MadeBatch(OneOf):
    """Random batch sizes: one of these."""

    uniform: UniformBatch | None = None
    """Uniform distribution of batch sizes, like `{from: 1, to: 100}`."""
    gaussian: GaussianBatch | None = None
    """Normal distribution of batch sizes, truncated at 1, like `{mean: 50, deviation: 10}`."""


BatchMessages = Annotated[Annotated[_BatchSize, Tag(PLAIN)] | Annotated[MadeBatch, Tag(MADE)], EITHER]
