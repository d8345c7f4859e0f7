"""Trogdor's payload generators, for values and keys with exactly the bytes that they have there."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from streamgauge.domain.errors import BadValue
from streamgauge.scenario.model.values import ScenarioPart, Size

GeneratorKind = Literal[
    "constant",
    "sequential",
    "uniformRandom",
    "null",
    "timestampRandom",
    "timestampConstant",
    "gaussianTimestampRandom",
    "gaussianTimestampConstant",
]
TIME_BYTES: Final = 8
"""The time that some generators put first: milliseconds since 1970, little endian."""
_SEED: Final = 1 << 63
_SIZED: Final = frozenset({"constant", "sequential", "uniformRandom", "timestampRandom", "timestampConstant"})
_GAUSSIAN: Final = frozenset({"gaussianTimestampRandom", "gaussianTimestampConstant"})
_FIELDS: Final[dict[str, frozenset[str]]] = {
    "size": _SIZED,
    "value": frozenset({"constant"}),
    "offset": frozenset({"sequential"}),
    "seed": frozenset({"uniformRandom", "timestampRandom", "randomComponent", *_GAUSSIAN}),
    "padding": frozenset({"uniformRandom"}),
    "mean": _GAUSSIAN,
    "deviation": _GAUSSIAN,
    "hold": _GAUSSIAN,
    "components": frozenset({"randomComponent"}),
}
"""Which generators have a field."""


def _bytes(value: object) -> str:
    try:
        if isinstance(value, str):
            base64.b64decode(value, validate=True)
            return value
    except (binascii.Error, ValueError):
        pass
    raise BadValue("not bytes in base64", "Write them like AQID")


class SingleGenerator(ScenarioPart):
    """One of Trogdor's generators, and what it is made of."""

    type: GeneratorKind
    """Kind of the generator, by Trogdor's name."""
    size: Size | None = None
    """Size in bytes."""
    value: Annotated[str, BeforeValidator(_bytes)] | None = None
    """Bytes of `constant` in base64, repeated to the size; zeros by default."""
    offset: int | None = Field(default=None, ge=0, lt=_SEED, strict=True)
    """Number that `sequential` adds to the position."""
    seed: int | None = Field(default=None, ge=-_SEED, lt=_SEED, strict=True)
    """Seed of `java.util.Random`, to which the position is added; 0 by default."""
    padding: Size | None = None
    """Bytes at the end of `uniformRandom` that are the same in all messages."""
    mean: Size | None = None
    """Mean size in bytes; no size is below 8."""
    deviation: float | None = Field(default=None, ge=0, le=1e8, allow_inf_nan=False)
    """Standard deviation of the size in bytes; 0 by default."""
    hold: int | None = Field(default=None, ge=0, le=1_000_000_000, strict=True)
    """Number of messages that share one size; with 0 and 1 each has a random size of its own."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        kind: str = self.type
        wrong = [name for name, kinds in _FIELDS.items() if kind not in kinds and getattr(self, name, None) is not None]
        if wrong:
            raise BadValue(f"{kind} has no {' and no '.join(wrong)}", "Leave it out")
        needed = "size" if kind in _SIZED else "mean" if kind in _GAUSSIAN else None
        if needed and getattr(self, needed) is None:
            raise BadValue(f"{kind} needs a {needed}", f"Write {needed} in bytes")
        if kind in {"timestampRandom", "timestampConstant"} and (self.size or 0) < TIME_BYTES:
            raise BadValue(f"{self.size} bytes have no room for a time of 8", "Write a size of at least 8")
        if (self.padding or 0) > (self.size or 0):
            raise BadValue(f"padding of {self.padding} bytes is more than {self.size}", "Write a smaller padding")
        return self

    @property
    def mean_bytes(self) -> float:
        """Bytes on average."""
        return float(self.size or self.mean or 0)

    @property
    def most_bytes(self) -> int:
        """The largest size that is worth to be told: of random sizes that within 8 deviations."""
        return self.size or round((self.mean or 0) + 8 * (self.deviation or 0))


class TrogdorComponent(ScenarioPart):
    """A share of the messages, and their generator."""

    percent: int = Field(ge=1, le=100, strict=True)
    """Share of the messages; those of all components add up to 100."""
    component: SingleGenerator
    """Their generator."""


def _whole(components: Sequence[TrogdorComponent]) -> Sequence[TrogdorComponent]:
    total = sum(each.percent for each in components)
    if total != 100:
        raise BadValue(f"percents add up to {total}, not 100", "Change one of them")
    return components


class TrogdorGenerator(SingleGenerator):
    """A generator of Trogdor, which makes the bytes of message n from its seed and n."""

    type: GeneratorKind | Literal["randomComponent"]  # type: ignore[assignment]
    """Kind of the generator, by Trogdor's name."""
    components: Annotated[tuple[TrogdorComponent, ...], AfterValidator(_whole)] | None = Field(
        default=None, min_length=1, max_length=100
    )
    """Generators from which `randomComponent` chooses at random, like `[{percent: 90, component: {type: "null"}}]`."""

    @model_validator(mode="after")
    def _made_of_parts(self) -> Self:
        if (self.type == "randomComponent") != (self.components is not None):
            raise BadValue("only randomComponent has components, and it needs them", "Write both, or none")
        return self

    @property
    def mean_bytes(self) -> float:
        """Bytes on average."""
        if self.components:
            return sum(each.percent / 100 * each.component.mean_bytes for each in self.components)
        return float(self.size or self.mean or 0)

    @property
    def most_bytes(self) -> int:
        """The largest size that is worth to be told: of random sizes that within 8 deviations."""
        if self.components:
            return max(each.component.most_bytes for each in self.components)
        return self.size or round((self.mean or 0) + 8 * (self.deviation or 0))
