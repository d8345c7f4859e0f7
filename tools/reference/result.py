"""The page of result.json, from its JSON Schema."""

import json
from importlib import resources
from typing import Any

from tools.reference.fields import sections
from tools.reference.markdown import document

INTRO = """\
Each run leaves one `RUN/result.json`, and `streamgauge run --json` prints it. Its JSON Schema is
`src/streamgauge/report/result.schema.json`. Paths are those that `expect` in a scenario uses; `[]` stands for the
number of an element, from 0."""
COLUMNS = ("field", "form", "null", "limits", "description")


def schema() -> Any:
    """The JSON Schema of result.json."""
    return json.loads((resources.files("streamgauge.report") / "result.schema.json").read_text(encoding="utf-8"))


def page() -> str:
    """Every field of result.json."""
    return document("result.json", INTRO, schema()["description"], *sections(schema(), COLUMNS))
