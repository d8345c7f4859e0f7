"""The page of the Python API."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import streamgauge
from streamgauge.runs.api import Run
from tools.reference.markdown import block, document

INTRO = """\
Public names of `import streamgauge`. For examples see [Use Streamgauge from Python](../how-to/python.md)."""


def page() -> str:
    """Every public name with its signature and what its docstring says."""
    functions = [part for name in ("run", "open", "broker") for part in _entry("streamgauge", name, vars_of()[name])]
    members = [part for name, member in public(Run) for part in _entry("Run", name, member)]
    return document("Python API", INTRO, *functions, "## Run", inspect.getdoc(Run) or "", *members)


def vars_of() -> dict[str, Any]:
    """What the package offers, by name."""
    return {name: getattr(streamgauge, name) for name in streamgauge.__all__}


def public(of: type) -> list[tuple[str, Any]]:
    """The public members of a class, in the order of its source."""
    return [(name, member) for name, member in vars(of).items() if not name.startswith("_")]


def _entry(owner: str, name: str, member: Any) -> Iterator[str]:
    yield f"### {owner}.{name}" if owner == "Run" else f"## {owner}.{name}"
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
