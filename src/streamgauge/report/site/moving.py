"""Percentiles of a run in a moving window, as a script that the page loads when somebody looks at the run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from streamgauge.domain.errors import StreamgaugeError
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.tables.latency import LATENCY_BUCKETS
from streamgauge.report.figures.drawing.timeline import PATHS
from streamgauge.report.figures.over_time import MOVING_FIGURES, worst_window
from streamgauge.report.files import table_file
from streamgauge.report.publish import moving_rows_of

MOST_POINTS: Final = 600
"""Of longer runs each point is the worst of several seconds."""


@dataclass(frozen=True, slots=True)
class MovingLatency:
    """Percentiles at the end of each full window of 10 s of the measure phase."""

    label: str
    """Of which latency."""
    seconds: Sequence[int]
    """Of the measure phase."""
    ms: Mapping[str, Sequence[float | None]]
    """By percentile; null where it is infinite, or a window has too few messages for it."""


def moving_latency(folder: RunFolder) -> MovingLatency | None:
    """Of the first latency of a run that has any; None where it has no full window, or no table that can be read."""
    if not table_file(folder, LATENCY_BUCKETS.name).exists():
        return None
    try:
        found = moving_rows_of(folder)
    except StreamgaugeError:
        # Its own report tells so.
        return None
    if not found:
        return None
    rows = {row["second"]: row for row in found}
    first, last = min(rows), max(rows)
    step = 1 + (last - first) // MOST_POINTS
    seconds = range(first, last + 1, step)
    path, _, kind = found[0]["metric"].rpartition("_")
    ms = {name: [worst_window(rows, name, second, step) for second in seconds] for name in MOVING_FIGURES}
    return MovingLatency(f"{PATHS[path]} {kind}", seconds, ms)


def moving_script(path: str, moving: MovingLatency) -> str:
    """The script of a run: it puts plain JSON beside the run's path, which the page made room for."""
    document = {"label": moving.label, "s": list(moving.seconds), **moving.ms}
    return f"site.moving[{json.dumps(path)}] = {json.dumps(document, separators=(',', ':'), allow_nan=False)};\n"
