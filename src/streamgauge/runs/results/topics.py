"""Topics that runs made on a cluster and that are still there; they alone may go."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from streamgauge.domain.errors import BadInput
from streamgauge.kafka.admin import Cluster
from streamgauge.record.facts import read_facts
from streamgauge.runs.results.folders import run_folders
from streamgauge.scenario import Setting


class MadeTopic(NamedTuple):
    """A topic that a run made and that is still there."""

    topic: str
    run: str
    uuid: str


def made_topics(
    runs: Path, bootstrap: str, connection: Mapping[str, Setting], *, prefix: str = "", delete: bool = False
) -> list[MadeTopic]:
    """The topics with a prefix that runs below a folder made; with `delete` they are removed.

    Raises BrokerError, or BadInput where the folder cannot be looked into.
    """
    cluster = Cluster(bootstrap, connection)
    cluster.reachable()
    found = [made for made in _recorded(runs) if made.topic.startswith(prefix) and _is_there(cluster, made)]
    for made in found if delete else ():
        cluster.delete_topic(made.topic)
    return found


def _recorded(runs: Path) -> Iterator[MadeTopic]:
    """Every topic that a run below a folder says it made; runs that cannot be read say nothing."""
    for folder in run_folders(runs):
        try:
            facts = read_facts(folder)
        except BadInput:
            continue
        yield from (MadeTopic(name, facts.id, uuid) for name, uuid in facts.made.items())


def _is_there(cluster: Cluster, made: MadeTopic) -> bool:
    """Whether the cluster has this very topic, and not another one of its name."""
    return cluster.topic_id(made.topic) == made.uuid
