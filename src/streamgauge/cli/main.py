"""The command line: options, help, and errors turned into one clear message and an exit code."""

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from streamgauge.cli import completion
from streamgauge.cli.kafka.broker import app as broker
from streamgauge.cli.options import (
    CLUSTER,
    EXPERIMENT,
    METRICS,
    OUTPUT,
    SCENARIO,
    SEARCH,
    UNSAID,
    AllowCodeOption,
    AllowResetOption,
    BatchOption,
    BootstrapOption,
    ClientConfigOption,
    ExperimentsOption,
    FiguresOption,
    JsonLinesOption,
    JsonOption,
    KindArgument,
    MetricOption,
    OrderOption,
    PercentilesOption,
    PlainCommand,
    PlainGroup,
    PlanOption,
    QuietOption,
    RepeatOption,
    RunArgument,
    RunsArgument,
    ScenarioCommand,
    SearchPlanOption,
    SetOption,
    SizeOption,
    TrustOption,
    VaryOption,
)
from streamgauge.cli.results.baseline import app as baseline
from streamgauge.cli.simulate.command import app as simulate
from streamgauge.domain.errors import BadInput, Interrupted, StreamgaugeError
from streamgauge.domain.text.address import LOOPBACK

MEASURE: Final = "Measure"
RESULTS: Final = "Results"
LOADS: Final = "Scenarios and payloads"
KAFKA: Final = "Kafka"

