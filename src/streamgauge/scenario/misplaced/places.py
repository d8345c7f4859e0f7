"""Keys that are not known where they stand: where they belong, also those that other benchmarks use."""

import difflib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from streamgauge.domain.errors import Fault
from streamgauge.domain.text.numbers import listed
from streamgauge.domain.text.secrets import mask_setting
from streamgauge.domain.text.shown import one_line
from streamgauge.scenario.contradictory.contradictions import OWNED_SETTINGS
from streamgauge.scenario.misplaced.names import CLIENT_CONFIG, OTHER_NAMES, SECURITY, SETTINGS
from streamgauge.scenario.model.scenario import Scenario

_DEEPEST: Final = 3
"""A key is looked for so many levels below the top, or two levels below where it was written."""
_MOST: Final = 3
_MOST_LEAVES: Final = 20
_CLOSE, _VERY_CLOSE = 0.6, 0.8
_WHOSE: Final = re.compile(r"^(client|producer|consumer)\.")
_FREE: Final = {
    "load": "load.client",
    "consume": "consume.client",
    "topic": "topic.configs",
    "pipeline": "pipeline.settings",
}
"""Where a part of a scenario has its settings by the names of others."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where a key belongs: a path of the scenario, or what else to do."""

    path: str = ""
    unit: str = ""
    """The unit that a number of another benchmark has."""
    instead: str = ""


def misplaced(path: Sequence[str], value: object) -> Iterator[Fault]:
    """The faults of a key that is not known where it stands: one, or one for each setting that is below it.

    `--set load.linger.ms=5` arrives as a mapping below `load.linger`.
    """
    above, key = tuple(path[:-1]), path[-1]
    names = [".".join((key, *tail)) for tail in islice(_leaves(value), _MOST_LEAVES + 1)]
    found = [(name, places_of(above, name)) for name in names]
    if len(found) <= _MOST_LEAVES and all(places for _, places in found):
        for name, places in found:
            yield _fault((*above, name), _place(places, value))
    elif len(names) == 1 and (near := _close_setting(names[0])):
        yield _fault((*above, names[0]), f"Did you mean `{near}`?")
    else:
        yield _fault(path, _close(above, key, is_part=isinstance(value, Mapping)))


def option_fault(option: str, value: str | None) -> Fault | None:
    """The fault of an option that is a key of a scenario, or another benchmark's; None where it is neither."""
    found = places_of((), option.lstrip("-"))
    if not found:
        return None
    ways = [f"--set {_setting(place, value)}" for place in found if place.path]
    return Fault(option, "no such option", f"Use {listed(ways, 'or')}" if ways else found[0].instead)


def places_of(above: Path, name: str) -> tuple[KeyPlace, ...]:
    """Where a key that was written below `above` belongs; several where that is not clear, none where nobody knows."""
    plain = _plain(name)
    if "." in name and is_path((*above, *name.split("."))):
        return (KeyPlace(instead=f"Write it as `{_nested(name.split('.'))}`"),)
    if place := _others().get(_plain("".join((*above[-1:], name)))) or _others().get(plain):
        return (place,)
    if owned := _owned().get(plain):
        return (KeyPlace(instead=owned),)
    if name.startswith(SECURITY):
        return (KeyPlace(instead=CLIENT_CONFIG),)
    if setting := _client_setting(above, name):
        return (KeyPlace(setting),)
    return tuple(KeyPlace(".".join(each)) for each in _in_model(above, plain))


def is_path(keys: Sequence[str]) -> bool:
    """Whether a scenario can have a field there."""
    return _field_at(keys) is not None


def close_setting(name: str) -> str | None:
    """The client setting that a name comes close to, also without a unit: `linger` is `linger.ms`."""
    names = [path.split(".", 2)[2] for path in _settings().values() if not path.startswith("topic.")]
    near = [each for each in names if each.removesuffix(".ms") == name]
    return next(iter(near or difflib.get_close_matches(name, names, n=1, cutoff=_VERY_CLOSE)), None)


def fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model by the keys that a scenario writes."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def fields_at(path: Sequence[str]) -> dict[str, FieldInfo]:
    """The fields among which is the last step of a path; those of the first of several models go first."""
    found = fields(Scenario)
    for step in path[:-1]:
        field = None if step.isdigit() else found.get(step)
        if field and (models := list(_models(field.annotation, in_lists=True))):
            found = {name: each for model in reversed(models) for name, each in fields(model).items()}
    return found


def fields_below(path: Sequence[str]) -> dict[str, FieldInfo]:
    """The fields of the models to which a path leads; none where it leads to a plain value."""
    field = _field_at(path) if path else None
    return {name: each for model in _models(field.annotation) for name, each in fields(model).items()} if field else {}


def _fault(path: Sequence[str], mend: str) -> Fault:
    return Fault(".".join(path), "no such key", mend)


def _place(places: Sequence[KeyPlace], value: object) -> str:
    """What mends a key that belongs elsewhere."""
    if places[0].instead:
        return places[0].instead
    number = re.fullmatch(r"\d+(\.\d+)?", str(value)) if isinstance(value, str | int | float) else None
    unit = f", with its unit, like {value}{places[0].unit}" if places[0].unit and number else ""
    return f"Its place is {listed([f'`{place.path}`' for place in places], 'or')}{unit}"


