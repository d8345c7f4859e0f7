"""The page of result.json and its JSON Schema, from its model."""

import json
import re
from collections.abc import Mapping
from typing import Any

from streamgauge.result.model.document import Result
from streamgauge.result.schema import json_schema
from tools.reference.fields import sections
from tools.reference.markdown import document

INTRO = """\
Each run writes `RUN/result.json`; `streamgauge run --json` prints it. Its JSON Schema is
[result.schema.json](result.schema.json). Use the paths in `expect` of a scenario; `[]` stands for the index of
an element, from 0."""
COLUMNS = ("field", "type", "nullable", "limits", "description")
COMMENT = "Generated from the code by `make docs`; changes made here are lost."
WIDTH = 120


def page() -> str:
    """Every field of result.json."""
    whole = " ".join((Result.__doc__ or "").split())
    return document("result.json", INTRO, whole, *sections(_said_once(json_schema()), COLUMNS))


def _said_once(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without descriptions of objects that stand in one place: what is said of the place is enough."""
    text = json.dumps(schema)
    return {**schema, "$defs": {name: _one_place(name, node, text) for name, node in schema["$defs"].items()}}


def _one_place(name: str, node: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    reference = f'{{"$ref": "#/$defs/{name}"'
    is_told = text.count(reference) == 1 and not re.search(rf'(?<!"items"): {re.escape(reference)}}}', text)
    return {**node, "description": ""} if is_told else node


def schema_file() -> str:
    """The JSON Schema of result.json: what fits into a line stands in one."""
    dialect = {"$schema": json_schema()["$schema"], "$comment": COMMENT}
    return _lines({**dialect, **json_schema()}, 0) + "\n"


def _lines(value: Any, depth: int) -> str:
    one = json.dumps(value)
    if not isinstance(value, dict | list) or len(one) + 2 * depth < WIDTH:
        return one
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + _lines(each, depth + 1) for each in value) + f"\n{outer}]"
    parts = (f"{inner}{json.dumps(key)}: {_lines(each, depth + 1)}" for key, each in value.items())
    return "{\n" + ",\n".join(parts) + f"\n{outer}}}"
