"""A result.json as a typed result, or why it is none."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from streamgauge.result.formats import upgraded
from streamgauge.result.model.document import FORMAT, Result

_WANTED: Final = {
    "model_type": "object",
    "dict_type": "object",
    "list_type": "array",
    "int_type": "number",
    "float_type": "number",
    "bool_type": "boolean",
    "string_type": "string",
}


class NotAResultError(ValueError):
    """A document that is no result; the text says why, in a few words that follow `it` or the name of a file."""


class TooNewError(NotAResultError):
    """A result of a format that this version does not know."""


def parse_result(content: bytes) -> Result:
    """What a result.json says, in any known format.

    Raises ValueError where it is not JSON, NotAResultError where it is not a result.
    """
    return result_of(json.loads(content))


def result_of(document: Any) -> Result:
    """A document as a result; raises NotAResultError. Keys that this version does not know are left out."""
    version = document.get("format") if isinstance(document, Mapping) else None
    if isinstance(version, int) and version > FORMAT:
        raise TooNewError(f"format {version} is newer than this version reads ({FORMAT})")
    try:
        return Result.model_validate(upgraded(document) if isinstance(document, Mapping) else document)
    except ValidationError as error:
        raise NotAResultError(misfit(error)) from error


def number_at(part: object, path: str) -> float | None:
    """The number at a dotted path below a result, or a part of one; None where there is none."""
    found: Any = part
    for key in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list | tuple):
            found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
        else:
            found = getattr(found, key, None)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def misfit(error: ValidationError) -> str:
    """Where a document is not what the model says, in its outermost part that is not."""
    found = [(_where(each["loc"]), each) for each in error.errors(include_url=False, include_input=False)]
    where, first = min(found, key=lambda each: len(each[0]) - (each[1]["type"] == "missing"))
    if first["type"] == "missing":
        return f"{'.'.join(where[:-1]) or 'it'} has no `{where[-1]}`"
    wanted = _WANTED.get(first["type"]) or first.get("ctx", {}).get("expected", "what it may be")
    return f"{'.'.join(where) or 'it'} is not {wanted}"


def _where(location: tuple[int | str, ...]) -> list[str]:
    """The path; what pydantic calls the choices of a number is no part of it."""
    return [str(key) for key in location if key not in {"int", "float"}]
