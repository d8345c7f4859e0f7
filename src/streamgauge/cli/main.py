"""The command line: options, help, and errors turned into one clear message and an exit code."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.broker import app as broker
from streamgauge.cli.options import ScenarioCommand
from streamgauge.cli.simulate.command import app as simulate
from streamgauge.domain.errors import BadInput, Interrupted, StreamgaugeError
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.verdict.exits import Exit

app = typer.Typer(
    name="streamgauge",
    help="Load generator and benchmark for event streams on Apache Kafka.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(broker, name="broker")
app.add_typer(simulate, name="simulate")


def _shipped_or_file(incomplete: str) -> list[str]:
    """What a scenario may be called: a shipped name, or a YAML file that is there."""
    from streamgauge.runs.request.scenario_file import shipped

    files = [str(path) for pattern in ("*.yaml", "*.yml") for path in Path().glob(pattern)]
    return [name for name in (*shipped(), *sorted(files)) if name.startswith(incomplete)]


def _kind_or_scenario(incomplete: str) -> list[str]:
    """Whose messages may be looked at: those of a kind of payload, or of a scenario."""
    from streamgauge.scenario.model.content import KINDS

    return [*(kind for kind in KINDS if kind.startswith(incomplete)), *_shipped_or_file(incomplete)]


def _print_version(asked: bool) -> None:
    if asked:
        print_out(f"streamgauge {version('streamgauge')}")
        raise typer.Exit


_RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.", show_default=False)]
_Figures = Annotated[bool, typer.Option("--figures", help="Also write each figure as SVG, PNG and PDF.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Suppress progress output.")]
_ClientConfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Properties file for all clients (librdkafka names), e.g. TLS and SASL."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
_KIND = typer.Argument(
    metavar="KIND_OR_SCENARIO",
    help="A payload type, with the settings of `baseline`; a shipped scenario; or a YAML file.",
    show_default=False,
    autocompletion=_kind_or_scenario,
)
_Size = Annotated[
    str | None, typer.Option("--size", metavar="SIZE", help="Size of values; same as `--set load.size=SIZE`.")
]
_Batch = Annotated[
    int | None,
    typer.Option(
        "--batch", metavar="MESSAGES", min=1, help="Messages in a batch, instead of the estimate from rate and linger."
    ),
]
_Change = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change one value, e.g. `load.client.linger.ms=50`. Repeatable."),
]
_AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Trust this scenario: allow code, access to files, and other machines."),
]
_Trust = Annotated[
    list[Path] | None,
    typer.Option("--trust", metavar="FOLDER", help="Trust functions and files in this folder only. Repeatable."),
]


@app.callback()
def program(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Load generator and benchmark for event streams on Apache Kafka."""


@app.command(cls=ScenarioCommand)
def run(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A shipped scenario, or a YAML file.",
            show_default=False,
            autocompletion=_shipped_or_file,
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Change one value, e.g. `load.rate=20k/s`. Repeatable."),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(
            metavar="JOB",
            help="Pipeline under test: a shipped job, or your function, `package.module:name`.",
        ),
    ] = None,
    bootstrap: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Use this cluster instead of an embedded broker."),
    ] = None,
    client_config: _ClientConfig = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for new run folders.")] = Path("runs"),
    as_json: _Json = False,
    figures: _Figures = False,
    quiet: _Quiet = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT", min=0, max=65535, help="Serve Prometheus metrics during the run; 0 for any free port."
        ),
    ] = None,
    metrics_address: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to serve metrics on.")] = LOOPBACK,
    keep_broker: Annotated[bool, typer.Option(help="Keep the embedded broker running after the run.")] = False,
    prepare: Annotated[
        bool | None,
        typer.Option(
            "--prepare/--no-prepare",
            help="Create Java class data sharing archives after the result, so that later runs start faster.",
            show_default="on a terminal",
        ),
    ] = None,
    allow_reset: Annotated[bool, typer.Option(help="Allow `topic.reset` to delete a topic of your cluster.")] = False,
    allow_code: _AllowCode = False,
    trust: _Trust = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Start nothing; print the resolved scenario and the expected duration and bytes."
        ),
    ] = False,
) -> None:
    """Run a scenario, analyse it and show the result.

    Example: `streamgauge run baseline --set load.rate=20k/s --set phases.measure=10s`

    Exit codes: 0 completed and valid; 1 failed; 2 bad input; 3 an expectation failed; 4 not valid as a measurement; 130
    interrupted.
    """
    from streamgauge.cli.display import display_of, metrics_of, shown_as
    from streamgauge.runs.request.options import job_settings, request_of
    from streamgauge.runs.run import run as run_request

    request = request_of(
        scenario,
        [*job_settings(job), *(settings or [])],
        out,
        command=sys.argv,
        bootstrap=bootstrap,
        client_config=client_config,
        keep_broker=keep_broker,
        allow_reset=allow_reset,
        allow_code=allow_code,
        trust=trust or [],
    )
    if dry_run:
        from streamgauge.cli.dry_run import forecast

        print_out(forecast(request, as_json=as_json))
        return
    display = display_of(request.target_per_second, quiet=quiet)
    metrics = None if metrics_port is None else metrics_of(request, metrics_address, metrics_port)
    may_prepare = sys.stderr.isatty() if prepare is None else prepare
    ended = run_request(
        request,
        display,
        show=shown_as(print_out, as_json=as_json),
        figures=figures,
        metrics=metrics,
        prepare=may_prepare and bootstrap is None,
    )
    raise typer.Exit(ended.code)


