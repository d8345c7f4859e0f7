"""Tables of the fields of a schema: their forms, limits and defaults in words."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from tools.reference.markdown import code, sentence, table
from tools.reference.schema import Field, Node, Reader

_TYPES = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "object": "mapping",
    "array": "list",
}
_SCALARS = {"string", "integer", "number", "boolean"}


def sections(schema: Node, columns: Sequence[str]) -> Iterator[str]:
    """The fields of a schema: the whole's first, then a section for each part that stands in several places."""
    reader = Reader(schema)
    for part, fields in groupby(reader.fields(), key=lambda field: field.part):
        yield f"## {title(part)}" if part else "## Fields"
        yield sentence(reader.about(part)) if part else ""
        yield table(columns, ([_CELLS[column](field) for column in columns] for field in fields))


def title(part: str) -> str:
    """The heading of a part."""
    return f"Object {part}"


def form(node: Node) -> str:
    """What a value looks like."""
    if "x-form" in node:
        return f"[{node['x-form']}](#forms)"
    if "part" in node:
        name = title(node["part"]).lower()
        return f"[{name}](#{name.replace(' ', '-')})"
    if "const" in node or "enum" in node:
        return ", ".join(code(value) for value in node.get("enum", [node.get("const")]) if value is not None)
    return _made_of(node)


def _made_of(node: Node) -> str:
    """The form of what may hold something else."""
    if "anyOf" in node:
        types = [each.get("type") for each in node["anyOf"]]
        scalar = all(isinstance(each, str) for each in types) and set(types) == _SCALARS
        return "single value" if scalar else " or ".join(dict.fromkeys(form(each) for each in node["anyOf"]))
    if "items" in node:
        return f"list of {form(node['items'])}"
    if isinstance(node.get("additionalProperties"), Mapping):
        return f"mapping of names to {form(node['additionalProperties'])}"
    types = node.get("type", "object" if "properties" in node else [])
    return " or ".join(_TYPES[name] for name in ([types] if isinstance(types, str) else types) if name != "null")


def default(field: Field) -> str:
    """The default as it would be written; nothing where there is none, or where the fields below have their own."""
    if field.required:
        return "required"
    value = field.node.get("default")
    if value is None or "properties" in field.node or "part" in field.node:
        return ""
    return code(value if isinstance(value, str) and value else json.dumps(value))


def limits(node: Node) -> str:
    """What a value must keep to, beyond its form."""
    pattern = [f"matches {code(node['pattern'])}"] if "pattern" in node else []
    return ", ".join([*_range(node), *_length(node), *pattern])


def _range(node: Node) -> Iterator[str]:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        yield f"{_figure(low)} to {_figure(high)}"
    elif low is not None:
        yield f"at least {_figure(low)}"
    elif high is not None:
        yield f"at most {_figure(high)}"
    if "exclusiveMinimum" in node:
        yield f"more than {_figure(node['exclusiveMinimum'])}"
    if "exclusiveMaximum" in node:
        yield f"less than {_figure(node['exclusiveMaximum'])}"


def _length(node: Node) -> Iterator[str]:
    if "maxLength" in node:
        yield f"{node.get('minLength', 0)} to {node['maxLength']} {'items' if 'items' in node else 'characters'}"
    elif node.get("minLength"):
        yield "not empty"
    if "minItems" in node:
        yield f"at least {node['minItems']}"
    if "maxItems" in node:
        yield f"at most {node['maxItems']}"


def _figure(value: Any) -> str:
    exponent = value.bit_length() - 1 if isinstance(value, int) and value > 1 << 53 else 0
    return f"2^{exponent}" if exponent and value == 1 << exponent else f"{value:,}"


_CELLS: Mapping[str, Callable[[Field], str]] = {
    "field": lambda field: code(field.path),
    "type": lambda field: form(field.node),
    "nullable": lambda field: "yes" if field.nullable else "",
    "default": default,
    "limits": lambda field: limits(field.node),
    "description": lambda field: sentence(field.about),
}
