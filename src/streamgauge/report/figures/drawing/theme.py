"""How charts look: on the page, whose colours follow light, dark and print, and in files of their own."""

from collections.abc import Mapping
from typing import Any, Final

INK: Final = "currentColor"
GRID: Final = "var(--grid)"

COLORS: Final[Mapping[str, str]] = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "violet": "#cc79a7",
    "red": "#c8161f",
    "lilac": "#9582ff",
    "grey": "#666666",
}
"""The colours of Okabe and Ito ("Color Universal Design", 2008) that are readable on white and on black alike, and
three that keep their distance from them. Tests measure contrast, and distance as colour-blind people see it."""

PALETTE: Final = tuple(COLORS[name] for name in ("blue", "orange", "green", "violet", "red", "lilac", "grey"))
"""For series without a concept of their own, like runs that are compared."""

_CONCEPTS: Final[Mapping[str, str]] = {
    # How far messages have come.
    "target": "grey", "sent": "blue", "acked": "orange", "received": "green",
    "offered": "grey", "admitted": "blue", "processed": "green", "due and not sent": "orange",
    "failed": "red", "retried": "orange", "rebalances": "violet",
    # Percentiles and moments.
    "p50": "green", "p90": "lilac", "p95": "lilac", "p99": "red", "p99.9": "orange", "max": "violet", "mean": "grey",
    # Latencies; response time is solid, service time dashed.
    "end-to-end": "green", "ack": "orange",
    # Lags and their limits.
    "committed lag": "blue", "position lag": "green", "outstanding": "violet", "credits used": "blue", "limit": "red",
    # Processes, by role.
    "broker": "orange", "producers": "blue", "consumers": "green", "query": "red", "sampler, controller": "violet",
    "machine": "grey", "other processes": "grey", "steal": "lilac",
}  # fmt: skip


def color_of(concept: str) -> str:
    """The colour of a concept, the same in every figure; KeyError where it has none."""
    return COLORS[_CONCEPTS[concept]]


SOLID: Final = (1, 0)
DASHED: Final = (4, 3)
DOTTED: Final = (2, 3)
DASH_OF: Final[Mapping[str, tuple[int, int]]] = {"response": SOLID, "service": DASHED}
"""How lines of response and of service time are drawn, in every figure."""
FONT: Final = "system-ui, sans-serif"
TEXT_SIZE: Final = 12
"""Pixels of the smallest text."""
FEW_TICKS: Final = 4
"""An axis of a panel ends at a round number, and has about so many."""
PANEL_HEIGHT: Final = 160
"""Pixels of a figure that stands above others over one time axis, or beside another."""

HEAT_SCALE: Final[dict[str, Any]] = {
    "range": [
        "rgba(86,180,233,0.12)",
        "rgba(0,114,178,0.7)",
        "rgba(92,70,190,0.9)",
        "rgba(190,52,140,1)",
        "rgba(232,110,20,1)",
    ],
    "interpolate": "rgb",
}
"""From nearly nothing, whatever the background, over blue and purple to orange: what is much stands out on white and
on black. Between blue and orange alone there would be grey, which says nothing."""
HEAT_LEGEND: Final[dict[str, Any]] = {"orient": "top", "gradientLength": 200, "symbolType": "square", "tickCount": 4}


def page_config() -> dict[str, Any]:
    """For the HTML page: ink and grid are what the page says, so that dark mode and print need no second drawing."""
    # A figure is told as a whole, and its data are a table: names for every mark would take a third of the drawing.
    return {**_config(ink=INK, grid=GRID, background="transparent", font=FONT), "aria": False}


def file_config() -> dict[str, Any]:
    """For SVG, PNG and PDF: black on white."""
    return _config(ink="#1c1f24", grid="#e3e5e8", background="#ffffff", font="sans-serif")


def _config(*, ink: str, grid: str, background: str, font: str) -> dict[str, Any]:
    sizes = {"labelFontSize": TEXT_SIZE, "titleFontSize": TEXT_SIZE}
    text = {"labelColor": ink, "titleColor": ink, "titleFontWeight": "normal", **sizes}
    return {
        "background": background,
        "font": font,
        "view": {"stroke": None},
        "axis": {**text, "gridColor": grid, "domainColor": grid, "tickColor": grid, "labelOverlap": "greedy"},
        "legend": {**text, "symbolType": "stroke", "symbolStrokeWidth": 3, "labelLimit": 300},
        "header": text,
        "title": {"color": ink},
        "text": {"fontSize": TEXT_SIZE},
        "line": {"strokeWidth": 1.5},
        "range": {"category": list(PALETTE)},
    }


def sized(spec: Mapping[str, Any], *, width: int | str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The specification at a width (`container` follows the page), with a look; the height stays the chart's own."""
    # Panels have widths of their own, and cannot follow the page.
    if not {"concat", "vconcat"}.isdisjoint(spec):
        return {**spec, "config": dict(config)}
    fit = {"autosize": {"type": "fit-x", "contains": "padding"}} if width == "container" else {}
    # The look replaces what the charting library would have said.
    return {**spec, "width": width, **fit, "config": dict(config)}
