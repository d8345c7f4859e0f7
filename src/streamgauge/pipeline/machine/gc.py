"""The table `gc`: pauses of a broker's garbage collector, from the log that `-Xlog:gc` wrote with `timenanos`."""

import re
from collections.abc import Iterable
from typing import Final

from streamgauge.pipeline.read.rows import Row

_PAUSE: Final = re.compile(
    r"\[(?P<at>\d+)ns\]\S*\[gc[^\]]*\] GC\(\d+\) Pause (?P<kind>\S.*?)"
    r"(?: (?P<before>\d+)(?P<before_unit>[KMG])->(?P<after>\d+)(?P<after_unit>[KMG])\(\d+[KMG]\))?"
    r" (?P<ms>\d+\.\d+)ms$"
)
"""A line is written at the end of what it tells, so its time is the end of the pause. Concurrent work is no pause."""
_BYTES: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def pauses(process: str, lines: Iterable[str], measure_from_ns: int) -> list[Row]:
    """Rows of `gc`; lines that tell of no pause, or that end in the middle, are passed over."""
    found = (_PAUSE.match(line.rstrip()) for line in lines)
    return [_row(process, match, measure_from_ns) for match in found if match]


def _row(process: str, pause: re.Match[str], measure_from_ns: int) -> Row:
    at_ns = int(pause["at"])
    return {
        "process": process,
        "at_ns": at_ns,
        "second": (at_ns - measure_from_ns) / 1e9,
        "kind": pause["kind"],
        "pause_ms": float(pause["ms"]),
        "before_bytes": _bytes(pause["before"], pause["before_unit"]),
        "after_bytes": _bytes(pause["after"], pause["after_unit"]),
    }


def _bytes(number: str | None, unit: str | None) -> int | None:
    return None if number is None or unit is None else int(number) * _BYTES[unit]
