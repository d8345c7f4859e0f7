"""Embedded brokers that outlive a command: how they are started, listed and stopped."""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from streamgauge.cluster import outages, registry
from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.named import free_names, meant, nodes_of
from streamgauge.cluster.nodes.security import FOLDER, SecurityFiles
from streamgauge.cluster.registry import Entry
from streamgauge.domain.errors import BadInput
from streamgauge.engine.supervise.plan import Interrupts
from streamgauge.processes.jvm.java import find_java
from streamgauge.processes.places import state_folder
from streamgauge.runs.conduct.prepare import plan_of_settings, security_of, settings_of_cluster
from streamgauge.runs.conduct.waiting import Waiting
from streamgauge.runs.interrupts import noted
from streamgauge.scenario.model.environment.embedded import HEAP


def start_broker(settings: Sequence[str], data: Path | None, name: str | None, *, as_json: bool) -> None:
    """Start a broker, or a cluster of several, and print its address; raises BadInput before anything starts."""
    plan = plan_of_settings(settings)
    names = free_names(name, plan, registry.listing())
    interrupts = Interrupts()
    with (
        noted(interrupts, _progress),
        start_cluster(
            plan,
            logs=_logs(data, names[0]),
            java=find_java(os.environ),
            data=data,
            keep_data=data is not None,
            detached=True,
            names=names,
            progress=_progress,
            check=Waiting(interrupts, why="interrupted before the broker was ready; it was stopped"),
        ) as cluster,
    ):
        typer.echo(json.dumps(_of_cluster(cluster), indent=2) if as_json else cluster.bootstrap)
        if plan.security.is_on and not as_json:
            typer.echo(f"--client-config {cluster.security.client}")


def cluster_settings(brokers: int, heap: str | None, security: str | None, settings: Sequence[str]) -> list[str]:
    """What the options ask of a cluster, as settings of the section `cluster`; those of `--set` come last.

    Raises BadInput that names the option.
    """
    if heap is not None and not re.fullmatch(HEAP, heap):
        raise BadInput.single("--heap", f"{heap!r} is not a heap size of Java", "Write one like `512m` or `1g`")
    return [*settings_of_cluster(brokers, security_of(security, "--security"), heap), *settings]


def tell_status(*, as_json: bool) -> None:
    """Print the embedded brokers that run on this machine."""
    outages.undo()
    running = registry.listing()
    if as_json:
        typer.echo(json.dumps([_facts(entry) for entry in running], indent=2))
    elif not running:
        typer.echo("no broker is running")
    told = set()
    for entry in [] if as_json else running:
        kept = "until it stops" if entry.temporary else "kept"
        nodes = nodes_of(entry, running)
        if len(nodes) > 1 and entry.cluster not in told:
            told.add(entry.cluster)
            typer.echo(f"cluster of {len(nodes)}: --bootstrap {','.join(filter(None, map(_address, nodes)))}")
        serves = _address(entry) or "serves no clients"
        typer.echo(f"{entry.name}  {serves}  process {entry.process.pid}{_owner(entry)}")
        if settings := _client_config(entry):
            typer.echo(f"  --client-config {settings}")
        typer.echo(f"  Apache Kafka {entry.version}, data {entry.data} ({kept}), log {entry.log}")


def stop_brokers(name: str | None, *, every: bool) -> None:
    """Stop the broker of this name with the others of its cluster, or all; raises BadInput where none is meant."""
    if name and every:
        raise BadInput.single("NAME", "cannot be combined with --all", "Leave one of them out")
    outages.undo()
    registry.sweep()
    running = registry.listing()
    chosen = [entry for entry in running if entry.owner is None] if every else meant(name, running)
    for entry in chosen:
        registry.end(entry)
        at = f" at {address}" if (address := _address(entry)) else ""
        typer.echo(f"stopped {entry.name}{at}")
    if not chosen:
        typer.echo("no broker to stop")


def _logs(data: Path | None, name: str) -> Path:
    """Logs lie beside the data that are kept, else where the program keeps its state."""
    return data / "logs" if data else state_folder() / "logs" / name


def _of_cluster(cluster: EmbeddedCluster) -> dict[str, Any]:
    """A single broker, or the brokers of a cluster and its address."""
    nodes = [_facts(each.entry) for each in cluster.nodes]
    return nodes[0] if len(nodes) == 1 else {"bootstrap": cluster.bootstrap, "nodes": nodes}


def _facts(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "bootstrap": _address(entry),
        "version": entry.version,
        "pid": entry.process.pid,
        "owner_pid": entry.owner.pid if entry.owner else None,
        "data": str(entry.data),
        "data_kept": not entry.temporary,
        "log": str(entry.log),
        "client_config": _client_config(entry),
    }


def _client_config(entry: Entry) -> str | None:
    """The file that tells clients how to connect; the first broker of a cluster has it, where anything is guarded."""
    told = SecurityFiles(entry.data / FOLDER).client
    return str(told) if told.exists() else None


def _address(entry: Entry) -> str | None:
    """Where clients connect; nowhere to a controller apart from the brokers."""
    return entry.bootstrap if entry.is_broker else None


def _owner(entry: Entry) -> str:
    return f", until process {entry.owner.pid} ends" if entry.owner else ""


def _progress(text: str) -> None:
    """Tell what goes on, on standard error."""
    typer.echo(text, err=True)
