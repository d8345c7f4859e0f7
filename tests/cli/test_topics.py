"""`streamgauge topics`: what runs made, and nothing else, is listed and deleted."""

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamgauge.cli.kafka.topics import topics
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.errors import BadInput
from streamgauge.domain.folder.facts import BrokerFacts, Numbered, RunFacts, RunFolder
from streamgauge.kafka.admin import Cluster
from streamgauge.record.facts import write_facts


def noted(runs: Path, name: str, uuids: dict[str, str | None], beside: dict[str, str | None] | None = None) -> None:
    """A run folder that notes these topics, with the ids of those that it made; those beside carry no load."""
    folder = RunFolder(runs / name)
    folder.root.mkdir(parents=True)
    numbered = [Numbered(id=number, name=topic, uuid=uuid) for number, (topic, uuid) in enumerate(uuids.items())]
    write_facts(
        folder,
        RunFacts(
            id=name, name="x", tag=1, created="2026-01-01T00:00:00Z", wall_ns=0, monotonic_ns=0, command=[],
            scenario={}, versions={}, machine={}, broker=BrokerFacts(embedded=False, bootstrap="b:9092"),
            topics=numbered, beside=beside or {}, groups=[],
        ),
    )  # fmt: skip


@pytest.fixture
def made(broker: EmbeddedBroker) -> Iterator[Callable[[str], str]]:
    """Makes topics whose names begin as asked; they are gone after the test."""
    cluster, names = Cluster(broker.bootstrap, {}), []

    def make(begin: str) -> str:
        names.append(f"{begin}-{secrets.token_hex(4)}")
        cluster.create_topic(names[-1], 1, 1)
        return names[-1]

    yield make
    for name in names:
        cluster.delete_topic(name)


@pytest.mark.kafka
def test_only_the_very_topics_that_runs_made_are_deleted(
    broker: EmbeddedBroker, made: Callable[[str], str], tmp_path: Path
) -> None:
    """Not one that was there before, not another of the same name, not one of another prefix."""
    cluster, said = Cluster(broker.bootstrap, {}), list[str]()
    ours, other, before, again = (made(begin) for begin in ("ours", "other", "ours-before", "ours-again"))
    idle, unknown = (made(begin) for begin in ("ours-idle", "ours-unknown"))
    uuids = {ours: cluster.topic_id(ours), other: cluster.topic_id(other), before: None}
    beside = {idle: cluster.topic_id(idle), unknown: None}
    noted(tmp_path, "run-1", {**uuids, again: cluster.topic_id(again)}, beside)
    cluster.delete_topic(again)
    cluster.create_topic(again, 1, 1)
    assert all(uuids[name] for name in (ours, other))

    for delete in (False, True, True):
        topics(tmp_path, broker.bootstrap, {}, prefix="ours", delete=delete, as_json=True, out=said.append)

    assert [[(each["topic"], each["run"], each["deleted"]) for each in json.loads(text)] for text in said] == [
        [(ours, "run-1", False), (idle, "run-1", False)],
        [(ours, "run-1", True), (idle, "run-1", True)],
        [],
    ]
    names = (ours, idle, other, before, again, unknown)
    assert [cluster.partitions_of(name) for name in names] == [None, None, 1, 1, 1, 1]


@pytest.mark.kafka
def test_they_are_shown_as_a_table(broker: EmbeddedBroker, made: Callable[[str], str], tmp_path: Path) -> None:
    """Or it is said that there is none; a folder that is no run does not disturb."""
    said = list[str]()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{", encoding="utf-8")
    topics(tmp_path, broker.bootstrap, {}, prefix="", delete=False, as_json=False, out=said.append)
    name = made("shown")
    noted(tmp_path, "run-1", {name: Cluster(broker.bootstrap, {}).topic_id(name)})
    topics(tmp_path, broker.bootstrap, {}, prefix="", delete=False, as_json=False, out=said.append)

    assert said[0] == f"{broker.bootstrap} has no topic of the runs in {tmp_path}"
    assert name in said[1]
    assert "run-1" in said[1]


@pytest.mark.kafka
def test_a_folder_that_is_not_there_is_bad_input(broker: EmbeddedBroker, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such folder"):
        topics(tmp_path / "no", broker.bootstrap, {}, prefix="", delete=True, as_json=False, out=print)
