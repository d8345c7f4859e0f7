r"""A comparison as a LaTeX table, for papers: `\usepackage{booktabs}` is all that it needs."""

import re
from collections.abc import Sequence
from typing import Final

from streamgauge.domain.text.numbers import UNKNOWN, significant
from streamgauge.report.compare.answers import MetricAnswer, Together, answer
from streamgauge.report.compare.pages import MOST_COLUMNS, counted, few_answers, shown_answers
from streamgauge.report.pages.page import plain
from streamgauge.statistics.summary import OfRuns

_ESCAPES: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    # After the end of a row, these two would be an argument of it.
    | {"[": "{[}", "*": "{*}", '"': "{\\char34}", "\\": "\\textbackslash{}", "~": "\\textasciitilde{}"}
    | {"^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}"}
)
_UNITS: Final = {"/s": "messages/s"}


def comparison_latex(found: Together, name: str) -> str:
    """A table of medians with their intervals; `name` is that of its label. Whatever comes from outside is escaped.

    The best of a figure is bold where the runs show that it is better than every other variant.
    """
    names = [escaped_latex(each.name) for each in found.variants]
    is_wide = len(found.variants) > MOST_COLUMNS
    answers = few_answers(found) if is_wide else shown_answers(found)
    columns = [_column(found, each) for each in answers]
    rows = [["", *names], ["Runs", *(str(len(each.runs)) for each in found.variants)], *columns]
    if is_wide:
        rows = [list(row) for row in zip(*rows, strict=True)]
    head, *body = [f"    {' & '.join(row)} \\\\" for row in rows]
    lines = [
        *(f"% {plain(each)}" for each in found.warnings),
        "\\begin{table}",
        "  \\centering",
        f"  \\caption{{{_caption(found)}}}",
        f"  \\label{{tab:{re.sub(r'[^A-Za-z0-9-]+', '-', name)}}}",
        f"  \\begin{{tabular}}{{l{'r' * (len(rows[0]) - 1)}}}",
        *("    \\toprule", head, "    \\midrule", *body, "    \\bottomrule"),
        "  \\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped_latex(text: str) -> str:
    """A text in which no sign means anything to LaTeX."""
    # Two hyphens would be a dash.
    return re.sub("-(?=-)", "-{}", plain(text).translate(_ESCAPES))


def _caption(found: Together) -> str:
    share = f"{100 * (1 - found.level):g} %"
    said = (
        f"{counted(found)}. Median over the runs with its {share} interval; of too few for that the range, in brackets."
    )
    if len(found.variants) > 1:
        said += f" Bold: shown to be better than all other variants, at a confidence of {share}."
    return escaped_latex(said)


def _column(found: Together, of: MetricAnswer) -> list[str]:
    """The figure, and what its variants have."""
    unit = _UNITS.get(of.metric.unit, of.metric.unit)
    cells = [_cell(runs, out) for runs, out in zip(of.variants, of.left_out, strict=True)]
    best = shown_best(found, of)
    if best is not None:
        cells[best] = f"\\textbf{{{cells[best]}}}"
    return [escaped_latex(f"{of.metric.label}, {unit}" if unit else of.metric.label), *cells]


def _cell(runs: OfRuns | None, left_out: int) -> str:
    said = UNKNOWN if runs is None else significant(runs.median)
    if runs is not None and runs.median_interval is not None:
        said += f" ({_ends(runs.median_interval)})"
    elif runs is not None and runs.least < runs.most:
        said += f" {{[}}{_ends((runs.least, runs.most))}]"
    return f"{said}, {left_out} left out" if left_out else said


def _ends(interval: Sequence[float]) -> str:
    return "--".join(map(significant, interval))


def shown_best(found: Together, of: MetricAnswer) -> int | None:
    """The place of the variant that is shown to be better than every other one; None where none is, or nobody
    knows what would be better.

    The comparisons of the best with all others are one family, so that choosing it by the same runs claims no more than
    the level allows.
    """
    more_is_better = of.metric.more_is_better
    medians = [(runs.median, place) for place, runs in enumerate(of.variants) if runs is not None]
    if more_is_better is None or len(medians) < max(2, len(of.variants)):
        return None
    _, best = max(medians) if more_is_better else min(medians)
    sided = [found.variants[best], *(each for place, each in enumerate(found.variants) if place != best)]
    compared = answer(sided, of.metric, is_primary=of.is_primary, order=found.order, level=found.level).comparisons
    worse = "lower" if more_is_better else "higher"
    return best if all(each.verdict == worse for each in compared) else None
