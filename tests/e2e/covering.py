"""Which of many scenarios have in them, together, whatever is in any of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

NOT_CARRIED_OUT: Final = frozenset({"name", "about", "expect"})
"""Parts of a scenario that say nothing of how it is carried out."""


def covering(texts: Mapping[str, str]) -> list[str]:
    """The names of a few scenarios that use each setting, and each named value of one, that any of them uses.

    Takes one after the other what adds most; the first name where two add the same.
    """
    used = {name: set(_used(yaml.safe_load(text))) for name, text in sorted(texts.items())}
    left = set[str]().union(*used.values())
    chosen: list[str] = []
    while left:
        chosen.append(max(used, key=lambda name: len(used[name] & left)))
        left -= used[chosen[-1]]
    return sorted(chosen)


def _used(scenario: Mapping[str, Any]) -> Iterator[str]:
    for part, value in scenario.items():
        if part not in NOT_CARRIED_OUT:
            yield from _settings(part, value)


def _settings(path: str, value: Any) -> Iterator[str]:
    """The paths of settings, and what they are set to where that is one of a few words."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _settings(f"{path}.{name}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _settings(path, inner)
    else:
        yield path
        if isinstance(value, bool) or (isinstance(value, str) and value.replace("-", "").isalpha()):
            yield f"{path}={value}"
