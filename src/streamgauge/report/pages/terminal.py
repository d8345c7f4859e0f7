"""The result on one screen: the verdict first, then what was run, what was measured, and where it is kept."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.domain.text.bars import Signs
from streamgauge.domain.text.numbers import UNKNOWN
from streamgauge.report.pages import belief, details, pipeline, pressure, terminal_charts, words
from streamgauge.report.pages.page import Unbroken, console_of, struck
from streamgauge.report.pages.pressure import redeliveries, scorecards
from streamgauge.result import Result
from streamgauge.result.model.resources import ResourcesSection
from streamgauge.result.model.verdict import ExpectationResult

GAP: Final = 2
MOST_LINES: Final = 40
"""Of a result that has no more: charts are drawn in the lines that the rest leaves."""

_STYLES: Final = {"fail": "bold red", "warn": "yellow", "unknown": "magenta"}
_JUDGEMENT_STYLES: Final = {True: "bold green", False: "bold red", None: "bold yellow"}
_REASON_WIDTH: Final = 20
_NOT_BELIEVED: Final = "in brackets: not believed"


def summary(
    result: Result,
    folder: Path | None = None,
    *,
    names: Sequence[str] = words.FIGURES,
    signs: Signs | None = None,
    colour: bool | None = None,
    width: int | None = None,
) -> str:
    """The result as text of at most 100 columns, in colour where standard output is a terminal that wants it.

    `folder` is named as the place of the files, `names` are the figures of latencies; rate and latency are drawn with
    `signs`. `colour` and `width` override what the terminal says.
    """
    console = console_of(colour, width)

    def printed(charts: terminal_charts.Charts) -> str:
        return _printed(console, result, str(folder or result.run.id), list(_sections(result, names, charts)))

    text = printed(terminal_charts.NONE)
    if signs is None:
        return text
    left = MOST_LINES - len(text.splitlines())
    # What is longer without charts has to be scrolled anyway.
    return printed(terminal_charts.drawn(result, signs, left if left >= 0 else MOST_LINES))


def _printed(console: Console, result: Result, files: str, sections: Sequence[tuple[str, RenderableType]]) -> str:
    with console.capture() as captured:
        console.print(_screen(result, sections))
        # A path is there to be copied: it is never broken.
        widest = max(len(label) for label, _ in sections)
        console.print(Text.assemble((f"{'Files':<{widest + GAP}}", "bold"), (files, "dim")), soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().split("\n"))


def _screen(result: Result, sections: Sequence[tuple[str, RenderableType]]) -> RenderableType:
    """All but the last line, which names the files."""
    body = Table.grid(padding=(0, GAP))
    body.add_column(no_wrap=True, style="bold")
    body.add_column()
    for label, content in sections:
        body.add_row(label, content)
    return Group(_headline(result), *_parts(result), *_troubled_checks(result), "", body)


def _sections(
    result: Result, names: Sequence[str], charts: terminal_charts.Charts
) -> Iterator[tuple[str, RenderableType]]:
    run, seconds = result.run, result.throughput.measured_seconds
    yield "Run", Text(f"{words.what_was_run(run)}\n{words.on_what(run, seconds)}")
    yield "Throughput", _throughput(result)
    if charts.rates:
        yield "", Text(charts.rates, style="cyan")
    yield "", ""
    yield "Latency, ms", _Latency(words.latency_lines(result.latency, result.trust, names), words.heads(names))
    if charts.histogram:
        yield "", ""
        yield "Histogram", _histogram(charts.histogram)
    if result.steps:
        yield "", ""
        yield "Steps", _steps(result)
    yield "", ""
    yield "Delivery", _delivery(result)
    for label, told in _few_have(result).items():
        yield label, Text(told)
    yield "Resources", Text(_resources(result.resources))
    if result.expectations:
        yield "Expected", _expected(result.expectations)


def _few_have(result: Result) -> dict[str, str]:
    """What few runs have, in a line each."""
    pressed = redeliveries.in_short(result) | pressure.in_short(result) | scorecards.in_short(result)
    return details.also(result) | pipeline.in_short(result) | pressed


def _headline(result: Result) -> Text:
    verdict, run = result.verdict, result.run
    judgement = (belief.judgement(result), _JUDGEMENT_STYLES[belief.is_good(verdict)])
    line = Text.assemble(judgement, "  ", (run.name, "bold"), f", {words.ending(run)}")
    counts = words.checks_counted(verdict.checks)
    return line.append(f"; checks: {counts}" if counts else "; no checks", style="dim")


def _parts(result: Result) -> Iterator[RenderableType]:
    """What to believe and what not, where that is not all."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for label, text in belief.parts(result).items():
        grid.add_row(Text(f"  {label.lower()}", style="bold"), Text(text))
    if grid.row_count:
        yield grid


