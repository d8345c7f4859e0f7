"""What `doctor` found, for people: what stands in the way first, and at the end the commands that mend it."""

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from streamgauge.report.pages.page import page, plain
from streamgauge.verdict.fitness import Finding, Status, is_ready

_STYLES: Final[dict[Status, str]] = {"fail": "bold red", "warn": "yellow", "ok": "green", "unknown": "magenta"}
"""The gravest first."""


def diagnosis(found: Sequence[Finding], *, colour: bool | None = None, width: int | None = None) -> str:
    """The findings as text of at most 100 columns; remedies may be longer, for they are never broken."""
    grid = Table.grid(padding=(0, 2))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    order = list(_STYLES)
    ordered = sorted(found, key=lambda each: order.index(each.status))
    for each in ordered:
        style = _STYLES[each.status]
        what = Text(f"{plain(each.found)}\n").append(each.meaning, style="dim")
        grid.add_row(Text(f"  {each.status}", style=style), Text(each.name, style="bold"), what)
    remedies = [f"  {each.name}: {each.remedy}" for each in ordered if each.remedy]
    mend = ["", "Remedies:", *remedies] if remedies else []
    return page(_headline(found), "", grid, *mend, colour=colour, width=width)


def _headline(found: Sequence[Finding]) -> Text:
    word = ("READY", "bold green") if is_ready(found) else ("NOT READY", "bold red")
    counts = ((status, sum(each.status == status for each in found)) for status in _STYLES)
    said = ", ".join(f"{count} {status}" for status, count in counts if count)
    return Text.assemble(word, "  to measure on this machine", (f"; {said}", "dim"))
