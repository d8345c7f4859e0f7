"""Ranges of values: from one quantity to another by steps, in the kind that both are written in."""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.quantities import (
    format_duration,
    format_rate,
    parse_duration_ns,
    parse_rate_per_second,
    parse_size_bytes,
)

MOST_VALUES: Final = 1000
_KEYS: Final = ("from", "to", "times", "plus")
_TOO_LARGE: Final = "a range of values that are too large"
_FORM: Final = "Write {from: 64, to: 4096, times: 4}, or {from: 0, to: 100, plus: 20}"


def _number(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValue("not a number", "Write one")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadValue("not a finite number", "Write one")
    return Fraction(str(value))


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _rate(value: Fraction) -> str:
    return format_rate(float(value))


_KINDS: Final[tuple[tuple[Callable[[object], Any], Callable[[Fraction], object]], ...]] = (
    (_number, _plain),
    (parse_size_bytes, round),
    (parse_duration_ns, lambda value: format_duration(round(value))),
    (parse_rate_per_second, _rate),
)
"""What quantities are read as, in this order, and how they are written again."""


def is_range(value: object) -> bool:
    """Whether a value is meant as a range."""
    return isinstance(value, Mapping) and "from" in value


def values_of(given: Mapping[str, Any]) -> list[Any]:
    """The values of `{from, to, times}` or `{from, to, plus}`, both ends included where a step meets them.

    Values are numbers, sizes, durations or rates. Raises BadValue.
    """
    unknown = [str(key) for key in given if key not in _KEYS]
    if unknown or "to" not in given or ("times" in given) == ("plus" in given):
        raise BadValue("not a range", _FORM)
    ends = [given["from"], given["to"], *([given["plus"]] if "plus" in given else [])]
    parse, write = next((kind for kind in _KINDS if all(_is_of(kind[0], end) for end in ends)), (None, None))
    if parse is None or write is None:
        raise BadValue("the ends of a range are not quantities of one kind", "Write numbers, sizes, durations or rates")
    read = [parse(end) for end in ends]
    if math.inf in read:
        raise BadValue(_TOO_LARGE, "Write smaller ones")
    first, last, *plus = (Fraction(str(each)) for each in read)
    if first > last:
        raise BadValue("a range that ends below its begin", "Write the smaller value first")
    try:
        return [write(each) for each in _steps(first, last, _step(given, plus, first))]
    except OverflowError as error:
        raise BadValue(_TOO_LARGE, "Write smaller ones") from error


def _is_of(parse: Callable[[object], Any], value: object) -> bool:
    try:
        parse(value)
    except BadValue:
        return False
    return True


def _step(given: Mapping[str, Any], plus: list[Fraction], first: Fraction) -> Callable[[Fraction], Fraction]:
    if plus:
        if plus[0] <= 0:
            raise BadValue("a range that does not advance", "Write plus as a value above 0")
        return lambda value: value + plus[0]
    try:
        times = _number(given["times"])
    except BadValue as error:
        raise BadValue("times is not a number", "Write a factor above 1, like 2") from error
    if times <= 1 or first == 0:
        raise BadValue("a range that does not advance", "Write times as a factor above 1, and begin above 0")
    return lambda value: value * times


def _steps(first: Fraction, last: Fraction, step: Callable[[Fraction], Fraction]) -> Iterator[Fraction]:
    value, count = first, 0
    while value <= last:
        if count == MOST_VALUES:
            raise BadValue(f"a range of more than {MOST_VALUES:,} values", "Write larger steps")
        yield value
        value, count = step(value), count + 1
