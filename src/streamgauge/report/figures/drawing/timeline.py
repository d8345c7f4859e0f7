"""The data that all figures over time share: one row for each second, or for a few of them where a run is long."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from streamgauge.report.figures.drawing.annotations import annotations_of
from streamgauge.report.figures.drawing.figure import FigureSource, Row, rounded
from streamgauge.result import Result
from streamgauge.result.model.throughput import TimelineSecond

MOST_POINTS: Final = 1_900
"""Longer runs are drawn with at most so many points: half an hour, warm-up and drain included, has one a second."""

PATHS: Final = {"end_to_end": "end-to-end", "ack": "ack"}
KINDS: Final = ("response", "service")
METRICS: Final = [f"{path}_{kind}" for path in PATHS for kind in KINDS]
"""In the order in which a figure that shows only one of them takes it."""
FIGURES: Final = ("p50", "p99", "max")
RATES: Final = ("target", "sent", "acked", "received")


def latency_series(words: str) -> list[str]:
    """Names of the series of one latency: `ack response p50` and so on."""
    return [f"{words} {kind} {name}" for kind in KINDS for name in FIGURES]


DELAY_SERIES: Final = [f"delay {name}" for name in FIGURES]


def source_of(result: Result, tables: Mapping[str, Sequence[Row]]) -> FigureSource:
    """A run as figures see it."""
    seconds, shades = timeline(result, tables.get("latency", ())), phases(result)
    known = [*(row["s"] for row in seconds), *(shade[edge] for shade in shades for edge in ("from", "to"))]
    annotations = annotations_of(tables.get("faults", ()), min(known, default=0.0), max(known, default=0.0))
    span = _span(result) or _ends(known)
    return FigureSource(result, tables, seconds, shades, annotations, span and (round(span[0], 2), round(span[1], 2)))


def _ends(seconds: Sequence[float]) -> tuple[float, float] | None:
    """From the first to after the last second that has a row; None where there is none."""
    return (min(seconds), max(seconds) + 1) if seconds else None


def timeline(result: Result, latencies: Iterable[Row]) -> list[Row]:
    """One row for each second: `s`, rates, counts and latencies under the names that legends show."""
    late = {row["second"]: row for row in latencies if (row["metric"], row["scope"]) == ("schedule_delay", "window")}
    edges = _span(result) or ()
    rows = _without_holes([_row(result, second, late.get(second.second, {}), edges) for second in result.timeline])
    step = seconds_per_point(len(rows))
    return [_merged(rows[at : at + step]) for at in range(0, len(rows), step)]


def _without_holes(rows: Sequence[Row]) -> list[Row]:
    """The rows, with one of nulls where the next second is not there: no line leads over what is not known."""
    whole: list[Row] = []
    for row in rows:
        if whole and row["s"] > whole[-1]["s"] + 1:
            whole.append(dict.fromkeys(row) | {"s": whole[-1]["s"] + 1})
        whole.append(row)
    return whole


def seconds_per_point(seconds: int) -> int:
    """How many seconds one point of a figure stands for."""
    return max(1, -(-seconds // MOST_POINTS))


def phases(result: Result) -> list[Row]:
    """Warm-up and drain, as spans of seconds."""
    spans = _spans(result)
    return [
        {"from": rounded(spans[name][0]), "to": rounded(spans[name][1]), "phase": name}
        for name in ("warmup", "drain")
        if name in spans and spans[name][1] > spans[name][0]
    ]


def _span(result: Result) -> tuple[float, float] | None:
    """From which second to which one the run lasted, where that is known; the seconds at its edges are cut."""
    edges = [edge for ends in _spans(result).values() for edge in ends]
    return (min(edges), max(edges)) if edges else None


def _spans(result: Result) -> dict[str, tuple[float, float]]:
    """The phases in seconds since the begin of the measure phase; none where that did not come.

    A run that failed notes no drain; what it recorded after its load is shown as one.
    """
    zero = next((phase.from_ns for phase in result.run.phases if phase.name == "measure"), None)
    if zero is None:
        return {}
    spans: dict[str, tuple[float, float]] = {
        phase.name: ((phase.from_ns - zero) / 1e9, (phase.to_ns - zero) / 1e9) for phase in result.run.phases
    }
    loaded = max(end for _, end in spans.values())
    last = max((each.second + 1 for each in result.timeline), default=0)
    if "drain" not in spans and last > loaded + 1:
        ended = result.run.ended_monotonic_ns
        spans["drain"] = (loaded, float(last) if ended is None else max(loaded, min(last, (ended - zero) / 1e9)))
    return spans


def _row(result: Result, second: TimelineSecond, late: Row, edges: tuple[float, ...]) -> Row:
    throughput = result.throughput
    loading = second.second < (throughput.measured_seconds or 0)
    row: dict[str, Any] = {"s": second.second, "target": throughput.target_per_second if loading else None}
    # A second that is cut has no rate: what came in its last 33 ms, or did not, says nothing of a second.
    is_cut = any(second.second < edge < second.second + 1 for edge in edges)
    row |= {name: None if is_cut else rounded(getattr(second, f"{name}_per_second")) for name in RATES[1:]}
    row |= {"outstanding": second.outstanding, "errors": second.errors, "committed_lag": second.committed_lag}
    for path, words in PATHS.items():
        for kind in KINDS:
            figures = getattr(getattr(second, path), kind)
            row |= {f"{words} {kind} {name}": rounded(getattr(figures, f"{name}_ms", None)) for name in FIGURES}
    return row | {f"delay {name}": rounded(late.get(f"{name}_ms")) for name in FIGURES}


def _merged(rows: Sequence[Row]) -> Row:
    """Some seconds as one point: the mean of rates, the worst of everything else."""
    if len(rows) == 1:
        return rows[0]
    return {name: _one(name, (row[name] for row in rows)) for name in rows[0]}


def _one(name: str, values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if name == "s":
        return known[0]
    return rounded(sum(known) / len(known)) if name in RATES else max(known)
