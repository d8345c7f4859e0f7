"""The page of the scenario, from its model."""

from collections.abc import Iterator, Mapping

from streamgauge.domain.text.quantities import (
    DURATION_NS,
    MAX_DURATION_NS,
    RATE_FACTOR,
    SIZE_BYTES,
    format_duration,
)
from streamgauge.runs.request.scenario_file import about, by_topic, shipped
from streamgauge.scenario import OWNED_SETTINGS, Scenario
from tools.reference.fields import sections
from tools.reference.markdown import block, code, document, sentence, table

EXAMPLE = "baseline"
COLUMNS = ("field", "type", "default", "limits", "description")

INTRO = """\
A scenario is a YAML file that describes a run. `--set PATH=VALUE` changes one field for one run, like
`--set load.rate=20k/s`; below `client`, `configs`, `settings` and `expect` the rest of the path is one name that may
contain dots, like `--set load.client.linger.ms=1`. For a misplaced key, or the name of another benchmark, the error
message gives the path: `load.rate` for `targetRate` and `rate`, `load.client.linger.ms` for `load.linger.ms`."""
COMMANDS = """\
streamgauge scenarios baseline   # print a scenario with every default
streamgauge scenarios --schema   # print the JSON Schema of scenario files, for editors"""


def page() -> str:
    """Every field of a scenario, and how values are written."""
    return document(
        "Scenario",
        INTRO,
        block("sh", COMMANDS),
        f"The shipped `{EXAMPLE}`:",
        block("yaml", shipped()[EXAMPLE]),
        *sections(Scenario.model_json_schema(), COLUMNS),
        "## Forms",
        table(("form", "syntax", "units", "examples"), forms()),
        "## Settings reserved for the run",
        "These are rejected in `load.client` and `consume.client`.",
        table(
            ("setting", "reason or replacement"),
            ((code(name), sentence(mend)) for name, mend in OWNED_SETTINGS.items()),
        ),
    )


SHIPPED_INTRO = """\
Run one by its name: `streamgauge run baseline`. `streamgauge scenarios` lists them, `streamgauge scenarios NAME` prints
one with all defaults, to start your own from."""


def shipped_page() -> str:
    """Every shipped scenario: what it does, whose run it recreates, and what to try."""
    parts = [
        part
        for topic, scenarios in by_topic().items()
        for part in (
            f"## {topic.replace('-', ' ').capitalize()}",
            table(("scenario", "description", "recreates", "try"), map(_shipped, scenarios)),
        )
    ]
    return document("Shipped scenarios", SHIPPED_INTRO, *parts)


def _shipped(name: str) -> tuple[str, str, str, str]:
    told = about(name)
    return (
        code(name),
        " ".join(filter(None, [sentence(told.does), told.more])),
        told.recreates,
        code(told.tries) if told.tries else "",
    )


def forms() -> list[tuple[str, str, str, str]]:
    """How durations, sizes and rates are written."""
    duration = f"A number and a unit; seconds by default. At most {format_duration(MAX_DURATION_NS)}."
    size = "Bytes, or a number and a unit; upper or lower case."
    rate = "A number, an optional factor, and `/s`, `/m`, `/min` or `/h`; `/s` by default. `max`: as fast as possible."
    count = "An integer, or a number and a factor; upper or lower case."
    moment = "An ISO 8601 date and time with a time zone."
    return [
        ("count", count, _factors(RATE_FACTOR), _examples("count")),
        ("moment", moment, "", _examples("moment")),
        ("start", "`auto`, `earliest`, `latest`, or a moment.", "", _examples("start")),
        ("duration", duration, ", ".join(map(code, DURATION_NS)), _examples("duration")),
        ("size", size, _factors(SIZE_BYTES), _examples("size")),
        ("rate", rate, _factors(RATE_FACTOR), _examples("rate")),
    ]


def _factors(units: Mapping[str, int]) -> str:
    return ", ".join(f"{code(unit)} {factor:,}" for unit, factor in units.items() if unit)


def _examples(form: str) -> str:
    """The examples that the schema gives for a form."""
    return ", ".join(code(each) for each in next(_all_examples(Scenario.model_json_schema(), form)))


def _all_examples(node: object, form: str) -> Iterator[list[object]]:
    """The examples of a form wherever they stand in a schema."""
    if isinstance(node, Mapping):
        if node.get("x-form") == form and "examples" in node:
            yield node["examples"]
        for below in node.values():
            yield from _all_examples(below, form)
    elif isinstance(node, list):
        for below in node:
            yield from _all_examples(below, form)
