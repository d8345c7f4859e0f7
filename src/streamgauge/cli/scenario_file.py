"""Scenarios from YAML: shipped ones by name, others by path, with `--set` on top."""

import difflib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.scenario import Scenario, document, parse

_SUFFIX = ".yaml"
_FREE_KEYS = ("client", "configs", "expect")
"""Below these, what is left of a path is one key, dots and all: `load.client.linger.ms`."""


def shipped() -> dict[str, str]:
    """Name and text of every scenario that comes with the package."""
    folder = resources.files("streamgauge") / "scenarios"
    files = sorted((each for each in folder.iterdir() if each.name.endswith(_SUFFIX)), key=lambda each: each.name)
    return {each.name.removesuffix(_SUFFIX): each.read_text(encoding="utf-8") for each in files}


def load_scenario(name: str, settings: Sequence[str] = ()) -> Scenario:
    """The scenario of this name or path with `path=value` settings applied.

    Raises BadInput with every fault of the settings, or of the scenario that they make.
    """
    mapping = _parse_yaml(_text_of(name), name)
    faults: list[Fault] = []
    for setting in settings:
        try:
            _apply(mapping, setting)
        except BadInput as error:
            faults += error.faults
    if faults:
        raise BadInput(faults)
    return parse(mapping, name)


def _text_of(name: str) -> str:
    known = shipped()
    if name in known:
        return known[name]
    path = Path(name)
    if path.suffix not in {".yaml", ".yml"} and not path.exists():
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean `{close[0]}`?" if close else f"Shipped scenarios: {', '.join(known)}; or name a YAML file"
        raise BadInput.single(name, "no scenario of this name", hint)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput.single(name, f"cannot be read: {reason}", "Name a readable YAML file") from error


def _parse_yaml(text: str, where: str) -> dict[str, Any]:
    try:
        mapping = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        problem = getattr(error, "problem", None) or "not YAML"
        raise BadInput.single(place, f"not YAML: {problem}", "Correct the line; indent with spaces") from error
    if not isinstance(mapping, dict):
        raise BadInput.single(where, "not a mapping of keys to values", "Begin with `name: my-scenario`")
    return mapping


def _apply(mapping: dict[str, Any], setting: str) -> None:
    """Set one value in a nested mapping; keys that do not exist are made, for `parse` to judge."""
    path, equals, text = setting.partition("=")
    if not equals or not path.strip():
        raise BadInput.single(f"--set {setting}", "not of the form path=value", "Write e.g. --set load.rate=20k/s")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput([Fault(f"--set {setting}", "the value is not YAML", "Quote it")]) from error
    keys = _split(path.strip())
    place = mapping
    for depth, key in enumerate(keys[:-1]):
        below = place.setdefault(key, {})
        if below is None or below is False:
            below = place[key] = {}
        if not isinstance(below, Mapping):
            where = ".".join(keys[: depth + 1])
            raise BadInput.single(f"--set {setting}", f"{where} is a single value", f"Set {where} itself")
        place = place[key]
    place[keys[-1]] = value


def _split(path: str) -> list[str]:
    """The keys of a dotted path; below a free mapping the rest is one key."""
    keys = path.split(".")
    for depth, key in enumerate(keys[:-1]):
        if key in _FREE_KEYS:
            return [*keys[: depth + 1], ".".join(keys[depth + 1 :])]
    return keys


def described() -> str:
    """Name and purpose of every shipped scenario, one a line."""
    scenarios = [load_scenario(name) for name in shipped()]
    width = max(len(each.name) for each in scenarios)
    return "\n".join(f"{each.name:<{width}}  {each.about}" for each in scenarios)


def yaml_text(scenario: Scenario) -> str:
    """The scenario as a YAML file, every default written out."""
    return yaml.safe_dump(document(scenario), sort_keys=False, allow_unicode=True).rstrip()


def schema_text() -> str:
    """The JSON Schema of scenario files."""
    return json.dumps(Scenario.model_json_schema(), indent=2)
