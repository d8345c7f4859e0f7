"""docs/reference is what `make docs` prints, and everything it prints is described."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tools.reference import checks, commands
from tools.reference.fields import default, form, limits
from tools.reference.markdown import sentence, table
from tools.reference.pages import FOLDER, pages
from tools.reference.schema import Field, Reader

from streamgauge.domain.events import EVENTS
from streamgauge.domain.tables.latency import METRICS
from streamgauge.domain.tables.schema import Schema
from streamgauge.domain.tables.schemas import TABLES
from streamgauge.result.schema import json_schema
from streamgauge.scenario import Scenario
from streamgauge.verdict import RULES
from streamgauge.verdict.exits import Exit
from streamgauge.verdict.rule import Rule

ROOT = Path(__file__).parents[2]
PAGES = pages()
SCHEMAS: dict[str, Any] = {"scenario": Scenario.model_json_schema(), "result": json_schema()}
FIELDS = [(name, field) for name, schema in SCHEMAS.items() for field in Reader(schema).fields()]
ROWS = [*EVENTS.values(), *TABLES.values()]
COMMANDS = list(commands.commands())


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_current(name: str) -> None:
    """What is committed is what the code says now."""
    path = ROOT / FOLDER / name

    assert path.exists(), f"{FOLDER}/{name} is missing: say `make docs`"
    assert path.read_text(encoding="utf-8") == PAGES[name], f"{FOLDER}/{name} is not current: say `make docs`"


def test_no_page_is_left_over() -> None:
    """A page that nothing prints any more would grow old unseen."""
    assert {path.name for path in (ROOT / FOLDER).iterdir()} == set(PAGES)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_says_at_its_head_how_it_came_about(name: str) -> None:
    """Nobody should correct it by hand."""
    assert "`make docs`" in PAGES[name].splitlines()[2]


@pytest.mark.parametrize(("name", "field"), FIELDS, ids=[f"{name}:{field.path}" for name, field in FIELDS])
def test_every_field_has_a_form_and_a_description(name: str, field: Field) -> None:
    """And stands on its page."""
    assert form(field.node)
    assert field.about
    assert table(("field",), [[f"`{field.path}`"]]).splitlines()[-1].removesuffix("|") in PAGES[f"{name}.md"]


@pytest.mark.parametrize("schema", ROWS, ids=[schema.name for schema in ROWS])
def test_every_table_and_column_is_described(schema: Schema) -> None:
    """In more than its own name."""
    assert schema.about
    for column in schema.columns:
        assert column.about not in {"", column.name}, column.name


def test_every_metric_and_every_exit_code_is_described() -> None:
    """Each in words."""
    assert all(METRICS.values())
    assert all(each.about for each in Exit)


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_every_check_says_what_it_looks_at_and_what_to_do(rule: Rule) -> None:
    """Thresholds are filled in: no brace is left."""
    said = checks.labelled(rule)

    assert checks.question(rule)
    assert said["Data"]
    assert said["Remedy"]
    assert list(said) == [label for label in checks.LABELS if label in said]
    assert "{" not in "".join(said.values())


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_and_option_has_help(name: str, command: Any) -> None:
    """A command that can be run has an example too."""
    assert command.help
    for parameter in (*commands.arguments(command), *commands.options(command)):
        assert parameter.help, parameter.name
    if not hasattr(command, "commands"):
        assert commands.examples(command), name


@pytest.mark.parametrize(
    "field",
    [field for name, field in FIELDS if name == "scenario" and "default" in field.node],
    ids=lambda each: each.path,
)
def test_a_default_is_written_as_a_value_is_written(field: Field) -> None:
    """A duration is not shown as a number of nanoseconds."""
    if "part" not in field.node and not field.nullable:
        # That the schema is one is not what is looked at here, and is slow to check.
        node = {**field.node, "$defs": SCHEMAS["scenario"]["$defs"]}
        assert jsonschema.Draft202012Validator(node).is_valid(field.node["default"])


SHARED: dict[str, Any] = {
    "properties": {
        "first": {"$ref": "#/$defs/pair", "description": "One."},
        "second": {"items": {"anyOf": [{"$ref": "#/$defs/pair"}, {"type": "null"}]}, "description": "Two."},
        "only": {"$ref": "#/$defs/alone", "description": "Here."},
        "either": {"oneOf": [{"$ref": "#/$defs/alone"}, {"$ref": "#/$defs/other"}]},
    },
    "required": ["first"],
    "$defs": {
        "pair": {"description": "A pair.", "properties": {"left": {"$ref": "#/$defs/some"}}, "type": "object"},
        "alone": {"description": "Alone.", "properties": {"x": {"type": "integer"}}, "type": "object"},
        "other": {"properties": {"y": {"enum": ["a", None]}}, "type": "object"},
        "some": {"type": ["number", "null"], "minimum": 0},
    },
}  # fmt: skip


def test_what_stands_in_several_places_is_described_once() -> None:
    """As a part, which the places name; alternatives are parts too."""
    fields = Reader(SHARED).fields()

    assert [(field.part, field.path, form(field.node), field.nullable) for field in fields] == [
        (None, "first", "[object pair](#object-pair)", False),
        (None, "second", "list of [object pair](#object-pair)", False),
        (None, "only", "[object alone](#object-alone)", False),
        (None, "either", "[object alone](#object-alone) or [object other](#object-other)", False),
        ("alone", "x", "integer", False),
        ("other", "y", "`a`", True),
        ("pair", "left", "number", True),
    ]
    assert [field.about for field in fields][:3] == ["One.", "Two.", "Here."]
    assert default(fields[0]) == "required"


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"minimum": 1, "maximum": 10_000}, "1 to 10,000"),
        ({"minimum": 0, "exclusiveMaximum": 1 << 63}, "at least 0, less than 2^63"),
        ({"exclusiveMinimum": 0, "maximum": 5}, "at most 5, more than 0"),
        ({"maxLength": 9, "pattern": "^x$"}, "0 to 9 characters, matches `^x$`"),
        ({"minLength": 1}, "not empty"),
        ({"minItems": 1, "maxItems": 3}, "at least 1, at most 3"),
        ({}, ""),
    ],
)
def test_limits(node: dict[str, Any], words: str) -> None:
    """In words."""
    assert limits(node) == words


def test_a_table_leaves_out_what_nobody_says() -> None:
    """And no cell breaks it."""
    assert table(("a", "b", "c"), [("1", "", "x|y\nz"), ("2", "", "")]) == "\n".join(
        ["| a | c |", "| --- | --- |", "| 1 | x\\|y z |", "| 2 |  |"]
    )
    assert table(("a",), []) == ""


@pytest.mark.parametrize(("words", "said"), [("a\n b", "A b."), ("`x` of y.", "`x` of y."), ("", "")])
def test_a_sentence(words: str, said: str) -> None:
    """Begins with a capital and ends with a full stop."""
    assert sentence(words) == said
