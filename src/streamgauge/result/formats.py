"""Results of older formats: format 1 said the same in other names."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamgauge.result.model.document import FORMAT

RENAMED: Final[Mapping[str, str]] = {
    "throughput.asked_per_second": "target_per_second",
    "lateness": "schedule_delay",
    "latency.own_lateness": "own_schedule_delay",
    "expectations.*.held": "passed",
    "processing.asked_ms": "target_ms",
    "processing.consumers.*.asked_ms": "target_ms",
    "processing.phases.*.asked_ms": "target_ms",
    "connections.*.asked_per_second": "target_per_second",
    "connections.*.late_p99_ms": "schedule_delay_p99_ms",
    "connections.*.late_max_ms": "schedule_delay_max_ms",
    "backpressure.uncredited_max": "credits_used_max",
    "pipeline.behind": "committed_lag",
    "pipeline.life": "events",
    "pipeline.life.*.what": "event",
}
"""Paths of format 1 whose last key has another name in format 2; `*` stands for any key or number."""

_Renames = Sequence[tuple[Sequence[str], str]]
_ALL: Final[_Renames] = [(old.split("."), new) for old, new in RENAMED.items()]
_LATER: Final[Mapping[str, Any]] = {"expectations": [], "schedule_delay": None}
"""Sections that the first results lacked."""


def upgraded(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A result of format 1 in the names of today; any other document as it is."""
    if document.get("format") != 1:
        return document
    new = {**_LATER, **_in_new_names(document, _ALL), "format": FORMAT}
    if isinstance(new["expectations"], list):
        new["expectations"] = [_with_new_path(each) for each in new["expectations"]]
    return new


def current_path(path: str) -> str:
    """A path into a result of format 1 as a path into one of today."""
    parts, renames = [], _ALL
    for key in path.split("."):
        parts.append(_name(key, renames))
        renames = _below(key, renames)
    return ".".join(parts)


def _with_new_path(expectation: Any) -> Any:
    path = expectation.get("path") if isinstance(expectation, Mapping) else None
    return {**expectation, "path": current_path(path)} if isinstance(path, str) else expectation


def _in_new_names(value: Any, renames: _Renames) -> Any:
    if not renames:
        return value
    if isinstance(value, list):
        return [_in_new_names(each, _below("0", renames)) for each in value]
    if not isinstance(value, Mapping):
        return value
    new = {_name(key, renames): _in_new_names(each, _below(key, renames)) for key, each in value.items()}
    if isinstance(reasons := value.get("reasons"), Mapping):
        new["reasons"] = {_name(key, renames): why for key, why in reasons.items()}
    return new


def _name(key: str, renames: _Renames) -> str:
    return next((new for old, new in renames if len(old) == 1 and old[0] == key), key)


def _below(key: str, renames: _Renames) -> _Renames:
    return [(old[1:], new) for old, new in renames if len(old) > 1 and old[0] in {key, "*"}]
