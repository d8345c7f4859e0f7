"""Commands about scenarios, payloads, and specifications of other tools."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import (
    LOADS,
    OUTPUT,
    AllowCodeOption,
    BatchOption,
    BootstrapOption,
    ClientConfigOption,
    JsonOption,
    KindArgument,
    PlainCommand,
    QuietOption,
    ScenarioCommand,
    SetOption,
    SizeOption,
    TrustOption,
)
from streamgauge.domain.errors import BadInput

app = typer.Typer()


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
    as_json: JsonOption = False,
) -> None:
    """List the shipped scenarios, or print one with all defaults.

    Refuses a scenario that `run` would refuse, except for what depends on the options of `run`, and on files and
    functions that the scenario names: `run --dry-run` looks at those, too.

    Example: `streamgauge scenarios baseline > mine.yaml`
    """
    from streamgauge.runs.request.options import checked_scenario
    from streamgauge.runs.request.scenario_file import described, described_json, json_text, schema_text, yaml_text

    if schema:
        typer.echo(schema_text())
    elif name is None and settings:
        raise BadInput.single("--set", "needs a NAME", "Use: streamgauge scenarios baseline --set ...")
    elif name is None:
        typer.echo(described_json() if as_json else described())
    else:
        written = json_text if as_json else yaml_text
        typer.echo(written(checked_scenario(name, settings or [])))


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

    carry_out(files, tool, out, floor=floor, say=typer.echo)


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
        as_json=as_json, out=typer.echo,
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
        as_json=as_json, out=typer.echo,
    )  # fmt: skip


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
        spec, display_of(quiet=quiet), typer.echo,
        bootstrap=bootstrap, client_config=client_config, out=out, allow_code=allow_code,
    )  # fmt: skip
    raise typer.Exit(code)
