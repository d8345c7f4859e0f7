"""Scenarios from YAML: shipped ones by name, others by path, with `--set` on top."""

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from streamgauge.domain.errors import BadInput, Fault
from streamgauge.domain.text.secrets import mask_setting
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.specs.write.translation import SpecDocument, Translation
from streamgauge.foreign.specs.write.written import TOOL_NAMES, command_of, notes_of
from streamgauge.runs.request.spec_files import document_of, is_inline, translation_in
from streamgauge.runs.request.texts import read_file
from streamgauge.scenario import Scenario, examine, shareable
from streamgauge.scenario.written.paths import keys_of, put
from streamgauge.scenario.written.yaml_text import Flaw, YamlError, read_yaml

_SUFFIX = ".yaml"
_WANTED = "a scenario"
_FIRST = "basics"
SUFFIXES = (_SUFFIX, ".yml")
_INLINE = "scenario"
"""What a scenario that is a mapping is called in messages."""
_RECREATES = "Recreates "
_TRY = "Try "
_LIKE = "Write e.g. --set load.rate=20k/s"


def by_topic() -> dict[str, dict[str, str]]:
    """Name and text of every scenario that comes with the package, by topic; the basics first."""
    folder = resources.files("streamgauge.scenario") / "shipped"
    topics = sorted(
        (each for each in folder.iterdir() if each.is_dir()), key=lambda each: (each.name != _FIRST, each.name)
    )
    return {
        topic.name: {
            file.name.removesuffix(_SUFFIX): file.read_text(encoding="utf-8")
            for file in sorted(topic.iterdir(), key=lambda each: each.name)
            if file.name.endswith(_SUFFIX)
        }
        for topic in topics
    }


def shipped() -> dict[str, str]:
    """Name and text of every scenario that comes with the package."""
    return {name: text for scenarios in by_topic().values() for name, text in scenarios.items()}


def load_scenario(name: str, settings: Sequence[str] = ()) -> Scenario:
    """The scenario of this name or path with `path=value` settings applied.

    Raises BadInput with every fault of the settings, and of the scenario that they make.
    """
    scenario, faults = read_scenario(name, settings)
    if scenario is None or faults:
        raise BadInput(faults)
    return scenario


def read_scenario(source: str | Mapping[str, Any], settings: Sequence[str] = ()) -> tuple[Scenario | None, list[Fault]]:
    """The scenario as far as it is right, to be looked at further, and every fault of it and its settings.

    `source` is the name of a shipped scenario, the path of a YAML file, or what such a file would say.
    """
    faults: list[Fault] = []
    mapping: dict[str, Any] | None
    name = source if isinstance(source, str) else _INLINE
    try:
        mapping = mapping_of(source)
    except BadInput as error:
        mapping, faults = None, list(error.faults)
    for setting in settings:
        try:
            _apply({} if mapping is None else mapping, setting)
        except BadInput as error:
            faults += error.faults
    if mapping is None:
        return None, faults
    scenario, wrong = examine(mapping, _place(name))
    return scenario, faults + wrong


def mapping_of(source: str | Mapping[str, Any], kind: SpecDocument = "scenario") -> dict[str, Any]:
    """What a scenario says, not yet examined: that of a shipped name, of a YAML file, or a copy of a mapping.

    A specification of another tool is converted; it has to be a document of this kind. Raises BadInput for what cannot
    be read, or is no mapping.
    """
    if not isinstance(source, str):
        return deepcopy(dict(source))
    if translation := translation_of(source):
        return deepcopy(dict(document_of(translation, kind, source).document))
    return _parse_mapping(_text_of(source), _place(source))


def translation_of(source: str | Mapping[str, Any]) -> Translation | None:
    """What a specification of another tool comes to; None for scenarios of our own. Raises BadInput."""
    if not isinstance(source, str) or source in shipped():
        return None
    return translation_in(source if is_inline(source) else _text_of(source), source)


def conversion_notes(source: str | Mapping[str, Any] | None, *, is_search: bool = False) -> list[str]:
    """What to know of the specification that a scenario or an experiment is converted from; nothing for our own.

    Raises BadInput for one that asks for a search where none is made: a single run would not do what it says.
    """
    translation = _translated(source, is_search=is_search)
    if translation is None:
        return []
    told = f"Converted from {TOOL_NAMES[translation.tool]}: {translation.spec}"
    return [told, *notes_of(translation)]


def check_runs_once(source: str) -> None:
    """Return unless it is a specification that asks for a search; raises BadInput for one."""
    _translated(source, is_search=False)


def _translated(source: str | Mapping[str, Any] | None, *, is_search: bool) -> Translation | None:
    """What a specification comes to, None for our own; raises BadInput where it asks for a search that is not made."""
    try:
        translation = None if source is None else translation_of(source)
    except BadInput:
        # Whoever reads the scenario says so, with all other faults.
        return None
    if translation and translation.search and not is_search:
        where = one_line(str(source))
        raise BadInput.single(where, "asks for the highest rate", f"Use: {command_of(translation, where)}")
    return translation


def value_text(value: Any) -> str:
    """A value as `--set` and `--vary` take it.

    JSON is YAML, too, but for escapes of characters beyond U+FFFF, which YAML reads as two characters.
    """
    return json.dumps(value, default=str, ensure_ascii=False)


