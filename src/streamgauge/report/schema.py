"""What the JSON Schema of result.json says: whether a path leads to a value, and whether a document is a result."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from streamgauge.domain.errors import Fault
from streamgauge.domain.text.shown import shown
from streamgauge.scenario.expectations import parse_bound

Node = Mapping[str, Any]

_BANS: Final = ("additionalProperties", "unevaluatedProperties")
_KINDS: Final = {"integer": "a number", "number": "a number", "boolean": "true or false", "string": "a text"}


def expectation_faults(expect: Mapping[str, str | int | float | bool]) -> list[Fault]:
    """Expectations that no result can meet: the path leads to no single value, or to one of another kind."""
    return [fault for path, wanted in expect.items() if (fault := _fault(path, wanted))]


def misfit(document: object) -> str | None:
    """Where a document is not what the schema says; None where it is. Keys that it does not know are no matter."""
    error = best_match(Draft202012Validator(_open(_schema())).iter_errors(document))
    if error is None:
        return None
    where = ".".join(map(str, error.absolute_path)) or "it"
    # What the library says repeats the value, which may be all of the document.
    wanted = error.validator_value
    if error.validator == "required":
        return f"{where} has no `{next(name for name in wanted if name not in error.instance)}`"
    if error.validator == "type":
        return f"{where} is not {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"
    return f"{where} is not {wanted}" if error.validator == "const" else f"{where} is none of what it may be"


@cache
def _schema() -> Node:
    text = files("streamgauge.report").joinpath("result.schema.json").read_text(encoding="utf-8")
    schema: Node = json.loads(text)
    return schema


def _open(node: Any) -> Any:
    """The schema without its ban on keys that it does not know: a later version may have added them."""
    if isinstance(node, list):
        return [_open(each) for each in node]
    if not isinstance(node, Mapping):
        return node
    return {key: _open(each) for key, each in node.items() if not (key in _BANS and each is False)}


def _fault(path: str, wanted: str | int | float | bool) -> Fault | None:
    where, places, walked = f"expect.{path}", _parts(_schema()), "the result"
    for key in path.split("."):
        if any(_is_free(place) for place in places):
            return None
        below = [part for place in places for node in _below(place, key) for part in _parts(node)]
        if not below:
            return Fault(where, f"{walked} has no `{key}`", _known(places, key))
        places, walked = below, key if walked == "the result" else f"{walked}.{key}"
    kinds = {kind for place in places for kind in _kinds(place)}
    if not kinds:
        return None if any(_is_free(place) for place in places) else Fault(where, _NOT_SINGLE, _known(places))
    try:
        value = parse_bound(wanted).value
    except ValueError:
        # The scenario has said so already.
        return None
    if any(_is_of(value, kind) for kind in kinds):
        return None
    return Fault(where, f"{shown(path, wanted)}: it is never that", f"It is {' or '.join(sorted(kinds))}")


_NOT_SINGLE: Final = "is not a single value"


def _parts(node: Node) -> list[Node]:
    """All that a node is made of: itself, what it refers to, and what it may be."""
    found = [node]
    if "$ref" in node:
        found += _parts(_schema()["$defs"][node["$ref"].rpartition("/")[2]])
    for each in node.get("anyOf", ()):
        found += _parts(each)
    return found


def _below(node: Node, key: str) -> Iterator[Node]:
    if key in node.get("properties", {}):
        yield node["properties"][key]
    for pattern, below in node.get("patternProperties", {}).items():
        if re.search(pattern, key):
            yield below
    if isinstance(node.get("additionalProperties"), Mapping):
        yield node["additionalProperties"]
    if "items" in node and key.isdecimal():
        yield node["items"]


def _is_free(node: Node) -> bool:
    """Whether it is an object of which the schema says nothing more."""
    return node.get("type") == "object" and not {"properties", "additionalProperties"} & node.keys()


def _known(places: Sequence[Node], key: str | None = None) -> str:
    """The remedy: what there is, or what comes close to what was written."""
    if any("items" in place for place in places):
        return "Write the number of one of its items, from 0"
    names = [name for place in places for name in (*place.get("properties", {}), *_percentiles(place))]
    close = difflib.get_close_matches(key, names, n=1, cutoff=0.6) if key else []
    if close:
        return f"Did you mean `{close[0]}`?"
    return f"Known here: {', '.join(names)}" if names else "Leave out what comes after it"


def _percentiles(node: Node) -> list[str]:
    """The names that the patterns of a node stand for: `^p(50|99)_ms$` is p50_ms and p99_ms."""
    found = [re.fullmatch(r"\^(\w*)\(([\w|]+)\)(\w*)\$", pattern) for pattern in node.get("patternProperties", {})]
    return [f"{each[1]}{name}{each[3]}" for each in found if each for name in each[2].split("|")]


def _kinds(node: Node) -> Iterator[str]:
    """What single values it may be, in words; those of an enumeration are named."""
    for value in node.get("enum", ()):
        if value is not None:
            yield f"`{value}`"
    if "const" in node:
        yield _KINDS["integer"]
    for name in _types(node):
        if name in _KINDS:
            yield _KINDS[name]


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == _KINDS["boolean"]
    if isinstance(value, int | float):
        return kind == _KINDS["number"]
    return kind in {_KINDS["string"], f"`{value}`"}


def _types(node: Node) -> list[str]:
    said = node.get("type", [])
    return [said] if isinstance(said, str) else list(said)
