"""The command `topics`: the topics that runs made on a cluster and that are still there; they alone may go."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from streamgauge.cli.results.runs import run_folders
from streamgauge.domain.errors import BadInput
from streamgauge.kafka.admin import Cluster
from streamgauge.record.facts import read_facts
from streamgauge.report.pages.page import page, plain
from streamgauge.scenario import Setting


class Made(NamedTuple):
    """A topic that a run made and that is still there."""

    topic: str
    run: str
    uuid: str


def topics(
    runs: Path,
    bootstrap: str,
    connection: Mapping[str, Setting],
    *,
    prefix: str,
    delete: bool,
    as_json: bool,
    out: Callable[[str], None],
) -> None:
    """Show, and with `delete` remove, the topics that runs below a folder made; raises BrokerError or BadInput."""
    cluster = Cluster(bootstrap, connection)
    cluster.reachable()
    found = [made for made in recorded(runs) if made.topic.startswith(prefix) and is_there(cluster, made)]
    if delete:
        for made in found:
            cluster.delete_topic(made.topic)
    if as_json:
        out(json.dumps([{**made._asdict(), "deleted": delete} for made in found], indent=2))
    elif not found:
        out(f"{bootstrap} has no topic of the runs in {plain(str(runs))}")
    else:
        out(page(_table(found, deleted=delete)))


def recorded(runs: Path) -> Iterator[Made]:
    """Every topic that a run below a folder says it made; runs that cannot be read say nothing."""
    for folder in run_folders(runs):
        try:
            facts = read_facts(folder)
        except BadInput:
            continue
        yield from (Made(name, facts.id, uuid) for name, uuid in facts.made.items())


def is_there(cluster: Cluster, made: Made) -> bool:
    """Whether the cluster has this very topic, and not another one of its name."""
    return cluster.topic_id(made.topic) == made.uuid


def _table(found: list[Made], *, deleted: bool) -> Table:
    table = Table("topic", "made by", "", box=None, pad_edge=False)
    for made in found:
        table.add_row(plain(made.topic), plain(made.run), "deleted" if deleted else "")
    return table
