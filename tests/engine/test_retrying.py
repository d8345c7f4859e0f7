"""At least once with retry topics: whatever consumers do and whenever they crash, every message is done or dead."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.delivery.retries.decisions import Retries
from streamgauge.domain import stamp
from streamgauge.domain.clock import NS_PER_MS
from streamgauge.engine.consume.retrying import FakeRetryLogs, FakeRetryReader
from streamgauge.engine.fake import FakeTime
from streamgauge.workload.failing import Failing

COUNT, SEED = 6, 42
DELAYS_NS = (5 * NS_PER_MS, 2 * NS_PER_MS)
LIMIT = 3
FAILING = Failing(fail=0.5, poison=0.2)
STEPS = st.lists(st.sampled_from(("poll", "settle", "store", "commit", "pass time", "crash")), max_size=60)


class History:
    """Consumers that follow each other on the same logs, and what they were told."""

    def __init__(self) -> None:
        self.logs, self.time = FakeRetryLogs(Retries(DELAYS_NS, LIMIT)), FakeTime()
        for seq in range(COUNT):
            head = np.zeros(1, stamp.STAMP)
            head["magic"], head["version"], head["seq"] = stamp.MAGIC, stamp.VERSION, seq
            self.logs.topics[0].records[0].append((head.tobytes(), bytes(stamp.SIZE)))
        self.failed_ns: dict[tuple[int, int], int] = {}
        self.numbers: dict[int, set[int]] = {}
        self.outcomes: dict[int, set[str]] = {}
        self.crash()

    def crash(self) -> None:
        """Another consumer goes on; what the one before did not commit is read again."""
        self.reader = FakeRetryReader(self.logs, self.time.now_ns, self.time.sleep)
        self.buffered: list[tuple[Any, int]] = []
        self.done: dict[tuple[int, int], int] = {}

    def poll(self) -> None:
        fetched = self.reader.poll(0, 2)
        if fetched is None:
            return
        assert fetched.deliveries is not None
        for seq, number in zip(fetched.stamps["seq"].tolist(), fetched.deliveries.tolist(), strict=True):
            if number > 1:
                due_ns = self.failed_ns[seq, number - 1] + DELAYS_NS[min(number - 2, 1)]
                assert self.time.at_ns >= due_ns
            self.numbers.setdefault(seq, set()).add(number)
        self.buffered.append((fetched, fetched.count))

    def settle(self) -> None:
        """Process what was polled first."""
        if not self.buffered:
            return
        fetched, count = self.buffered.pop(0)
        seqs, numbers = fetched.stamps["seq"].astype(np.int64), fetched.deliveries
        failed = FAILING.failed(SEED, 0, seqs, numbers)
        for seq, number, is_failed in zip(seqs.tolist(), numbers.tolist(), failed.tolist(), strict=True):
            if is_failed:
                self.failed_ns.setdefault((seq, number), self.time.at_ns)
        rows = {
            "topic": fetched.topic, "partition": fetched.partition, "offset": fetched.offset, "producer": 0,
            "seq": seqs, "delivery_count": numbers,
        }  # fmt: skip
        self.reader.acknowledgements.settle(rows, ~failed)
        self.done[int(fetched.topic), 0] = int(fetched.offset[-1]) + 1
        assert count

    def store(self) -> None:
        self.reader.commits.store([(*place, offset) for place, offset in self.done.items()])

    def commit(self) -> None:
        self.reader.commits.commit(asynchronous=True)

    def hear(self) -> None:
        block, count = self.reader.acknowledgements.answered()
        seqs: Any = block["seq"] if count else ()
        outcomes: Any = block["outcome"] if count else ()
        for seq, outcome in zip(seqs, outcomes, strict=True):
            self.outcomes.setdefault(int(seq), set()).add(outcome)

    def step(self, what: str) -> None:
        if what == "pass time":
            self.time.sleep(0.003)
        else:
            getattr(self, what.replace(" ", "_"))()
        self.hear()

    @property
    def is_over(self) -> bool:
        ends = {(topic, 0): log.ends()[0] for topic, log in enumerate(self.logs.topics)}
        return all(self.logs.committed.get(place, 0) == end for place, end in ends.items())


@given(STEPS)
@settings(deadline=None)
def test_every_message_is_done_or_dead_and_none_comes_too_early_or_too_often(steps: list[str]) -> None:
    history = History()
    for step in steps:
        history.step(step)
    for _ in range(400):
        if history.is_over:
            break
        for step in ("poll", "settle", "store", "commit", "pass time"):
            history.step(step)
    assert history.is_over
    dead = {int(stamp.decode(value)["seq"][0]) for value, _ in history.logs.dead.records[0]}
    for seq in range(COUNT):
        draws = [bool(FAILING.failed(SEED, 0, [seq], number)[0]) for number in range(1, LIMIT + 2)]
        wanted = draws.index(False) + 1 if False in draws else LIMIT + 1
        # Repeated after a crash, deliveries have the numbers that they had: the draws decide, not who reads.
        assert history.numbers[seq] == set(range(1, wanted + 1))
        assert (seq in dead) is all(draws)
        assert ("accepted" in history.outcomes[seq]) is not all(draws)
