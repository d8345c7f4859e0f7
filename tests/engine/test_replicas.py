"""What the replica sampler records: changes, and looks that failed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from streamgauge.domain.blocks import NULL_INT32, Block, PlaceReplicas
from streamgauge.domain.clock import NS_PER_SECOND
from streamgauge.domain.errors import BrokerError
from streamgauge.engine.board import Order
from streamgauge.engine.observe.replicas import EVERY_NS, ReplicaSampler

FINE = (PlaceReplicas(1, 3, 3), PlaceReplicas(2, 3, 3))
SHRUNK = (PlaceReplicas(1, 2, 3), PlaceReplicas(3, 2, 3))
LEADERLESS = (PlaceReplicas(None, 0, 3), PlaceReplicas(2, 3, 3))
GONE = BrokerError("no answer")


@dataclass
class Replicas:
    """Answers one after the other, and then the last one."""

    answers: list[Sequence[PlaceReplicas] | BrokerError]

    def look(self) -> Sequence[PlaceReplicas]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BrokerError):
            raise answer
        return answer

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Rows:
    """Rows as they were appended."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        columns: dict[str, Any] = dict(block)
        for at in range(count):
            self.rows.append(
                {name: value[at] if hasattr(value, "__len__") else value for name, value in columns.items()}
            )

    def close(self) -> None:
        """Nothing is open."""


def sampled(looks: int, *answers: Sequence[PlaceReplicas] | BrokerError) -> list[tuple[Any, ...]]:
    """What is recorded of so many looks: time of the look, place, leader, in sync, replicas, error."""
    rows, clock = Rows(), iter(range(10_000))
    sampler = ReplicaSampler(Replicas(list(answers)), 1, rows, lambda: Order.GO, now_ns=lambda: next(clock))
    for _ in range(looks):
        sampler.look()
    names = ("topic", "leader", "in_sync", "replicas", "error")
    return [tuple(each[name] for name in names) for each in rows.rows]


def test_the_first_look_is_recorded_and_then_what_changes() -> None:
    first = [(0, 1, 3, 3, None), (1, 2, 3, 3, None)]

    assert sampled(3, FINE) == first
    assert sampled(3, FINE, FINE, SHRUNK) == [*first, (0, 1, 2, 3, None), (1, 3, 2, 3, None)]
    assert sampled(2, FINE, LEADERLESS) == [*first, (0, NULL_INT32, 0, 3, None)]


def test_a_cluster_that_does_not_answer_is_told_once_and_what_comes_after_in_full() -> None:
    nothing = (None, None, None, None, "no answer")
    everything = [(0, 1, 3, 3, None), (1, 2, 3, 3, None)]

    assert sampled(4, FINE, GONE, GONE, FINE) == [*everything, nothing, *everything]
    assert sampled(5, GONE, FINE, GONE, FINE, FINE) == [nothing, *everything, nothing, *everything]


def test_topics_and_partitions_are_told_apart() -> None:
    rows = Rows()
    answers = Replicas([[PlaceReplicas(place, 1, 1) for place in range(6)]])

    ReplicaSampler(answers, 3, rows, lambda: Order.GO).look()

    assert [(each["topic"], each["partition"], each["leader"]) for each in rows.rows] == [
        (0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 0, 3), (1, 1, 4), (1, 2, 5),
    ]  # fmt: skip


def test_it_looks_on_time_and_once_more_in_the_end() -> None:
    """Nothing changes: the rows are those of the first look and of the last one."""
    rows, now = Rows(), [0]

    def sleep(seconds: float) -> None:
        now[0] += int(seconds * NS_PER_SECOND)

    def order() -> Order:
        return Order.GO if now[0] < 10 * EVERY_NS else Order.FINISH

    ReplicaSampler(Replicas([FINE]), 2, rows, order, now_ns=lambda: now[0], sleep=sleep).run()

    assert [each["at_ns"] // EVERY_NS for each in rows.rows] == [0, 0, 10, 10]


def test_who_is_told_to_end_at_once_does_not_look_again() -> None:
    rows = Rows()

    ReplicaSampler(Replicas([FINE]), 2, rows, lambda: Order.ABORT).run()

    assert rows.rows == []
