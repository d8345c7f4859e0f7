"""Content of messages: payloads, keys and partitions."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, Tag, WithJsonSchema

from streamgauge.domain import stamp
from streamgauge.domain.errors import BadValue, Fault
from streamgauge.scenario.model.content.sizes import Sizes, extent_of
from streamgauge.scenario.model.content.trogdor import TrogdorGenerator
from streamgauge.scenario.model.values import EITHER, MADE, PLAIN, OneOf, ScenarioPart, Size

BodyKind = Literal["random", "zeros", "text", "json", "logline", "mixed"]
PayloadKind = Literal[BodyKind, "sequential", "tombstone"]
KINDS: Final[tuple[str, ...]] = get_args(PayloadKind)
_ROUNDED: Final = 0.001
"""By so much percents may miss 100: thirds cannot be written exactly."""
_OF_ANY_SIZE: Final = frozenset({"file", "function"})
_FUNCTION: Final = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


class ConstantPayload(ScenarioPart):
    """The same bytes in all messages."""

    text: str | None = Field(default=None, min_length=1)
    """Text, repeated to the size; zeros by default."""


class SequentialPayload(ScenarioPart):
    """The sequence number of the message within its producer, as 8 bytes."""

    offset: int = Field(default=0, ge=0, lt=1 << 63, strict=True)
    """Offset that is added to the sequence number."""


class RandomPayload(ScenarioPart):
    """Random bytes with constant padding at the end."""

    padding: Size = 0
    """Number of bytes at the end that are the same in all messages of a producer."""


class FromFile(ScenarioPart):
    """The lines of a text file, or a column of a CSV or Parquet file, repeated as needed."""

    path: str = Field(min_length=1)
    """Text file with one entry a line, `.csv`, or `.parquet` (also a folder of such files); text and CSV also `.gz`."""
    column: str | None = Field(default=None, min_length=1)
    """Name of the column; not for text files."""


class UserFunction(ScenarioPart):
    """A Python function."""

    name: str = Field(pattern=_FUNCTION)
    """`package.module:function`; needs `--trust FOLDER` or `--allow-code`."""


class SinglePayload(OneOf):
    """A payload type with options: one of these."""

    constant: ConstantPayload | None = None
    """The same bytes in all messages, like `{text: abc}`."""
    sequential: SequentialPayload | None = None
    """The sequence number as 8 bytes, little endian, padded with zeros or cut to the size."""
    random: RandomPayload | None = None
    """Random bytes, of which the last `padding` bytes are constant."""
    file: FromFile | None = None
    """Events from a file, in their own size; producer k of n sends every n-th."""
    function: UserFunction | None = None
    """Your function `(producer, seq, size, seed) -> bytes, text or None`, called for each message."""
    trogdor: TrogdorGenerator | None = None
    """A generator of Trogdor, with the bytes that it makes, like `{type: uniformRandom, size: 512, padding: 100}`."""


SingleContent = Annotated[Annotated[PayloadKind, Tag(PLAIN)] | Annotated[SinglePayload, Tag(MADE)], EITHER]


def _percent(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.001 <= value <= 100:
        raise BadValue("not a percentage", "Write a number from 0.001 to 100")
    return value


class Component(ScenarioPart):
    """A share of the messages, and their content."""

    percent: Annotated[int | float, BeforeValidator(_percent)]
    """Share of the messages, at least 0.001; those of all components add up to 100."""
    payload: SingleContent
    """Content of values: as `load.payload`, but not weighted."""
    size: Sizes | None = None
    """Size of values; `load.size` by default."""


def _complete(components: Sequence[Component]) -> Sequence[Component]:
    total = sum(component.percent for component in components)
    if abs(total - 100) > _ROUNDED:
        raise BadValue(f"percents add up to {total:g}, not 100", "Change one of them")
    return components


class MadePayload(SinglePayload):
    """A payload type with options: one of these."""

    weighted: Annotated[tuple[Component, ...], AfterValidator(_complete)] | None = Field(
        default=None, min_length=1, max_length=100
    )
    """Shares with different contents, like `[{percent: 90, payload: json}, {percent: 10, payload: tombstone}]`."""


class ConstantKey(ScenarioPart):
    """The same key for all messages."""

    text: str
    """The key."""


class UniformKeys(ScenarioPart):
    """Random keys with a uniform distribution."""

    keys: int = Field(ge=1, le=1_000_000_000, strict=True)
    """Number of keys: the decimal numbers from 0 below this."""


class ZipfKeys(ScenarioPart):
    """Random keys with a Zipf distribution (hot keys): the probability of key k is proportional to `1 / (k + 1) **
    exponent`.
    """

    keys: int = Field(ge=1, le=10_000_000, strict=True)
    """Number of keys: the decimal numbers from 0 below this; 0 is the most frequent."""
    exponent: float = Field(ge=0, le=100, strict=True, allow_inf_nan=False)
    """Skew: with 0 all keys are equally frequent, with 1 the first is twice as frequent as the second."""


class MadeKeys(OneOf):
    """Keys with options: one of these."""

    constant: ConstantKey | None = None
    """The same key for all messages, like `{text: abc}`."""
    uniform: UniformKeys | None = None
    """Random keys with a uniform distribution, like `{keys: 1000}`."""
    zipf: ZipfKeys | None = None
    """Random keys with a Zipf distribution (hot keys): the probability of key k is proportional to `1 / (k + 1) **
    exponent`, like `{keys: 1000, exponent: 1.1}`."""
    file: FromFile | None = None
    """Keys from a file; producer k of n takes every n-th."""
    trogdor: TrogdorGenerator | None = None
    """A generator of Trogdor, with the bytes that it makes, like `{type: sequential, size: 4}`."""


Content = Annotated[Annotated[PayloadKind, Tag(PLAIN)] | Annotated[MadePayload, Tag(MADE)], EITHER]
Keys = Annotated[Annotated[Literal["none", "sequential"], Tag(PLAIN)] | Annotated[MadeKeys, Tag(MADE)], EITHER]


def _partition(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not is_number and value not in ("client", "round-robin"):
        raise BadValue("not a partition", "Write client, round-robin, or the number of a partition")
    return value


Partition = Annotated[
    int | Literal["client", "round-robin"],
    BeforeValidator(_partition),
    WithJsonSchema(
        {"anyOf": [{"enum": ["client", "round-robin"], "type": "string"}, {"type": "integer", "minimum": 0}]}
    ),
]


def parts_of(payload: Content, size: Sizes) -> Iterator[tuple[SingleContent, Sizes]]:
    """What a payload consists of, each with its size: the components of a weighted one, else itself."""
    if isinstance(payload, MadePayload) and payload.weighted:
        for component in payload.weighted:
            yield component.payload, size if component.size is None else component.size
    else:
        yield payload, size


def _name(content: SingleContent) -> str:
    return content if isinstance(content, str) else content.chosen[0]


def _generator(content: SingleContent) -> TrogdorGenerator:
    assert isinstance(content, SinglePayload)
    assert content.trogdor is not None
    return content.trogdor


def needs_headers(payload: Content, size: Sizes) -> bool:
    """Whether the stamp belongs into a header: where values are to stay what they are, or may be too small for it."""
    return any(
        _name(part) in {"json", "tombstone", "trogdor", *_OF_ANY_SIZE} or extent_of(each).least < stamp.SIZE
        for part, each in parts_of(payload, size)
    )


def largest_bytes(payload: Content, size: Sizes) -> int:
    """The largest value that can be asked for; events from files and functions, whose size nobody knows, count as 0."""
    return max(
        _generator(part).most_bytes
        if _name(part) == "trogdor"
        else 0
        if _name(part) in {"tombstone", *_OF_ANY_SIZE}
        else extent_of(each).most
        for part, each in parts_of(payload, size)
    )


def mean_bytes(payload: Content, size: Sizes) -> float | None:
    """Bytes of value that a message has on average; None where they come from a file or a function."""
    if isinstance(payload, MadePayload) and payload.weighted:
        shares = [component.percent / 100 for component in payload.weighted]
    else:
        shares = [1.0]
    mean = 0.0
    for share, (part, each) in zip(shares, parts_of(payload, size), strict=True):
        if _name(part) in _OF_ANY_SIZE:
            return None
        if _name(part) == "trogdor":
            mean += share * _generator(part).mean_bytes
        elif _name(part) != "tombstone":
            mean += share * extent_of(each).mean
    return mean


def content_faults(payload: Content, size: Sizes, *, in_value: bool) -> Iterator[Fault]:
    """What contradicts each other; `in_value` says that the stamp is asked to travel in the value."""
    for part, each in parts_of(payload, size):
        name, extent = _name(part), extent_of(each)
        if name in _OF_ANY_SIZE:
            continue
        if name == "trogdor":
            if in_value:
                yield Fault("load.stamp", "a generator's bytes are to stay what they are", "Write `stamp: headers`")
            continue
        if in_value and name == "tombstone":
            yield Fault("load.stamp", "a tombstone has no value to stamp", "Write `stamp: headers`")
        elif in_value and extent.least < stamp.SIZE:
            what = f"a value of {extent.least} bytes has no room for a stamp of {stamp.SIZE}"
            yield Fault("load.stamp", what, f"Write `stamp: headers`, or a size of at least {stamp.SIZE}")
        if isinstance(part, SinglePayload) and part.random and part.random.padding > extent.most:
            what = f"padding of {part.random.padding} bytes is more than a value of {extent.most}"
            yield Fault("load.payload", what, "Write a smaller padding")
