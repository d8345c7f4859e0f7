"""Durations, sizes and rates as people write them: `30s`, `1KiB`, `10k/s`; and back again."""

import re
from decimal import Decimal
from fractions import Fraction

from streamgauge.domain.errors import BadValue

DURATION_NS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
SIZE_BYTES = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
}
RATE_FACTOR = {"": 1, "k": 10**3, "m": 10**6}
_NUMBER = r"(\d+(?:_\d+)*(?:\.\d+)?)"
_DURATION = re.compile(rf"\s*{_NUMBER}\s*([a-zµ]*)\s*")
_SIZE = re.compile(rf"\s*{_NUMBER}\s*([a-z]*)\s*", re.IGNORECASE)
_COUNT = re.compile(rf"\s*{_NUMBER}\s*([km]?)\s*", re.IGNORECASE)
_RATE = re.compile(rf"\s*{_NUMBER}\s*([km]?)\s*(?:/\s*(s|m|min|h))?\s*", re.IGNORECASE)

MAX_DURATION_NS = 7 * 24 * DURATION_NS["h"]


def parse_duration_ns(text: object) -> int:
    """The duration in ns that `30s`, `1.5s`, `800us`, `2m` or a bare number of seconds says; BadValue otherwise."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = str(text) if isinstance(text, int) else f"{Decimal(str(text)):f}"
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    unit = found.group(2).replace("µ", "u") or "s" if found else ""
    if found is None or unit not in DURATION_NS:
        raise BadValue(
            "not a duration",
            "Write a number and a unit (ns, us, ms, s, m, h), like 30s or 800us; a number alone is seconds",
        )
    nanoseconds = int(Decimal(found.group(1).replace("_", "")) * DURATION_NS[unit])
    if nanoseconds > MAX_DURATION_NS:
        raise BadValue("longer than 7 days", "Write a shorter duration")
    return nanoseconds


def parse_size_bytes(text: object) -> int:
    """The size in bytes that `512`, `1KiB` or `2MB` says; raises BadValue for anything else."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    found = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if found is None or found.group(2).lower() not in SIZE_BYTES:
        raise BadValue("not a size", "Write bytes like 512, or a size with a unit (KiB, MiB, kB, MB), like 1KiB")
    exact = Decimal(found.group(1).replace("_", "")) * SIZE_BYTES[found.group(2).lower()]
    if exact != int(exact):
        raise BadValue("not a whole number of bytes", "Write a size like 512 or 1KiB")
    return int(exact)


def parse_rate_per_second(text: object) -> float:
    """Messages a second that `10k/s`, `200/s`, `90/m` or a bare number says; BadValue otherwise."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = f"{text:f}" if isinstance(text, float) else str(text)
    found = _RATE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise BadValue("not a rate", "Write messages a second like 10k/s or 200/s, or max for as fast as possible")
    number = Decimal(found.group(1).replace("_", "")) * RATE_FACTOR[found.group(2).lower()]
    seconds = DURATION_NS[(found.group(3) or "s").lower()] // DURATION_NS["s"]
    return float(number / seconds)


def parse_count(text: object) -> int:
    """The number that `100`, `100k` or `1.5M` says; raises BadValue for anything else."""
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    found = _COUNT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise BadValue("not a number of messages", "Write one like 5000, 100k or 1M")
    exact = Decimal(found.group(1).replace("_", "")) * RATE_FACTOR[found.group(2).lower()]
    if exact != int(exact):
        raise BadValue("not a whole number", "Write one like 5000 or 100k")
    return int(exact)


def format_duration(nanoseconds: int) -> str:
    """The shortest exact way to write a duration; parses back to the same number."""
    for unit in ("h", "m", "s", "ms", "us"):
        if nanoseconds and nanoseconds % DURATION_NS[unit] == 0:
            return f"{nanoseconds // DURATION_NS[unit]}{unit}"
    return f"{nanoseconds}ns" if nanoseconds else "0s"


def format_rate(per_second: float) -> str:
    """A rate as `10k/s` or `2.5/s`; parses back to the same number."""
    if per_second >= 1000 and per_second % 1000 == 0:
        return f"{per_second / 1000:.0f}k/s"
    return f"{Decimal(str(per_second)).normalize():f}/s"


def fraction(rate_per_second: float) -> Fraction:
    """The rate as the closest fraction with a denominator up to 1000, so that 64-bit products suffice."""
    return Fraction(rate_per_second).limit_denominator(1000)
