"""Commands about the machine that measures, and what watches it."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import MEASURE, JsonOption, PlainCommand, QuietOption

app = typer.Typer()


@app.command(cls=PlainCommand, rich_help_panel=MEASURE)
def dashboard(
    rules: Annotated[
        bool, typer.Option("--rules", help="Print recording rules and alerts for Prometheus, as YAML.")
    ] = False,
) -> None:
    """Print a Grafana dashboard for runs with metrics.

    Prometheus scrapes a run that has `--metrics-port`; the dashboard shows it live, and compares it with earlier runs.
    It works without the rules.

    Example: `streamgauge dashboard > streamgauge.json`
    """
    if rules:
        from streamgauge.watch.metrics.rules import rules as rules_text

        typer.echo(rules_text().rstrip())
    else:
        from streamgauge.watch.metrics.dashboard import dashboard as dashboard_text

        typer.echo(dashboard_text())


@app.command(cls=PlainCommand, rich_help_panel=MEASURE)
def doctor(
    as_json: JsonOption = False,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Create Java class data sharing archives, so that brokers and analyses start faster.",
        ),
    ] = False,
) -> None:
    """Check whether this machine is fit for measuring.

    Prints findings, their effects, and remedies. Use `--prepare` when building an image for CI.

    Example: `streamgauge doctor --prepare`

    Exit codes: 0 ready, possibly with warnings; 1 a requirement of runs is missing.
    """
    from streamgauge.cli.machine.doctor import doctor as look

    raise typer.Exit(look(Path("runs"), as_json=as_json, out=typer.echo, prepare=prepare))


@app.command(cls=PlainCommand, rich_help_panel=MEASURE)
def calibrate(
    rates: Annotated[
        str | None,
        typer.Option(metavar="RATES", help="Rates to measure at, separated by commas.", show_default="1k,10k,100k"),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="N", min=1, max=600, help="Length of the measure phase of each run.", show_default="8"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only 1,000 messages a second, for 2 s.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a modelled broker of known behaviour; show the errors.

    Takes one to two minutes, without Kafka. The workers of a run send to and read from a broker modelled in shared
    memory. It delays, stalls, loses, duplicates, reorders and corrupts messages as planned. The errors are stored for
    later runs on this machine.

    Example: `streamgauge calibrate --rates 5k,50k --seconds 20`

    Exit codes: 0 every planted fault was found, and none was invented; 1 failed; 2 bad input; 4 a count differs from
    what was planted; 130 interrupted.
    """
    from streamgauge.cli.display import display_of
    from streamgauge.cli.machine.calibrate import calibrate as measure

    say = display_of(quiet=quiet).say
    raise typer.Exit(measure(rates, seconds, quick=quick, as_json=as_json, out=typer.echo, progress=say))
