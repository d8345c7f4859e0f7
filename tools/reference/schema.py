"""The fields that a JSON Schema describes, in order, with their paths.

A definition that is used in several places, or as one of several, is a part of its own, so that it is described once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Node = Mapping[str, Any]
_NULL = {"type": "null"}
_CHOICES = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Field:
    """One field: the part that it belongs to (None: the whole), its path in there, and what the schema says of it."""

    part: str | None
    path: str
    node: Node
    required: bool

    @property
    def about(self) -> str:
        """Its description, or that of what it is a list of."""
        return str(self.node.get("description") or self.node.get("items", {}).get("description") or "")

    @property
    def nullable(self) -> bool:
        """Whether it may be null."""
        return bool(self.node.get("nullable"))


class Reader:
    """Reads one schema; references are followed, and what stands beside a reference adds to it."""

    def __init__(self, schema: Node) -> None:
        self._definitions: Mapping[str, Node] = schema.get("$defs", {})
        self._whole = {key: value for key, value in schema.items() if key != "$defs"}
        uses = Counter(self._uses(self._whole, set(), several=False))
        self._parts = frozenset(name for name, count in uses.items() if count > 1)

    def fields(self) -> list[Field]:
        """Every field once: those of the whole first, then those of each part."""
        found = {(field.part, field.path): field for field in self._below(self._whole, None, "")}
        return sorted(found.values(), key=lambda field: field.part or "")

    def about(self, part: str) -> str:
        """The description of a part."""
        return str(self._definitions[part].get("description", ""))

    def _uses(self, value: object, seen: set[str], *, several: bool) -> Iterator[str]:
        """Names of the objects that are referred to, once for each place; twice for one of several alternatives."""
        if isinstance(value, list):
            for each in value:
                yield from self._uses(each, seen, several=several)
        if not isinstance(value, Mapping):
            return
        if "$ref" in value:
            name = _name(value)
            is_object = "properties" in self._definitions[name]
            yield from [name] * (2 if several else 1) if is_object else ()
            if not (is_object and name in seen):
                seen.add(name)
                yield from self._uses(self._definitions[name], seen, several=False)
        for key, below in value.items():
            several_below = key in _CHOICES and len(_real(below)) > 1
            yield from self._uses(below, seen, several=several_below)

    def _below(self, node: Node, part: str | None, path: str) -> Iterator[Field]:
        """Fields of an object, and what lies below them."""
        patterns = {key.strip("^$"): below for key, below in node.get("patternProperties", {}).items()}
        for key, below in {**node.get("properties", {}), **patterns}.items():
            place = f"{path}.{key}" if path else key
            field = Field(part, place, self._resolved(below), key in node.get("required", ()))
            yield field
            yield from self._inside(field.node, part, place)

    def _inside(self, node: Node, part: str | None, path: str) -> Iterator[Field]:
        """Fields of what a field is, holds, or may be."""
        if "part" in node:
            yield from self._below(self._definitions[node["part"]], node["part"], "")
        yield from self._below(node, part, path)
        for each in node.get("anyOf", ()):
            yield from self._inside(each, part, path)
        if "items" in node:
            yield from self._inside(node["items"], part, f"{path}[]")
        if isinstance(node.get("additionalProperties"), Mapping):
            yield from self._inside(node["additionalProperties"], part, f"{path}.NAME")

    def _resolved(self, node: Node) -> Node:
        """A node without references; `nullable` and `part` are added where they apply."""
        choices: list[Node] = next((node[key] for key in _CHOICES if key in node), [])
        own = {key: value for key, value in node.items() if key not in {*_CHOICES, "$ref", "discriminator"}}
        if _NULL in choices or "null" in node.get("type", ()) or None in node.get("enum", ()):
            own["nullable"] = True
        real = _real(choices)
        if len(real) == 1:
            return self._resolved({**real[0], **own})
        if real:
            return {**own, "anyOf": [self._resolved(each) for each in real]}
        if "$ref" in node:
            return self._referred(_name(node), own)
        below = {key: self._resolved(own[key]) for key in ("items", "additionalProperties") if _is_node(own.get(key))}
        return {**own, **below}

    def _referred(self, name: str, own: Node) -> Node:
        target = self._definitions[name]
        if name in self._parts:
            return {"description": self.about(name), **own, "part": name}
        said = [each["description"].removesuffix(".") for each in (target, own) if each.get("description")]
        # What one of them begins with, the other need not say again.
        about = ". ".join(
            each for each in dict.fromkeys(said) if not any(o != each and o.startswith(each) for o in said)
        )
        return self._resolved({**target, **own, "description": about})


def _name(node: Node) -> str:
    return str(node["$ref"]).rsplit("/", 1)[-1]


def _real(choices: Any) -> list[Node]:
    """Alternatives that are more than null."""
    return [each for each in choices if each != _NULL]


def _is_node(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value)
