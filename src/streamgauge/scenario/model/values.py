"""What fields of a scenario are made of: durations, sizes, rates, settings, and parts that are one of several."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from streamgauge.domain.blocks import MAX_SIZE_BYTES
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import (
    format_duration,
    parse_count,
    parse_duration_ns,
    parse_rate_per_second,
    parse_size_bytes,
)

MOST_WORKERS = 256
"""Producers, or consumers, that a run may have."""
MOST_MESSAGES = 1 << 62
"""What is counted from it stays within 64 bits."""
SLOWEST, FASTEST = 0.001, 100_000_000
"""Rates that can be asked for, in messages a second."""
_MOMENT = "Write one with a time zone, like 2026-11-21T18:00:00Z"


def rate_between(value: object, fastest: int, *, say: str, like: str) -> float:
    """A rate from the slowest that can be asked for to `fastest`; BadValue tells what to `say`, and one `like` it."""
    try:
        rate = parse_rate_per_second(value)
    except BadValue as error:
        raise BadValue("not a rate", f"Write {say}") from error
    if not SLOWEST <= rate <= fastest:
        raise BadValue(f"a rate lies between {SLOWEST}/s and {fastest:,}/s", f"Write one like {like}")
    return rate


def _size(value: object) -> int:
    size = parse_size_bytes(value)
    if size > MAX_SIZE_BYTES:
        raise BadValue("more than 100MiB", "Write a smaller size")
    return size


def off_is_none(value: object) -> object:
    """None for `off`. BadValue for what is left empty: perhaps all that was below it is a comment."""
    if value is None:
        raise BadValue("no value", "Write `off`, or leave the key out for the defaults")
    return None if value is False or value == "off" else value


def as_list(value: object) -> object:
    """A list or tuple; BadValue for anything else."""
    if not isinstance(value, list | tuple):
        raise BadValue("not a list", "Write one in brackets")
    return value


def share_as_text(value: object) -> object:
    """The text of a share; YAML 1.1 reads a bare `off` as false. BadValue for anything but a text."""
    if value is not False and not isinstance(value, str):
        raise BadValue("not a share", "Write all, off, or a share like 1/16")
    return "off" if value is False else value


def epoch_ns(text: str) -> int:
    """Nanoseconds since 1970 of a time in ISO 8601 that names its zone; BadValue for others."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise BadValue("not a time", _MOMENT) from error
    if moment.tzinfo is None:
        raise BadValue("has no time zone", _MOMENT)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * NS_PER_SECOND + since.microseconds * 1_000


def _moment(value: object) -> str:
    """YAML reads an unquoted time as one of its own."""
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if not isinstance(value, str):
        raise BadValue("not a time", _MOMENT)
    epoch_ns(value)
    return value.strip()


def _workers(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_WORKERS
    if not is_number and value not in ("per-topic", "per-partition"):
        raise BadValue("not a number of workers", f"Write 1 to {MOST_WORKERS}, per-topic or per-partition")
    return value


def _setting(value: object) -> object:
    if not isinstance(value, str | int | float | bool):
        raise BadValue("not a scalar value", "Write a text, a number, true or false")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadValue("not a number", "Write a finite number")
    return value


# A default of these is written as people write values, which is how the JSON Schema shows it, and then validated.
Duration = Annotated[
    int,
    BeforeValidator(parse_duration_ns),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": ["string", "number"], "x-form": "duration", "examples": ["30s", "4ms", "800us", 30]}),
]
Size = Annotated[
    int,
    BeforeValidator(_size),
    WithJsonSchema({"type": ["integer", "string"], "x-form": "size", "examples": [512, "1KiB"]}),
]
ManyBytes = Annotated[
    int,
    BeforeValidator(parse_size_bytes),
    WithJsonSchema({"type": ["integer", "string"], "x-form": "size", "examples": ["1MiB", "10GiB"]}),
]
"""Bytes of many messages together."""
Count = Annotated[
    int,
    BeforeValidator(parse_count),
    Field(le=MOST_MESSAGES),
    WithJsonSchema({"type": ["integer", "string"], "x-form": "count", "examples": [5000, "100k", "1M"]}),
]
Moment = Annotated[
    str,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "x-form": "moment", "examples": ["2026-11-21T18:00:00Z"]}),
]
"""A wall-clock time, kept as it was written; `epoch_ns` gives its number."""
WorkerCount = Annotated[
    int | Literal["per-topic", "per-partition"],
    BeforeValidator(_workers),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["per-topic", "per-partition"], "type": "string"},
                {"type": "integer", "minimum": 1, "maximum": MOST_WORKERS},
            ]
        }
    ),
]
Setting = Annotated[str | int | float | bool, BeforeValidator(_setting)]
ClientSettings = dict[str, Setting]

PLAIN, MADE = "(plain)", "(made)"
"""Tags of a value that is either plain or a mapping; they stand in paths of pydantic's errors and are not shown."""


class ScenarioPart(BaseModel):
    """A mapping of a scenario whose keys are known."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class OneOf(ScenarioPart):
    """A mapping of which exactly one key is given: one thing out of several."""

    @model_validator(mode="before")
    @classmethod
    def _one(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and len(given) != 1:
            known = ", ".join(field.alias or name for name, field in cls.model_fields.items())
            raise BadValue(
                f"{f'{len(given)} keys instead of one' if given else 'no key is given'}", f"Write one of {known}"
            )
        if isinstance(given, Mapping) and None in given.values():
            raise BadValue("no value below it", "Write a value")
        return given

    @model_serializer(mode="wrap")
    def _chosen(self, dump: Any) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None}

    @property
    def chosen(self) -> tuple[str, Any]:
        """Name and value of what is given."""
        return next((name, value) for name in type(self).model_fields if (value := getattr(self, name)) is not None)


def _plain_or_made(value: object) -> str:
    return MADE if isinstance(value, Mapping | BaseModel) else PLAIN


EITHER = Discriminator(_plain_or_made)
"""Tells a plain value from a mapping: `Annotated[Annotated[X, Tag(PLAIN)] | Annotated[Y, Tag(MADE)], EITHER]`."""


def number_of_workers(asked: WorkerCount, topics: int, partitions: int) -> int:
    """How many workers are asked for, with so many topics of so many partitions."""
    match asked:
        case "per-topic":
            return topics
        case "per-partition":
            return topics * partitions
        case number:
            return number
