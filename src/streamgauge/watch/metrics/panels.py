"""What a dashboard consists of: sections, panels and queries, as data that knows nothing of Grafana but its units."""

from dataclasses import dataclass
from typing import Final, Literal

PanelShape = Literal["number", "states", "lines", "steps", "heatmap"]
Unit = Literal["short", "cps", "Bps", "s", "percentunit"]
"""As Grafana names units: numbers, per second, bytes a second, seconds, a share."""

RUN: Final = "{{run}}"
"""How a legend names the run of a series."""
BAD_SECONDS: Final = 1.0
"""From which latency on a panel is red."""


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """A query, and how its series are called in the legend."""

    expression: str
    legend: str = RUN


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. Values are red from `red_from` on, or below `red_below`; the width of a dashboard is 24."""

    title: str
    about: str
    unit: Unit
    shape: PanelShape
    queries: tuple[PanelQuery, ...]
    width: int = 12
    red_from: float | None = None
    red_below: float | None = None


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row of a dashboard with its panels."""

    title: str
    panels: tuple[Panel, ...]


def number(
    title: str, about: str, unit: Unit, expression: str, *, width: int = 4, red_from: float | None = None
) -> Panel:
    """A panel with one number for each run."""
    return Panel(title, about, unit, "number", (PanelQuery(expression),), width, red_from)


def lines(
    title: str, about: str, unit: Unit, *queries: PanelQuery, width: int = 12, red_from: float | None = None
) -> Panel:
    """A panel with lines over time."""
    return Panel(title, about, unit, "lines", queries, width, red_from)