app = typer.Typer(
    name="streamgauge",
    cls=PlainGroup,
    help="Load generator and benchmark for event streams on Apache Kafka.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(broker, name="broker", rich_help_panel=KAFKA)
app.add_typer(baseline, name="baseline", rich_help_panel=RESULTS)
app.add_typer(simulate, name="simulate", rich_help_panel=LOADS)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print_out(f"streamgauge {version('streamgauge')}")
        raise typer.Exit


@app.callback()
def program(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Load generator and benchmark for event streams on Apache Kafka."""


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
            help="Create Java class data sharing archives after the result, so that later brokers, and analyses of up "
            "to 8 million rows, start faster.",
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
    from streamgauge.cli.loads.programs import carry_out_programs, programs_of
    from streamgauge.cli.loads.recorded import recorded_text
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
                show=print_out,
            )
        )
    request = request_of(scenario, options)
    if dry_run:
        from streamgauge.cli.dry_run import forecast

        print_out(forecast(request, notes, as_json=as_json))
        return
    display = display_of(request.target_per_second, quiet=quiet)
    for note in notes:
        display.say(note)
    metrics = metrics_of(request, metrics_address, metrics_port, metrics_names)
    may_prepare = sys.stderr.isatty() if prepare is None else prepare
    ended = run_request(
        request,
        display,
        show=shown_as(print_out, as_json=as_json, percentiles=shown),
        figures=figures,
        percentiles=shown,
        metrics=metrics,
        prepare=may_prepare and bootstrap is None,
        record_only=record_only,
    )
    if record_only:
        print_out(recorded_text(ended.folder))
    raise typer.Exit(ended.code)


@app.command(cls=ScenarioCommand, rich_help_panel=MEASURE)
def experiment(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="A shipped experiment or search, or a YAML file. Without one, the shipped ones are listed.",
            show_default=False,
            autocompletion=completion.experiments,
        ),
    ] = None,
    vary: VaryOption = None,
    settings: SetOption = None,
    repeat: RepeatOption = None,
    order: OrderOption = None,
    metric: MetricOption = None,
    bootstrap: BootstrapOption = None,
    client_config: ClientConfigOption = None,
    out: ExperimentsOption = Path("experiments"),
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Resume the experiment in this folder.",
            show_default=False,
            rich_help_panel=EXPERIMENT,
        ),
    ] = None,
    as_json: JsonOption = False,
    json_lines: JsonLinesOption = False,
    quiet: QuietOption = False,
    allow_reset: AllowResetOption = False,
    allow_code: AllowCodeOption = False,
    trust: TrustOption = None,
    dry_run: PlanOption = False,
) -> None:
    """Run variants of a scenario in turn, and compare them.

    Each round runs all variants in a random order, and the next round in its reverse, so that a drift of the machine
    affects all alike. A verdict needs at least five rounds. Ctrl-C keeps what is done; `--resume` goes on.

    Example: `streamgauge experiment sweep-compression --repeat 10`

    Exit codes: 0 done; 1 runs failed; 2 bad input; 3 an expectation failed; 4 too many runs of a variant
    failed or are not believed, or an expectation cannot be decided; 130 interrupted.
    """
    from streamgauge.cli.display import display_of
    from streamgauge.cli.experiments.command import experiment as carry_out
    from streamgauge.cli.loads.convert import tell_conversion
    from streamgauge.runs.experiment.request import given_keys
    from streamgauge.runs.request.options import RunOptions

    tell_conversion(source, display_of(quiet=quiet).say)
    options = RunOptions(
        settings=settings or [], out=out, command=sys.argv, bootstrap=bootstrap, client_config=client_config,
        allow_reset=allow_reset, allow_code=allow_code, trust=trust or [],
    )  # fmt: skip
    code = carry_out(
        source, resume, vary or [], options, given_keys(repeat=repeat, order=order, metric=metric), dry_run=dry_run,
        as_json=as_json, json_lines=json_lines, quiet=quiet, out=print_out,
    )  # fmt: skip
    raise typer.Exit(code)


@app.command(cls=ScenarioCommand, rich_help_panel=MEASURE)
def sweep(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A shipped scenario, or a YAML file.",
            show_default=False,
            autocompletion=completion.scenarios,
        ),
    ],
    vary: VaryOption = None,
    settings: SetOption = None,
    repeat: RepeatOption = None,
    order: OrderOption = None,
    metric: MetricOption = None,
    bootstrap: BootstrapOption = None,
    client_config: ClientConfigOption = None,
    out: ExperimentsOption = Path("experiments"),
    as_json: JsonOption = False,
    json_lines: JsonLinesOption = False,
    quiet: QuietOption = False,
    allow_reset: AllowResetOption = False,
    allow_code: AllowCodeOption = False,
    trust: TrustOption = None,
    dry_run: PlanOption = False,
) -> None:
    """Run an experiment without a file: vary settings of a scenario.

    Each round runs all variants in a random order, and the next round in its reverse. A verdict needs at least five
    rounds. After Ctrl-C, resume with `streamgauge experiment --resume DIR`.

    Example: `streamgauge sweep baseline --vary load.size=64,1KiB --repeat 10`

    Exit codes: as those of `streamgauge experiment`.
    """
    from streamgauge.cli.display import display_of
    from streamgauge.cli.experiments.command import sweep as carry_out
    from streamgauge.cli.loads.convert import tell_conversion
    from streamgauge.runs.experiment.request import given_keys
    from streamgauge.runs.request.options import RunOptions

    tell_conversion(scenario, display_of(quiet=quiet).say)
    options = RunOptions(
        settings=settings or [], out=out, command=sys.argv, bootstrap=bootstrap, client_config=client_config,
        allow_reset=allow_reset, allow_code=allow_code, trust=trust or [],
    )  # fmt: skip
    code = carry_out(
        scenario, vary or [], options, given_keys(repeat=repeat, order=order, metric=metric), dry_run=dry_run,
        as_json=as_json, json_lines=json_lines, quiet=quiet, out=print_out,
    )  # fmt: skip
    raise typer.Exit(code)


@app.command(cls=ScenarioCommand, rich_help_panel=MEASURE)
def search(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO",
            help="A shipped scenario or search, or a YAML file. Not needed with --resume.",
            show_default=False,
            autocompletion=completion.searches,
        ),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="What has to hold, e.g. `p99 <= 20 ms` or `p99 <= 20 ms over 10s`. Repeatable.",
            show_default=False,
            rich_help_panel=SEARCH,
        ),
    ] = None,
    vary: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Setting to search, e.g. `consume.consumers`.",
            show_default="load.rate",
            rich_help_panel=SEARCH,
            autocompletion=completion.settings,
        ),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH",
            help="The largest or the smallest value that holds.",
            show_default="largest",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="First value to try.",
            show_default="half of an unthrottled run, or SCENARIO's value",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    least: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="Lower limit.", show_default="1", rich_help_panel=SEARCH),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="Upper limit.",
            show_default="10M/s for rates, else 1024; less where SCENARIO cannot have that",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="End when the answer is known this well, relative to it.",
            show_default="5%",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Measure phase of each run; longer where a percentile or window needs it.",
            show_default="10s",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    climb: Annotated[
        str | None,
        typer.Option(
            metavar="MAPPING",
            help="Climb in steps below a high bound instead of bisecting, e.g. `from: 50%, by: 5%`; or `default`.",
            show_default=False,
            rich_help_panel=SEARCH,
        ),
    ] = None,
    settings: SetOption = None,
    bootstrap: BootstrapOption = None,
    client_config: ClientConfigOption = None,
    out: ExperimentsOption = Path("experiments"),
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Resume the search in this folder.", show_default=False, rich_help_panel=OUTPUT
        ),
    ] = None,
    as_json: JsonOption = False,
    json_lines: JsonLinesOption = False,
    quiet: QuietOption = False,
    allow_reset: AllowResetOption = False,
    allow_code: AllowCodeOption = False,
    trust: TrustOption = None,
    dry_run: SearchPlanOption = False,
) -> None:
    """Search for the highest rate at which the objectives hold.

    Any other setting can be searched, too. Doubles the rate until a run does not hold, then bisects. A run holds if
    its objectives do, at least 99 % of the target rate arrives, nothing is lost, and messages do not pile up. A
    doubtful rate is decided by two of three runs. Afterwards it lowers the rate from overload, to see whether the
    system recovers. Ctrl-C keeps what is done; `--resume` goes on.

    Example: `streamgauge search baseline --objective 'p99 <= 20 ms'`

    Exit codes: 0 found, or the upper limit held; 1 runs failed; 2 bad input; 3 not even the lower limit held; 4 too
    many steps; 130 interrupted.
    """
    from streamgauge.cli.display import display_of
    from streamgauge.cli.experiments.search import search as carry_out
    from streamgauge.cli.loads.convert import tell_conversion
    from streamgauge.runs.experiment.request import given_keys
    from streamgauge.runs.request.options import RunOptions

    tell_conversion(scenario, display_of(quiet=quiet).say, is_search=True)
    given = given_keys(
        objectives=objective,
        path=vary,
        find=find,
        start=start,
        least=least,
        most=most,
        width=width,
        step=step,
        climb=climb,
    )
    options = RunOptions(
        settings=settings or [], out=out, command=sys.argv, bootstrap=bootstrap, client_config=client_config,
        allow_reset=allow_reset, allow_code=allow_code, trust=trust or [],
    )  # fmt: skip
    code = carry_out(
        scenario, resume, given, options, dry_run=dry_run, as_json=as_json, json_lines=json_lines, quiet=quiet,
        out=print_out,
    )  # fmt: skip
    raise typer.Exit(code)


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
    show = shown_as(print_out, as_json=as_json, percentiles=shown)
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
    show = shown_as(print_out, as_json=as_json, percentiles=shown)
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

    show(folder, first, as_json=as_json, out=print_out)


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

    show(folder, message, as_json=as_json, out=print_out)


@app.command(cls=ScenarioCommand, rich_help_panel=LOADS)
def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Print this scenario with all defaults.",
            show_default=False,
            autocompletion=completion.scenarios,
        ),
    ] = None,
    settings: SetOption = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scenario files.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """List the shipped scenarios, or print one with all defaults.

    Refuses a scenario that `run` would refuse, except for what depends on the options of `run`, and on files and
    functions that the scenario names: `run --dry-run` looks at those, too.

    Example: `streamgauge scenarios baseline > mine.yaml`
    """
    from streamgauge.runs.request.options import checked_scenario
    from streamgauge.runs.request.scenario_file import described, schema_text, yaml_text

    if schema:
        print_out(schema_text())
    elif name is None and settings:
        raise BadInput.single("--set", "needs a NAME", "Use: streamgauge scenarios baseline --set ...")
    elif name is None:
        print_out(described())
    else:
        print_out(yaml_text(checked_scenario(name, settings or [])))


@app.command(cls=PlainCommand, rich_help_panel=LOADS)
def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Specification of another tool: a file, `-` for standard input, or JSON as it is. Several are joined.",
            show_default=False,
        ),
    ],
    tool: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="TOOL",
            help="Tool that it is for: trogdor, tussle, omb, kafkabench, ssp, mqperf or perf-test.",
            show_default="by content",
            autocompletion=completion.tools,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write it into this file.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    floor: Annotated[
        bool,
        typer.Option("--floor", help="Trogdor: round rates down to whole messages a window, as it does."),
    ] = False,
) -> None:
    """Convert specifications of other tools into a scenario.

    Prints YAML; comments tell what is not translated, is in another unit, or means something else here. Where several
    runs are asked for, it is an experiment. `streamgauge run FILE` and `streamgauge experiment FILE` convert, too.

    Example: `streamgauge convert spec.json -o scenario.yaml`
    """
    from streamgauge.cli.loads.convert import convert as carry_out

    carry_out(files, tool, out, floor=floor, say=print_out)


@app.command(cls=ScenarioCommand, rich_help_panel=LOADS)
def payload(
    kind: KindArgument,
    count: Annotated[
        int, typer.Option("--count", metavar="N", min=0, max=1000, help="Number of messages to show.")
    ] = 3,
    size: SizeOption = None,
    batch: BatchOption = None,
    settings: SetOption = None,
    allow_code: AllowCodeOption = False,
    trust: TrustOption = None,
    as_json: JsonOption = False,
) -> None:
    """Preview the load: first messages, sizes, compression ratios.

    Example: `streamgauge payload json --size 1KiB --count 2`
    """
    from streamgauge.cli.loads.payload import payload as show

    show(
        kind, count, size=size, batch=batch, settings=settings or [], allow_code=allow_code, trust=trust or [],
        as_json=as_json, out=print_out,
    )  # fmt: skip


@app.command(cls=ScenarioCommand, rich_help_panel=LOADS)
def compression(
    kind: KindArgument = "baseline",
    every: Annotated[
        bool, typer.Option("--all", help="Compare random, zeros, text, json, logline and mixed payloads.")
    ] = False,
    size: SizeOption = None,
    batch: BatchOption = None,
    settings: SetOption = None,
    allow_code: AllowCodeOption = False,
    trust: TrustOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compress realistic batches with every codec: ratios, CPU time.

    Example: `streamgauge compression logline --batch 1`
    """
    from streamgauge.cli.loads.payload import compression as show

    show(
        kind, every=every, size=size, batch=batch, settings=settings or [], allow_code=allow_code, trust=trust or [],
        as_json=as_json, out=print_out,
    )  # fmt: skip


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

        print_out(rules_text().rstrip())
    else:
        from streamgauge.watch.metrics.dashboard import dashboard as dashboard_text

        print_out(dashboard_text())


@app.command(cls=PlainCommand, rich_help_panel=MEASURE)
def doctor(
    as_json: JsonOption = False,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Create Java class data sharing archives, so that brokers, and analyses of up to 8 million rows, "
            "start faster.",
        ),
    ] = False,
) -> None:
    """Check whether this machine is fit for measuring.

    Prints findings, their effects, and remedies. Use `--prepare` when building an image for CI.

    Example: `streamgauge doctor --prepare`

    Exit codes: 0 ready, possibly with warnings; 1 a requirement of runs is missing.
    """
    from streamgauge.cli.doctor import doctor as look

    raise typer.Exit(look(Path("runs"), as_json=as_json, out=print_out, prepare=prepare))


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
    from streamgauge.cli.calibrate import calibrate as measure
    from streamgauge.cli.display import display_of

    say = display_of(quiet=quiet).say
    raise typer.Exit(measure(rates, seconds, quick=quick, as_json=as_json, out=print_out, progress=say))


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

    list_runs(folder, as_json=as_json, out=print_out, percentiles=figures_of(percentiles))


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
        compression=compression_file, out=print_out,
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

    write(folder, out, metric=metric, with_csv=csv, as_json=as_json, out=print_out)


