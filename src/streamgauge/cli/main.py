"""The command line: its commands, and errors turned into one clear message and an exit code."""

import os
import sys
from typing import Annotated

import typer

from streamgauge.cli import completion
from streamgauge.cli.commands import experiments, formats, kafka, loads, machine, many_runs, one_run, run
from streamgauge.cli.kafka import broker
from streamgauge.cli.options import KAFKA, LOADS, RESULTS, PlainGroup
from streamgauge.cli.results import baseline
from streamgauge.cli.simulate import command as simulate
from streamgauge.domain.errors import BadInput, Fault, Interrupted, StreamgaugeError

app = typer.Typer(
    name="streamgauge",
    cls=PlainGroup,
    help="Load generator and benchmark for event streams on Apache Kafka.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (run, experiments, machine, one_run, many_runs, formats, loads, kafka):
    app.add_typer(commands.app)
app.add_typer(baseline.app, name="baseline", rich_help_panel=RESULTS)
app.add_typer(simulate.app, name="simulate", rich_help_panel=LOADS)
app.add_typer(broker.app, name="broker", rich_help_panel=KAFKA)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"streamgauge {version('streamgauge')}")
        raise typer.Exit


@app.callback()
def program(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Load generator and benchmark for event streams on Apache Kafka."""


def main() -> None:
    """Run the command line; a foreseen error is one message and an exit code, never a traceback."""
    completion.rejoin(os.environ)
    try:
        code = app(standalone_mode=False)
    except StreamgaugeError as error:
        code = _told(error)
    except typer.TyperException as error:
        code = _told(BadInput(_misused(error)))
    sys.exit(code)


def _misused(error: typer.TyperException) -> list[Fault]:
    """What is wrong with the words of a call; nothing where they ask for help, which was printed already."""
    context = getattr(error, "ctx", None)
    where = str(context.command_path if context else app.info.name)
    what, _, mend = error.format_message().strip().rstrip(".").partition(". ")
    return [Fault(where, what, mend or f"See `{where} -h`")] if what else []


def _told(error: StreamgaugeError) -> int:
    """Tell an error; returns its exit code."""
    from streamgauge.verdict.exits import Exit

    if isinstance(error, Interrupted):
        typer.echo(str(error), err=True)
        return Exit.INTERRUPTED
    _fail(error)
    return Exit.BAD_INPUT if isinstance(error, BadInput) else Exit.FAILED


def _fail(error: StreamgaugeError) -> None:
    from rich.console import Console
    from rich.text import Text

    from streamgauge.report.pages.page import plain

    # Colour only where standard error is a terminal, and NO_COLOR does not forbid it.
    console = Console(stderr=True, highlight=False, emoji=False)
    for each in error.faults if isinstance(error, BadInput) else [error]:
        text = "\n".join(map(plain, str(each).split("\n")))
        console.print(Text.assemble(("error: ", "bold red"), text), soft_wrap=True)
