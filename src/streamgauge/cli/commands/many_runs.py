"""Commands that list, compare and check runs."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import (
    OUTPUT,
    RESULTS,
    JsonOption,
    MetricOption,
    PercentilesOption,
    PlainCommand,
    RunsArgument,
)

app = typer.Typer()


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with run folders.")] = Path("runs"),
    as_json: JsonOption = False,
    percentiles: PercentilesOption = None,
) -> None:
    """List the runs of a folder, the newest last.

    Shows verdict, rate, response time, and missing messages of each.

    Example: `streamgauge runs --percentiles p50,p99.9`
    """
    from streamgauge.cli.results.runs import runs as list_runs
    from streamgauge.runs.request.percentiles import figures_of

    list_runs(folder, as_json=as_json, out=typer.echo, percentiles=figures_of(percentiles))


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def compare(
    runs: RunsArgument,
    metric: MetricOption = None,
    as_json: JsonOption = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a pull request.", rich_help_panel=OUTPUT)
    ] = False,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Print the result table of another tool instead: mqperf.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print that table as CSV.", rich_help_panel=OUTPUT)] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write a page with figures.", show_default=False, rich_help_panel=OUTPUT
        ),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write a LaTeX table, for booktabs.", show_default=False, rich_help_panel=OUTPUT
        ),
    ] = None,
    compression_file: Annotated[
        Path | None,
        typer.Option(
            "--compression",
            metavar="FILE",
            help="Draw these ratios in the page, too: output of `streamgauge compression --all --json`.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Compare runs: in what they differ, and by how much.

    Runs with the same settings form a variant. If all settings are the same, each RUN forms one. Variants are said to
    differ only if the runs show it, which takes at least five runs of each.

    Example: `streamgauge compare runs/before runs/after`
    """
    from streamgauge.cli.results.compare import compare as compare_runs

    compare_runs(
        runs, metric=metric, as_json=as_json, as_markdown=markdown, as_csv=as_csv, table=table, html=html, latex=latex,
        compression=compression_file, out=typer.echo,
    )  # fmt: skip


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def site(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with runs and experiments.")] = Path("runs"),
    out: Annotated[
        Path, typer.Option(metavar="SITE", help="Folder to write; an earlier page in it is updated.")
    ] = Path("site"),
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Figure whose trends are shown: its path in result.json.",
            show_default="p99 of the response time",
        ),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Also copy the CSV files of the runs.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a page of all runs, which works offline and from disk.

    Filter and sort all runs below DIR, compare those that you tick, and see how figures went over time and where they
    changed. Reports and results are copied.

    Example: `streamgauge site runs --out public`
    """
    from streamgauge.cli.results.site import site as write

    write(folder, out, metric=metric, with_csv=csv, as_json=as_json, out=typer.echo)


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def check(
    runs: RunsArgument,
    baseline: Annotated[
        list[Path],
        typer.Option(
            metavar="RUN",
            help="Compare with this experiment, run, folder of runs, result.json, or saved baseline. Repeatable.",
            show_default=False,
            autocompletion=completion.run_folders,
        ),
    ],
    max_worse: Annotated[
        list[str],
        typer.Option(
            metavar="FIGURE=SHARE",
            help="How much worse a figure may be, e.g. `p99=10%` or `received=2%`. Repeatable.",
            show_default=False,
        ),
    ],
    as_json: JsonOption = False,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write JUnit XML.", show_default=False, rich_help_panel=OUTPUT),
    ] = None,
) -> None:
    """Check that runs are no worse than a baseline, within limits.

    The 95 % interval of the ratio decides, so one noisy run fails no check. In experiments, each variant is compared
    with the same variant of the baseline, paired by round if the runs of both alternated. In GitHub Actions, adds
    annotations and a summary.

    Example: `streamgauge check runs/now --baseline runs/before --max-worse p99=10%`

    Exit codes: 0 all are within their limits; 2 bad input; 3 a figure is shown to be worse; 4 a figure cannot be
    judged, for example because of too few runs.
    """
    from streamgauge.cli.results.check import check as check_runs

    raise typer.Exit(check_runs(runs, baseline, max_worse, as_json=as_json, junit_file=junit, out=typer.echo))
