"""What a scenario expects of a quantity, as lines across the figures of that quantity."""

from collections.abc import Mapping, Sequence
from typing import Final

import altair as alt

from streamgauge.domain.errors import BadValue
from streamgauge.domain.text.numbers import figure
from streamgauge.report.figures.drawing.figure import SMALLEST_TEXT, FigureSource, Row, tip
from streamgauge.report.figures.drawing.theme import DOTTED, INK, color_of
from streamgauge.result.model.verdict import ExpectationResult
from streamgauge.scenario.model.expectations import Bound, parse_bound

THRESHOLDS: Final = "_thresholds"
"""How the data of the lines of a figure end, after its name: each figure has lines of its own."""
_SIGNS: Final = frozenset({"<", "<=", ">", ">="})


def thresholds(source: FigureSource, paths: Mapping[str, str], quantity: str = "", unit: str = "") -> list[Row]:
    """Rows {limit, what, concept} of the expectations that bound one of these paths of the result.

    `paths` names the concept that each path is about, whose colour the line has; `quantity` completes its name, and
    `unit` follows the value.
    """
    found = [(each, _bound(each)) for each in source.result.expectations if each.path in paths]
    return [
        {
            "limit": bound.value,
            "what": " ".join(
                filter(None, ("expected", paths[each.path], quantity, bound.sign, f"{figure(bound.value)}{unit}"))
            ),
            "concept": paths[each.path],
        }
        for each, bound in found
        if bound and bound.sign in _SIGNS and isinstance(bound.value, int | float)
    ]


def _bound(each: ExpectationResult) -> Bound | None:
    try:
        return parse_bound(each.wanted)
    except BadValue:
        return None


def threshold_marks(data: str, rows: Sequence[Row]) -> list[alt.Chart]:
    """A dotted line across for each threshold, in the colour of its concept, with its name at the right."""
    concepts = list(dict.fromkeys(row["concept"] for row in rows))
    return [mark for concept in concepts for mark in _across(data, concept)]


def _across(data: str, concept: str) -> tuple[alt.Chart, alt.Chart]:
    of = alt.Chart(alt.NamedData(data)).transform_filter(alt.FieldEqualPredicate(field="concept", equal=concept))
    across = of.encode(alt.Y("limit:Q"))
    line: alt.Chart = across.mark_rule(color=color_of(concept), strokeDash=list(DOTTED), strokeWidth=2)
    name: alt.Chart = across.mark_text(align="right", dx=-4, dy=-7, fontSize=SMALLEST_TEXT, color=INK, tooltip=False)
    return line.encode(tooltip=[tip("what")]), name.encode(alt.Text("what:N"), x=alt.value("width"))
