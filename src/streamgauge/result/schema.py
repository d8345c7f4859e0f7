"""The JSON Schema of result.json, and whether a path leads to a value in it."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from streamgauge.domain.errors import BadValue, Fault
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.result.formats import current_path
from streamgauge.result.model.document import Result
from streamgauge.scenario.model.expectations import parse_bound

Node = Mapping[str, Any]

_KINDS: Final = {"integer": "a number", "number": "a number", "boolean": "true or false", "string": "a text"}
_NOT_SINGLE: Final = "is not a scalar value"


class _Plain(GenerateJsonSchema):
    """Without titles and defaults, which repeat the name of a key, and that it may be absent."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the signature is pydantic's
        return False

    def default_schema(self, schema: Any) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


@cache
def json_schema() -> Node:
    """The JSON Schema of result.json: closed, so that it finds keys that do not belong there."""
    schema = Result.model_json_schema(schema_generator=_Plain, mode="serialization")
    for node in schema["$defs"].values():
        del node["title"]
    return {"$schema": _Plain.schema_dialect, **schema, "title": "The result of a Streamgauge run"}


def expectation_faults(expect: Mapping[str, str | int | float | bool]) -> list[Fault]:
    """Expectations that no result can meet: the path leads to no single value, or to one of another kind."""
    return [fault for path, wanted in expect.items() if (fault := _expectation_fault(path, wanted))]


def figure_faults(where: str, path: str) -> list[Fault]:
    """Why no result has a number at a path that is given there; nothing where one may have it."""
    try:
        kinds = _kinds_at(path)
    except BadValue as error:
        return [error.at(where, one_line(path))]
    if not kinds or any(_is_of(0, kind) for kind in kinds):
        return []
    return [Fault(where, f"{one_line(path)}: is no number", _are(kinds))]


def numbers_below(path: str) -> list[str]:
    """The paths of all numbers that a result may have at a path, or below it; of a list, those of its first item.

    Raises BadValue where no result has anything there.
    """
    return [each for place in _places_at(path) for each in _numbers(place, path)]


def _expectation_fault(path: str, wanted: str | int | float | bool) -> Fault | None:
    where = f"expect.{path}"
    try:
        kinds = _kinds_at(path, "expect.")
    except BadValue as error:
        return Fault(where, error.what, error.mend)
    try:
        value = parse_bound(wanted).value
    except ValueError:
        # The scenario has said so already.
        return None
    if not kinds or any(_is_of(value, kind) for kind in kinds):
        return None
    return Fault(where, f"{shown(path, wanted)}: it is never that", _are(kinds))


def _are(kinds: Iterable[str]) -> str:
    return f"It is {' or '.join(sorted(kinds))}"


def _kinds_at(path: str, before: str = "") -> set[str]:
    """The kinds of the single values that a result may have at a path; none where it may have any.

    Raises BadValue where it has no single value there; `before` is what is written before a path.
    """
    places = _places_at(path, before)
    if any(_is_free(place) for place in places):
        return set()
    kinds = {kind for place in places for kind in _kinds(place)}
    if not kinds:
        raise BadValue(_NOT_SINGLE, _known(places))
    return kinds


def _places_at(path: str, before: str = "") -> list[Node]:
    """What may stand at a path: a free object stands for all that is below it.

    Raises BadValue where nothing does; `before` is what is written before a path.
    """
    if (new := current_path(path)) != path:
        raise BadValue("has another name by now", f"Write {before}{new}")
    places, walked = _parts(json_schema()), "the result"
    for key in path.split("."):
        if any(_is_free(place) for place in places):
            return places
        below = [part for place in places for node in _below(place, key) for part in _parts(node)]
        if not below:
            raise BadValue(f"{walked} has no `{key}`", _known(places, key))
        places, walked = below, key if walked == "the result" else f"{walked}.{key}"
    return places


def _numbers(node: Node, path: str) -> Iterator[str]:
    """The paths of the numbers that a node is, or holds."""
    if node.get("type") in {"integer", "number"}:
        yield path
    below = dict(node.get("properties", {}))
    if "items" in node:
        below["0"] = node["items"]
    for key, each in below.items():
        for part in _parts(each):
            yield from _numbers(part, f"{path}.{key}")


def _parts(node: Node) -> list[Node]:
    """All that a node is made of: itself, what it refers to, and what it may be."""
    found = [node]
    if "$ref" in node:
        found += _parts(json_schema()["$defs"][node["$ref"].rpartition("/")[2]])
    for each in node.get("anyOf", ()):
        found += _parts(each)
    return found


def _below(node: Node, key: str) -> Iterator[Node]:
    if key in node.get("properties", {}):
        yield node["properties"][key]
    if isinstance(node.get("additionalProperties"), Mapping):
        yield node["additionalProperties"]
    if "items" in node and key.isdecimal():
        yield node["items"]


def _is_free(node: Node) -> bool:
    """Whether it is an object of which the schema says nothing more."""
    return node.get("additionalProperties") is True and "properties" not in node


def _known(places: Sequence[Node], key: str | None = None) -> str:
    """The remedy: what there is, or what comes close to what was written."""
    if any("items" in place for place in places):
        return "Write the number of one of its items, from 0"
    names = [name for place in places for name in place.get("properties", {})]
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.6) if key else []
    if close:
        return f"Did you mean `{close[0]}`?"
    return f"Known here: {', '.join(names)}" if names else "Leave out what comes after it"


def _kinds(node: Node) -> Iterator[str]:
    """What single value it may be, in words; those of an enumeration are named."""
    if "enum" in node:
        yield from (f"`{value}`" for value in node["enum"])
    elif node.get("type") in _KINDS:
        yield _KINDS[node["type"]]


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == _KINDS["boolean"]
    if isinstance(value, int | float):
        return kind == _KINDS["number"]
    return kind in {_KINDS["string"], f"`{value}`"}
