"""The topics of a run and the groups that read them: made and checked before it, and asked about afterwards."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from streamgauge.delivery.markers.redelivery import DEAD_LETTERS
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.domain.errors import BadInput, BrokerError, Fault, Interrupted, StreamgaugeError
from streamgauge.engine.supervise.plan import Outcome
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.carriers.markers.role import group_of
from streamgauge.kafka.carriers.markers.topics import SUFFIX, check_marker_topic
from streamgauge.kafka.carriers.share.asking import ShareOffsets
from streamgauge.kafka.carriers.share.group import GroupSettings, ShareGroups
from streamgauge.kafka.offsets import KafkaOffsets
from streamgauge.modelled.broker import ModelledBroker, ModelledOffsets
from streamgauge.record.table import committed_rows
from streamgauge.runs.conduct.consumers import start_of
from streamgauge.scenario import Scenario, Setting, document, parse
from streamgauge.scenario.model.acknowledge import Acknowledge, Markers, ShareGroup
from streamgauge.scenario.model.environment.topic import IdleTopic, Topic

STAMPED: Final = {"message.timestamp.type": "LogAppendTime"}
"""The topics around a pipeline tell when a message was appended, unless the scenario wants something else."""


@dataclass(slots=True)
class Topics:
    """The topics of the run and the groups that read them, as the supervisor asks about them.

    Offsets of all topics stand in one list, in the order of the places: number of the topic x partitions + partition.
    """

    cluster: Cluster | ModelledBroker
    scenario: Scenario
    groups: Sequence[str]
    ended: Callable[[], str | None]
    """Why nothing can be asked any more; None while something can."""
    table: Path | None = None
    """Folder of the table that a pipeline writes."""
    made: dict[str, str | None] = field(default_factory=dict)
    """The topics that this run made, and what the cluster calls each."""
    trackers: str = ""
    """How the names of the groups of trackers begin."""
    starts: list[int] = field(default_factory=list)
    """Offset of each partition of the source where a query begins."""
    _offsets: KafkaOffsets | ModelledOffsets | None = None
    _share: ShareGroups | None = None
    """The share groups that read the topics; None where offsets are committed."""

    def prepare(self, *, embedded: bool, allow_reset: bool, fresh: bool = False) -> None:
        """Make the topics, or check those that are there; delete only what the user allowed to be deleted.

        `fresh`: the topics that the load writes are made anew, as on a broker that many runs share. The scenario has
        the replicas of those that are there, from then on.

        Raises BadInput with all that does not fit.
        """
        if self._carrier and (share := self._carrier.share):
            assert isinstance(self.cluster, Cluster)
            self._share = ShareGroups(self.cluster, self.groups, _settings_of(share))
            # Before a topic is made or deleted: the cluster may have no share groups.
            self._share.prepare()
        prepare = partial(self._prepare, embedded=embedded, allow_reset=allow_reset, fresh=fresh)
        prepares = [partial(prepare, name) for name in self._topics]
        prepares += [partial(self._prepare_idle, place, fresh=fresh) for place in range(len(self.scenario.topic.idle))]
        faults: list[Fault] = []
        for each in prepares:
            try:
                each()
            except BadInput as error:
                faults += error.faults
        if faults:
            raise BadInput(faults)
        for name in self.scenario.sent_topics:
            self._prepare_beside(name, fresh=embedded or self.scenario.topic.reset)
        self.scenario = self._as_found()

    def _as_found(self) -> Scenario:
        """The scenario, with as many replicas as those of its topics have that were there.

        As it was where it would contradict itself: it may name fewer brokers for an embedded cluster.
        """
        scenario = self.scenario
        there = [name for name in scenario.sent_topics if name not in self.made]
        found = max((len(replicas) for name in there for replicas in self.cluster.replicas_of(name)), default=None)
        if found in {None, scenario.topic.replication}:
            return scenario
        written = document(scenario)
        try:
            return parse({**written, "topic": {**written["topic"], "replication": found}})
        except BadInput:
            return scenario

    @property
    def _carrier(self) -> Acknowledge | None:
        return self.scenario.consume.carrier if self.scenario.consume else None

    @property
    def _markers(self) -> Markers | None:
        return self._carrier.markers if self._carrier else None

    def _prepare_beside(self, name: str, *, fresh: bool) -> None:
        """Make the topics of markers and of dead letters, where there are to be some, or check those that are there."""
        wanted: dict[str, Mapping[str, Setting]] = {f"{name}{SUFFIX}": STAMPED} if self._markers else {}
        if self._carrier and self._carrier.has_dead_letters:
            wanted[f"{name}{DEAD_LETTERS}"] = {}
        for each, configs in wanted.items():
            if fresh and self.cluster.partitions_of(each) is not None:
                self.cluster.delete_topic(each)
            if self.cluster.partitions_of(each) is None:
                self._make(each, self.scenario.topic, configs)
        if self._markers:
            assert isinstance(self.cluster, Cluster)
            check_marker_topic(self.cluster, name, f"{name}{SUFFIX}")

    def _prepare_idle(self, place: int, *, fresh: bool) -> None:
        """Make topics that nobody uses; one that is there is taken as it is if it has the partitions."""
        idle = self.scenario.topic.idle[place]
        for name in idle.names:
            found = self.cluster.partitions_of(name)
            if found is not None and fresh:
                self.cluster.delete_topic(name)
                found = None
            if found is None:
                self._make(name, idle, idle.configs)
            elif found != idle.partitions:
                what = f"topic {name} exists with {found} partitions, not {idle.partitions}"
                raise BadInput.single(f"topic.idle.{place}.partitions", what, f"Write {found}, or name another topic")

    def _make(self, name: str, topic: Topic | IdleTopic, configs: Mapping[str, Setting]) -> None:
        """Make a topic, and note it as soon as it is there."""
        self.cluster.create_topic(name, topic.partitions, topic.replication, configs, topic.assignments)
        self.made[name] = None
        self.made[name] = self.cluster.topic_id(name)

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Delete the topics that the run made if the block fails, which notes them: nothing would name them."""
        try:
            yield
        except StreamgaugeError:
            for name in self.made:
                with contextlib.suppress(BrokerError, Interrupted):
                    self.cluster.delete_topic(name)
            raise

    @property
    def _topics(self) -> tuple[str, ...]:
        """The names of all topics; a table that a pipeline writes is none."""
        return self.scenario.sent_topics if self.table else self.scenario.topic_names

    def reads(self, group: int) -> list[int]:
        """The places that a group is asked about: of consumers, what they read; of a query, its source."""
        partitions, sent = self.scenario.topic.partitions, len(self.scenario.sent_topics)
        if self.scenario.pipeline is None:
            return list(range(self.scenario.places))
        if group >= len(self.groups):
            return list(range(sent * partitions))
        return [sent * partitions + each for each in range(1 if self.table else partitions)]

    def _prepare(self, name: str, *, embedded: bool, allow_reset: bool, fresh: bool) -> None:
        topic = self.scenario.topic
        is_sink = name not in self.scenario.sent_topics
        found = self.cluster.partitions_of(name)
        if found is not None and (topic.reset or (fresh and self.scenario.load)):
            if not (embedded or allow_reset):
                what = f"topic {name} exists and would be deleted"
                raise BadInput.single("topic.reset", what, "Use --allow-reset to allow this")
            self.cluster.delete_topic(name)
            found = None
        reads = self.scenario.pipeline or self.scenario.consume
        if found is None and self.scenario.load is None and not is_sink and reads:
            raise BadInput.single(
                "topic.name", f"topic {name} does not exist, and the run does not produce to it", "Choose another topic"
            )
        if found is None:
            configs = {**(STAMPED if self.scenario.pipeline else {}), **topic.configs}
            self._make(name, topic, configs)
        elif self.scenario.backpressure and self.scenario.backpressure.credit and not is_sink:
            what = f"topic {name} exists; credit counts offsets, and needs a topic created by the run"
            raise BadInput.single("topic.name", what, "Name another, or write `topic: {reset: true}`")
        elif found != topic.partitions:
            what = f"topic {name} exists with {found} partitions, not {topic.partitions}"
            raise BadInput.single(
                "topic.partitions", what, f"Set topic.partitions={found} or topic.adopt=true, or name another topic"
            )
        elif topic.assignments is not None and (held := self.cluster.replicas_of(name)) != list(topic.assignments):
            number = next(each for each, brokers in enumerate(topic.assignments) if brokers != held[each])
            what = f"topic {name} exists with partition {number} on brokers {list(held[number])}"
            mend = "Leave topic.assignments out, name another topic, or write `topic: {reset: true}`"
            raise BadInput.single(f"topic.assignments.{number}", what, mend)

    def begin(self) -> None:
        """Commit where each group starts, and note where a query does: the audit counts from there."""
        start = start_of(self.scenario)
        if self.scenario.pipeline:
            self.starts = self._starts(self.scenario.sent_topics[0], start)
        # What a pipeline wrote before is nobody's business now.
        read_from = "latest" if self.scenario.pipeline else start
        for number in self.scenario.read_topics:
            if not self.groups or self.table:
                return
            name = self.scenario.topic_names[number]
            # What others left in retry topics in an earlier run is nobody's business now.
            offsets = self._starts(name, "latest" if name in self.scenario.retry_topics else read_from)
            for group in self._own_groups:
                (self._share.begin if self._share else self.cluster.set_committed)(group, name, offsets)
            if self._markers:
                # What others left open in an earlier run is nobody's business now.
                of_markers = f"{name}{SUFFIX}"
                ends = self.cluster.offsets((of_markers,), self.scenario.topic.partitions).log_ends()
                self.cluster.set_committed(group_of(self.trackers, number), of_markers, ends)

    @property
    def _own_groups(self) -> Sequence[str]:
        """The groups that the run may set and delete: a group with a name of the user's is none of them."""
        is_users = self.scenario.consume is not None and self.scenario.consume.group is not None
        return () if is_users else self.groups

    def _starts(self, name: str, start: str | int) -> list[int]:
        offsets = self.cluster.offsets((name,), self.scenario.topic.partitions)
        if isinstance(start, int):
            return offsets.at(start)
        return offsets.log_starts() if start == "earliest" else offsets.log_ends()

    def leave(self, outcome: Outcome) -> None:
        """Remove the groups that were made for this run only."""
        trackers = [group_of(self.trackers, each) for each in self.scenario.read_topics] if self._markers else []
        for group in (*self._own_groups, *trackers):
            try:
                (self._share.leave if self._share else self.cluster.delete_group)(group)
            except (BrokerError, Interrupted) as error:
                outcome.reasons.append(f"group {group} was not deleted: {error}")

    @property
    def offsets(self) -> KafkaOffsets | ModelledOffsets:
        """Who is asked; raises BrokerError where no answer can come."""
        if reason := self.ended():
            raise BrokerError(reason)
        if self._offsets is None and self._share:
            self._offsets = self._share.offsets(self._topics, self.scenario.topic.partitions)
        elif self._offsets is None:
            self._offsets = self.cluster.offsets(self._topics, self.scenario.topic.partitions, self.groups)
        return self._offsets

    def close(self) -> None:
        """Let go of the clients that asked."""
        if self._offsets is not None:
            self._offsets.close()
        if self._share is not None:
            self._share.close()

    def log_starts(self) -> list[int]:
        """Log start offset of each place."""
        return self._with_table(self.offsets.log_starts(), 0)

    def log_ends(self) -> list[int]:
        """Log end offset of each place; of a table, how many rows it has."""
        offsets, rows = self.offsets, committed_rows(self.table) if self.table else 0
        return self._with_table(offsets.log_ends(), rows)

    def committed(self, group: int) -> list[int | None]:
        """Committed offset of a group of consumers in each place; None where it reads nothing."""
        return [None] * self.scenario.places if self.table else self.offsets.committed(group)

    def settled(self, group: int) -> list[int | None] | None:
        """The offset below which a share group is done with everything, in each place; None for other groups."""
        return self.offsets.settled(group) if isinstance(self.offsets, ShareOffsets) else None

    def _with_table(self, offsets: list[int], rows: int) -> list[int]:
        """The offsets of all places, those of a table among them: it has one partition, and the others are empty."""
        missing = self.scenario.places - len(offsets)
        return [*offsets, rows, *([0] * (missing - 1))] if missing else offsets


def _settings_of(share: ShareGroup) -> GroupSettings:
    heartbeat_ms, session_ms = (
        None if each is None else each // NS_PER_MS for each in (share.heartbeat, share.session)
    )
    lock_ms = share.lock // NS_PER_MS
    return GroupSettings(lock_ms, share.limit, share.isolation, share.locks, heartbeat_ms, session_ms)
