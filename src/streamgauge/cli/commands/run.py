"""The command that carries out one run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import (
    CLUSTER,
    MEASURE,
    METRICS,
    OUTPUT,
    SCENARIO,
    AllowCodeOption,
    AllowResetOption,
    BootstrapOption,
    ClientConfigOption,
    FiguresOption,
    JsonOption,
    PercentilesOption,
    QuietOption,
    ScenarioCommand,
    SetOption,
    TrustOption,
)
from streamgauge.domain.text.address import LOOPBACK

app = typer.Typer()


@app.command(cls=ScenarioCommand, rich_help_panel=MEASURE)
def run(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A shipped scenario, a YAML file, or a specification of another tool.",
            show_default=False,
            autocompletion=completion.scenarios,
        ),
    ],
    settings: SetOption = None,
    job: Annotated[
        str | None,
        typer.Option(
            metavar="JOB",
            help="Pipeline under test: a shipped job, or your function, `package.module:name`.",
            rich_help_panel=SCENARIO,
            autocompletion=completion.jobs,
        ),
    ] = None,
    bootstrap: BootstrapOption = None,
    client_config: ClientConfigOption = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for new run folders.", rich_help_panel=OUTPUT)
    ] = Path("runs"),
    as_json: JsonOption = False,
    percentiles: PercentilesOption = None,
    figures: FiguresOption = False,
    record_only: Annotated[
        bool,
        typer.Option(
            "--record-only",
            help="Record the run without analysing it. Analyse it later, on any machine, with `streamgauge analyse`.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    quiet: QuietOption = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Serve Prometheus metrics until the report is written; 0 for any free port.",
            rich_help_panel=METRICS,
        ),
    ] = None,
    metrics_address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to serve metrics on.", rich_help_panel=METRICS)
    ] = LOOPBACK,
    metrics_names: Annotated[
        str,
        typer.Option(
            metavar="TOOL", help="Whose names the metrics have: streamgauge or mqperf.", rich_help_panel=METRICS
        ),
    ] = "streamgauge",
    keep_broker: Annotated[
        bool,
        typer.Option("--keep-broker", help="Keep the embedded broker running after the run.", rich_help_panel=CLUSTER),
    ] = False,
    prepare: Annotated[
        bool | None,
        typer.Option(
            "--prepare/--no-prepare",
            help="Create Java class data sharing archives after the result, so that later brokers and analyses start "
            "faster.",
            show_default="on a terminal",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    allow_reset: AllowResetOption = False,
    allow_code: AllowCodeOption = False,
    trust: TrustOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Start nothing; print the resolved scenario and the expected duration and bytes.",
            rich_help_panel=SCENARIO,
        ),
    ] = False,
) -> None:
    """Run a scenario, analyse it and show the result.

    Example: `streamgauge run baseline --set load.rate=20k/s`

    Exit codes: 0 completed and valid; 1 failed; 2 bad input; 3 an expectation failed; 4 not valid as a measurement; 130
    interrupted.
    """
    from streamgauge.cli.display import display_of, shown_as
    from streamgauge.cli.loads.programs import carry_out_programs
    from streamgauge.cli.loads.recorded import recorded_text
    from streamgauge.runs.foreign.programs import programs_of
    from streamgauge.runs.request.options import RunOptions, job_settings, request_of
    from streamgauge.runs.request.percentiles import figures_of
    from streamgauge.runs.request.recording import check_record_only
    from streamgauge.runs.request.scenario_file import conversion_notes
    from streamgauge.runs.run import metrics_of
    from streamgauge.runs.run import run as run_request

    shown = figures_of(percentiles)
    if record_only:
        check_record_only({"--json": as_json, "--figures": figures, "--percentiles": bool(percentiles)})
    options = RunOptions(
        settings=[*job_settings(job), *(settings or [])],
        out=out,
        command=sys.argv,
        bootstrap=bootstrap,
        client_config=client_config,
        keep_broker=keep_broker,
        allow_reset=allow_reset,
        allow_code=allow_code,
        trust=trust or [],
    )
    notes = conversion_notes(scenario)
    if programs := programs_of(scenario, settings or []):
        raise typer.Exit(
            carry_out_programs(
                programs,
                scenario,
                out,
                notes,
                allow_code=allow_code,
                dry_run=dry_run,
                as_json=as_json,
                say=display_of(quiet=quiet).say,
                show=typer.echo,
            )
        )
    request = request_of(scenario, options)
    metrics = metrics_of(request, metrics_address, metrics_port, metrics_names)
    if dry_run:
        from streamgauge.cli.dry_run import forecast

        typer.echo(forecast(request, notes, as_json=as_json))
        return
    display = display_of(request.target_per_second, quiet=quiet)
    for note in notes:
        display.say(note)
    may_prepare = sys.stderr.isatty() if prepare is None else prepare
    ended = run_request(
        request,
        display,
        show=shown_as(typer.echo, as_json=as_json, percentiles=shown),
        figures=figures,
        percentiles=shown,
        metrics=metrics,
        prepare=may_prepare and bootstrap is None,
        record_only=record_only,
    )
    if record_only:
        typer.echo(recorded_text(ended.folder))
    raise typer.Exit(ended.code)
