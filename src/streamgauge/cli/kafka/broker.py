"""The commands `broker start`, `status` and `stop`: an embedded broker that outlives the command."""

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from streamgauge.cli import completion
from streamgauge.cli.options import PlainCommand, PlainGroup
from streamgauge.cluster import registry
from streamgauge.cluster.embedded import start_broker
from streamgauge.cluster.registry import Entry
from streamgauge.domain.errors import BadInput
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import find_java
from streamgauge.processes.places import state_folder
from streamgauge.runs.conduct.waiting import Waiting
from streamgauge.runs.interrupts import noted

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
    heap: Annotated[str, typer.Option(metavar="SIZE", help="Java heap, like `512m` or `1g`.")] = "1g",
    as_json: _Json = False,
) -> None:
    """Start an Apache Kafka broker on this machine.

    Prints its address, for `run --bootstrap ADDRESS`; it runs until `broker stop`.

    Example: `streamgauge broker start --data ./kafka-data`
    """
    if not re.fullmatch(r"[1-9]\d*[kmgKMG]?", heap):
        raise BadInput.single("--heap", f"{heap!r} is not a heap size of Java", "Write one like `512m` or `1g`")
    name = _free_name(name, registry.listing())
    interrupts = Interrupts()
    with (
        noted(interrupts, _progress),
        start_broker(
            logs=_logs(data, name),
            java=find_java(os.environ),
            data=data,
            keep_data=data is not None,
            detached=True,
            name=name,
            heap=heap,
            progress=_progress,
            check=Waiting(interrupts, why="interrupted before the broker was ready; it was stopped"),
        ) as broker,
    ):
        typer.echo(json.dumps(_facts(broker.entry), indent=2) if as_json else broker.bootstrap)


@app.command(cls=PlainCommand)
def status(as_json: _Json = False) -> None:
    """List the embedded brokers that run on this machine.

    Example: `streamgauge broker status --json`
    """
    running = registry.listing()
    if as_json:
        typer.echo(json.dumps([_facts(entry) for entry in running], indent=2))
    elif not running:
        typer.echo("no broker is running")
    for entry in [] if as_json else running:
        kept = "until it stops" if entry.temporary else "kept"
        typer.echo(f"{entry.name}  {entry.bootstrap}  process {entry.process.pid}{_owner(entry)}")
        typer.echo(f"  Apache Kafka {entry.version}, data {entry.data} ({kept}), log {entry.log}")


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
    """Stop a broker that `broker start` started.

    Removes its data, unless it was started with `--data`.

    Example: `streamgauge broker stop --all`
    """
    if name and every:
        raise BadInput.single("NAME", "cannot be combined with --all", "Leave one of them out")
    registry.sweep()
    running = registry.listing()
    chosen = [entry for entry in running if entry.owner is None] if every else _chosen(name, running)
    for entry in chosen:
        registry.end(entry)
        typer.echo(f"stopped {entry.name} at {entry.bootstrap}")
    if not chosen:
        typer.echo("no broker to stop")


def _free_name(asked: str | None, running: list[Entry]) -> str:
    """The name asked for, or the first `broker-N` that is free; raises BadInput for one that is taken or unusable."""
    taken = {entry.name: entry for entry in running}
    if asked is None:
        return next(free for number in range(1, len(taken) + 2) if (free := f"broker-{number}") not in taken)
    if asked in taken:
        what = f"{asked} is already running, at {taken[asked].bootstrap}"
        raise BadInput.single("--name", what, "Choose another name, or stop that broker")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", asked):
        raise BadInput.single("--name", f"{asked!r} is not a name", "Use letters, digits, `-` and `_`")
    return asked


def _chosen(name: str | None, running: list[Entry]) -> list[Entry]:
    """The one broker that is meant; raises BadInput where that is not clear, or not for us to stop."""
    if name is None:
        ours = [entry for entry in running if entry.owner is None]
        if len(ours) > 1:
            names = ", ".join(entry.name for entry in ours)
            raise BadInput.single("NAME", f"several brokers are running: {names}", "Name one of them, or use --all")
        return ours
    named = next((entry for entry in running if entry.name == name), None)
    if named is None:
        names = ", ".join(entry.name for entry in running) or "none"
        raise BadInput.single("NAME", f"no broker {name} is running", f"Running: {names}")
    if named.owner:
        what = f"{name} belongs to process {named.owner.pid}"
        raise BadInput.single("NAME", what, "End that process (a run: with Ctrl-C); its broker stops with it")
    return [named]


def _logs(data: Path | None, name: str) -> Path:
    """Logs lie beside the data that are kept, else where the program keeps its state."""
    return data / "logs" if data else state_folder() / "logs" / name


def _facts(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "bootstrap": entry.bootstrap,
        "version": entry.version,
        "pid": entry.process.pid,
        "owner_pid": entry.owner.pid if entry.owner else None,
        "data": str(entry.data),
        "data_kept": not entry.temporary,
        "log": str(entry.log),
    }


def _owner(entry: Entry) -> str:
    return f", until process {entry.owner.pid} ends" if entry.owner else ""


def _progress(text: str) -> None:
    """Tell what goes on, on standard error."""
    typer.echo(text, err=True)