@app.command("analyze", hidden=True)
@app.command()
def analyse(
    folder: _RunFolder,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark master, e.g. `spark://host:7077`; local by default.")
    ] = None,
    as_json: _Json = False,
    figures: _Figures = False,
    quiet: _Quiet = False,
) -> None:
    """Recompute the results from the recorded events; no broker needed.

    Example: `streamgauge analyse runs/20260101-120000-baseline`
    """
    from streamgauge.cli.display import display_of, shown_as
    from streamgauge.domain.folder.facts import RunFolder
    from streamgauge.runs.analysis import analyse as analyse_folder
    from streamgauge.runs.request.options import check_analysis

    check_analysis(RunFolder(folder), master)
    say = display_of(quiet=quiet).say
    show = shown_as(print_out, as_json=as_json)
    raise typer.Exit(analyse_folder(RunFolder(folder), say, master=master, show=show, figures=figures))


@app.command()
def report(folder: _RunFolder, as_json: _Json = False, figures: _Figures = False, quiet: _Quiet = False) -> None:
    """Rebuild the report and the exports of a run from its tables; no broker and no Spark needed.

    Writes `report.html`, `summary.md`, `csv/` and `hlog/` into the run folder, and shows the result.

    Example: `streamgauge report runs/20260101-120000-baseline --figures`
    """
    from streamgauge.cli.display import display_of, shown_as
    from streamgauge.domain.folder.facts import RunFolder
    from streamgauge.runs.analysis import report as report_folder

    show = shown_as(print_out, as_json=as_json)
    report_folder(RunFolder(folder), display_of(quiet=quiet).say, show=show, figures=figures)


