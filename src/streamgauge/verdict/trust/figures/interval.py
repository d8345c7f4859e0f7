"""Intervals of figures: what a figure can have been, as it stands in the result."""

from collections.abc import Sequence
from typing import Final

from streamgauge.result.model.trust import FigureTrust

ANALYSED_BEFORE: Final = "an older version analysed it without bounds; run `streamgauge analyse` to compute them"


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
