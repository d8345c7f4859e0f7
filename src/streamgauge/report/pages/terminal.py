"""The result on one screen: the verdict first, then what was run, what was measured, and where it is kept."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streamgauge.domain.text.numbers import UNKNOWN
from streamgauge.report.pages import belief, details, passage, pressure, words
from streamgauge.report.pages.page import console_of, struck
from streamgauge.result import Result
from streamgauge.result.model.resources import ResourcesSection
from streamgauge.result.model.verdict import ExpectationResult

GAP: Final = 2

_STYLES: Final = {"fail": "bold red", "warn": "yellow", "unknown": "magenta"}
_JUDGEMENT_STYLES: Final = {True: "bold green", False: "bold red", None: "bold yellow"}
_NOT_BELIEVED: Final = "in brackets: not believed"


def summary(result: Result, folder: Path | None = None, *, colour: bool | None = None, width: int | None = None) -> str:
    """The result as text of at most 100 columns, in colour where standard output is a terminal that wants it.

    `folder` is named as the place of the files; `colour` and `width` override what the terminal says.
    """
    console = console_of(colour, width)
    with console.capture() as captured:
        console.print(screen(result))
        # A path is there to be copied: it is never broken.
        files = str(folder or result.run.id)
        widest = max(len(label) for label, _ in _sections(result))
        console.print(Text.assemble((f"{'Files':<{widest + GAP}}", "bold"), (files, "dim")), soft_wrap=True)
    return "\n".join(line.rstrip() for line in captured.get().rstrip().split("\n"))


def screen(result: Result) -> RenderableType:
    """All but the last line, which names the files."""
    body = Table.grid(padding=(0, GAP))
    body.add_column(no_wrap=True, style="bold")
    body.add_column()
    for label, content in _sections(result):
        body.add_row(label, content)
    return Group(_headline(result), *_parts(result), *_troubled_checks(result), "", body)


def _sections(result: Result) -> Iterator[tuple[str, RenderableType]]:
    run, seconds = result.run, result.throughput.measured_seconds
    yield "Run", Text(f"{words.what_was_run(run)}\n{words.on_what(run, seconds)}")
    yield "Throughput", _throughput(result)
    yield "", ""
    yield "Latency, ms", _latency(result)
    yield "", ""
    yield "Delivery", _delivery(result)
    for label, told in (details.also(result) | passage.in_short(result) | pressure.in_short(result)).items():
        yield label, Text(told)
    yield "Resources", Text(_resources(result.resources))
    if result.expectations:
        yield "Expected", _expected(result.expectations)


def _headline(result: Result) -> Text:
    verdict, run = result.verdict, result.run
    judgement = (belief.judgement(verdict), _JUDGEMENT_STYLES[belief.is_good(verdict)])
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


def _throughput(result: Result) -> Text:
    parts = [Text(f"{stage} ").append(struck(rate)) for stage, rate in words.rates(result).items()]
    parts += [Text(data)] if (data := words.megabytes(result.throughput)) else []
    return Text("   ").join(parts) if parts else Text(UNKNOWN)


def _latency(result: Result) -> RenderableType:
    """A path is named once, in the first of its lines."""
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=justify == "right")
    table.add_row("", "", *(Text(head, style="dim") for head in words.FIGURE_HEADS))
    above = ""
    lines = words.latency_lines(result.latency, result.trust)
    for line in lines:
        path = "" if line.path == above else line.path
        table.add_row(path, line.kind, *map(struck, line.figures), Text(line.reason, style="dim"))
        above = line.path
    is_doubted = any(isinstance(figure, belief.Doubted) for line in lines for figure in line.figures)
    return Group(table, Text(_NOT_BELIEVED, style="dim")) if is_doubted else table


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
