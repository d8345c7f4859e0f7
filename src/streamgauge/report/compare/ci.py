"""Gates as build servers read them: JUnit XML, annotations of GitHub Actions, and Markdown for its summary."""

from typing import Final
from xml.etree import ElementTree as ET

from streamgauge.report.compare.gates import Gated, Gates
from streamgauge.report.pages.markdown import escaped, table
from streamgauge.report.pages.page import plain

OUTCOMES: Final = {"within": "passed", "worse": "WORSE", "unknown": "not known"}
_LEVELS: Final = {"worse": "error", "unknown": "warning"}


def junit(found: Gates) -> str:
    """One test case for each limit; what cannot be told is an error, and no failure.

    Text from outside is made plain: XML has no control characters.
    """
    counts = [each.gate.outcome for each in found.gated]
    suite = ET.Element(
        "testsuite",
        name="streamgauge check",
        tests=str(len(counts)),
        failures=str(counts.count("worse")),
        errors=str(counts.count("unknown")),
    )
    for each in found.gated:
        case = ET.SubElement(suite, "testcase", classname="streamgauge.check", name=plain(each.name))
        if each.gate.outcome != "within":
            kind = "failure" if each.gate.outcome == "worse" else "error"
            ET.SubElement(case, kind, message=plain(each.sentence))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def annotations(found: Gates) -> list[str]:
    """Workflow commands of GitHub Actions for what is not within its limit."""
    return [
        f"::{_LEVELS[each.gate.outcome]} title=streamgauge check::{_command(each)}"
        for each in found.gated
        if each.gate.outcome in _LEVELS
    ]


def _command(each: Gated) -> str:
    """A sentence in which nothing begins another command."""
    return each.sentence.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def gates_markdown(found: Gates) -> str:
    """The gates as Markdown; whatever is not a word of ours is escaped."""
    rows = [map(escaped, (each.name, OUTCOMES[each.gate.outcome], each.sentence)) for each in found.gated]
    differs = [f"- {escaped(f'{one.about} {one.name}')}: {escaped(', '.join(one.values))}" for one in found.differences]
    return "\n".join([table(("limit", "outcome", ""), map(tuple, rows)), "", *differs]).strip() + "\n"
