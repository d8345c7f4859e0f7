"""The table `connections`: what became of connections beside the load.

Operations are few, at most some thousand a second; they are answered in memory.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.domain.blocks import ConnectionKind
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.pipeline.columns import DUE_NS
from streamgauge.pipeline.metrics.spans import figures
from streamgauge.pipeline.read.rows import Row, numbers
from streamgauge.pipeline.read.silver import Span
from streamgauge.scenario.profile.model import ConnectionsProfile

EXHAUSTED: Final = frozenset({"EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM", "_CRIT_SYS_RESOURCE"})
"""Errors that are this machine's: it has no more files, ports, memory or threads."""
_FIGURES: Final = ("p50_ms", "p99_ms", "max_ms")


def connection_rows(rows: pa.Table, profile: Sequence[ConnectionsProfile], span: Span) -> list[Row]:
    """Rows of `connections` from those of the event; a kind that was asked for has some though nothing was done."""
    asked = {work.kind: work for work in profile}
    present = {*asked, *pc.unique(rows.column("kind")).to_pylist()}
    known = [kind.value for kind in ConnectionKind]
    rows = rows.sort_by("at_ns")
    return [
        {"kind": kind} | row
        for kind in (*known, *sorted(present.difference(known)))
        if kind in present
        for row in _of_kind(rows.filter(pc.equal(rows.column("kind"), kind)), asked.get(kind), span)
    ]


def _of_kind(rows: pa.Table, work: ConnectionsProfile | None, span: Span) -> Iterator[Row]:
    """The rows of one kind: of the run, of the measure phase, and of every second in which something began."""
    measure, at_ns = span.measure, numbers(rows, "at_ns")
    begin, end = np.searchsorted(at_ns, [measure.from_ns, measure.to_ns]).tolist()
    measured = rows.slice(begin, end - begin)
    yield {"scope": "run"} | _row(rows, work, span.run_ns) | _held(rows, work)
    # What is held was used before, too.
    yield {"scope": "measure"} | _row(measured, work, span.measure_ns) | _held(rows.slice(0, end), work)
    seconds, begins, counts = np.unique(
        (at_ns - measure.from_ns) // NS_PER_SECOND, return_index=True, return_counts=True
    )
    for second, first, count in zip(seconds.tolist(), begins.tolist(), counts.tolist(), strict=True):
        row = _row(rows.slice(first, count), work, span.window_ns(second))
        yield {"scope": "window", "second": second} | row


def _row(rows: pa.Table, work: ConnectionsProfile | None, duration_ns: int) -> Row:
    answered = rows.filter(pc.is_null(rows.column("error")))
    errors = {each["values"]: each["counts"] for each in rows.column("error").drop_null().value_counts().to_pylist()}
    late = pc.subtract(rows.column("at_ns"), rows.column(DUE_NS)).drop_null()
    delays = figures(late.to_numpy().astype(np.int64), *_FIGURES)
    return {
        "duration_ns": duration_ns,
        "target_per_second": work.per_second if work else None,
        "made": answered.num_rows,
        "failed": rows.num_rows - answered.num_rows,
        "exhausted": sum(count for error, count in errors.items() if error in EXHAUSTED),
        "error": max(sorted(errors), key=errors.__getitem__, default=None),
        "per_second": answered.num_rows * NS_PER_SECOND / duration_ns if duration_ns else None,
        **figures(numbers(answered, "took_ns"), *_FIGURES),
        **{f"schedule_delay_{name}": value for name, value in delays.items()},
        "under_way": float(numbers(rows, "took_ns").sum() / duration_ns) if duration_ns else None,
        "at_once": work.at_once if work else None,
    }


def _held(rows: pa.Table, work: ConnectionsProfile | None) -> Row:
    """How many connections were answered when they were used last."""
    last = dict(zip(rows.column("number").to_pylist(), rows.column("error").to_pylist(), strict=True))
    return {"held": sum(error is None for error in last.values()) if work and work.held else None}
