"""The runs of a search as a table of texts."""

from collections.abc import Mapping, Sequence
from typing import Final

from streamgauge.domain.text.numbers import per_second
from streamgauge.experiments.search.record import SearchRecord, SearchStep
from streamgauge.experiments.search.words import said, shown_figure, shown_value

PHASES: Final[Mapping[str, str]] = {
    "probe": "unthrottled",
    "up": "way up",
    "down": "way down",
    "bound": "high bound",
    "step": "step",
    "finer": "finer step",
}
TEXTS: Final = 4
"""So many columns of the table are texts, the others figures."""


def run_table(record: SearchRecord) -> tuple[list[str], list[Sequence[str]]]:
    """The heads, and a row for each run in their order, also of those that were interrupted."""
    heads = ["run", "phase", "result", "because", record.path, *record.objectives, "acknowledged", "received"]
    return heads, [_cells(step, record) for step in record.steps]


def _cells(step: SearchStep, record: SearchRecord) -> list[str]:
    is_done = step.outcome == "done"
    figures = (shown_figure(step.figures[each]) if each in step.figures else "" for each in record.objectives)
    return [
        step.folder or "",
        PHASES[step.phase],
        "" if is_done and step.held is None else said(step) if is_done else step.outcome.replace("_", " "),
        "; ".join(step.reasons),
        "" if step.value is None else shown_value(step.value, record.path),
        *figures,
        "" if step.acked_per_second is None else per_second(step.acked_per_second),
        "" if step.received_per_second is None else per_second(step.received_per_second),
    ]
