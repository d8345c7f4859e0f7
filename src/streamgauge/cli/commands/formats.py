"""Commands that bring results in, take them out, and ask them in SQL."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import (
    OUTPUT,
    RESULTS,
    UNSAID,
    JsonOption,
    PlainCommand,
    QuietOption,
    RunArgument,
    RunsArgument,
)

app = typer.Typer()


@app.command("import", cls=PlainCommand, rich_help_panel=RESULTS)
def import_(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULT", help="Result files of other tools, or folders or ZIP archives of them."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for run folders.")] = Path("runs"),
    form: Annotated[
        str | None,
        typer.Option("--as", metavar="FORMAT", help="Format of the files.", show_default="recognised by content"),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help="Unit of latencies, where the file has none.",
            show_default=False,
            rich_help_panel=UNSAID,
        ),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the latency is, where the file does not say: e.g. `ack.service`.",
            show_default=False,
            rich_help_panel=UNSAID,
        ),
    ] = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REGEX",
            help="Read any text: named groups, like p99_ms, are figures. Repeatable.",
            show_default=False,
            rich_help_panel=UNSAID,
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Import results of other tools as runs, to compare them.

    Takes HdrHistogram logs and percentiles, jHiccup logs, and results of tussle, OpenMessaging Benchmark, Kafka's
    perf-test tools, SSP_kafka, KafkaBench, Trogdor, mqperf, k6 and tlp-stress, and tables of samples. The runs are
    labelled as imported and not judged. Known defects of the tools are marked, and recomputed where possible.

    Example: `streamgauge import results-bench.json --out runs`
    """
    from streamgauge.cli.display import display_of
    from streamgauge.cli.results.imported import import_files

    import_files(
        results, out, form=form, unit=unit, latency=latency, patterns=pattern or [], as_json=as_json,
        command=["streamgauge", *sys.argv[1:]], progress=display_of(quiet=quiet).say, out=typer.echo,
    )  # fmt: skip


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def export(
    folder: RunArgument,
    form: Annotated[
        str,
        typer.Option(
            "--as", metavar="FORMAT", help="omb, hlog, tussle, openmetrics, csv or parquet.", show_default=False
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to write.", show_default="export-FORMAT in the run")
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write a run in a format of another tool.

    `omb` is a result of OpenMessaging Benchmark, `tussle` its metrics.json with histograms, `hlog` interval logs of
    HdrHistogram, `parquet` the tables with a description of their columns. What is not known is left out.

    Example: `streamgauge export runs/20260101-120000-baseline --as omb`
    """
    from streamgauge.cli.display import display_of
    from streamgauge.cli.results.exported import export_run

    export_run(folder, form, out, progress=display_of(quiet=quiet).say, print_out=typer.echo)


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def sql(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Run folders, experiments, or folders of runs.",
            show_default=False,
            autocompletion=completion.run_folders,
        ),
    ],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A query in Spark SQL.", show_default=False)],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.", rich_help_panel=OUTPUT)] = False,
    as_json: JsonOption = False,
) -> None:
    """Query runs in SQL.

    Tables of the analysis are views with the same names. Recorded rows are `events_sent`, `events_received` and so on.
    Each has a column `run`. Experiments also have `runs`, `metrics`, `variants` and `pairs`.

    Example: `streamgauge sql runs "select run, second, p99_ms from latency"`
    """
    from streamgauge.cli.results.sql import sql as answer

    answer(runs, query, as_csv=as_csv, as_json=as_json, out=typer.echo)


@app.command(cls=PlainCommand, rich_help_panel=RESULTS)
def kafkabench(
    runs: RunsArgument,
    by_partition: Annotated[bool, typer.Option("--partitions", help="Also print a line for each partition.")] = False,
    csv_folder: Annotated[
        Path | None,
        typer.Option(
            "--csv", metavar="DIR", help="Append to KafkaBench's CSV files, and to ours beside them.",
            show_default=False, rich_help_panel=OUTPUT,
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Draw charts over partitions; each RUN is a cluster, by its name.",
            show_default=False, rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Show runs as KafkaBench does: its table and its CSV files.

    Figures follow its formulas, also where they mislead; ours are beside them. Takes runs that send a number of bytes
    to each partition, like those of `streamgauge experiment kafkabench`.

    Example: `streamgauge kafkabench experiments/mine --csv results`
    """
    from streamgauge.cli.results.kafkabench import kafkabench as show

    show(runs, by_partition=by_partition, csv_folder=csv_folder, figures=figures, as_json=as_json, out=typer.echo)
