"""Values of a scenario by their paths: `load.client.linger.ms` has the keys load, client and linger.ms."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.domain.errors import BadInput
from streamgauge.scenario.misplaced.places import is_path

_FREE_KEYS: Final = ("client", "configs", "expect", "settings")
"""Below these, what is left of a path is one key, dots and all: `load.client.linger.ms`."""


def keys_of(path: str) -> list[str]:
    """The keys that a dotted path names."""
    keys = path.strip().split(".")
    for depth, key in enumerate(keys[:-1]):
        if key in _FREE_KEYS:
            return [*keys[: depth + 1], ".".join(keys[depth + 1 :])]
    return keys


def put(mapping: dict[str, Any], keys: Sequence[str], value: object, where: str) -> None:
    """Set one value in a nested mapping; keys that do not exist are made, for `examine` to judge.

    Raises BadInput, with `where` as its place, if a key on the way has a single value.
    """
    place = mapping
    for depth, key in enumerate(keys[:-1]):
        below = place.setdefault(key, {})
        if below is None or below is False or (not isinstance(below, Mapping) and is_path(keys)):
            below = place[key] = {}
        if not isinstance(below, Mapping):
            upper = ".".join(keys[: depth + 1])
            raise BadInput.single(where, f"{upper} is a single value", f"Set {upper} instead")
        place = place[key]
    place[keys[-1]] = value


def short(path: str, paths: Sequence[str]) -> str:
    """The last key of a path where it says which of these paths is meant, else the whole path."""
    last = keys_of(path)[-1]
    return last if sum(keys_of(each)[-1] == last for each in paths) == 1 else path
