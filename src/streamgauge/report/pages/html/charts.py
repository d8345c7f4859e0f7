"""Figures on the page: their place, their charts, and the data that they share."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from streamgauge.report.figures.drawing.figure import SMALLEST_TEXT, TIME_FROM, Figure, FigureSection
from streamgauge.report.figures.drawing.theme import page_config, sized
from streamgauge.report.pages import belief
from streamgauge.result import Result

VARIANTS: Final = {
    "latency": {"path": {"ack": "ack-latency"}},
    "cpu": {"group": {"worker": "cpu-processes"}},
}
"""Figures that take the place of another at a switch, as far as the report has them."""
_SHAPE: Final = r"(p\w+|min|max)_ms"
_BOTH: Final = re.compile(rf"latency\.(end_to_end|ack)\.\w+\.{_SHAPE}")
_COMMITTED: Final = re.compile(r"lag\.committed\.\w+")
_ABOUT: Final[Mapping[str, re.Pattern[str]]] = {
    "rates": re.compile(r"throughput\.\w+_per_second"),
    "latency": re.compile(r"latency\.end_to_end\.\w+\.(p50|p99|max)_ms"),
    "ack-latency": re.compile(r"latency\.ack\.\w+\.(p50|p99|max)_ms"),
    "percentiles": _BOTH,
    "cdf": _BOTH,
    "heat": re.compile(rf"latency\.end_to_end\.response\.{_SHAPE}"),
    "lives": re.compile(r"latency\.end_to_end\.\w+\.max_ms"),
    "lag": re.compile(r"lag\.(committed|position|outstanding)\.\w+"),
    "partition-lag": _COMMITTED,
    "lag-heat": _COMMITTED,
    "time-lag": re.compile(r"lag\.time_lag\.\w+"),
    "recovery": re.compile(r"recovery\.\w+"),
    "waterfall": re.compile(r"pipeline\.stages\.\d\.(mean|p50|p99)_ms"),
}
"""Which figures of the result a chart shows, by their paths."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A figure in its section of the page. `doubt` says which of its figures are not believed; empty for none."""

    figure: Figure
    doubt: str

    @property
    def small(self) -> bool:
        """Whether it may stand beside another one."""
        return self.figure.section != "overview"


def placed(result: Result, figures: Sequence[Figure], section: FigureSection) -> list[Placed]:
    """The figures of one section: those that are drawn, then those that are folded, then those that are missing."""
    here = [figure for figure in figures if figure.section == section]
    order = sorted(here, key=lambda figure: (figure.missing is not None, figure.nothing_new is not None))
    return [Placed(figure, doubt_of(result, figure)) for figure in order]


def as_placed(figures: Sequence[Figure]) -> list[Placed]:
    """Figures of several runs: those that are drawn, then those that are missing."""
    order = sorted(figures, key=lambda figure: figure.missing is not None)
    return [Placed(figure, "") for figure in order]


def doubt_of(result: Result, figure: Figure) -> str:
    """What of a figure is not believed; empty for nothing."""
    shows = _ABOUT.get(figure.name)
    return belief.doubted(result.trust, shows) if shows else ""


def specs(figures: Sequence[Figure], doubts: Mapping[str, str]) -> Markup:
    """The look of all charts, and each with its words, what is not believed, and the names of its data and columns."""
    look = {**page_config(), **_TEXT}
    drawings = {figure.name: _drawing(figure, doubts.get(figure.name, "")) for figure in figures}
    return _script({"look": look, "figures": drawings})


_TEXT: Final = {
    "axis": {**page_config()["axis"], "labelFontSize": SMALLEST_TEXT, "titleFontSize": SMALLEST_TEXT},
    "legend": {**page_config()["legend"], "labelFontSize": SMALLEST_TEXT, "titleFontSize": SMALLEST_TEXT},
    "header": {**page_config()["header"], "labelFontSize": SMALLEST_TEXT},
    "text": {"fontSize": SMALLEST_TEXT},
}


def _drawing(figure: Figure, doubt: str) -> dict[str, Any]:
    names = {name: list(rows[0]) if rows else [] for name, rows in figure.data.items()}
    spec = sized(figure.spec(), width="container", config={})
    over_time = any(param["name"] == TIME_FROM for param in spec.get("params", ()))
    del spec["config"]
    told = {"title": figure.title, "about": figure.about, "doubt": doubt}
    return {**told, "spec": spec, "names": names, "overTime": over_time, "variants": VARIANTS.get(figure.name, {})}


def columns(figures: Sequence[Figure]) -> Markup:
    """All data of all figures, each once, column by column: the names of columns are not repeated in every row.

    Raises ValueError where figures have different values in a column of one name: the page would show some of them
    with those of others.
    """
    together: dict[str, dict[str, list[Any]]] = {}
    for figure in figures:
        for name, rows in figure.data.items():
            known = together.setdefault(name, {})
            for column in rows[0] if rows else ():
                values = [row[column] for row in rows]
                if known.setdefault(column, values) != values:
                    raise ValueError(f"figure {figure.name} has other values in column {column} of {name}")
    return _script(together)


def _script(value: object) -> Markup:
    """JSON that may stand in a script element, whatever the strings in it contain."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # No character is left that could end the element.
    return Markup(text)  # noqa: S704
