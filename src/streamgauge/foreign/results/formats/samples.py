"""Tables of samples: a latency for each line with its time, in one of the forms that tussle reads."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import (
    MS_PER,
    ForeignError,
    LatencyKind,
    Measured,
    MeasuredLatency,
    MeasuredSpan,
)
from streamgauge.foreign.results.spread import ValueCells
from streamgauge.foreign.results.values import amount, table_rows

_UNIT: Final = re.compile(r"(?:_|\(|\s)(ns|us|µs|ms|s)\)?$")
_STAMPS: Final = ("timestamp", "stamp", "time", "start", "begin")
_VALUES: Final[Mapping[str, LatencyKind | None]] = {
    "response": "response", "service": "service", "latency": None, "value": None, "duration": None,
}  # fmt: skip
_NOUNS: Final = ("response", "service")
"""What is no quantity by itself."""
_MEASURE: Final = re.compile(rf"^$|time|latency|duration|{_UNIT.pattern}")
_SECOND_FORM: Final = 6
_LONGEST_NS: Final = 31 * 86_400 * 10**9
_MOST_ROWS: Final = 5_000_000


def recognises(file: ForeignFile) -> bool:
    """Whether its first line has heads of a time and a latency, or is a line of tussle's second form."""
    cells = _first(file)
    return _is_second(cells) or (
        _at(cells, _STAMPS) is not None and any(_value_at(cells, each) is not None for each in _VALUES)
    )


def _is_warmup(row: Sequence[str]) -> bool:
    return len(row) >= _SECOND_FORM and row[_SECOND_FORM - 1].strip().lower() == "w"


def _first(file: ForeignFile) -> list[str]:
    return [each.strip().strip('"') for each in file.head().partition("\n")[0].split(",")]


def _is_second(cells: Sequence[str]) -> bool:
    return len(cells) >= _SECOND_FORM and cells[4].lower() in {"true", "false"} and cells[5].lower() in {"w", "m"}


def _at(cells: Sequence[str], names: Sequence[str]) -> int | None:
    """The place of a column by how its name begins."""
    return next((at for name in names for at, cell in enumerate(cells) if cell.lower().startswith(name)), None)


def _value_at(cells: Sequence[str], name: str) -> int | None:
    """The place of a column of latencies; a `response_code` and the name of a `service_host` are none."""
    measures = [cell if name not in _NOUNS or _MEASURE.search(cell.lower()[len(name) :]) else "" for cell in cells]
    return _at(measures, (name,))


def read(files: Sequence[ForeignFile], asked: Asked) -> list[Measured]:
    """The run of one table; raises ForeignError."""
    file, cells = files[0], _first(files[0])
    rows = table_rows(file.lines())
    if len(rows) > _MOST_ROWS:
        raise ForeignError(f"has more than {_MOST_ROWS:,} rows")
    columns = _second_columns(cells) if _is_second(cells) else _columns(cells, asked)
    if not _is_second(cells):
        rows = rows[1:]
    stamp, values = columns
    times: list[float] = []
    found: dict[str, list[float]] = {name: [] for name in values}
    for place, row in enumerate(rows, 1):
        if not row or (_is_second(cells) and _is_warmup(row)):
            continue
        if len(row) <= max(stamp[0], *(each[0] for each in values.values())):
            raise ForeignError(f"row {place} is cut off")
        times.append(amount(row[stamp[0]], "time") * stamp[1])
        for name, (at, factor, _) in values.items():
            nanoseconds = amount(row[at], name) * factor * 1e6
            if nanoseconds > _LONGEST_NS:
                raise ForeignError(f"row {place} has a latency of {nanoseconds / 1e9:g} s", "Check its unit: --unit")
            found[name].append(nanoseconds)
    if not times:
        raise ForeignError("has no sample")
    return [_measured(file, np.array(times), {n: np.array(v) for n, v in found.items()}, values, asked)]


_Column = tuple[int, float, LatencyKind | None]


def _second_columns(cells: Sequence[str]) -> tuple[tuple[int, float], Mapping[str, _Column]]:
    found: dict[str, _Column] = {"service": (3, 1.0, "service")}
    if len(cells) > _SECOND_FORM:
        found["response"] = (6, 1.0, "response")
    return (0, 1.0), found


def _columns(cells: Sequence[str], asked: Asked) -> tuple[tuple[int, float], Mapping[str, _Column]]:
    stamp = _at(cells, _STAMPS)
    values: dict[str, _Column] = {}
    for name, kind in _VALUES.items():
        at = _value_at(cells, name)
        if at is not None:
            said = _UNIT.search(cells[at].lower())
            unit = asked.unit or (said.group(1).replace("µ", "u") if said else None)
            if unit is None:
                raise ForeignError(
                    f"does not say in which unit `{cells[at][:30]}` is", "Say it: --unit ns, us, ms or s"
                )
            values[name] = (at, MS_PER[unit], kind)
    if stamp is None or not values:
        raise ForeignError("has no columns of a time and a latency")
    said = _UNIT.search(cells[stamp].lower())
    return (stamp, MS_PER[said.group(1).replace("µ", "u")] / 1e3 if said else 1.0), values


def _measured(
    file: ForeignFile,
    times: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    found: Mapping[str, "np.ndarray[tuple[int], np.dtype[np.float64]]"],
    values: Mapping[str, _Column],
    asked: Asked,
) -> Measured:
    begin, end = float(times.min()), float(times.max())
    place, said = asked.latency or (None, None)
    latencies, spans = [], []
    for name, nanoseconds in found.items():
        kind = values[name][2] or said
        whole = np.rint(nanoseconds).astype(np.int64)
        latencies.append(_latency(name, whole, place, kind))
        if place in {"ack", "end_to_end"} and kind:
            spans += _spans(times - begin, whole, f"{place}.{kind}")
    return Measured(
        tool="samples",
        form="table of samples",
        name=f"samples-{file.stem}",
        started_s=begin if begin > 1e8 else None,
        seconds=end - begin or None,
        latencies=latencies,
        spans=spans,
        interval_s=1.0,
        notes=["Percentiles are of all samples, by the nearest rank"],
    )


def _latency(
    name: str, nanoseconds: "np.ndarray[tuple[int], np.dtype[np.int64]]", place: str | None, kind: LatencyKind | None
) -> MeasuredLatency:
    spread = ValueCells.of_cells(nanoseconds, nanoseconds, np.ones(len(nanoseconds), np.int64))
    return MeasuredLatency(
        name=name, unit="ns", resolution="as written", place=place, kind=kind, count=len(nanoseconds),
        min_ms=float(nanoseconds.min()) / 1e6, mean_ms=float(nanoseconds.mean()) / 1e6,
        stddev_ms=float(nanoseconds.std()) / 1e6, mad_ms=spread.mad / 1e6, max_ms=float(nanoseconds.max()) / 1e6,
        spread=spread,
    )  # fmt: skip


def _spans(
    times: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    nanoseconds: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    key: str,
) -> list[MeasuredSpan]:
    spans = []
    seconds = np.floor(times).astype(np.int64)
    for second in np.unique(seconds).tolist():
        mine = nanoseconds[seconds == second]
        spread = ValueCells.of_cells(mine, mine, np.ones(len(mine), np.int64))
        figures = {f"{key}.p50_ms": spread.at(50)[1] / 1e6, f"{key}.p99_ms": spread.at(99)[1] / 1e6}
        spans.append(MeasuredSpan(second, second + 1, figures | {f"{key}.max_ms": float(mine.max()) / 1e6}))
    return spans
