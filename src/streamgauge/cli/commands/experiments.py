"""Commands that carry out many runs: experiments, sweeps and searches."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import (
    EXPERIMENT,
    MEASURE,
    OUTPUT,
    SEARCH,
    AllowCodeOption,
    AllowResetOption,
    BootstrapOption,
    ClientConfigOption,
    ExperimentsOption,
    JsonLinesOption,
    JsonOption,
    MetricOption,
    OrderOption,
    PlanOption,
    QuietOption,
    RepeatOption,
    ScenarioCommand,
    SearchPlanOption,
    SetOption,
    TrustOption,
    VaryOption,
)

app = typer.Typer()


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
        as_json=as_json, json_lines=json_lines, quiet=quiet, out=typer.echo,
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
        as_json=as_json, json_lines=json_lines, quiet=quiet, out=typer.echo,
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

    Exit codes: 0 found, or the upper limit held; 1 runs failed; 2 bad input; 3 not even the lower limit held; 4 no run
    failed for certain, or too many steps; 130 interrupted.
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
        out=typer.echo,
    )  # fmt: skip
    raise typer.Exit(code)
