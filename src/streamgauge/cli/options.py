"""Options that commands share, and keys of a scenario given as options, whose answer is the `--set` to use."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from streamgauge.cli import completion
from streamgauge.domain.errors import BadInput, Fault

HELP_OPTION: Final = "--help"
_NO_BRACES: Final = str.maketrans("", "", "{}")


SCENARIO: Final = "Scenario"
SEARCH: Final = "Search"
EXPERIMENT: Final = "Experiment"
CLUSTER: Final = "Cluster"
OUTPUT: Final = "Output"
UNSAID: Final = "What the files do not say"
METRICS: Final = "Metrics"
PERMISSIONS: Final = "Permissions"
HELP: Final = "Help"

MEASURE: Final = "Measure"
RESULTS: Final = "Results"
LOADS: Final = "Scenarios and payloads"
KAFKA: Final = "Kafka"

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="Run folder.", show_default=False, autocompletion=completion.run_folders)
]
RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN",
        help="Run folders, or folders of runs.",
        show_default=False,
        autocompletion=completion.run_folders,
    ),
]
KindArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND_OR_SCENARIO",
        help="A payload type, with the settings of `baseline`; a shipped scenario; or a YAML file.",
        show_default=False,
        autocompletion=completion.kinds,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change one value, e.g. `load.rate=20k/s`. Repeatable.",
        rich_help_panel=SCENARIO,
        autocompletion=completion.settings,
    ),
]
VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH=VALUES",
        help="Vary one setting, e.g. `load.size=64,256,1KiB`. Repeated, all combinations are run.",
        show_default=False,
        rich_help_panel=SCENARIO,
        autocompletion=completion.settings,
    ),
]
SizeOption = Annotated[
    str | None,
    typer.Option(
        "--size", metavar="SIZE", help="Size of values; same as `--set load.size=SIZE`.", rich_help_panel=SCENARIO
    ),
]
BatchOption = Annotated[
    int | None,
    typer.Option(
        "--batch",
        metavar="MESSAGES",
        min=1,
        help="Messages in a batch, instead of the estimate from rate and linger.",
        rich_help_panel=SCENARIO,
    ),
]
ClientConfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Properties file for all clients (librdkafka names), e.g. TLS and SASL.",
        rich_help_panel=CLUSTER,
    ),
]
BootstrapOption = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Use this cluster instead of an embedded broker.", rich_help_panel=CLUSTER),
]
AllowResetOption = Annotated[
    bool,
    typer.Option(
        "--allow-reset", help="Allow `topic.reset` to delete a topic of your cluster.", rich_help_panel=PERMISSIONS
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH", help="Figure to compare, by its path in result.json.", show_default="p99 of the response time"
    ),
]
RepeatOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=1000,
        help="Rounds: runs of each variant.",
        show_default="5, or EXPERIMENT's",
        rich_help_panel=EXPERIMENT,
    ),
]
OrderOption = Annotated[
    str | None,
    typer.Option(
        metavar="ORDER",
        help="Order of runs: interleaved, blocks or as-written.",
        show_default="interleaved, or EXPERIMENT's",
        rich_help_panel=EXPERIMENT,
    ),
]
ExperimentsOption = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for new experiments.", rich_help_panel=OUTPUT)
]
JsonLinesOption = Annotated[
    bool, typer.Option("--json-lines", help="Print one line of JSON for each run.", rich_help_panel=OUTPUT)
]
PlanOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Start nothing; print the runs in their order, and the expected duration and bytes.",
        rich_help_panel=SCENARIO,
    ),
]
SearchPlanOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Start nothing; print what would be searched, how many runs that may take, and how long.",
        rich_help_panel=SCENARIO,
    ),
]
AllowCodeOption = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Trust this scenario: allow code, access to files, and other machines.",
        rich_help_panel=PERMISSIONS,
    ),
]
TrustOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--trust",
        metavar="FOLDER",
        help="Trust functions and files in this folder only. Repeatable.",
        rich_help_panel=PERMISSIONS,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)]
PercentilesOption = Annotated[
    str | None,
    typer.Option(
        "--percentiles",
        metavar="LIST",
        help="Figures of latencies to show, e.g. `p50,p99.99,max`.",
        rich_help_panel=OUTPUT,
        autocompletion=completion.figures,
    ),
]
FiguresOption = Annotated[
    bool, typer.Option("--figures", help="Also write each figure as SVG, PNG and PDF.", rich_help_panel=OUTPUT)
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Suppress progress output.", rich_help_panel=OUTPUT)]


def plain_parameters(parameters: list[Any]) -> list[Any]:
    """Parameters as the help shows them: no type beside a flag or an argument, whose name says it."""
    for each in parameters:
        if isinstance(each, TyperOption) and each.is_flag:
            each.metavar = ""
        if isinstance(each, TyperArgument):
            each.display_type_rich = lambda ctx: None  # type: ignore[method-assign]  # noqa: ARG005 - as typer calls it
    return parameters


class PlainCommand(TyperCommand):
    """A command whose help has no more signs than people need."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, and the option for help, which comes last."""
        parameters = plain_parameters(super().get_params(ctx))
        for each in parameters:
            if HELP_OPTION in each.opts:
                each.rich_help_panel = HELP
        return parameters

    def get_usage(self, ctx: Any) -> str:
        """The usage without the braces of what must be given."""
        return super().get_usage(ctx).translate(_NO_BRACES)


class PlainGroup(TyperGroup):
    """A group of commands whose help has no more signs than people need."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, and the option for help."""
        return plain_parameters(super().get_params(ctx))


class ScenarioCommand(PlainCommand):
    """A command that takes a scenario and `--set`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; raises BadInput with every option that is a key of a scenario."""
        known = {option for each in self.get_params(ctx) for option in (*each.opts, *each.secondary_opts)}
        if not ctx.resilient_parsing and (faults := list(keys_as_options(args, known))):
            raise BadInput(faults)
        return super().parse_args(ctx, args)


def keys_as_options(args: Sequence[str], known: set[str]) -> Iterator[Fault]:
    """The fault of each option that is not known, and is a key of a scenario."""
    from streamgauge.scenario.misplaced.places import option_fault

    for place, argument in enumerate(args):
        if argument == "--":
            return
        option, equals, value = argument.partition("=")
        if len(option) <= len("-x") or not option.startswith("-") or option in known:
            continue
        following = args[place + 1] if len(args) > place + 1 and not args[place + 1].startswith("-") else None
        if fault := option_fault(option, value if equals else following):
            yield fault
