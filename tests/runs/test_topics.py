"""The topics of a run: which are made, checked, or deleted before it, and where its groups begin."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from streamgauge.domain.errors import BadInput, BrokerError, RecordError, StreamgaugeError
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.runs.conduct.topics import Topics
from streamgauge.scenario import Scenario, parse

LOAD: dict[str, Any] = {"load": {"rate": "1/s", "producers": 1, "size": 64}}
PIPED: dict[str, Any] = {**LOAD, "pipeline": {"job": "pass"}}

CREDIT: dict[str, Any] = {
    "load": {**LOAD["load"], "client": {"enable.idempotence": True}}, "backpressure": {"credit": {"limit": 10}},
}  # fmt: skip


class Offsets:
    """Log starts at 5, log ends at 9, and 7 at any time."""

    def __init__(self, places: int) -> None:
        self.places, self.closed = places, False

    def log_starts(self) -> list[int]:
        return [5] * self.places

    def log_ends(self) -> list[int]:
        return [9] * self.places

    def at(self, _: int) -> list[int]:
        return [7] * self.places

    def committed(self, group: int) -> list[int | None]:
        return [group] * self.places

    def close(self) -> None:
        self.closed = True


Assignments = Sequence[tuple[int, ...]] | None


class FakeCluster:
    """Has topics by name, each with its partitions, and keeps what it is asked to do."""

    def __init__(self, **topics: int) -> None:
        self.topics, self.done = topics, list[str]()
        self.configs: dict[str, Mapping[str, Any]] = {}
        self.replicas: dict[str, Assignments] = {}
        self.committed: dict[tuple[str, str], Sequence[int]] = {}
        self.stuck = False

    def partitions_of(self, name: str) -> int | None:
        return self.topics.get(name)

    def create_topic(
        self, name: str, partitions: int, _replication: int, configs: Mapping[str, Any], assignments: Assignments
    ) -> None:
        self.done.append(f"make {name}")
        self.topics[name], self.configs[name] = partitions, configs
        self.replicas[name] = assignments

    def replicas_of(self, name: str) -> Assignments:
        return self.replicas.get(name, ())

    def delete_topic(self, name: str) -> None:
        self.done.append(f"delete {name}")
        del self.topics[name]

    def topic_id(self, name: str) -> str:
        return f"id of {name}"

    def offsets(self, topics: Sequence[str], partitions: int, groups: Sequence[str] = ()) -> Offsets:
        return Offsets(len(topics) * partitions)

    def set_committed(self, group: str, name: str, offsets: Sequence[int]) -> None:
        self.committed[group, name] = offsets

    def delete_group(self, group: str) -> None:
        if self.stuck:
            raise BrokerError("it still has members")
        self.done.append(f"delete group {group}")


def topics_of(cluster: Any, groups: Sequence[str] = ("g",), ended: str | None = None, **given: Any) -> Topics:
    scenario: Scenario = parse({"name": "x", "topic": {"name": "t", "partitions": 2}, **given})
    return Topics(cluster, scenario, groups, lambda: ended)


def test_a_topic_that_is_missing_is_made_and_its_id_is_kept() -> None:
    """By its id the topic is known to be that of this run, whatever has its name later."""
    cluster = FakeCluster()
    topics = topics_of(cluster, **LOAD)
    topics.prepare(embedded=False, allow_reset=False)

    assert cluster.done == ["make t"]
    assert topics.made == {"t": "id of t"}


def test_every_topic_that_is_made_has_the_brokers_of_the_assignments() -> None:
    cluster = FakeCluster()
    topics = topics_of(cluster, **LOAD | {"topic": {"name": "t", "assignments": [[1, 2], [2, 1]]}})
    topics.prepare(embedded=False, allow_reset=False)

    assert cluster.topics == {"t": 2}
    assert cluster.replicas == {"t": ((1, 2), (2, 1))}


def test_a_topic_that_is_there_must_have_the_brokers_of_the_assignments() -> None:
    cluster = FakeCluster(t=2)
    cluster.replicas["t"] = [(1, 2), (1, 2)]
    topics = topics_of(cluster, **LOAD | {"topic": {"name": "t", "assignments": [[1, 2], [2, 1]]}})

    with pytest.raises(BadInput, match=r"topic\.assignments\.1: topic t exists with partition 1 on br"):
        topics.prepare(embedded=False, allow_reset=False)
    cluster.replicas["t"] = [(1, 2), (2, 1)]
    topics.prepare(embedded=False, allow_reset=False)
    assert cluster.done == []


@pytest.mark.parametrize(
    ("given", "there", "replication"),
    [
        # Nobody has to write what the cluster knows: its replicas are watched, and its log is read again.
        ({}, {"t": [(1, 2, 3), (2, 3, 1)]}, 3),
        ({"topic": {"name": "t", "partitions": 2, "replication": 3}}, {"t": [(1,), (2,)]}, 1),
        ({"topic": {"name": "t[1-2]", "partitions": 2}}, {"t1": [(1,), (2,)], "t2": [(1, 2), (2, 1)]}, 2),
        # What the run makes has what was asked for.
        ({}, {}, 1),
        ({"topic": {"name": "t", "partitions": 2, "replication": 3}}, {}, 3),
        ({"topic": {"name": "t", "partitions": 2, "reset": True}}, {"t": [(1, 2, 3), (2, 3, 1)]}, 1),
        # More than `cluster.brokers`, which the run has no use for: what was asked for is kept.
        ({"cluster": {"brokers": 2}}, {"t": [(1, 2, 3), (2, 3, 1)]}, 1),
    ],
)
def test_a_topic_that_is_there_tells_how_many_replicas_it_has(
    given: dict[str, Any], there: dict[str, Assignments], replication: int
) -> None:
    cluster = FakeCluster(**dict.fromkeys(there, 2))
    cluster.replicas.update(there)
    scenario = parse({"name": "x", "topic": {"name": "t", "partitions": 2}, **LOAD, **given})
    fake: Any = cluster
    topics = Topics(fake, scenario, ("g",), lambda: None)
    topics.prepare(embedded=False, allow_reset=True)

    found = topics.scenario
    assert (found.topic.replication, found.reads_log) == (replication, replication > 1)
    assert found.model_copy(update={"topic": scenario.topic}) == scenario


IDLE: dict[str, Any] = {"topic": {"name": "t", "partitions": 2, "idle": [{"name": "i[1-2]", "partitions": 3}]}}


def test_idle_topics_are_made_with_partitions_of_their_own() -> None:
    cluster = FakeCluster()
    topics = topics_of(cluster, **LOAD | IDLE)
    topics.prepare(embedded=False, allow_reset=False)

    assert cluster.topics == {"t": 2, "i1": 3, "i2": 3}
    assert topics.made == {name: f"id of {name}" for name in ("t", "i1", "i2")}


def test_an_idle_topic_that_is_there_is_taken_as_it_is() -> None:
    cluster = FakeCluster(t=2, i1=3, i2=3)
    topics_of(cluster, **LOAD | IDLE).prepare(embedded=False, allow_reset=False)
    assert cluster.done == []

    cluster = FakeCluster(t=2, i2=4)
    with pytest.raises(BadInput, match=r"topic\.idle\.0\.partitions: topic i2 exists with 4 partitions, not 3"):
        topics_of(cluster, **LOAD | IDLE).prepare(embedded=False, allow_reset=False)


def test_what_does_not_fit_is_told_at_once_of_all_topics() -> None:
    cluster = FakeCluster(t=5, i2=4)
    with pytest.raises(BadInput) as caught:
        topics_of(cluster, **LOAD | IDLE).prepare(embedded=False, allow_reset=False)
    assert [fault.where for fault in caught.value.faults] == ["topic.partitions", "topic.idle.0.partitions"]


def test_on_a_broker_that_runs_share_idle_topics_are_made_anew() -> None:
    cluster = FakeCluster(t=2, i1=9, i2=3)
    topics_of(cluster, **LOAD | IDLE).prepare(embedded=True, allow_reset=True, fresh=True)
    assert cluster.topics == {"t": 2, "i1": 3, "i2": 3}


def test_who_asked_is_let_go() -> None:
    """The clients of offsets; a cluster that was never asked has none."""
    cluster = FakeCluster(t=2)
    topics = topics_of(cluster, **LOAD)
    topics.close()
    asked = topics.offsets

    topics.close()

    assert isinstance(asked, Offsets)
    assert asked.closed


class SilentCluster(FakeCluster):
    """Makes topics, and does not say what it calls them."""

    def topic_id(self, name: str) -> str:
        raise BrokerError(f"no answer about {name}")


def prepare_and_fail(topics: Topics) -> None:
    """Make the topics; the disk has no room for run.json."""
    with topics.noting():
        topics.prepare(embedded=False, allow_reset=False)
        raise RecordError("no space left")


@pytest.mark.parametrize("cluster", [FakeCluster(), SilentCluster()])
def test_topics_that_cannot_be_noted_are_deleted(cluster: FakeCluster) -> None:
    """Of the run's alone: whatever was there stays."""
    cluster.topics["sink"] = 2
    topics = topics_of(cluster, **PIPED | {"topic": {"name": "t", "partitions": 2}})
    with pytest.raises(StreamgaugeError):
        prepare_and_fail(topics)

    made = [each for each in cluster.done if each.startswith("make")]
    assert made
    assert cluster.done == [*made, *(each.replace("make", "delete") for each in made)]
    assert list(cluster.topics) == ["sink"]


