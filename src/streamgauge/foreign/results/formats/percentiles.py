"""HdrHistogram's percentile distribution as text, with columns or with commas."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import MS_PER, ForeignError, Measured, MeasuredLatency
from streamgauge.foreign.results.values import amount, checked_order, count, exact_point

_HEAD: Final = re.compile(r'^\s*"?Value"?[\s,]+"?Percentile"?[\s,]+"?TotalCount"?')
_MEAN: Final = re.compile(r"^#\[Mean\s*=\s*([0-9.]+),\s*StdDeviation\s*=\s*([0-9.]+)\]")
_MAX: Final = re.compile(r"^#\[Max\s*=\s*([0-9.]+),\s*Total count\s*=\s*(\d+)\]")
_LEAST_CELLS: Final = 3


def recognises(file: ForeignFile) -> bool:
    """Whether one of its first lines is the header of a distribution."""
    return any(map(_HEAD.match, file.head().splitlines()[:20]))


def read(files: Sequence[ForeignFile], asked: Asked) -> list[Measured]:
    """The run of one distribution; raises ForeignError."""
    lines = files[0].lines()
    begin = next((place for place, line in enumerate(lines) if _HEAD.match(line)), None)
    if begin is None:
        raise ForeignError("has no distribution")
    rows: list[tuple[float, float, int]] = []
    told: dict[str, float] = {}
    for number, line in enumerate(lines[begin + 1 :], begin + 2):
        if found := _MEAN.match(line):
            told |= {"mean": amount(found.group(1), "Mean"), "stddev": amount(found.group(2), "StdDeviation")}
        elif found := _MAX.match(line):
            told |= {"max": amount(found.group(1), "Max"), "count": count(found.group(2), "Total count")}
        elif not line.startswith("#") and line.strip():
            rows.append(_row(number, line))
    return [_run(files[0], asked, _checked(rows, told), told)]


_Row = tuple[float, float, int]


def _row(number: int, line: str) -> _Row:
    cells = [each for each in re.split(r"[\s,]+", line.strip()) if each]
    if len(cells) < _LEAST_CELLS:
        raise ForeignError(f"line {number} is no line of a distribution")
    return amount(cells[0], "Value"), amount(cells[1], "Percentile"), count(cells[2], "TotalCount")


def _checked(rows: Sequence[_Row], told: Mapping[str, float]) -> Sequence[_Row]:
    if not rows:
        raise ForeignError("has no line below its header")
    if any(later[2] < earlier[2] for earlier, later in pairwise(rows)):
        raise ForeignError("is no distribution: its counts fall")
    if any(share > 1 for _, share, _ in rows):
        raise ForeignError("has percentiles above 1")
    if "count" not in told:
        raise ForeignError("has no line with Max and Total count: it was cut off", "Name the whole distribution")
    return rows


def _run(file: ForeignFile, asked: Asked, rows: Sequence[_Row], told: Mapping[str, float]) -> Measured:
    factor = MS_PER[asked.unit or "ms"]
    ms = {name: value * factor for name, value in told.items() if name != "count"}
    points = [exact_point(share * 100, value * factor) for value, share, _ in rows if 0 < share < 1]
    place, kind = asked.latency or (None, None)
    return Measured(
        tool="HdrHistogram",
        form="percentile distribution",
        name=f"percentiles-{file.stem}",
        latencies=[
            MeasuredLatency(
                name=file.stem, unit=asked.unit or "ms", resolution="as written", place=place, kind=kind,
                count=int(told["count"]), min_ms=rows[0][0] * factor if rows[0][1] == 0 else None,
                mean_ms=ms.get("mean"), max_ms=ms["max"], stddev_ms=ms.get("stddev"),
                points=checked_order(points, "Value"),
            )
        ],
        notes=[] if asked.unit else ["The file does not name the unit of its values: they are taken as ms"],
    )  # fmt: skip
