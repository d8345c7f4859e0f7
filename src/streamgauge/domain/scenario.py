"""What to do: the model of a scenario, its defaults, and every fault of a wrong one at once.

A scenario is a mapping, as YAML gives it. `parse` turns it into a value or raises BadInput; `document` turns the value
back into a mapping that parses to the same value.
"""

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from streamgauge.domain import stamp
from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.expect import parse_bound
from streamgauge.domain.payload import KINDS, PayloadKind
from streamgauge.domain.quantities import (
    format_duration,
    format_rate,
    parse_duration_ns,
    parse_rate_per_second,
    parse_size_bytes,
)
from streamgauge.domain.shown import shown

DEFAULT_MAX_MESSAGE_BYTES = 1_000_000
"""`message.max.bytes` of the client when nobody sets it."""
SLOWEST, FASTEST = 0.001, 100_000_000
"""Rates that can be asked for, in messages a second."""
MAX_SIZE_BYTES = 100 << 20
_KAFKAS_OWN = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
_ACKS = ("acks", "request.required.acks")


def _rate(value: object) -> float | str:
    if isinstance(value, str) and value.strip() == "max":
        return "max"
    return parse_rate_per_second(value)


def _positive_rate(value: float | str) -> float | str:
    if isinstance(value, float) and not SLOWEST <= value <= FASTEST:
        raise ValueError(f"a rate lies between {SLOWEST}/s and {FASTEST:,}/s")
    return value


def _size(value: object) -> int:
    size = parse_size_bytes(value)
    if size > MAX_SIZE_BYTES:
        raise ValueError("more than 100MiB; write a smaller size")
    return size


def _topic_name(value: str) -> str:
    if value in {".", ".."}:
        raise ValueError("Kafka takes no topic of this name; write another")
    if value in _KAFKAS_OWN:
        raise ValueError("a topic of Kafka's own; name another")
    return value


def _off(value: object) -> object:
    """What is left empty is not meant to be off: perhaps all that was below it is a comment."""
    if value is None:
        raise ValueError("nothing is said; write `off`, or leave the key out for the defaults")
    return None if value is False or value == "off" else value


def _verify(value: object) -> object:
    """YAML 1.1 reads a bare `off` as false."""
    if value is not False and not isinstance(value, str):
        raise ValueError("no share; write all, off, or a share like 1/16")
    return "off" if value is False else value


def _setting(value: object) -> object:
    if not isinstance(value, str | int | float | bool):
        raise ValueError("not a single value; write a text, a number, true or false")  # noqa: TRY004 - for pydantic
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a number; write a finite one")
    return value


# A default of these is written as people write values, which is how the JSON Schema shows it, and then validated.
Duration = Annotated[
    int,
    BeforeValidator(parse_duration_ns),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "x-form": "duration", "examples": ["30s", "4ms", "800us"]}),
]
Size = Annotated[
    int,
    BeforeValidator(_size),
    WithJsonSchema({"type": ["integer", "string"], "x-form": "size", "examples": [512, "1KiB"]}),
]
Rate = Annotated[
    float | Literal["max"],
    BeforeValidator(_rate),
    AfterValidator(_positive_rate),
    PlainSerializer(lambda rate: rate if rate == "max" else format_rate(rate), return_type=str),
    WithJsonSchema(
        {
            "type": ["number", "string"],
            "x-form": "rate",
            "examples": ["10k/s", 200, "max"],
            "minimum": SLOWEST,
            "maximum": FASTEST,
        }
    ),
]
Setting = Annotated[str | int | float | bool, BeforeValidator(_setting)]
ClientSettings = dict[str, Setting]


