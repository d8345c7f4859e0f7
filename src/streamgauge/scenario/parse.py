"""From a mapping to a scenario, with every fault of a wrong one at once; and back.

A scenario is a mapping, as YAML gives it. `parse` turns it into a value or raises BadInput; `document` turns the value
back into a mapping that parses to the same value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic.functional_validators import BeforeValidator
from pydantic_core import ErrorDetails

from streamgauge.domain.errors import BadInput, BadValue, Fault
from streamgauge.domain.text.quantities import format_duration, parse_duration_ns
from streamgauge.domain.text.secrets import masked
from streamgauge.domain.text.shown import shown
from streamgauge.scenario.contradictory.contradictions import contradictions
from streamgauge.scenario.misplaced.places import fields_at, misplaced
from streamgauge.scenario.model.content import KINDS
from streamgauge.scenario.model.scenario import Scenario

_KEY = "[key]"
"""How pydantic ends the path of a key that is wrong itself."""
_QUOTES = "Quote it, if YAML interprets it as another type"
_LIMITS: Final = {"greater_than_equal": "ge", "greater_than": "gt", "less_than_equal": "le", "less_than": "lt"}
"""Where pydantic keeps a limit, by the kind of error."""


def parse(mapping: object, source: str = "scenario") -> Scenario:
    """The scenario that a mapping says; raises BadInput with every fault, each with place, value and remedy."""
    scenario, faults = examine(mapping, source)
    if scenario is None or faults:
        raise BadInput(faults)
    return scenario


def examine(mapping: object, source: str = "scenario") -> tuple[Scenario | None, list[Fault]]:
    """The scenario as far as a mapping says one, and every fault of the mapping.

    What is wrong is left out of the scenario, so that the rest can be looked at; with any fault it is not to be run.
    """
    if not isinstance(mapping, Mapping):
        return None, [Fault(source, "not a mapping of keys to values", "Begin with `name: my-scenario`")]
    faults: list[Fault] = []
    try:
        scenario = Scenario.model_validate(mapping)
    except ValidationError as error:
        faults = faults_of(error, misplaced, _allowed)
        scenario, _ = understood(mapping, {"name": "unnamed"})
    wrong = {fault.where for fault in faults}
    return scenario, faults + [fault for fault in contradictions(scenario) if fault.where not in wrong]


def understood(mapping: Mapping[Any, Any], instead: Mapping[str, Any]) -> tuple[Scenario, set[str]]:
    """The scenario as far as a mapping says one, `instead` for what is missing at its top, and the paths of the rest.

    What is not understood is left out, with what cannot do without it.
    """
    wrong: set[str] = set()
    while True:
        try:
            return Scenario.model_validate({**instead, **mapping}), wrong
        except ValidationError as error:
            details = error.errors(include_url=False)
        places = [_there(mapping, [step for step in detail["loc"] if _is_shown(step)]) for detail in details]
        if not any(places):
            # A key that is no text: nothing is to be found by it.
            return Scenario.model_validate(instead), wrong
        wrong |= {".".join(map(str, place)) for place in places}
        for place in filter(None, places):
            mapping = _without(mapping, place) if _there(mapping, place) == place else mapping


def _there(mapping: object, path: Sequence[int | str]) -> list[int | str]:
    """A path as far as it leads somewhere: to what something is missing from, to the list of which an item is wrong."""
    reached: list[int | str] = []
    for key in path:
        if not isinstance(mapping, Mapping) or key not in mapping:
            break
        reached.append(key)
        mapping = mapping[key]
    return reached


def _without(mapping: Mapping[Any, Any], path: Sequence[int | str]) -> Mapping[Any, Any]:
    """A mapping without what a path leads to."""
    key, *below = path
    return {k: _without(v, below) if k == key else v for k, v in mapping.items() if k != key or below}


def document(scenario: Scenario) -> dict[str, Any]:
    """The scenario as a mapping of plain values, defaults written out but for what is left out; `parse` accepts it."""
    plain = scenario.model_dump(mode="json", exclude_none=True)
    plain["topic"]["name"] = scenario.topic_name
    off = {key: "off" for key in ("load", "consume", "lag") if key not in plain}
    return {key: (plain | off)[key] for key in Scenario.model_fields if key in plain or key in off}


def shareable(scenario: Scenario) -> dict[str, Any]:
    """The scenario as `document` has it, fit to be written and shown: `***` in place of every secret.

    It parses, but secrets are lost: whoever runs it has to fill them in again.
    """
    made: dict[str, Any] = masked(document(scenario))
    return made


def faults_of(
    error: ValidationError,
    unknown: Callable[[Sequence[str], object], Iterable[Fault]],
    meaning: Callable[[Sequence[str]], str],
    document: str = "scenario",
) -> list[Fault]:
    """What pydantic found wrong with a document, in the words of those who write one.

    `unknown` gives the faults of a key that is not known; `meaning` says what a field would accept.
    """
    return [
        fault for detail in error.errors(include_url=False) for fault in _faults(detail, unknown, meaning, document)
    ]


def _faults(
    detail: ErrorDetails,
    unknown: Callable[[Sequence[str], object], Iterable[Fault]],
    meaning: Callable[[Sequence[str]], str],
    document: str,
) -> Iterable[Fault]:
    """One error of pydantic; several faults where an unknown key has settings below it."""
    path = [str(step) for step in detail["loc"] if _is_shown(step)]
    kind = detail["type"]
    if path[-1:] == [_KEY]:
        path.pop()
        kind = "invalid_key"
    where = ".".join(path) or document
    given = shown(where, detail["input"])
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, BadValue):
        return [error.at(where, given)]
    if kind == "extra_forbidden":
        return unknown(path, detail["input"])
    return [Fault(where, *_said(kind, path, given, detail, meaning(path)))]


def _said(kind: str, path: Sequence[str], given: str, detail: ErrorDetails, mend: str) -> tuple[str, str]:
    """What is wrong and what mends it, for a kind of error that pydantic finds by itself."""
    what = detail["msg"].removeprefix("Input ").removeprefix("String ")
    if kind in _LIMITS and _is_duration(fields_at(path).get(path[-1])):
        limit = detail["ctx"][_LIMITS[kind]]
        return f"{given}: {what.replace(str(limit), format_duration(limit))}", mend
    match kind:
        case "missing":
            return "is missing", "Add it"
        case "invalid_key":
            return "a key must be text", _QUOTES
        case "model_type" | "dict_type":
            what, mend = "not a mapping", f"Write it as `{path[-1]}: {{key: value}}`"
        case "string_type":
            what, mend = "should be text", _QUOTES
        case "string_pattern_mismatch":
            what = "not in an allowed form"
        case "int_type" | "int_parsing" | "int_from_float":
            what = "should be a whole number"
        case "bool_type":
            what = "should be true or false"
    return f"{given}: {what}", mend


def _is_duration(field: FieldInfo | None) -> bool:
    """Whether a field holds a duration, whose limits pydantic tells in nanoseconds."""
    return field is not None and (_reads_durations(field.metadata) or _in_type(field.annotation))


def _in_type(annotation: Any) -> bool:
    """Whether a duration is among what a type consists of, as in `Duration | None`."""
    return _reads_durations(getattr(annotation, "__metadata__", ())) or any(map(_in_type, get_args(annotation)))


def _reads_durations(metadata: Iterable[object]) -> bool:
    return any(isinstance(each, BeforeValidator) and each.func is parse_duration_ns for each in metadata)


def _is_shown(step: int | str) -> bool:
    """Whether a step of a path is one of the scenario's; those that pydantic adds for unions say nothing to a user."""
    if not isinstance(step, str):
        return True
    if step.startswith("("):
        # The tag of one of several models.
        return False
    marks = ("function-", "constrained-", "literal[")
    return step not in {"Load", "Consume", "Pipeline"} and not any(mark in step for mark in marks)


def _allowed(path: Sequence[str]) -> str:
    """What a field would accept, from its own description."""
    field = fields_at(path).get(path[-1] if path else "")
    if path and path[-1] == "payload":
        return f"Write one of {', '.join(KINDS)}"
    if field is None or not field.description:
        return "Correct the value"
    return f"Its meaning: {' '.join(field.description.split()).removesuffix('.')}"
