"""CSV files of tlp-stress: counts that add up, and percentiles of each interval."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from streamgauge.foreign.results.asked import Asked
from streamgauge.foreign.results.given import ForeignFile
from streamgauge.foreign.results.measured import ForeignError, Measured, MeasuredLatency, MeasuredSpan
from streamgauge.foreign.results.values import amount, count, epoch_of, known, known_counts, table_rows

_FIRST: Final = ",,Mutations,,,Reads,,,Deletes,,,Errors,"
_CELLS: Final = 31
_BLOCK: Final = {"Mutations": 2, "Reads": 11, "Deletes": 20}
_ERRORS: Final = 29
_FIGURES: Final = {"p50": 2, "p99": 4, "max": 7}


def recognises(file: ForeignFile) -> bool:
    """Whether it has the first header of tlp-stress."""
    return _FIRST in file.head()


def read(files: Sequence[ForeignFile], _asked: Asked) -> list[Measured]:
    """The run of one file; raises ForeignError."""
    lines = [each for each in files[0].lines() if not each.startswith("#")]
    rows = [_row(place, cells) for place, cells in enumerate(table_rows(lines[2:]), 3) if cells]
    if not rows:
        raise ForeignError("has no row below its headers")
    begin, end = epoch_of(rows[0][0]), epoch_of(rows[-1][0])
    counts = {name: count(rows[-1][at], name) for name, at in _BLOCK.items()}
    elapsed = amount(rows[-1][1], "Elapsed Time")
    spans = list(_spans(rows, begin))
    return [
        Measured(
            tool="tlp-stress",
            form="CSV",
            name=f"tlp-stress-{files[0].stem}",
            started_s=begin,
            seconds=elapsed or (end - begin) or None,
            throughput=known(acked_per_second=counts["Mutations"] / elapsed if elapsed else None),
            delivery=known_counts(acked=counts["Mutations"], failed=count(rows[-1][_ERRORS], "Errors")),
            latencies=[_latency(name, rows, counts[name]) for name in _BLOCK if counts[name]],
            spans=spans,
            interval_s=median(each.to_s - each.from_s for each in spans) if spans else None,
            figures={f"{name} count": float(value) for name, value in counts.items()},
            notes=[
                "It measures Cassandra: mutations stand where acknowledged messages do",
                "Percentiles are of intervals only; those of a run cannot be made of them",
            ],
        )
    ]


def _row(place: int, cells: Sequence[str]) -> Sequence[str]:
    if len(cells) != _CELLS:
        raise ForeignError(f"row {place} has {len(cells)} cells instead of {_CELLS}")
    return cells


def _latency(name: str, rows: Sequence[Sequence[str]], total: int) -> MeasuredLatency:
    at = _BLOCK[name]
    return MeasuredLatency(
        name=name, unit="ms", resolution="as written; percentiles of intervals only",
        place="ack" if name == "Mutations" else None, kind="service", count=total,
        min_ms=min(amount(row[at + 1], "min") for row in rows), max_ms=max(amount(row[at + 7], "max") for row in rows),
    )  # fmt: skip


def _spans(rows: Sequence[Sequence[str]], begin: float) -> list[MeasuredSpan]:
    found, before, errors, writes = [], 0.0, 0, 0
    for row in rows:
        now = epoch_of(row[0]) - begin
        total, failed = count(row[_BLOCK["Mutations"]], "Count"), count(row[_ERRORS], "Errors")
        if total < writes or now < before:
            raise ForeignError("has counts or times that go back")
        if now > before:
            at = _BLOCK["Mutations"]
            values: Mapping[str, float] = {
                "acked_per_second": (total - writes) / (now - before),
                "errors": float(failed - errors),
                **{f"ack.service.{name}_ms": amount(row[at + skip], name) for name, skip in _FIGURES.items()},
            }
            found.append(MeasuredSpan(before, now, values))
        before, errors, writes = now, failed, total
    return found
