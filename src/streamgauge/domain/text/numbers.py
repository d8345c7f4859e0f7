"""Figures as people read them: three significant digits, thousands separators, a unit; `-` for what is not known."""

import math

UNKNOWN = "-"


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


def percent(share: float | None) -> str:
    """A share of one in percent, as exact as is of use: `0.12 %`, `4.3 %`, `38 %`."""
    if share is None:
        return UNKNOWN
    hundredths = share * 100
    size = abs(hundredths)
    if 0 < size < 0.01:
        return "< 0.01 %"
    digits = 0 if size >= 10 or size == 0 else 1 if size >= 1 else 2
    return f"{hundredths:.{digits}f} %"


def listed(items: list[str], joint: str = "and") -> str:
    """Items as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    return f" {joint} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
