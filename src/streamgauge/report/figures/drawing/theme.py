"""How charts look: on the page, whose colours follow light, dark and print, and in files of their own."""

from collections.abc import Mapping
from typing import Any, Final

INK: Final = "currentColor"
GRID: Final = "var(--grid)"

COLORS: Final[Mapping[str, str]] = {
    "blue": "#1f77b4",
    "orange": "#e07b00",
    "green": "#2a9d5c",
    "red": "#d1495b",
    "violet": "#8561c5",
    "grey": "#8a8f98",
    "teal": "#1b9aaa",
    "brown": "#9c6644",
}
"""Told apart by most who see colours differently, and readable on white and on black."""

PALETTE: Final = tuple(COLORS[name] for name in ("blue", "orange", "green", "red", "violet", "teal", "brown", "grey"))
FONT: Final = "system-ui, sans-serif"


def page_config() -> dict[str, Any]:
    """For the HTML page: ink and grid are what the page says, so that dark mode and print need no second drawing."""
    # A figure is told as a whole, and its data are a table: names for every mark would take a third of the drawing.
    return {**_config(ink=INK, grid=GRID, background="transparent", font=FONT), "aria": False}


def file_config() -> dict[str, Any]:
    """For SVG, PNG and PDF: black on white."""
    return _config(ink="#1c1f24", grid="#e3e5e8", background="#ffffff", font="sans-serif")


def _config(*, ink: str, grid: str, background: str, font: str) -> dict[str, Any]:
    text = {"labelColor": ink, "titleColor": ink, "titleFontWeight": "normal"}
    return {
        "background": background,
        "font": font,
        "view": {"stroke": None},
        "axis": {**text, "gridColor": grid, "domainColor": grid, "tickColor": grid, "labelOverlap": "greedy"},
        "legend": {**text, "symbolType": "stroke", "symbolStrokeWidth": 3, "labelLimit": 300},
        "header": text,
        "title": {"color": ink},
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
