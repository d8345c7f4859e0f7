"""The commands `broker start`, `status` and `stop`: an embedded broker that outlives the command."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import CLUSTER, PlainCommand, PlainGroup
from streamgauge.domain.limits import MOST_NODES

app = typer.Typer(
    cls=PlainGroup,
    help="Start, list and stop embedded brokers.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the broker; default `broker-1`, `broker-2` and so on."),
]


@app.command(cls=PlainCommand)
def start(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep the data in this folder; otherwise `stop` removes them.", file_okay=False
        ),
    ] = None,
    name: _Name = None,
    brokers: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Brokers of the cluster.", min=1, max=MOST_NODES, rich_help_panel=CLUSTER),
    ] = 1,
    heap: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Java heap of each broker; default `1g`, or `512m` for several.",
            show_default=False,
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    security: Annotated[
        str | None,
        typer.Option(
            metavar="PROTOCOL[:MECHANISM]",
            help="`SSL`, `SASL_PLAINTEXT` or `SASL_SSL`, like `SASL_SSL:PLAIN`.",
            show_default=False,
            rich_help_panel=CLUSTER,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change one value of the section `cluster` of scenarios, e.g. `cluster.controllers=3`. Repeatable.",
            show_default=False,
            rich_help_panel=CLUSTER,
            autocompletion=completion.cluster_settings,
        ),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Start an Apache Kafka broker on this machine, or a cluster of several.

    Prints its address, for `run --bootstrap ADDRESS`; it runs until `broker stop`. With `--security`, prints the option
    that tells clients how to connect, too.

    Example: `streamgauge broker start --data ./kafka-data`
    """
    from streamgauge.cli.kafka.brokers import cluster_settings, start_broker

    start_broker(cluster_settings(brokers, heap, security, settings or []), data, name, as_json=as_json)


@app.command(cls=PlainCommand)
def status(as_json: _Json = False) -> None:
    """List the embedded brokers that run on this machine.

    Example: `streamgauge broker status --json`
    """
    from streamgauge.cli.kafka.brokers import tell_status

    tell_status(as_json=as_json)


@app.command(cls=PlainCommand)
def stop(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Broker to stop; needed if several are running.",
            show_default=False,
            autocompletion=completion.brokers,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Stop every broker that `broker start` started.")] = False,
) -> None:
    """Stop a broker that `broker start` started, with the others of its cluster.

    Removes its data, unless it was started with `--data`.

    Example: `streamgauge broker stop --all`
    """
    from streamgauge.cli.kafka.brokers import stop_brokers

    stop_brokers(name, every=every)
