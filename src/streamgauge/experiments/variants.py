"""What an experiment varies: from lists, ranges, groups and exceptions to its variants, with every fault at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from streamgauge.domain.errors import BadInput, BadValue, Fault, Faults
from streamgauge.domain.text.secrets import masked
from streamgauge.domain.text.shown import one_line, shown
from streamgauge.experiments.ranges import is_range, values_of
from streamgauge.scenario.comparing import as_text, setting_text
from streamgauge.scenario.written.paths import keys_of, short

MOST_VARIANTS: Final = 10_000
ZIP: Final = "zip"
GROUPS: Final = "variants"
_VALUES: Final = "Write a list of values, or a range like {from: 64, to: 4096, times: 4}"
_UNVARIED: Final = "Leave it out, or vary it"


@dataclass(frozen=True, slots=True)
class PlannedVariant:
    """One of the things that an experiment compares."""

    name: str
    settings: Mapping[str, Any]
    """Values by the paths of the scenario."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a dimension of the grid may be."""

    settings: Mapping[str, Any]
    group: str | None = None
    """The name that stands for the settings; None for values, which name themselves."""


_Choices = tuple[_Choice, ...]
"""One of each dimension: a point of the grid."""


def variants_of(vary: Mapping[str, Any], skip: Sequence[Mapping[str, Any]], alone: str) -> list[PlannedVariant]:
    """All combinations but those to skip, the first key varying slowest; `alone` names the only one of no variation.

    Raises BadInput with every fault.
    """
    faults = Faults()
    dimensions = [choices for key, value in vary.items() if (choices := faults.of(_choices, key, value)) is not None]
    faults += _twice(dimensions)
    if faults:
        raise BadInput(faults)
    count = 1
    for choices in dimensions:
        count *= len(choices)
    if count > MOST_VARIANTS:
        raise BadInput.single("vary", f"{count:,} combinations are more than {MOST_VARIANTS:,}", "Vary less at once")
    grid = list(product(*dimensions))
    faults += _useless(skip, grid)
    kept = [each for each in grid if not any(_matches(each, one) for one in skip)]
    if not kept and not faults:
        faults.append(Fault("except", "leaves no variant", "Leave fewer combinations out"))
    if faults:
        raise BadInput(faults)
    names = _names(kept, alone)
    return [PlannedVariant(name, _settings(each)) for name, each in zip(names, kept, strict=True)]


def _choices(key: str, value: Any) -> list[_Choice]:
    where = f"vary.{key}"
    if key == GROUPS:
        return _groups(value, where)
    if key == ZIP:
        return _zipped(value, where)
    return [_Choice({key: each}) for each in _values(key, value, where)]


def _values(path: str, value: Any, where: str) -> list[Any]:
    if not all(keys_of(path)):
        raise BadInput.single(where, "not a path of a scenario", "Write one like load.size")
    if is_range(value):
        try:
            return values_of(value)
        except BadValue as error:
            raise BadInput([error.at(where, shown(where, value))]) from error
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise BadInput.single(where, f"{shown(where, value)}: not a list of values", _VALUES)
    texts = [as_text(each) for each in value]
    if twice := [each for place, each in enumerate(value) if texts[place] in texts[:place]]:
        raise BadInput.single(where, f"{shown(where, twice[0])} is given twice", "Use repeat to run it more often")
    return list(value)


def _groups(value: Any, where: str) -> list[_Choice]:
    if not isinstance(value, Mapping) or not value:
        raise BadInput.single(where, "not a mapping of names", "Write it as `variants: {NAME: {load.size: 64}}`")
    faults = [
        Fault(f"{where}.{name}", "not a mapping of paths to values", "Write it as `{load.size: 64}`")
        for name, settings in value.items()
        if not isinstance(settings, Mapping)
        or not all(isinstance(path, str) and all(keys_of(path)) for path in settings)
    ]
    if faults:
        raise BadInput(faults)
    return [_Choice(settings, str(name)) for name, settings in value.items()]


def _zipped(value: Any, where: str) -> list[_Choice]:
    if not isinstance(value, Mapping) or not value:
        raise BadInput.single(where, "not a mapping of paths", "Write it as `zip: {load.size: [64, 256], ...}`")
    faults = Faults()
    lists = {path: faults.of(_values, path, each, f"{where}.{path}") for path, each in value.items()}
    if faults:
        raise BadInput(faults)
    counts = {path: len(each or ()) for path, each in lists.items()}
    if len(set(counts.values())) > 1:
        what = f"lists of different lengths: {', '.join(f'{path} has {count}' for path, count in counts.items())}"
        raise BadInput.single(where, what, "Give each list as many values")
    return [
        _Choice(dict(zip(lists, each, strict=True)))
        for each in zip(*(lists[path] or () for path in lists), strict=True)
    ]


def _twice(dimensions: Sequence[Sequence[_Choice]]) -> Iterator[Fault]:
    """Paths that several dimensions set, of which one would win silently."""
    owners: dict[tuple[str, ...], int] = {}
    for number, choices in enumerate(dimensions):
        for path in dict.fromkeys(path for choice in choices for path in choice.settings):
            if owners.setdefault(tuple(keys_of(path)), number) != number:
                yield Fault(f"vary.{path}", "is varied twice", "Vary it in one place")


def _settings(choices: _Choices) -> dict[str, Any]:
    return {path: value for choice in choices for path, value in choice.settings.items()}


def _matches(choices: _Choices, skip: Mapping[str, Any]) -> bool:
    return all(_is_one_of(_value(choices, path), wanted) for path, wanted in skip.items())


def _value(choices: _Choices, path: str) -> Any:
    """The value of a path, or the name of the group; None where a point of the grid has none."""
    if path == GROUPS:
        return next((choice.group for choice in choices if choice.group is not None), None)
    return _settings(choices).get(path)


def _is_one_of(value: Any, wanted: Any) -> bool:
    values = wanted if isinstance(wanted, Sequence) and not isinstance(wanted, str) else [wanted]
    return as_text(value) in {as_text(each) for each in values}


def _useless(skip: Sequence[Mapping[str, Any]], grid: Sequence[_Choices]) -> Iterator[Fault]:
    """Exceptions that leave nothing out: a path or a value is misspelled."""
    for place, each in enumerate(skip):
        unvaried = [path for path in each if all(_value(choices, path) is None for choices in grid)]
        if not each:
            yield Fault(f"except.{place}", "is empty, and would leave out everything", "Write the values to leave out")
        elif unvaried:
            yield from (Fault(f"except.{place}.{path}", "is not varied", _UNVARIED) for path in unvaried)
        elif not any(_matches(choices, each) for choices in grid):
            yield Fault(f"except.{place}", "no combination has these values", "Correct them, or leave it out")


def _names(grid: Sequence[_Choices], alone: str) -> list[str]:
    """Each by the values in which it differs from others, and different from all others."""
    settings = [_settings(choices) for choices in grid]
    paths = dict.fromkeys(path for each in settings for path in each)
    varied = [path for path in paths if len({as_text(each.get(path)) for each in settings}) > 1]
    names = [", ".join(_words(choices, varied)) or alone for choices in grid]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _words(choices: _Choices, varied: Sequence[str]) -> Iterator[str]:
    for choice in choices:
        if choice.group is not None:
            yield one_line(choice.group)
            continue
        for path, value in choice.settings.items():
            if path in varied:
                yield f"{short(path, varied)}={one_line(setting_text(masked(value, keys_of(path)[-1])))}"
