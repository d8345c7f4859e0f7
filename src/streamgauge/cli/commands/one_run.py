"""Commands about the results of one run."""

from typing import Annotated

import typer

from streamgauge.cli.options import (
    RESULTS,
    FiguresOption,
    JsonOption,
    PercentilesOption,
    PlainCommand,
    QuietOption,
    RunArgument,
)

app = typer.Typer()


@app.command("analyze", cls=PlainCommand, hidden=True)
@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def analyse(
    folder: RunArgument,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark master, e.g. `spark://host:7077`; local by default.")
    ] = None,
    as_json: JsonOption = False,
    percentiles: PercentilesOption = None,
    figures: FiguresOption = False,
    quiet: QuietOption = False,
) -> None:
    """Recompute the results from the recorded events.

    Needs no broker; writes the report again.

    Example: `streamgauge analyse runs/20260101-120000-baseline`
    """
    from streamgauge.cli.display import display_of, shown_as
    from streamgauge.domain.folder.facts import RunFolder
    from streamgauge.runs.analysis import analyse as analyse_folder
    from streamgauge.runs.request.options import check_analysis
    from streamgauge.runs.request.percentiles import figures_of

    shown = figures_of(percentiles)
    check_analysis(RunFolder(folder), master)
    say = display_of(quiet=quiet).say
    show = shown_as(typer.echo, as_json=as_json, percentiles=shown)
    raise typer.Exit(
        analyse_folder(RunFolder(folder), say, master=master, show=show, figures=figures, percentiles=shown)
    )


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def report(
    folder: RunArgument,
    as_json: JsonOption = False,
    percentiles: PercentilesOption = None,
    figures: FiguresOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the report and the exports of a run again, without Spark.

    Writes `report.html`, `summary.md`, `csv/` and `hlog/` into the run folder from its tables, and shows the result.

    Example: `streamgauge report runs/20260101-120000-baseline --figures`
    """
    from streamgauge.cli.display import display_of, shown_as
    from streamgauge.domain.folder.facts import RunFolder
    from streamgauge.runs.analysis import report as report_folder
    from streamgauge.runs.request.percentiles import figures_of

    shown = figures_of(percentiles)
    show = shown_as(typer.echo, as_json=as_json, percentiles=shown)
    report_folder(RunFolder(folder), display_of(quiet=quiet).say, show=show, figures=figures, percentiles=shown)


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def audit(
    folder: RunArgument,
    first: Annotated[int, typer.Option("--first", metavar="N", min=0, max=600, help="Examples of each class.")] = 3,
    as_json: JsonOption = False,
) -> None:
    """Print the ledger of a run: every class of delivery problems.

    Of each class the count, partitions, seconds and first examples, and what went wrong around each fault. The run must
    have been analysed, which `run` does.

    Example: `streamgauge audit runs/20260101-120000-baseline`
    """
    from streamgauge.cli.results.ledger import audit as show

    show(folder, first, as_json=as_json, out=typer.echo)


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def trace(
    folder: RunArgument,
    message: Annotated[
        str,
        typer.Argument(metavar="MESSAGE", help="PRODUCER:SEQUENCE, or TOPIC/PARTITION@OFFSET.", show_default=False),
    ],
    as_json: JsonOption = False,
) -> None:
    """Print the life of one message, from due to delivered.

    When it was due, sent, acknowledged and received, who led its partition, what was sent again, the commit that
    covered it, and the faults around it. Reads the recorded rows; needs no analysis.

    Example: `streamgauge trace runs/20260101-120000-baseline 0:1234`
    """
    from streamgauge.cli.results.ledger import trace as show

    show(folder, message, as_json=as_json, out=typer.echo)