def test_a_topic_that_cannot_be_deleted_either_hides_nothing() -> None:
    cluster = FakeCluster()
    topics = topics_of(cluster, **LOAD)

    def unable(name: str) -> None:
        raise BrokerError(f"topic {name} could not be deleted")

    cluster.delete_topic = unable  # type: ignore[method-assign]
    with pytest.raises(RecordError, match="no space left"):
        prepare_and_fail(topics)


@pytest.mark.parametrize(
    ("given", "there", "options", "where"),
    [
        (LOAD, {"t": 3}, {}, "topic.partitions"),
        ({**LOAD, "topic": {"name": "t", "partitions": 2, "reset": True}}, {"t": 2}, {}, "topic.reset"),
        ({"load": False, "consume": {"consumers": 1}}, {}, {}, "topic.name"),
        ({**CREDIT, "consume": {"consumers": 1}}, {"t": 2}, {}, "topic.name"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_touched(
    given: dict[str, Any], there: dict[str, int], options: dict[str, bool], where: str
) -> None:
    cluster = FakeCluster(**there)
    with pytest.raises(BadInput) as refused:
        topics_of(cluster, **given).prepare(**{"embedded": False, "allow_reset": False, **options})

    assert [fault.where for fault in refused.value.faults] == [where]
    assert cluster.done == []


@pytest.mark.parametrize(
    ("given", "options", "deleted"),
    [
        ({"reset": True}, {"allow_reset": True}, True),
        ({"reset": True}, {"embedded": True}, True),
        ({}, {"embedded": True}, False),
        ({}, {"embedded": True, "fresh": True}, True),
    ],
)
def test_a_topic_is_deleted_only_where_that_was_allowed(
    given: dict[str, Any], options: dict[str, bool], deleted: bool
) -> None:
    """By the user, or because the broker is ours and its other runs are over."""
    cluster = FakeCluster(t=2)
    topics = topics_of(cluster, **LOAD, topic={"name": "t", "partitions": 2, **given})
    topics.prepare(**{"embedded": False, "allow_reset": False, **options})

    assert cluster.done == (["delete t", "make t"] if deleted else [])


def test_what_another_run_wrote_is_kept_for_a_run_that_only_reads() -> None:
    """Also on a broker that they share."""
    cluster = FakeCluster(t=2)
    topics_of(cluster, load=False, consume={"consumers": 1}).prepare(embedded=True, allow_reset=False, fresh=True)

    assert cluster.done == []


def test_the_topics_around_a_pipeline_tell_when_a_message_was_appended() -> None:
    cluster = FakeCluster()
    topics_of(cluster, **PIPED).prepare(embedded=True, allow_reset=False)

    assert [configs.get("message.timestamp.type") for configs in cluster.configs.values()] == ["LogAppendTime"] * 2


@pytest.mark.parametrize(
    ("given", "begin"),
    [
        (LOAD, [9, 9]),
        ({**LOAD, "consume": {"start": "earliest"}}, [5, 5]),
        ({"load": False, "consume": {"start": "auto"}}, [5, 5]),
        ({**LOAD, "consume": {"start": "2026-01-01T00:00:00Z"}}, [7, 7]),
    ],
)
def test_groups_begin_where_the_scenario_says(given: dict[str, Any], begin: list[int]) -> None:
    cluster = FakeCluster(t=2)
    topics = topics_of(cluster, ("g", "h"), **given)
    topics.begin()

    assert cluster.committed == {("g", "t"): begin, ("h", "t"): begin}
    assert topics.starts == []


RETRY: dict[str, Any] = {"acknowledge": {"retry": {"delays": ["1s", "5s"]}}}


def test_retry_topics_and_that_of_dead_letters_are_made_with_their_topic() -> None:
    """All with as many partitions."""
    cluster = FakeCluster()
    topics = topics_of(cluster, **LOAD, consume=RETRY)
    topics.prepare(embedded=False, allow_reset=False)

    assert cluster.topics == {"t": 2, "t__retry_1": 2, "t__retry_2": 2, "t__undelivered": 2}
    assert set(topics.made) == set(cluster.topics)


def test_a_message_that_is_never_given_up_needs_no_topic_of_dead_letters() -> None:
    cluster = FakeCluster()
    retry = {"acknowledge": {"retry": {"delays": ["1s"], "limit": "unlimited"}}}
    topics_of(cluster, **LOAD, consume=retry).prepare(embedded=False, allow_reset=False)
    assert set(cluster.topics) == {"t", "t__retry_1"}


def test_a_retry_topic_that_is_there_has_to_have_as_many_partitions() -> None:
    cluster = FakeCluster(t=2, t__retry_2=3)
    with pytest.raises(BadInput, match="topic t__retry_2 exists with 3 partitions, not 2"):
        topics_of(cluster, **LOAD, consume=RETRY).prepare(embedded=False, allow_reset=False)


def test_what_an_earlier_run_left_in_retry_topics_is_not_read() -> None:
    cluster = FakeCluster(t=2, t__retry_1=2, t__retry_2=2)
    topics_of(cluster, load=False, consume={**RETRY, "start": "earliest"}).begin()
    assert cluster.committed == {("g", "t"): [5, 5], ("g", "t__retry_1"): [9, 9], ("g", "t__retry_2"): [9, 9]}


def test_a_query_begins_where_the_groups_would_and_they_at_the_end_of_its_topic() -> None:
    """What it wrote in another run is of no interest."""
    cluster = FakeCluster()
    topics = topics_of(cluster, **PIPED)
    topics.prepare(embedded=True, allow_reset=False)
    topics.begin()

    assert topics.starts == [9, 9]
    assert list(cluster.committed.values()) == [[9, 9]]
    assert topics.reads(0) == [2, 3]
    assert topics.reads(1) == [0, 1]


def test_a_cluster_that_is_gone_is_not_asked() -> None:
    with pytest.raises(BrokerError, match="it was killed"):
        topics_of(FakeCluster(t=2), ended="it was killed", **LOAD).log_ends()


def test_a_group_that_cannot_be_removed_is_told_and_the_run_stays_what_it_is() -> None:
    cluster = FakeCluster(t=2)
    cluster.stuck = True
    outcome = Outcome(workers=[])
    topics_of(cluster, **LOAD).leave(outcome)

    assert outcome.reasons == ["group g was not deleted: it still has members"]
    assert outcome.ending == "finished"


def test_a_group_of_the_user_is_left_alone() -> None:
    """Nothing is committed for it before the load, and it is not deleted behind it."""
    cluster, outcome = FakeCluster(), Outcome()
    topics = topics_of(cluster, ("mine",), **LOAD, consume={"group": "mine"})

    topics.begin()
    topics.leave(outcome)

    assert (cluster.committed, outcome.reasons) == ({}, [])
    assert "delete group mine" not in cluster.done
    other = topics_of(cluster, ("g",), **LOAD)
    other.begin()
    other.leave(outcome)
    assert list(cluster.committed) == [("g", other.scenario.topic_name)]
    assert "delete group g" in cluster.done
