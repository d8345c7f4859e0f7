"""The name of a class or of a type stands for one thing in all of the source."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import streamgauge

SOURCE = Path(streamgauge.__file__).parent
OWN_MEANING = {
    "Row": "a row of a table, as the analysis makes it, as the verdict reads it, and as a figure shows it",
    "Rows": "rows: of an open part, of a table of the analysis, of a table in Markdown",
    "Tables": "gold tables: as the analysis makes them, and as the verdict reads them",
    "Values": "values of a column in a block, and of a section in a result",
    "Setting": "a setting of a client, and the same as scenarios validate it",
    "Json": "what Spark and librdkafka tell in JSON, each read by one module",
    "Node": "a node of a JSON Schema, of a scenario's and of a result's; a broker of a cluster is one, too",
    "Number": "a number of a result, which has a schema; a number in Spark's reports, which may be missing",
    "Count": "a number of messages: in a scenario with units, in a result without",
    "Share": "a part of a whole: in a result a number, in a schedule the messages of one producer",
    "Sizes": "sizes of messages: as a scenario asks for them, and as they are drawn",
    "Law": "a formula for lag with its condition; a distribution of sizes",
    "Keys": "keys of messages; keys of a scenario",
    "Partition": "a partition that a consumer reads; how a producer chooses one",
    "Found": "what is found in the source topic; what is found in a folder of parts",
    "State": "how far a worker is; how much of a verdict holds",
    "Status": "of a check, where `pass` is a word of results; of a finding of `doctor`, where nothing passes",
    "Outcome": "how a run ended; how a transaction ended",
    "Stage": "of a run, as it is shown live; of a pipeline under test",
    "Steps": "of a schedule in a scenario; of a loop that yields its waits",
    "Check": "of a verdict; what is asked while something is waited for",
    "Figures": "latencies and counts of a calibration; figures of a result by their paths",
    "About": "the description of a scenario file; what a check is about",
    "Trust": "what a scenario is granted; whether a figure is believed",
    "Ended": "how a run ended; how a transaction of a client ended",
}
"""Names that several packages use in a meaning of their own, in the words of their subject."""


def declared() -> Iterator[tuple[str, str, bool]]:
    """Each (name, where, whether it is a class) of a class or type alias at the top of a module."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            where = f"{path.relative_to(SOURCE)}:{node.lineno}"
            if isinstance(node, ast.ClassDef):
                yield node.name, where, True
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                # Type variables are calls; constants are in capitals.
                if name[0].isupper() and not name.isupper() and not isinstance(node.value, ast.Call):
                    yield name, where, False


def test_no_class_has_the_name_of_another() -> None:
    places = defaultdict(list)
    for name, where, is_class in declared():
        if is_class:
            places[name].append(where)

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_type_has_one_name_unless_packages_have_a_meaning_of_their_own() -> None:
    """The list of these names is exact: one that is no longer used twice leaves it."""
    places = defaultdict(list)
    for name, where, _ in declared():
        places[name].append(where)

    assert sorted(OWN_MEANING) == sorted(name for name, found in places.items() if len(found) > 1)
