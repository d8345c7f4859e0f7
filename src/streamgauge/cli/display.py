"""How a command shows progress on standard error, and a result on standard output."""

import os
import sys
from collections.abc import Callable, Sequence

import typer

from streamgauge.domain.folder.facts import RunFolder
from streamgauge.domain.text.bars import signs_of
from streamgauge.result import Result
from streamgauge.watch.display import Display, Lines, Quiet, Unfailing, is_live


def display_of(target: float | None = None, *, quiet: bool = False) -> Display:
    """Nothing, a live view on a terminal, or lines; `target` is the target rate of a load."""
    if quiet:
        return Quiet()
    if is_live(os.environ, terminal=sys.stderr.isatty()):
        from rich.console import Console

        from streamgauge.watch.view import View

        return Unfailing(View(target, Console(stderr=True, highlight=False, markup=False, emoji=False)))
    return Unfailing(Lines(target, _line))


def shown_as(
    out: Callable[[str], None], *, as_json: bool, percentiles: Sequence[str] | None = None
) -> Callable[[RunFolder, Result], None]:
    """Shows a result: as JSON, or as one screen with these percentiles, drawn where standard output is a terminal."""

    def show(folder: RunFolder, result: Result) -> None:
        from streamgauge.report.pages.terminal import summary
        from streamgauge.report.pages.words import FIGURES

        signs = signs_of(
            terminal=sys.stdout.isatty(), term=os.environ.get("TERM", ""), encoding=sys.stdout.encoding or ""
        )
        out(result.text() if as_json else summary(result, folder.root, names=percentiles or FIGURES, signs=signs))

    return show


def _line(text: str) -> None:
    typer.echo(text, err=True)