@app.command(cls=ScenarioCommand)
def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Print this scenario with all defaults.",
            show_default=False,
            autocompletion=_shipped_or_file,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Change one value before printing.")
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of scenario files.")] = False,
) -> None:
    """List the shipped scenarios, or print one with every default written out.

    Refuses a scenario that `run` would refuse, except for what depends on the options of `run`.

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


@app.command(cls=ScenarioCommand)
def payload(
    kind: Annotated[str, _KIND],
    count: Annotated[
        int, typer.Option("--count", metavar="N", min=0, max=1000, help="Number of messages to show.")
    ] = 3,
    size: _Size = None,
    batch: _Batch = None,
    settings: _Change = None,
    allow_code: _AllowCode = False,
    trust: _Trust = None,
    as_json: _Json = False,
) -> None:
    """Preview the load: the first messages, their sizes, and the compression ratios of their batches.

    Example: `streamgauge payload json --size 1KiB --count 2` or `streamgauge payload baseline`
    """
    from streamgauge.cli.payload import payload as show

    show(
        kind, count, size=size, batch=batch, settings=settings or [], allow_code=allow_code, trust=trust or [],
        as_json=as_json, out=print_out,
    )  # fmt: skip


@app.command(cls=ScenarioCommand)
def compression(
    kind: Annotated[str, _KIND] = "baseline",
    every: Annotated[
        bool, typer.Option("--all", help="Compare random, zeros, text, json, logline and mixed payloads.")
    ] = False,
    size: _Size = None,
    batch: _Batch = None,
    settings: _Change = None,
    allow_code: _AllowCode = False,
    trust: _Trust = None,
    as_json: _Json = False,
) -> None:
    """Compress realistic batches with every codec: ratios and CPU time.

    Example: `streamgauge compression baseline --all` or `streamgauge compression logline --batch 1`
    """
    from streamgauge.cli.payload import compression as show

    show(
        kind, every=every, size=size, batch=batch, settings=settings or [], allow_code=allow_code, trust=trust or [],
        as_json=as_json, out=print_out,
    )  # fmt: skip


@app.command()
def doctor(
    as_json: _Json = False,
    prepare: Annotated[
        bool, typer.Option("--prepare", help="Create Java class data sharing archives, so that runs start faster.")
    ] = False,
) -> None:
    """Check whether this machine is fit for measuring: findings, their effects, and remedies.

    Example: `streamgauge doctor`, or `streamgauge doctor --prepare` when building an image for CI

    Exit codes: 0 ready, possibly with warnings; 1 a requirement of runs is missing.
    """
    from streamgauge.cli.doctor import doctor as look

    raise typer.Exit(look(Path("runs"), as_json=as_json, out=print_out, prepare=prepare))


@app.command()
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
    as_json: _Json = False,
    quiet: _Quiet = False,
) -> None:
    """Measure a modelled broker whose behaviour is known, and show the errors: one to two minutes, no Kafka.

    The workers of a run send to and read from a broker modelled in shared memory. It delays, stalls, loses, duplicates,
    reorders and corrupts messages as planned. The errors are stored for later runs on this machine.

    Example: `streamgauge calibrate`, or `streamgauge calibrate --rates 5k,50k --seconds 20`

    Exit codes: 0 every planted fault was found, and none was invented; 1 failed; 2 bad input; 4 a count differs from
    what was planted; 130 interrupted.
    """
    from streamgauge.cli.calibrate import calibrate as measure
    from streamgauge.cli.display import display_of

    say = display_of(quiet=quiet).say
    raise typer.Exit(measure(rates, seconds, quick=quick, as_json=as_json, out=print_out, progress=say))


@app.command()
def runs(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with run folders.")] = Path("runs"),
    as_json: _Json = False,
) -> None:
    """List the runs of a folder, the newest last: verdict, rate, response time, and missing messages.

    Example: `streamgauge runs` or `streamgauge runs --json`
    """
    from streamgauge.cli.runs import runs as list_runs

    list_runs(folder, as_json=as_json, out=print_out)


@app.command()
def topics(
    bootstrap: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Address of the cluster.")] = None,
    client_config: _ClientConfig = None,
    folder: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Folder with run folders.")] = Path("runs"),
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only topics with this prefix.")] = "",
    delete: Annotated[bool, typer.Option("--delete", help="Delete the listed topics.")] = False,
    as_json: _Json = False,
) -> None:
    """List the topics that runs created on a cluster and that still exist; `--delete` deletes them.

    A topic belongs to a run if the cluster still has it under the topic id that the run recorded: another topic of the
    same name is never touched.

    Example: `streamgauge topics --bootstrap broker-1:9092 --prefix streamgauge- --delete`
    """
    from streamgauge.cli.topics import topics as list_topics
    from streamgauge.runs.request.options import cluster_of

    address, connection = cluster_of(bootstrap, client_config)
    list_topics(folder, address, connection, prefix=prefix, delete=delete, as_json=as_json, out=print_out)


def print_out(text: str) -> None:
    """Print to standard output, which carries results and nothing else."""
    typer.echo(text)


def main() -> None:
    """Run the command line; a foreseen error is one message and an exit code, never a traceback."""
    try:
        app(standalone_mode=True)
    except BadInput as error:
        _fail(error)
        sys.exit(Exit.BAD_INPUT)
    except Interrupted as error:
        typer.echo(str(error), err=True)
        sys.exit(Exit.INTERRUPTED)
    except StreamgaugeError as error:
        _fail(error)
        sys.exit(Exit.FAILED)


def _fail(error: StreamgaugeError) -> None:
    from rich.console import Console
    from rich.text import Text

    from streamgauge.report.pages.page import plain

    # Colour only where standard error is a terminal, and NO_COLOR does not forbid it.
    console = Console(stderr=True, highlight=False, emoji=False)
    for each in error.faults if isinstance(error, BadInput) else [error]:
        text = "\n".join(map(plain, str(each).split("\n")))
        console.print(Text.assemble(("error: ", "bold red"), text), soft_wrap=True)