def setting_text(path: str, value: Any) -> str:
    """A setting as `--set` takes it."""
    return f"{path}={value_text(value)}"


def mapping_with(source: str | Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """The same with `path=value` settings applied; raises BadInput for the first that cannot be."""
    mapping = mapping_of(source)
    for setting in settings:
        _apply(mapping, setting)
    return mapping


def _text_of(name: str) -> str:
    known = shipped()
    if name in known:
        return known[name]
    if not name:
        raise _unknown(name, known)
    path = Path(name)
    try:
        return read_file(path, _place(name), "Name a readable YAML file", _WANTED)
    except BadInput as error:
        if path.suffix not in SUFFIXES and not _is_there(name):
            raise _unknown(name, known) from error
        raise


def _is_there(name: str) -> bool:
    try:
        return os.path.lexists(name)
    except ValueError:
        return False


def _unknown(name: str, known: Iterable[str]) -> BadInput:
    close = difflib.get_close_matches(name, known, n=1)
    listing = "List the shipped ones with `streamgauge scenarios`, or name a YAML file"
    hint = f"Did you mean `{close[0]}`?" if close else listing
    return BadInput.single(_place(name), "no scenario of this name", hint)


def _place(name: str) -> str:
    return one_line(name) or "SCENARIO"


def _parse_mapping(text: str, where: str) -> dict[str, Any]:
    try:
        mapping = read_yaml(text)
    except YamlError as error:
        raise BadInput([_flawed(where, flaw) for flaw in error.flaws]) from error
    if not isinstance(mapping, dict):
        raise BadInput.single(where, "not a mapping of keys to values", "Begin with `name: my-scenario`")
    return mapping


def _flawed(where: str, flaw: Flaw) -> Fault:
    place = where if flaw.line is None else f"{where}:{flaw.line}:{flaw.column}"
    return Fault(place, f"not YAML: {one_line(flaw.what)}", flaw.mend)


def _apply(mapping: dict[str, Any], setting: str) -> None:
    """Set the value that a `path=value` says in a nested mapping; raises BadInput where it cannot be set."""
    path, equals, text = setting.partition("=")
    where = f"--set {one_line(mask_setting(setting))}"
    if not equals or not path.strip():
        raise BadInput.single(where, "not of the form path=value", _LIKE)
    keys = keys_of(path)
    if not all(keys):
        raise BadInput.single(where, "the path has an empty part", _LIKE)
    try:
        value = read_yaml(text)
    except YamlError as error:
        raise BadInput(
            [Fault(where, f"the value is not valid YAML: {one_line(error.flaws[0].what)}", "Quote it")]
        ) from error
    put(mapping, keys, value, where)


def home_of_scenario(source: str | Mapping[str, Any]) -> Path | None:
    """The folder of a scenario's file; None for a scenario that is shipped, or in no file."""
    return None if isinstance(source, Mapping) or source in shipped() or is_inline(source) else Path(source).parent


def described() -> str:
    """Name and purpose of every shipped scenario, one a line of at most 80 columns, by topic."""
    blocks = []
    for topic, scenarios in by_topic().items():
        width = max(map(len, scenarios))
        blocks.append(
            "\n".join([topic.replace("-", " "), *(f" {each:<{width}}  {about(each).does}" for each in scenarios)])
        )
    more = "`streamgauge scenarios NAME` prints one, with what it recreates and what to try."
    return "\n\n".join([*blocks, more])


def described_json() -> str:
    """What every shipped scenario says of itself, with its topic, as JSON."""
    rows = [
        {"name": name, "topic": topic, **about(name)._asdict()}
        for topic, scenarios in by_topic().items()
        for name in scenarios
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


class About(NamedTuple):
    """What a shipped scenario says of itself, by how its sentences begin."""

    does: str
    """The first sentence."""
    more: str
    recreates: str
    """Whose run it recreates; empty where nobody's."""
    tries: str
    """Settings that are worth a try; empty where none is named."""


def about(name: str) -> About:
    """What the shipped scenario of this name says of itself."""
    first, *others = re.split(r"(?<=\.) ", load_scenario(name).about)
    kinds: dict[str, list[str]] = {_RECREATES: [], _TRY: [], "": []}
    for each in others:
        kind = next(begin for begin in kinds if each.startswith(begin))
        kinds[kind].append(each.removeprefix(kind).removesuffix("." if kind else ""))
    more, recreates, tries = (" ".join(kinds[kind]) for kind in ("", _RECREATES, _TRY))
    return About(first.removesuffix("."), more, recreates, tries)


def yaml_text(scenario: Scenario) -> str:
    """The scenario as a YAML file, every default written out, secrets masked."""
    return yaml.safe_dump(shareable(scenario), sort_keys=False, allow_unicode=True).rstrip()


def json_text(scenario: Scenario) -> str:
    """The same as JSON."""
    return json.dumps(shareable(scenario), indent=2, ensure_ascii=False)


def schema_text() -> str:
    """The JSON Schema of scenario files."""
    return json.dumps(Scenario.model_json_schema(), indent=2)