TopicName = Annotated[
    str, Field(min_length=1, max_length=249, pattern=r"^[a-zA-Z0-9._-]+$"), AfterValidator(_topic_name)
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Topic(_Part):
    """The topic that carries the load; made when it does not exist."""

    name: TopicName | None = None
    """Name: letters, digits, `.`, `_` and `-`; `streamgauge-<name of the scenario>` when left out."""
    partitions: int = Field(default=12, ge=1, le=10_000, strict=True)
    """Number of partitions."""
    replication: int = Field(default=1, ge=1, le=32, strict=True)
    """Replicas of each partition."""
    configs: dict[str, Setting] = {}
    """Topic configuration by Kafka's names, like `retention.ms`."""
    reset: bool = Field(default=False, strict=True)
    """Delete an existing topic of this name first; on a cluster of yours only with `--allow-reset`."""


class Load(_Part):
    """What producers send, and when."""

    rate: Rate = Field(default="10k/s", validate_default=True)
    """Messages a second of all producers together, like `10k/s`; `max` sends as fast as the client takes them."""
    producers: int = Field(default=2, ge=1, le=256, strict=True)
    """Producers, each a process of its own."""
    size: Size = Field(default=512, ge=0, le=MAX_SIZE_BYTES)
    """Bytes of value, at most 100MiB."""
    payload: PayloadKind = "mixed"
    """What the value contains besides the stamp."""
    stamp: Literal["auto", "value", "headers"] = "auto"
    """Where the 40-byte stamp travels; `auto` takes the value, or headers for json and for values below 40 bytes."""
    client: ClientSettings = {}
    """Settings of the producing client, by librdkafka's names, like `linger.ms`."""

    @property
    def rate_per_second(self) -> float | None:
        """The asked rate; None for `max`."""
        return None if isinstance(self.rate, str) else self.rate

    @property
    def stamped_in_headers(self) -> bool:
        """Whether the stamp travels in a record header."""
        if self.stamp == "auto":
            return self.payload == "json" or self.size < stamp.SIZE
        return self.stamp == "headers"


class Consume(_Part):
    """Who reads the topic."""

    consumers: int = Field(default=2, ge=1, le=256, strict=True)
    """Consumers of one group, each a process of its own."""
    start: Literal["auto", "earliest", "latest"] = "auto"
    """Where the group starts: `latest` is the log end before the load, `earliest` the log start; `auto` is latest, or
    earliest where nothing is produced."""
    client: ClientSettings = {}
    """Settings of the consuming client, by librdkafka's names, like `fetch.min.bytes`."""


class Phases(_Part):
    """How long each phase lasts."""

    warmup: Duration = Field(default="5s", validate_default=True)
    """Load that is recorded and audited but not measured."""
    measure: Duration = Field(default="30s", validate_default=True)
    """Load that is measured; more than 0s."""
    drain: Duration = Field(default="30s", validate_default=True)
    """Longest time that consumers may take to reach the log end after the load; also bounds a send's life; more
    than 0s."""


class Scenario(_Part):
    """One scenario, resolved: every default filled in."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    """Short name: lower-case letters, digits, `.`, `_` and `-`; it begins with a letter or digit."""
    about: str = ""
    """One sentence for people."""
    topic: Topic = Topic()
    load: Annotated[Load | None, BeforeValidator(_off)] = Load()
    """`off` for a run that only consumes."""
    consume: Annotated[Consume | None, BeforeValidator(_off)] = Consume()
    """`off` for a run that only produces."""
    phases: Phases = Phases()
    verify: Annotated[str, BeforeValidator(_verify)] = Field(default="all", pattern=r"^(all|off|1/[1-9][0-9]{0,8})$")
    """Share of messages whose checksum consumers verify: `all`, `1/16` (every sixteenth), or `off`."""
    seed: int = Field(default=42, ge=0, lt=1 << 63, strict=True)
    """Seed of all that is random; the same seed gives the same payloads."""
    expect: dict[str, Setting] = {}
    """What the result must say: path to a value or a bound, like `{latency.ack.response.p99_ms: "<= 20"}`."""

    @property
    def topic_name(self) -> str:
        """The topic's name, given or derived."""
        return self.topic.name or f"streamgauge-{self.name}"

    @property
    def verify_every(self) -> int | None:
        """The n where every n-th message is verified; None for none."""
        if self.verify == "off":
            return None
        return 1 if self.verify == "all" else int(self.verify.removeprefix("1/"))

    @property
    def load_ns(self) -> int:
        """How long the load lasts: warm-up and measure phase."""
        return self.phases.warmup + self.phases.measure


_KEY = "[key]"
"""How pydantic ends the path of a key that is wrong itself."""
_QUOTES = "Write it in quotes, where YAML takes it for something else"

OWNED_SETTINGS: Mapping[str, str] = {
    "bootstrap.servers": "name the cluster with --bootstrap",
    "group.id": "every run makes a group of its own",
    "enable.auto.offset.store": "offsets are stored when their rows are recorded",
    "auto.offset.reset": "use consume.start",
    "client.id": "workers are named by their role",
}
"""Client settings that the run decides, and what to do instead."""


def parse(mapping: object, source: str = "scenario") -> Scenario:
    """The scenario that a mapping says; raises BadInput with every fault, each with place, value and remedy."""
    scenario, faults = examine(mapping, source)
    if scenario is None or faults:
        raise BadInput(faults)
    return scenario


def examine(mapping: object, source: str = "scenario") -> tuple[Scenario | None, list[Fault]]:
    """The scenario as far as a mapping says one, and every fault of the mapping.

    What is wrong is left out of the scenario, so that the rest can be looked at; with any fault it is not to be run.
    """
    if not isinstance(mapping, Mapping):
        return None, [Fault(source, "not a mapping of keys to values", "Begin with `name: my-scenario`")]
    faults: list[Fault] = []
    try:
        scenario = Scenario.model_validate(mapping)
    except ValidationError as error:
        details = error.errors(include_url=False)
        faults = [_fault(detail) for detail in details]
        rest = _rest(mapping, details)
        if rest is None:
            return None, faults
        scenario = rest
    wrong = {fault.where for fault in faults}
    return scenario, faults + [fault for fault in _contradictions(scenario) if fault.where not in wrong]


def _rest(mapping: Mapping[str, Any], details: Sequence[ErrorDetails]) -> Scenario | None:
    """The scenario without what is wrong, defaults in its place."""
    for detail in details:
        mapping = _without(mapping, detail["loc"])
    try:
        return Scenario.model_validate({"name": "unnamed", **mapping})
    except ValidationError:
        return None


def _without(mapping: Mapping[Any, Any], path: Sequence[int | str]) -> Mapping[Any, Any]:
    """A mapping without what a path leads to, as far as it leads anywhere."""
    key, below = path[0], mapping.get(path[0])
    if isinstance(below, Mapping) and len(path) > 1 and path[1] in below:
        return {**mapping, key: _without(below, path[1:])}
    return {each: value for each, value in mapping.items() if each != key}


def document(scenario: Scenario) -> dict[str, Any]:
    """The scenario as a mapping of plain values, every default written out; `parse` accepts it."""
    plain = scenario.model_dump(mode="json")
    plain["topic"]["name"] = scenario.topic_name
    return {key: "off" if value is None else value for key, value in plain.items()}


def _contradictions(scenario: Scenario) -> Iterator[Fault]:
    """Faults that lie between fields, each of which is right by itself."""
    if scenario.load is None and scenario.consume is None:
        yield Fault("load, consume", "both are off, so nothing would happen", "Leave at least one of them on")
    if scenario.phases.measure == 0:
        yield Fault("phases.measure", "0s leaves nothing to measure", "Write a duration like 30s")
    if scenario.phases.drain == 0:
        yield Fault("phases.drain", "0s gives no message the time to arrive", "Write a duration like 30s")
    if scenario.load:
        yield from _owned("load.client", scenario.load.client)
        yield from _acks(scenario.load.client)
        yield from _too_large(scenario.load)
        if scenario.load.stamp == "value" and scenario.load.size < stamp.SIZE:
            yield Fault(
                "load.stamp",
                f"a value of {scenario.load.size} bytes has no room for a stamp of {stamp.SIZE}",
                f"Write `stamp: headers`, or a size of at least {stamp.SIZE}",
            )
    if scenario.consume:
        yield from _owned("consume.client", scenario.consume.client)
    yield from _expected(scenario.expect)


def _expected(expect: Mapping[str, Setting]) -> Iterator[Fault]:
    for path, wanted in expect.items():
        try:
            parse_bound(wanted)
        except ValueError as error:
            what, _, mend = str(error).partition("; ")
            yield Fault(f"expect.{path}", f"{shown(path, wanted)}: {what}", mend[:1].upper() + mend[1:])


def _owned(where: str, settings: ClientSettings) -> Iterator[Fault]:
    for key in settings.keys() & OWNED_SETTINGS.keys():
        yield Fault(f"{where}.{key}", "is decided by the run", f"Leave it out: {OWNED_SETTINGS[key]}")


def _acks(settings: ClientSettings) -> Iterator[Fault]:
    """The client takes any number; brokers refuse every message that asks for another one."""
    for key in _ACKS:
        if key in settings and str(settings[key]) not in {"0", "1", "-1", "all"}:
            yield Fault(f"load.client.{key}", f"{shown(key, settings[key])}: no broker knows it", "Write 0, 1 or all")


def _too_large(load: Load) -> Iterator[Fault]:
    limit = load.client.get("message.max.bytes", DEFAULT_MAX_MESSAGE_BYTES)
    if isinstance(limit, int) and load.size > limit:
        yield Fault(
            "load.size",
            f"{load.size} bytes are more than the client sends in one message ({limit})",
            "Write a smaller size, or raise `message.max.bytes` in load.client and the topic's `max.message.bytes`",
        )


def _fault(detail: ErrorDetails) -> Fault:
    """One error of pydantic in the words of the scenario."""
    # The discriminating step that a union adds to a path says nothing to a user.
    path = [str(step) for step in detail["loc"] if step not in {"Load", "Consume"} and not _is_wrapper(step)]
    kind = detail["type"]
    if path[-1:] == [_KEY]:
        path.pop()
        kind = "invalid_key"
    where = ".".join(path) or "scenario"
    given = shown(where, detail["input"])
    match kind:
        case "extra_forbidden":
            what, mend = "no such key", _did_you_mean(path)
        case "model_type" | "dict_type":
            what, mend = f"{given}: not a mapping", f"Write it as `{path[-1]}: {{key: value}}`"
        case "missing":
            what, mend = "is missing", "Add it"
        case "invalid_key":
            what, mend = "a key must be a text", _QUOTES
        case "string_type":
            what, mend = f"{given}: should be a text", _QUOTES
        case "string_pattern_mismatch":
            what, mend = f"{given}: not in a form that is allowed here", _allowed(path)
        case "int_type" | "int_parsing" | "int_from_float":
            what, mend = f"{given}: should be a whole number", _allowed(path)
        case "bool_type":
            what, mend = f"{given}: should be true or false", _allowed(path)
        case _:
            what, mend = _in_its_own_words(detail["msg"])
            what, mend = f"{given}: {what}", mend or _allowed(path)
    return Fault(where, what, mend)


def _in_its_own_words(message: str) -> tuple[str, str]:
    """What is wrong and, where it is said, what mends it, from pydantic or from a validator of ours."""
    for begin in ("Value error, ", "Input ", "String "):
        message = message.removeprefix(begin)
    what, _, mend = message.partition("; ")
    return what, mend[:1].upper() + mend[1:]


def _is_wrapper(step: int | str) -> bool:
    return isinstance(step, str) and ("function-" in step or "constrained-" in step or step.startswith("literal["))


def _model_at(path: list[str]) -> type[BaseModel]:
    """The model whose keys the last step of a path names."""
    parts: dict[str, type[BaseModel]] = {"topic": Topic, "load": Load, "consume": Consume, "phases": Phases}
    return parts.get(path[0], Scenario) if len(path) > 1 else Scenario


def _did_you_mean(path: list[str]) -> str:
    known = list(_model_at(path).model_fields)
    close = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.6)
    return f"Did you mean `{close[0]}`?" if close else f"Known keys here: {', '.join(known)}"


def _allowed(path: list[str]) -> str:
    """What a field would accept, from its own description."""
    field = _model_at(path).model_fields.get(path[-1] if path else "")
    if path and path[-1] == "payload":
        return f"Write one of {', '.join(KINDS)}"
    return f"It says: {' '.join(field.description.split())}" if field and field.description else "Correct the value"
