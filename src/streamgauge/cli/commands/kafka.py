"""Commands about what runs leave on a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import CLUSTER, KAFKA, ClientConfigOption, JsonOption, PlainCommand

app = typer.Typer()


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
    list_topics(folder, address, connection, prefix=prefix, delete=delete, as_json=as_json, out=typer.echo)
