"""Figures as people read them: three significant digits, thousands separators, a unit; `-` for what is not known."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

UNKNOWN = "-"
_STEP: Final = 1_000
_SIZES: Final = ("bytes", "kB", "MB", "GB", "TB")


def significant(value: float | None) -> str:
    """A number with three significant digits, none of them dropped before the point: `0.0123`, `6.40`, `12,346`."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    rounded = float(f"{abs(value):.3g}")
    digits = min(6, max(0, 2 - math.floor(math.log10(rounded))))
    return f"{value:,.{digits}f}"


def whole(value: float | None) -> str:
    """A count with thousands separators."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def milliseconds(value: float | None) -> str:
    """A time given in milliseconds, with its unit."""
    return UNKNOWN if value is None else f"{significant(value)} ms"


def per_second(value: float | None) -> str:
    """A rate of messages: whole ones from a hundred a second on."""
    return UNKNOWN if value is None else f"{significant(value)}/s"


def seconds(value: float | None) -> str:
    """A time given in seconds, without digits that say nothing: `0.25 s`, `10 s`, `1,800 s`."""
    return UNKNOWN if value is None else f"{_short(significant(value))} s"


def long_time(value: float) -> str:
    """A time given in seconds as people plan with it: `45 s`, `12 min`, `2 h 5 min`."""
    if value < 90:
        return seconds(round(value))
    hours, minutes = divmod(round(value / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def size(size_bytes: float | None) -> str:
    """Bytes in decimal units, as rates of MB/s count them: `512 bytes`, `25.3 GB`."""
    if size_bytes is None:
        return UNKNOWN
    left = float(size_bytes)
    for unit in _SIZES[:-1]:
        # What rounds to 1,000 has the next unit.
        if abs(left) < _STEP - 0.5:
            return f"{whole(left) if unit == _SIZES[0] else significant(left)} {unit}"
        left /= _STEP
    return f"{significant(left)} {_SIZES[-1]}"


def cores(value: float | None) -> str:
    """CPU cores, to the hundredth: `0.21`."""
    return UNKNOWN if value is None else f"{value:,.2f}"


def moment(text: str) -> str:
    """A time in ISO 8601 as people read it, in UTC: `2026-01-01 12:00:00 UTC`; any other text as it stands."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if found.tzinfo is None else f"{found.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def figure(value: object) -> str:
    """A single value of any kind: numbers as people read them, others as they stand."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and math.isfinite(value):
        return whole(value) if value == int(value) else significant(value)
    return str(value)


def closely(value: float) -> str:
    """A number with up to six significant digits, where three would not tell two apart: `15.401`, `1,234,567`."""
    digits = max(0, min(9, 5 - math.floor(math.log10(abs(value))))) if value else 0
    return _short(f"{value:,.{digits}f}")


def _short(text: str) -> str:
    """A number without zeros at its end that say nothing."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def facts(nested: Mapping[str, object], head: str = "") -> list[tuple[str, str]]:
    """Nested facts, of a machine for example, as lines of name and value: sizes and times as people read them."""
    lines: list[tuple[str, str]] = []
    for name, value in nested.items():
        words = f"{head}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            lines += facts(value, f"{words} ")
        elif name.endswith("_bytes") and isinstance(value, int | float):
            lines.append((words.removesuffix(" bytes"), size(value)))
        else:
            lines.append((words, moment(value) if isinstance(value, str) else figure(value)))
    return lines


def percent(share: float | None) -> str:
    """A share of one in percent, as exact as is of use: `0.12 %`, `4.3 %`, `38 %`."""
    if share is None:
        return UNKNOWN
    hundredths = share * 100
    size = abs(hundredths)
    if 0 < size < 0.01:
        return "< 0.01 %"
    # What rounds to 10 has no more digits than 10 has.
    digits = 0 if size >= 9.95 or size == 0 else 1 if size >= 0.995 else 2
    return f"{hundredths:.{digits}f} %"


def plural(count: float | None, what: str) -> str:
    """The word for so many: `run` for one, `runs` for others."""
    return what if count == 1 else f"{what}s"


def listed(items: list[str], joint: str = "and") -> str:
    """Items as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    return f" {joint} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
