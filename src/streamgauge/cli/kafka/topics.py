"""The command `topics`: the topics that runs made on a cluster and that are still there."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.table import Table

from streamgauge.report.pages.page import page, plain
from streamgauge.runs.results.topics import MadeTopic, made_topics
from streamgauge.scenario import Setting


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
    found = made_topics(runs, bootstrap, connection, prefix=prefix, delete=delete)
    if as_json:
        out(json.dumps([{**made._asdict(), "deleted": delete} for made in found], indent=2))
    elif not found:
        out(f"{bootstrap} has no topic of the runs in {plain(str(runs))}")
    else:
        out(page(_table(found, deleted=delete)))


def _table(found: list[MadeTopic], *, deleted: bool) -> Table:
    table = Table("topic", "made by", "", box=None, pad_edge=False)
    for made in found:
        table.add_row(plain(made.topic), plain(made.run), "deleted" if deleted else "")
    return table