def _troubled_checks(result: Result) -> Iterator[RenderableType]:
    """What did not pass: the gravest first, each with what was seen and what to do."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for check in words.troubled_checks(result.verdict.checks):
        style = _STYLES[check.status]
        seen = Text(f"{check.evidence}\n").append(check.advice, style="dim")
        about = Text(check.about, style="dim")
        name = Text(words.title(check), style=style).append(f"\n{check.name}", style="not bold dim")
        grid.add_row(Text(f"  {check.status}", style=style), name, about, seen)
    if grid.row_count:
        yield ""
        yield grid


def _throughput(result: Result) -> RenderableType:
    parts = [Text(f"{stage} ").append(struck(rate)) for stage, rate in words.rates(result).items()]
    parts += [Text(data)] if (data := words.megabytes(result.throughput)) else []
    return Unbroken(parts, "   ") if parts else Text(UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Latency:
    """The latencies as a table; as several, one below the other, where the figures have no room side by side."""

    lines: Sequence[words.LatencyLine]
    heads: Sequence[str]

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for place, block in enumerate(self._blocks(options.max_width)):
            yield self._table(block, reasons=place == 0)
        if any(isinstance(figure, belief.Doubted) for line in self.lines for figure in line.figures):
            yield Text(_NOT_BELIEVED, style="dim")

    def _blocks(self, room: int) -> list[list[int]]:
        """The columns of each table: as many as have room, for a figure is never broken."""
        begin = sum(max(len(getattr(line, name)) + GAP for line in self.lines) for name in ("path", "kind"))
        begin += max(min(len(line.reason), _REASON_WIDTH) for line in self.lines)
        wide = (
            max(len(head), *(len(struck(line.figures[column])) for line in self.lines)) + GAP
            for column, head in enumerate(self.heads)
        )
        return in_blocks(list(wide), room - begin)

    def _table(self, columns: Sequence[int], *, reasons: bool) -> Table:
        """A path is named once, in the first of its lines, and so is a reason."""
        table = Table.grid(padding=(0, GAP))
        for _ in ("path", "kind"):
            table.add_column(no_wrap=True)
        for _ in columns:
            table.add_column(justify="right", no_wrap=True)
        table.add_column()
        table.add_row("", "", *(Text(self.heads[column], style="dim") for column in columns))
        above = words.LatencyLine("", "", ())
        for line in self.lines:
            path = "" if line.path == above.path else line.path
            reason = Text(line.reason if reasons and line.reason != above.reason else "", style="dim")
            table.add_row(path, line.kind, *(struck(line.figures[column]) for column in columns), reason)
            above = line
        return table


def in_blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """The places of columns (at least one) in as few blocks as `room` allows, each with about as many."""
    blocks: list[list[int]] = []
    left = 0
    for place, width in enumerate(widths):
        if not blocks or width > left:
            blocks.append([])
            left = room
        blocks[-1].append(place)
        left -= width
    ends = [len(widths) * count // len(blocks) for count in range(len(blocks) + 1)]
    even = [list(range(*pair)) for pair in itertools.pairwise(ends)]
    return even if all(sum(widths[place] for place in block) <= room for block in even) else blocks


def _histogram(rows: Sequence[terminal_charts.Bar]) -> RenderableType:
    table = Table.grid(padding=(0, GAP))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for row in rows:
        table.add_row(Text(row.upto, style="dim"), Text(row.bar, style="cyan"), row.share)
    return table


def _steps(result: Result) -> RenderableType:
    """Each step of the load in a line; response time in ms."""
    table = Table.grid(padding=(0, GAP))
    heads = ("target", "achieved", "p50", "p99", "p99.9", "max", "errors", "held")
    for head in heads:
        table.add_column(justify="left" if head == "held" else "right", no_wrap=head != "held")
    table.add_row(*(Text(head, style="dim") for head in heads))
    for row in details.step_table(result, heads):
        table.add_row(*map(struck, row))
    return Group(table, Text(details.steps_held(result)))


def _delivery(result: Result) -> Text:
    """The account in words: what went well, then every class of trouble that is not empty."""
    well, troubles = words.went_well(result), words.troubles(result)
    out = Text(", ").join(map(_account, well)) if well else Text("not known")
    if troubles:
        return out.append("\n").append(Text(", ").join(map(_trouble, troubles)))
    none = words.no_troubles(result.delivery)
    return out.append(f"\n{none}" if none else "")


def _account(account: words.Account) -> Text:
    return struck(account.count).append(f" {account.words}")


def _trouble(account: words.Account) -> Text:
    text = _account(account)
    text.stylize_before("bold red" if account.grave else "yellow")
    return text


def _resources(resources: ResourcesSection) -> str:
    """CPU by role, what the machine had to spare, pauses of the collector."""
    cores = ", ".join(f"{role} {used}" for role, used in words.cores_by_role(resources.processes))
    spare = words.spare(resources)
    machine = ", ".join(filter(None, [spare and f"machine {spare}", words.pauses(resources)]))
    return "\n".join(filter(None, [cores and f"cores: {cores}", machine])) or UNKNOWN


def _expected(expectations: Sequence[ExpectationResult]) -> Text:
    out = Text(words.passed(expectations))
    for each in expectations:
        if not each.passed:
            out.append(f"\n{each.path} expected {each.wanted}, {words.found(each)}", style="bold red")
    return out