@app.command(cls=PlainCommand, rich_help_panel=LOADS)
def trogdor(
    spec: Annotated[
        str,
        typer.Option(
            "--exec",
            "-e",
            metavar="SPEC",
            show_default=False,
            help="A specification, the path of one, or `-` for standard input.",
        ),
    ],
    bootstrap: BootstrapOption = None,
    client_config: ClientConfigOption = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the run folder.", rich_help_panel=OUTPUT)] = Path(
        "runs"
    ),
    quiet: QuietOption = False,
    allow_code: AllowCodeOption = False,
) -> None:
    """Carry out a specification as Trogdor's agent does.

    Prints the status that Trogdor would. Runs on the cluster that the specification names, or on an embedded broker.
    The run folder has all other figures.

    Example: `streamgauge trogdor --exec produce.json`

    Exit codes: 0 the task succeeded; 1 it failed, or cannot be carried out.
    """
    from streamgauge.cli.display import display_of
    from streamgauge.cli.loads.trogdor import trogdor_exec

    code = trogdor_exec(
        spec, display_of(quiet=quiet), print_out,
        bootstrap=bootstrap, client_config=client_config, out=out, allow_code=allow_code,
    )  # fmt: skip
    raise typer.Exit(code)


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
    from streamgauge.cli.results.imported import import_results

    import_results(
        results, out, form=form, unit=unit, latency=latency, patterns=pattern or [], as_json=as_json,
        command=["streamgauge", *sys.argv[1:]], progress=display_of(quiet=quiet).say, out=print_out,
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

    export_run(folder, form, out, progress=display_of(quiet=quiet).say, print_out=print_out)


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

    answer(runs, query, as_csv=as_csv, as_json=as_json, out=print_out)


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

    show(runs, by_partition=by_partition, csv_folder=csv_folder, figures=figures, as_json=as_json, out=print_out)


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

    raise typer.Exit(check_runs(runs, baseline, max_worse, as_json=as_json, junit_file=junit, out=print_out))


@app.command(cls=PlainCommand, rich_help_panel=KAFKA)
def topics(
    bootstrap: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Address of the cluster.", rich_help_panel=CLUSTER)
    ] = None,
    client_config: ClientConfigOption = None,
    folder: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder with run folders.")] = Path("runs"),
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only topics with this prefix.")] = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete the listed topics.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List or delete the topics that runs created on a cluster.

    A topic belongs to a run if the cluster still has it under the topic id that the run recorded: another topic of the
    same name is never touched.

    Example: `streamgauge topics --bootstrap broker-1:9092 --delete`
    """
    from streamgauge.cli.kafka.topics import topics as list_topics
    from streamgauge.runs.request.options import cluster_of

    address, connection = cluster_of(bootstrap, client_config)
    list_topics(folder, address, connection, prefix=prefix, delete=delete, as_json=as_json, out=print_out)


def print_out(text: str) -> None:
    """Print to standard output, which carries results and nothing else."""
    typer.echo(text)


def main() -> None:
    """Run the command line; a foreseen error is one message and an exit code, never a traceback."""
    completion.rejoin(os.environ)
    try:
        app(standalone_mode=True)
    except StreamgaugeError as error:
        sys.exit(_told(error))


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
