"""A comparison as people read it: for a terminal, and as Markdown for a pull request."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.domain.text.numbers import UNKNOWN, significant
from streamgauge.report.compare.answers import MetricAnswer, Together
from streamgauge.report.compare.carriers import MEASURES, MeasuredCarrier, carrier_table
from streamgauge.report.compare.differences import is_below
from streamgauge.report.compare.variants import Alike
from streamgauge.report.pages.markdown import escaped, table
from streamgauge.report.pages.page import page, plain
from streamgauge.statistics.summary import Interval, OfRuns

MOST_COLUMNS: Final = 3
"""Of more variants each has a line of its own."""
OTHER_INTERVALS: Final = "Intervals of the other figures"
_EXPLORED: Final = "Exploratory, not chosen in advance: by chance alone, one figure in twenty would differ."


@dataclass(frozen=True, slots=True)
class IntervalTable:
    """Means and intervals over the runs, with a line for each variant; no column is empty."""

    heads: list[str]
    rows: list[list[str]]


def comparison_text(found: Together, *, colour: bool | None = None, width: int | None = None) -> str:
    """The comparison on a terminal: what is compared, in what it differs, what decides, and all figures."""
    parts: list[RenderableType] = [Text(plain(counted(found)), style="bold")]
    parts += [Text(f"  {plain(line)}") for line in _differences(found)]
    parts += [Text(plain(line), style="yellow") for line in found.warnings]
    parts += [Text(), *(Text(plain(line), style="bold") for line in deciding(found))]
    parts += [Text(), _table(found)]
    if found.primary and (of_primary := intervals(found, found.primary)):
        parts += [Text(), _interval_table(of_primary)]
    if found.carriers:
        parts += [
            Text(),
            Text("Carriers of acknowledgements, for each message", style="bold"),
            _of_carriers(found.carriers),
        ]
    if more := explored(found):
        parts += [Text(), Text(_EXPLORED, style="dim"), *(Text(f"  {plain(line)}") for line in more)]
    return page(*parts, colour=colour, width=width)


def comparison_markdown(found: Together, expected: Sequence[str] = ()) -> str:
    """The same as Markdown, with what the runs say about expectations; whatever is not a word of ours is escaped."""
    lines = [f"**{escaped(counted(found))}**", "", *(f"- {escaped(line)}" for line in _differences(found))]
    lines += ["", *(f"> {escaped(line)}" for line in found.warnings)]
    lines += ["", *(f"- **{escaped(line)}**" for line in deciding(found)), ""]
    lines += [*(f"- {escaped(line)}" for line in expected), ""]
    heads = ["Median (range)", *(escaped(head(each)) for each in found.variants)]
    lines.append(
        table(heads, ([escaped(cell) for cell in (label(each), *cells(each))] for each in shown_answers(found)))
    )
    lines += _markdown_intervals(found)
    if found.carriers:
        for about, title in (("cost", "What a message costs"), ("gain", "What one gets for it")):
            heads, rows = carrier_table(found.carriers, about)
            cells_of = ([escaped(cell) for cell in row] for row in rows)
            lines += ["", f"**{title}**", "", table([escaped(each) for each in heads], cells_of)]
    if more := explored(found):
        lines += ["", _EXPLORED, "", *(f"- {escaped(line)}" for line in more)]
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return f"{text.strip()}\n"


def _markdown_intervals(found: Together) -> Iterator[str]:
    """Those of the figure that decides, and folded those of all others."""
    of_primary = intervals(found, found.primary) if found.primary else None
    others = other_intervals(found)
    if of_primary or others:
        yield from ("", about_intervals(found))
    if of_primary:
        yield from ("", _markdown_table(of_primary))
    if others:
        yield from ("", f"<details><summary>{OTHER_INTERVALS}</summary>", "", _markdown_table(others), "", "</details>")


def _markdown_table(of: IntervalTable) -> str:
    return table([escaped(each) for each in of.heads], ([escaped(cell) for cell in row] for row in of.rows))


def counted(found: Together) -> str:
    """How many variants and runs there are, and which variant the others are compared with."""
    runs = sum(len(each.runs) for each in found.variants)
    return f"{len(found.variants)} variants, {runs} runs; compared with {found.variants[0].name}"


def _differences(found: Together) -> Iterator[str]:
    for each in found.differences:
        if each.about == "setting" and any(is_below(each.name, path) for path in found.varied):
            continue
        values = ", ".join(f"{value} ({one.name})" for one, value in zip(found.variants, each.values, strict=True))
        # Where variants are named by the one thing that they differ in, the names say it all.
        if not all(f"={value}" in one.name for one, value in zip(found.variants, each.values, strict=True)):
            yield f"{each.about} {each.name}: {values}"


def deciding(found: Together) -> list[str]:
    """What the figure that decides says."""
    return found.primary.sentences if found.primary else ["The variants have no figure in common that could decide."]


def explored(found: Together) -> list[str]:
    """What the other figures show; nothing of those that show nothing."""
    return [
        sentence
        for each in found.answers
        if not each.is_primary
        for sentence, comparison in zip(each.sentences, each.comparisons, strict=True)
        if comparison.verdict in {"higher", "lower"}
    ]


def shown_answers(found: Together) -> list[MetricAnswer]:
    """The figures, but counts that are zero in every run."""
    return [
        each
        for each in found.answers
        if each.is_primary or each.metric.unit or any(one and one.most for one in each.variants)
    ]


def few_answers(found: Together) -> list[MetricAnswer]:
    """The figure that decides and the first others, for a table with a line for each variant."""
    return sorted(shown_answers(found), key=lambda each: not each.is_primary)[:MOST_COLUMNS]


_INTERVALS: Final[Mapping[str, Callable[[OfRuns], Interval | None]]] = {
    "mean": lambda runs: runs.mean_interval,
    "median": lambda runs: runs.median_interval,
    "median, bootstrap": lambda runs: runs.bootstrap_interval,
}


def about_intervals(found: Together) -> str:
    """How the intervals of these runs come about."""
    return (
        f"Intervals of {_share(found)} over the runs: of the mean by t on logarithms, so that it is a geometric one; "
        "of the median by order statistics, and by BCa bootstrap. What is missing takes more runs."
    )


def intervals(found: Together, answer: MetricAnswer) -> IntervalTable | None:
    """Those of one figure; None where no variant has any."""
    return _intervals(found, [answer], [label(answer)], lambda _, variant: [variant])


def other_intervals(found: Together) -> IntervalTable | None:
    """Those of all figures but the one that decides; None where there are none."""
    others = [each for each in shown_answers(found) if not each.is_primary]
    return _intervals(found, others, ["figure", "variant"], lambda answer, variant: [label(answer), variant])


def _intervals(
    found: Together,
    answers: Sequence[MetricAnswer],
    heads: Sequence[str],
    names: Callable[[MetricAnswer, str], list[str]],
) -> IntervalTable | None:
    """A line for each variant of each figure that has an interval."""
    known = [
        ([*names(answer, variant.name), _with_unit(runs.mean if runs else None, answer.metric.unit)], runs)
        for answer in answers
        if any(runs and runs.mean_interval for runs in answer.variants)
        for variant, runs in zip(found.variants, answer.variants, strict=True)
    ]
    kinds = {name: of for name, of in _INTERVALS.items() if any(runs and of(runs) for _, runs in known)}
    if not kinds:
        return None
    rows = [[*line, *(_ends(of, runs) for of in kinds.values())] for line, runs in known]
    return IntervalTable([*heads, "mean", *(f"{_share(found)} of the {name}" for name in kinds)], rows)


def _ends(of: Callable[[OfRuns], Interval | None], runs: OfRuns | None) -> str:
    ends = of(runs) if runs else None
    return f"{significant(ends[0])} to {significant(ends[1])}" if ends else UNKNOWN


def _with_unit(value: float | None, unit: str) -> str:
    """A figure, with the unit that its label does not say."""
    return UNKNOWN if value is None else f"{significant(value)}{unit if unit != 'ms' else ''}"


def _share(found: Together) -> str:
    return f"{100 * (1 - found.level):g} %"


def _interval_table(of: IntervalTable) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for each in of.heads:
        table.add_column(plain(each), overflow="fold")
    for row in of.rows:
        table.add_row(*map(plain, row))
    return table


def _table(found: Together) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    if len(found.variants) <= MOST_COLUMNS:
        table.add_column("Median (range)", overflow="fold")
        for each in found.variants:
            table.add_column(plain(head(each)).replace(" (", "\n("), overflow="fold")
        for answer in shown_answers(found):
            style = "bold" if answer.is_primary else ""
            table.add_row(*(Text(plain(cell), style=style) for cell in (label(answer), *cells(answer))))
        return table
    shown = few_answers(found)
    table.add_column("Variant", overflow="fold")
    for answer in shown:
        table.add_column(plain(label(answer)), overflow="fold")
    for place, each in enumerate(found.variants):
        table.add_row(plain(head(each)), *(plain(cells(answer)[place]) for answer in shown))
    return table


_SHOWN: Final = (
    "records_per_message",
    "bytes_per_message",
    "broker_us_per_message",
    "processed_p50_ms",
    "processed_p99_ms",
    "delay_p99_ms",
    "overtaken_share",
)


def _of_carriers(measured: Sequence[MeasuredCarrier]) -> Table:
    """The medians of what tells most; a page has all of it, with ranges."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    shown = [(place, each) for place, each in enumerate(MEASURES) if each.key in _SHOWN]
    table.add_column("Median", overflow="fold")
    for _, each in shown:
        table.add_column(each.head, justify="right", overflow="fold")
    for one in measured:
        medians = [(each, one.measures[place]) for place, each in shown]
        table.add_row(plain(one.variant), *(each.text(runs.median) if runs else UNKNOWN for each, runs in medians))
    return table


def head(variant: Alike) -> str:
    """A variant and the number of its runs."""
    return f"{variant.name} ({len(variant.runs)} {'runs' if len(variant.runs) > 1 else 'run'})"


def label(answer: MetricAnswer) -> str:
    """A figure with its unit."""
    unit = answer.metric.unit
    return f"{answer.metric.label}, {unit}" if unit == "ms" else answer.metric.label


def cells(answer: MetricAnswer) -> list[str]:
    """Of each variant, and how many of its runs are left out."""
    return [_cell(each, answer.metric.unit, out) for each, out in zip(answer.variants, answer.left_out, strict=True)]


def _cell(runs: OfRuns | None, unit: str, left_out: int) -> str:
    said = _with_unit(runs.median if runs else None, unit)
    if runs is not None and runs.count > 1:
        said += f" ({significant(runs.least)} to {significant(runs.most)})"
    return f"{said}, {left_out} left out" if left_out else said
