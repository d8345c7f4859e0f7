"""The page of the Python API."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import streamgauge
from streamgauge.runs.api import Run
from streamgauge.runs.experiment.api import Experiment, Search
from tools.reference.markdown import block, document

FUNCTIONS = ("run", "open", "broker", "experiment", "sweep", "search", "sql")
CLASSES = (Run, Experiment, Search)
INTRO = """\
Public names of `import streamgauge`. For examples see [Use Streamgauge from Python](../how-to/python.md)."""


def page() -> str:
    """Every public name with its signature and what its docstring says."""
    functions = [part for name in FUNCTIONS for part in _entry("streamgauge", name, vars_of()[name])]
    return document("Python API", INTRO, *functions, *(part for each in CLASSES for part in _class(each)))


def _class(of: type) -> Iterator[str]:
    yield f"## {of.__name__}"
    yield inspect.getdoc(of) or ""
    for name, member in public(of):
        yield from _entry(of.__name__, name, member)


def vars_of() -> dict[str, Any]:
    """What the package offers, by name."""
    return {name: getattr(streamgauge, name) for name in streamgauge.__all__}


def public(of: type) -> list[tuple[str, Any]]:
    """The public members of a class, in the order of its source."""
    return [(name, member) for name, member in vars(of).items() if not name.startswith("_")]


def _entry(owner: str, name: str, member: Any) -> Iterator[str]:
    yield f"## {owner}.{name}" if owner == "streamgauge" else f"### {owner}.{name}"
    if inspect.isfunction(member):
        yield block("python", f"{owner}.{_written(inspect.unwrap(member))}")
    yield inspect.getdoc(member) or ""


def _written(function: Callable[..., Any]) -> str:
    """The signature as it is written."""
    source = textwrap.dedent(inspect.getsource(function))
    signature = source[source.index("def ") + len("def ") : source.index('"""')].rstrip().removesuffix(":")
    return (
        re.sub(r"  # noqa.*", "", signature).replace("self, ", "").replace("self", "").replace('"pa.Table"', "pa.Table")
    )
