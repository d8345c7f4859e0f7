"""What is told to whom acknowledges single messages, and what is recorded of its answers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from streamgauge.domain.blocks import NULL_INT32, NULL_INT64, Block
from streamgauge.engine.consume.acknowledge import Acknowledger

ROWS: dict[str, Any] = {
    "topic": 0,
    "partition": np.array([1, 1, 2], np.int64),
    "offset": np.array([5, 6, 7], np.int64),
    "producer": np.array([0, 0, 0], np.int64),
    "seq": np.array([10, 11, 12], np.int64),
    "delivery_count": np.array([1, 2, 1], np.int64),
}


@dataclass
class Told:
    """Notes what it is told, and answers once."""

    unwritten: int = 0
    settled: list[tuple[list[int], list[bool]]] = field(default_factory=list)
    answers: list[tuple[Block, int]] = field(default_factory=list)

    def settle(self, deliveries: Block, accepted: Any) -> None:
        offsets: Any = deliveries["offset"]
        assert set(deliveries) == set(ROWS)
        self.settled.append((offsets.tolist(), accepted.tolist()))

    def answered(self) -> tuple[Block, int]:
        return self.answers.pop() if self.answers else ({}, 0)

    def finish(self) -> tuple[Block, int]:
        return {"at_ns": 9}, 1


@dataclass
class Rows:
    """Notes the blocks that it is given."""

    blocks: list[tuple[Block, int]] = field(default_factory=list)

    def append(self, block: Block, count: int) -> None:
        self.blocks.append((block, count))

    def close(self) -> None:
        """Nothing to do."""


NEVER = NULL_INT64


@pytest.mark.parametrize(
    ("started", "processed", "expected"),
    [
        pytest.param(None, None, ([5, 6, 7], [True, True, True]), id="not processed at all"),
        pytest.param(3, 3, ([5, 6, 7], [True, True, True]), id="takes no time"),
        pytest.param([1, 1, 1], [2, NEVER, 2], ([5, 6, 7], [True, False, True]), id="one failed"),
        pytest.param([NEVER, 1, 1], [NEVER, 2, NEVER], ([6, 7], [True, False]), id="one was skipped"),
        pytest.param([NEVER] * 3, [NEVER] * 3, None, id="all were skipped"),
    ],
)
def test_what_ended_is_told(started: Any, processed: Any, expected: Any) -> None:
    told = Told()
    times = {"started_ns": started, "processed_ns": processed}
    columns = {name: np.array(at, np.int64) if isinstance(at, list) else at for name, at in times.items()}
    Acknowledger(told, Rows()).settle({**ROWS, **columns}, 3)
    assert told.settled == ([] if expected is None else [expected])


def test_messages_of_others_are_told_too() -> None:
    """They have no stamp: where none has, the columns are missing."""
    asked: list[Block] = []

    class Asks(Told):
        def settle(self, deliveries: Block, accepted: Any) -> None:
            asked.append(deliveries)

    rows = {**ROWS, "producer": None, "seq": None, "started_ns": None, "processed_ns": None}
    Acknowledger(Asks(), Rows()).settle(rows, 3)
    assert (asked[0]["producer"], asked[0]["seq"]) == (NULL_INT32, NULL_INT64)


def test_answers_are_recorded_as_they_come_and_the_last_at_the_end() -> None:
    told, rows = Told(answers=[({"at_ns": 4}, 2)]), Rows()
    acknowledger = Acknowledger(told, rows)
    acknowledger.turn()
    acknowledger.turn()
    acknowledger.finish()
    assert rows.blocks == [({"at_ns": 4}, 2), ({"at_ns": 9}, 1)]
