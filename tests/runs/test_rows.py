"""What the parent records of the end of a run that its user does not want to wait for."""

from pathlib import Path
from typing import Any

import pytest

from streamgauge.domain.errors import BrokerError, Interrupted
from streamgauge.domain.folder.facts import RunFolder
from streamgauge.engine.fake import FakeOffsets
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.runs.conduct.conduct import _ask_final
from streamgauge.runs.conduct.topics import Topics
from streamgauge.runs.rows.log import record_source
from streamgauge.runs.rows.parent import ask_stands
from streamgauge.scenario import parse


class Impatient:
    """A cluster whose user waits for none of its answers."""

    def check(self) -> None:
        raise Interrupted("enough")

    def __getattr__(self, name: str) -> Any:
        def ask(*_: object) -> None:
            self.check()

        return ask


def topics() -> Topics:
    cluster: Any = Impatient()
    return Topics(cluster, parse({"name": "x", "pipeline": {"job": "pass"}}), ("g",), lambda: None, starts=[0])


def test_log_ends_that_nobody_waited_for_interrupt_the_run() -> None:
    outcome = Outcome()

    assert _ask_final(topics(), outcome) is None

    assert outcome.ending == "interrupted"
    assert outcome.reasons == ["log ends at the end of the run are not known: enough"]


class Standing:
    """A cluster that answers at once: each offset tells of which place it is, and of which topics it was asked."""

    def offsets(self, topics: tuple[str, ...], partitions: int, groups: tuple[str, ...] = ()) -> Any:
        ends = list(range(10, 10 + len(topics) * partitions))
        return FakeOffsets(ends, [[each - group for each in ends] for group, _ in enumerate(groups)])


@pytest.mark.parametrize(
    ("pipeline", "done", "committed"),
    [
        (None, [], {0: [10, 11, 12], 1: [9, 10, 11]}),
        ({"job": "pass"}, [5, 6, 7], {0: [*range(10, 16)], 1: [*range(9, 15)], 2: [5, 6, 7, None, None, None]}),
    ],
)
def test_how_far_a_query_is_stands_behind_the_commits_of_groups(
    pipeline: dict[str, Any] | None, done: list[int], committed: dict[int, list[int | None]]
) -> None:
    """It is told, not asked: a query commits to its checkpoint, and so the cluster does not know."""
    cluster: Any = Standing()
    mapping = {"name": "x", "topic": {"partitions": 3}} | ({"pipeline": pipeline} if pipeline else {})
    asked = Topics(cluster, parse(mapping), ("g", "h"), lambda: None)

    stands = ask_stands(asked, done)

    assert stands.committed == committed
    assert list(stands.ends) == committed[0]


def test_nobody_asks_a_cluster_that_is_gone() -> None:
    """The reason is known already."""
    cluster: Any = Standing()
    asked = Topics(cluster, parse({"name": "x"}), ("g",), lambda: "broker-1 ended")
    for ask in (asked.log_starts, asked.log_ends, lambda: asked.committed(0)):
        with pytest.raises(BrokerError, match="broker-1 ended"):
            ask()


def test_of_a_table_its_rows_are_counted(tmp_path: Path) -> None:
    """It stands behind the topics, with one partition; nobody commits what was read of it."""
    cluster: Any = Standing()
    mapping = {"name": "x", "topic": {"partitions": 2}, "pipeline": {"job": "pass", "sink": {"table": "out"}}}
    asked = Topics(cluster, parse(mapping), ("g",), lambda: None, tmp_path / "out")

    assert asked.log_ends() == [10, 11, 0, 0]
    assert asked.log_starts() == [0, 0, 0, 0]
    assert asked.committed(0) == [None] * 4


def test_a_source_that_nobody_waited_for_interrupts_the_run(tmp_path: Path, make_spec: Any) -> None:
    outcome, asked = Outcome(), topics()

    record_source(RunFolder(tmp_path), asked.scenario, make_spec(), asked, 7, outcome)

    assert outcome.ending == "interrupted"
    assert outcome.reasons == ["the source of the pipeline was not read again: enough"]


def test_groups_that_nobody_waited_for_are_named() -> None:
    outcome = Outcome()

    topics().leave(outcome)

    assert outcome.reasons == ["group g was not deleted: enough"]
