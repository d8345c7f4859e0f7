"""Connections beside the load: counts and rates are exact, and times say what the load's own calls took."""

from collections.abc import Iterator
from typing import Final

from streamgauge.result.model.clients import ConnectionsSection
from streamgauge.result.model.trust import FigureTrust
from streamgauge.verdict.trust.figures.interval import exact

_NOT_FIGURES: Final = frozenset({"target_per_second", "error", "reasons"})


def connections(section: ConnectionsSection | None) -> Iterator[tuple[str, FigureTrust]]:
    """Figures of each kind of connection by their paths."""
    for kind, found in section or ():
        if kind in _NOT_FIGURES or found is None:
            continue
        for name, value in found:
            if name not in _NOT_FIGURES and value is not None:
                yield f"connections.{kind}.{name}", exact(value)
