"""Trackers of all topics of a run, in one process of the engine, and the rows that tell what they sent again."""

from dataclasses import dataclass
from functools import partial
from typing import Final

import confluent_kafka as ck
import numpy as np

from streamgauge.delivery.attempts import DEAD_LETTER, REDELIVERED
from streamgauge.delivery.markers.wire import COUNT_HEADER
from streamgauge.domain import stamp
from streamgauge.domain.blocks import NULL_INT32, NULL_INT64, Block, Settings
from streamgauge.domain.clock import monotonic_ns
from streamgauge.kafka.carriers.markers.tracked import Tracked
from streamgauge.kafka.carriers.markers.tracker import MarkerTracker
from streamgauge.kafka.clients.decode import Decoder
from streamgauge.kafka.clients.statistics import Statistics, together
from streamgauge.processes.patience import let_go

_PROMPT: Final = {"fetch.error.backoff.ms": 1, "session.timeout.ms": 10_000}
"""librdkafka's half a second would delay redeliveries where markers are seldom, its 45 s those after a tracker died."""


@dataclass(frozen=True, slots=True)
class OpenTrackers:
    """Opens the trackers of a run; plain values that can be sent to another process."""

    settings: Settings
    topics: tuple[str, ...]
    group: str
    """How the names of the trackers' groups begin; each topic has its own."""
    tracked: Tracked
    tag: int
    """Of the run whose stamps count."""
    stamp_in_header: bool | None
    worker: str = "tracker-0"

    def __call__(self) -> "TopicTrackers":
        """One tracker for each topic. Raises BadInput where topics do not fit each other."""
        return TopicTrackers(self)


class TopicTrackers:
    """Redelivers messages of all topics of a run."""

    def __init__(self, given: OpenTrackers) -> None:
        self._tag = given.tag
        self._sent: list[tuple[int, int, ck.Message, bool]] = []
        """Time, topic, message as it was read, and whether it is dead: of what was sent again."""
        self._decoder = Decoder(given.topics, given.stamp_in_header, COUNT_HEADER)
        self._told: list[Statistics] = []
        """What the clients say of themselves."""
        self._trackers = [self._tracker(given, number, topic) for number, topic in enumerate(given.topics)]

    def _tracker(self, given: OpenTrackers, number: int, topic: str) -> MarkerTracker:
        """The tracker of one topic."""
        worker = f"{given.worker}-{topic}" if len(given.topics) > 1 else given.worker
        markers, again = Statistics(worker, "tracker-consumer"), Statistics(f"{worker}-again", "tracker-consumer")
        sent = Statistics(worker, "tracker-producer")
        self._told += markers, again, sent
        return MarkerTracker(
            given.settings,
            topic,
            group_of(given.group, number),
            tracked=given.tracked,
            consumer={**_PROMPT, "client.id": f"{given.group}-{number}", **markers.settings},
            producer=sent.settings,
            fetching=again.settings,
            again=partial(self._again, number),
        )

    @property
    def open(self) -> int:
        """Messages that are open, of all topics."""
        return sum(tracker.open for tracker in self._trackers)

    @property
    def current(self) -> int:
        """Partitions of all topics that it has, and of which it knows all that was written before."""
        return sum(tracker.current for tracker in self._trackers)

    @property
    def is_current(self) -> bool:
        """Whether every tracker has partitions, and has read all that was written before."""
        return all(tracker.is_current for tracker in self._trackers)

    def turn(self, timeout_seconds: float) -> tuple[Block, int]:
        """Read markers, and redeliver what is due; rows of `attempts` of what was sent again."""
        for tracker in self._trackers:
            tracker.turn(timeout_seconds / len(self._trackers))
        sent, self._sent = self._sent, []
        if not sent:
            return {}, 0
        at_ns, topics, messages, dead = zip(*sent, strict=True)
        read = self._decoder.decode(list(messages))
        mine = stamp.is_stamp(read.stamps, self._tag)
        return {
            "at_ns": np.array(at_ns, np.int64),
            "topic": np.array(topics, np.int32),
            "partition": read.partition,
            "offset": read.offset,
            "producer": np.where(mine, read.stamps["producer"].astype(np.int32), NULL_INT32),
            "seq": np.where(mine, read.stamps["seq"].astype(np.int64), NULL_INT64),
            "attempt": read.deliveries,
            "outcome": [DEAD_LETTER if is_dead else REDELIVERED for is_dead in dead],
        }, len(sent)

    def statistics(self) -> tuple[Block, int]:
        """The rows of `client` of all its clients since the last call, and their number."""
        return together(each.rows() for each in self._told)

    def close(self) -> None:
        """Let go of the clients; what is open is left to other trackers."""
        let_go([tracker.close for tracker in self._trackers])

    def _again(self, topic: int, message: ck.Message, is_dead: bool) -> None:
        self._sent.append((monotonic_ns(), topic, message, is_dead))


def group_of(begin: str, topic: int) -> str:
    """The name of the group of the trackers of a topic."""
    return f"{begin}-{topic}"