def _close(above: Path, key: str, *, is_part: bool) -> str:
    """What mends a key that nobody knows: what comes close to it, here or elsewhere, or what there is."""
    here = fields_at((*above, key))
    parts = [name for name, field in here.items() if not is_part or next(_models(field.annotation), None)]
    near = difflib.get_close_matches(key, parts, n=1, cutoff=_CLOSE)
    if is_part and not near and (places := places_of(above, key)):
        return _place(places, None)
    far = difflib.get_close_matches(_plain(key), _known(), n=1, cutoff=_VERY_CLOSE)
    if far and (not near or (not is_part and _ratio(_plain(key), far[0]) > _ratio(key, near[0]))):
        elsewhere = [place.path for place in places_of(above, _known()[far[0]]) if place.path]
        near = [listed(elsewhere, "` or `")] if elsewhere else near
    return f"Did you mean `{near[0]}`?" if near else f"Known keys here: {', '.join(here)}"


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _client_setting(above: Path, name: str) -> str | None:
    """The path of a setting of clients, topics or Spark."""
    part = above[0] if above else ""
    known = _settings().get(_plain(_WHOSE.sub("", name)))
    if known:
        return f"{_FREE[part]}.{name}" if part == "topic" and "." in name else known
    if name.startswith("spark."):
        part = "pipeline"
    first, dot, _ = name.partition(".")
    is_free = part in _FREE and dot and not places_of(above, first) and not _close_setting(name)
    return f"{_FREE[part]}.{name}" if is_free else None


def _close_setting(name: str) -> str | None:
    """The path of the setting that a name comes close to."""
    near = difflib.get_close_matches(_plain(name), _settings(), n=1, cutoff=_VERY_CLOSE) if "." in name else []
    return _settings()[near[0]] if near else None


def _in_model(above: Path, plain: str) -> list[Path]:
    """The paths of the model that end with a name, those that are closest to where it was written."""
    ranked: dict[tuple[int, int], list[Path]] = {}
    # Among keys that must be there, one that is not known stands for one of them, and for nothing in another part.
    least = 1 if any(field.is_required() for field in fields_below(above).values()) else 0
    for path in _index().get(plain, ()):
        shared = _shared(above, path)
        if shared >= least and path != above[: len(path)] and len(path) <= max(_DEEPEST, shared + 2):
            ranked.setdefault((-shared, len(path)), []).append(path)
    return ranked[min(ranked)][:_MOST] if ranked else []


def _shared(one: Path, other: Path) -> int:
    """How many steps two paths have in common from the top."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _leaves(value: object) -> Iterator[Path]:
    """The paths to single values within mappings."""
    if not isinstance(value, Mapping) or not value:
        yield ()
        return
    for key, below in value.items():
        for tail in _leaves(below):
            yield (str(key), *tail)


def _setting(place: KeyPlace, value: str | None) -> str:
    """`load.rate=20k/s`, fit for a shell."""
    return shlex.quote(one_line(mask_setting(f"{place.path}={_given(place, value)}")))


def _given(place: KeyPlace, value: str | None) -> str:
    if value is None:
        return "..."
    return f"{value}{place.unit}" if re.fullmatch(r"\d+(\.\d+)?", value) else value


def _nested(keys: Sequence[str]) -> str:
    """`load: {rate: ...}`."""
    return f"{keys[0]}: {{{_nested(keys[1:])}}}" if len(keys) > 1 else f"{keys[0]}: ..."


def _field_at(path: Sequence[str]) -> FieldInfo | None:
    """The field that a path leads to."""
    models: list[type[BaseModel]] = [Scenario]
    found = None
    for step in path:
        found = next((field for model in models if (field := fields(model).get(step))), None)
        models = list(_models(found.annotation)) if found else []
    return found


def _models(annotation: Any, *, in_lists: bool = False) -> Iterator[type[BaseModel]]:
    """The models that a type consists of; what stands in lists has no path of its own."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif in_lists or get_origin(annotation) not in {tuple, list, dict}:
        for each in get_args(annotation):
            yield from _models(each, in_lists=in_lists)


def _paths(model: type[BaseModel], above: Path = ()) -> Iterator[Path]:
    for name, field in fields(model).items():
        yield (*above, name)
        for below in _models(field.annotation):
            yield from _paths(below, (*above, name))


def _plain(name: str) -> str:
    """A name as it is compared: `max_lag`, `max-lag`, `max.lag` and `maxLag` are one."""
    return re.sub(r"[-_.\s]", "", name).lower()


@cache
def _index() -> Mapping[str, list[Path]]:
    """The paths of a scenario by the last name in them."""
    found: dict[str, list[Path]] = {}
    for path in _paths(Scenario):
        found.setdefault(_plain(path[-1]), []).append(path)
    return found


@cache
def _others() -> Mapping[str, KeyPlace]:
    found: dict[str, KeyPlace] = {}
    for place, names in OTHER_NAMES.items():
        path, _, unit = place.partition("=")
        meant = KeyPlace(instead=place) if place.startswith(("Use ", "Write ")) else KeyPlace(path, unit)
        found |= {_plain(name): meant for name in names.split()}
    return found


@cache
def _settings() -> Mapping[str, str]:
    return {_plain(name): f"{place}.{name}" for place, names in SETTINGS.items() for name in names.split()}


@cache
def _owned() -> Mapping[str, str]:
    return {_plain(name): f"Leave it out: {mend}" for name, mend in OWNED_SETTINGS.items()}


@cache
def _known() -> Mapping[str, str]:
    """Every name that has a place, by how it is compared."""
    settings = {plain: path.split(".", 2)[2] for plain, path in _settings().items()}
    return {plain: plain for plain in (*_index(), *_others())} | settings
