"""Values of foreign files, checked: finite numbers and whole counts, or None where there is nothing."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import DURATION_NS
from streamgauge.domain.text.shown import one_line
from streamgauge.foreign.results.measured import ForeignError, PercentPoint

_LARGEST: Final = 1e18
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_LONGEST: Final = 40
_PERCENTILE: Final = re.compile(r"^p?(\d+(?:\.\d+)?)(?:th|pct|%)?$")


def number(value: object, name: str) -> float:
    """A finite number, also written as text; raises ForeignError."""
    try:
        found = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or abs(found) > _LARGEST:
        raise ForeignError(f"`{one_line(name)}` is {one_line(str(value)[:100])}, which is not a valid number here")
    return found


def amount(value: object, name: str) -> float:
    """A number that is not below 0; raises ForeignError."""
    found = number(value, name)
    if found < 0:
        raise ForeignError(f"`{one_line(name)}` is {found:g}, and cannot be below 0")
    return found


def count(value: object, name: str) -> int:
    """A whole number that is not below 0; raises ForeignError."""
    found = amount(value, name)
    if found != int(found):
        raise ForeignError(f"`{one_line(name)}` is {found:g}, and must be whole")
    return int(value) if isinstance(value, int) else int(found)


def maybe_amount(of: Mapping[str, Any], key: str) -> float | None:
    """The amount of a key; None where it is absent or null."""
    return None if of.get(key) is None else amount(of[key], key)


def maybe_count(of: Mapping[str, Any], key: str) -> int | None:
    """The count of a key; None where it is absent or null."""
    return None if of.get(key) is None else count(of[key], key)


def known(**values: float | None) -> dict[str, float]:
    """Those that are known."""
    return {name: value for name, value in values.items() if value is not None}


def known_counts(**values: int | None) -> dict[str, int]:
    """Those that are known."""
    return {name: value for name, value in values.items() if value is not None}


def objects(value: object, name: str) -> Sequence[Mapping[str, Any]]:
    """A list of objects, none for null; raises ForeignError."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ForeignError(f"`{one_line(name)}` is no list of objects")
    return value


def an_object(value: object, name: str) -> Mapping[str, Any]:
    """An object, an empty one for null; raises ForeignError."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ForeignError(f"`{one_line(name)}` is no object")
    return value


def amounts(value: object, name: str) -> list[float | None]:
    """A list of amounts, none for null; raises ForeignError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise ForeignError(f"`{one_line(name)}` is no list of numbers")
    return [None if each is None else amount(each, name) for each in value]


def table_rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of lines with commas; raises ForeignError where they are none."""
    try:
        return list(csv.reader(lines))
    except csv.Error as error:
        raise ForeignError(f"is no table: {one_line(str(error))}") from error


def percent_of(name: str) -> float | None:
    """The percentile that a name like `p99.9`, `50th` or `99.99` means; None for any other name."""
    found = _PERCENTILE.match(name.strip().lower())
    percent = float(found.group(1)) if found else math.nan
    return percent if 0 <= percent <= 100 else None


def exact_point(percent: float, ms: float) -> PercentPoint:
    """A percentile that is known as finely as it is written."""
    return PercentPoint(percent, ms, ms, ms)


def truncated_point(percent: float, ms: float, step_ms: float = 1.0, clipped_at: float | None = None) -> PercentPoint:
    """A percentile of which the tool cut the fraction, and which it clips at a value."""
    return PercentPoint(percent, ms, ms, None if clipped_at is not None and ms >= clipped_at else ms + step_ms)


def checked_order(points: Sequence[PercentPoint], name: str) -> Sequence[PercentPoint]:
    """The points by percent; raises ForeignError where a higher percentile is lower."""
    found = sorted(points, key=lambda each: each.percent)
    for lower, higher in pairwise(found):
        if higher.low_ms < lower.low_ms:
            what = f"{higher.percent:g} is below that of {lower.percent:g}"
            raise ForeignError(f"`{one_line(name)}` is no distribution: the percentile of {what}")
    return found


def go_duration_ns(text: object) -> int:
    """The ns of a duration as Go writes it: `40s`, `800us`, `1m30s` or `0`; raises BadValue."""
    plain = str(text).strip()
    if plain == "0":
        return 0
    # Looking for digits in a text of thousands of them would take minutes.
    parts = _PART.findall(plain) if len(plain) <= _LONGEST else []
    if not parts or "".join(number + unit for number, unit in parts) != plain:
        raise BadValue("not a duration of Go", "Write one like 40s, 4ms or 1m30s")
    return sum(round(float(number) * DURATION_NS[unit.replace("µ", "u")]) for number, unit in parts)


def epoch_of(text: str) -> float:
    """Seconds since 1970 of a time in ISO 8601, UTC where it has no zone; raises ForeignError."""
    # Java writes nine digits of a second, and Python reads six.
    short = re.sub(r"(\.\d{6})\d+", r"\1", text.strip().replace("Z", "+00:00"))
    try:
        found = datetime.fromisoformat(short)
    except ValueError as error:
        raise ForeignError(f"has an invalid time: {one_line(text)}") from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
