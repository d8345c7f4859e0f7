"""A comparison as a page: one file that needs no network, with figures."""

from collections.abc import Sequence

from streamgauge.domain.text.numbers import listed
from streamgauge.report.compare.answers import Together
from streamgauge.report.compare.carriers import carrier_table
from streamgauge.report.compare.figures import carrier_figures, comparison_figures
from streamgauge.report.compare.pages import (
    IntervalTable,
    about_intervals,
    cells,
    counted,
    deciding,
    explored,
    head,
    intervals,
    label,
    other_intervals,
    shown_answers,
)
from streamgauge.report.figures.drawing.figure import Row
from streamgauge.report.pages.html import page_of
from streamgauge.report.pages.html.charts import as_placed
from streamgauge.report.pages.html.tables import TextTable


def comparison_html(found: Together, name: str, expected: Sequence[str] = (), offline: Sequence[Row] = ()) -> str:
    """The page of a comparison, also of compression ratios. Everything that came from outside is escaped."""
    figures, of_carriers = comparison_figures(found, offline), carrier_figures(found)
    variants = [head(each) for each in found.variants]
    answers = shown_answers(found)
    sided = [[label(each), *cells(each)] for each in answers]
    differences = [[each.about, each.name, *each.values] for each in found.differences]
    names = [each.name for each in found.variants]
    runs = [
        [each.name, run.run.id, run.run.created, run.run.ending or ""] for each in found.variants for run in each.runs
    ]
    return page_of(
        "comparison.j2",
        [each for each in (*of_carriers, *figures) if each.missing is None],
        name=name,
        counted=counted(found),
        deciding=deciding(found),
        expected=expected,
        warnings=found.warnings,
        explored=explored(found),
        figures=as_placed(figures),
        carriers=[TextTable(*carrier_table(found.carriers, about), 1) for about in ("cost", "gain") if found.carriers],
        of_carriers=as_placed([each for each in of_carriers if each.missing is None]),
        table=_turned(sided, variants),
        about_intervals=about_intervals(found),
        intervals=_as_text(intervals(found, found.primary) if found.primary else None, 1),
        other_intervals=_as_text(other_intervals(found), 2),
        differences=TextTable(["", "differs in", *names], differences, 2) if differences else None,
        runs=TextTable(["variant", "run", "created", "ending"], runs, 9),
        primary=listed([each.metric.path for each in answers if each.is_primary]),
    )


def _as_text(of: IntervalTable | None, numbers: int) -> TextTable | None:
    return TextTable(of.heads, of.rows, numbers) if of else None


def _turned(rows: Sequence[Sequence[str]], variants: Sequence[str]) -> TextTable:
    """A column for each variant; of many variants, a line for each."""
    if len(variants) <= 4:
        return TextTable(["median (range)", *variants], rows, 1)
    columns = [[row[place] for row in rows] for place in range(1, len(variants) + 1)]
    lines = [[variant, *column] for variant, column in zip(variants, columns, strict=True)]
    return TextTable(["median (range)", *(row[0] for row in rows)], lines, 1)
