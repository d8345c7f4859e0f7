"""Which scenarios differ in one setting only: each is split into the value of that setting and all the rest."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamgauge.scenario.model.load import ACKS

COMPARED: Final[Mapping[str, Sequence[str]]] = {
    "codec": ("compression.type", "compression.codec", "compression.level"),
    "payload": ("payload",),
    "acks": ACKS,
    "size": ("size",),
}
"""What runs are compared by: keys of `load`, or of its client, each with the other names that librdkafka has for it."""
_WORDS: Final = ("name", "about", "seed", "expect")
"""What scenarios may say differently and be the same."""
_POLICY: Final = ("backpressure", "lag")
"""What scenarios say of what holds producers back, and of how it is looked at."""


def has_load(scenario: Mapping[str, Any]) -> bool:
    """Whether a scenario has settings of a load; also one of an imported run, whose profile has none."""
    return isinstance(scenario.get("load"), Mapping)


def apart(scenario: Mapping[str, Any], setting: str) -> tuple[str, str]:
    """A scenario with a load without one setting of `COMPARED`, and the value of that alone, as comparable text."""
    keys = COMPARED[setting]
    load = scenario["load"]
    client = load.get("client", {})
    rest = {**_nameless(scenario), "load": {**_without(load, keys), "client": _without(client, keys)}}
    given = {**load, **client}
    return as_text(rest), json.dumps([given.get(key) for key in keys])


def apart_from_policy(scenario: Mapping[str, Any]) -> tuple[str, str]:
    """A scenario without what holds producers back and how that is looked at, and its policy, as comparable text."""
    return as_text(_without(_nameless(scenario), _POLICY)), as_text(scenario.get("backpressure"))


def settings_of(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a scenario by their paths (`load.client.acks`), without what may differ and mean nothing."""
    return dict(flat(_nameless(scenario), ""))


def flat(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values below a part of a document with their paths, which begin with `path`; a list is a value."""
    if isinstance(part, Mapping) and part:
        for key, value in part.items():
            yield from flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, part


def _nameless(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario without what it may say differently and be the same."""
    return {**_without(scenario, _WORDS), "topic": _without(scenario.get("topic", {}), ("name",))}


def _without(part: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in keys}


def as_text(part: object) -> str:
    """A part of a scenario as text: the same for what is the same, in whatever order it was written."""
    return json.dumps(part, sort_keys=True)


def setting_text(value: Any) -> str:
    """The value of a setting as scenarios have it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
