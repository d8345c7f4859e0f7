"""Intervals of figures: what a figure can have been, as it stands in the result."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from streamgauge.result.model.throughput import StepResult
from streamgauge.result.model.trust import FigureTrust

ANALYSED_BEFORE: Final = "an older version analysed it without bounds; run `streamgauge analyse` to compute them"


class StepFigure(NamedTuple):
    """A figure of a step of the load."""

    path: str
    of_run: str
    """The path of the same figure of the run."""
    step: StepResult
    figure: FigureTrust
    is_complete: bool = False
    """Whether it is a rate at which all came that was due: nothing has limited it."""


def disbelieved(figure: FigureTrust, causes: Sequence[str]) -> FigureTrust:
    """A figure of which nobody knows what it would have been."""
    because = [*figure.because, *causes]
    return figure.model_copy(update={"low": None, "high": None, "trust": "not_believed", "because": because})


def exact(value: float) -> FigureTrust:
    """A figure that the instrument cannot have moved."""
    return FigureTrust(value=value, low=value, high=value, trust="believed", because=[])


def at_least(value: float, because: str) -> FigureTrust:
    """A rate that would have been higher, had the instrument been faster."""
    return FigureTrust(value=value, low=value, high=None, trust="bounded", because=[because])
