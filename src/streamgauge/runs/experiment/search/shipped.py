"""Experiments that come with the package, and searches: a scenario, its objectives, and how it is searched."""

import json
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, TypeVar

from streamgauge.scenario.written.yaml_text import read_yaml

_SUFFIX: Final = ".yaml"
_SEARCH: Final = "search"
"""The key of a document that is searched, and not run in variants; its keys are those of SearchOptions."""
_Scenario = TypeVar("_Scenario")


def shipped_documents(*, searches: bool) -> dict[str, dict[str, Any]]:
    """Name and document of every search that comes with the package, or of every other experiment."""
    return {name: each for name, each in _documents().items() if (_SEARCH in each) is searches}


def described_experiments(*, as_json: bool = False) -> str:
    """Name and purpose of every shipped experiment and search, one a line, or as JSON, with all it says of itself."""
    known = _documents()
    if as_json:
        kinds = {name: "search" if _SEARCH in each else "experiment" for name, each in known.items()}
        rows = [{"name": name, "kind": kinds[name], "about": each["about"]} for name, each in known.items()]
        return json.dumps(rows, indent=2, ensure_ascii=False)
    width = max(map(len, known))
    first = {name: each["about"].partition(". ")[0].removesuffix(".") for name, each in known.items()}
    return "\n".join(f"{name:<{width}}  {does}" for name, does in first.items())


def shipped_search(name: str) -> dict[str, Any] | None:
    """The document of a search that comes with the package; None where none has this name. No other one is read."""
    file = _files().get(name)
    found = _read(file) if file else {}
    return found if _SEARCH in found else None


def of_shipped(scenario: _Scenario, given: Mapping[str, Any]) -> tuple[_Scenario | str, dict[str, Any]]:
    """Scenario and options of a search that comes with the package, and what is `given` of its options in their place.

    Any other scenario is as it was.
    """
    found = shipped_search(scenario) if isinstance(scenario, str) else None
    return (scenario, dict(given)) if found is None else (found["scenario"], {**found[_SEARCH], **given})


def _documents() -> dict[str, dict[str, Any]]:
    return {name: _read(file) for name, file in _files().items()}


def _files() -> dict[str, Traversable]:
    folder = resources.files("streamgauge.experiments") / "shipped"
    files = sorted((each for each in folder.iterdir() if each.name.endswith(_SUFFIX)), key=lambda each: each.name)
    return {each.name.removesuffix(_SUFFIX): each for each in files}


def _read(file: Traversable) -> dict[str, Any]:
    document: dict[str, Any] = read_yaml(file.read_text(encoding="utf-8"))
    return document
