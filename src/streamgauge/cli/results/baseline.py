"""The command `baseline`: results of runs kept in one file, to compare later runs with."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import PlainCommand, PlainGroup, RunsArgument

app = typer.Typer(cls=PlainGroup, no_args_is_help=True, help="Keep results of runs, to compare later runs with.")


@app.callback()
def baseline() -> None:
    """Keep results of runs, to compare later runs with."""


@app.command(cls=PlainCommand)
def save(
    runs: RunsArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write.")] = Path("baseline.json"),
) -> None:
    """Write the results of runs into one file.

    `check --baseline FILE` and `compare FILE RUN` take it like a folder of runs, so that only one file has to be kept.

    Example: `streamgauge baseline save runs/before --out baseline.json`
    """
    from streamgauge.runs.results.kept import save_baseline

    typer.echo(f"{save_baseline(runs, out)} runs written to {out}")
