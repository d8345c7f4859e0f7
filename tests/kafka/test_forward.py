"""The yardstick: where it goes on after it died, and that it ends with who started it."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import confluent_kafka as ck
import psutil
import pytest
from tests.waiting import until

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.query import Advance, Happened, News, QueryProgress, QuerySpec
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.forward import ClientQuery, left_behind
from streamgauge.processes.talk.news import order

pytestmark = pytest.mark.kafka

PATIENCE_SECONDS = 120
PARENT = """
import sys
from streamgauge.domain import clock
from streamgauge.processes.talk.news import read_order
from streamgauge.kafka.forward import ClientQuery
query = ClientQuery(read_order(sys.stdin.readline())[0])
query.start()
heard = []
while not any(each.what == "ready" for each in heard):
    assert query.alive(), heard
    clock.sleep_seconds(0.02)
    heard += query.news()
print(query.processes()["driver"], flush=True)
sys.stdin.read()
"""


class Passing:
    """A yardstick between two topics, and what it has told."""

    def __init__(self, spec: QuerySpec) -> None:
        self.spec = spec
        self.heard: list[News] = []

    def send(self, count: int) -> None:
        producer = ck.Producer({**self.spec.connection, "linger.ms": 5})
        for number in range(count):
            producer.produce(self.spec.source, b"message", partition=number % self.spec.partitions)
        assert producer.flush(30) == 0

    def hear(self, query: ClientQuery, rows: int) -> None:
        """Wait until it has told of so many messages."""

        def reached() -> bool:
            assert query.alive(), self.heard
            self.heard += query.news()
            return sum(each.numbers["rows"] or 0 for each in self.progress()) >= rows

        until(reached)

    def progress(self) -> list[QueryProgress]:
        return [each for each in self.heard if isinstance(each, QueryProgress)]

    def happened(self) -> list[str]:
        return [each.what for each in self.heard if isinstance(each, Happened)]


@pytest.fixture
def passing(broker: EmbeddedBroker, fresh_topic: Callable[[int], str], make_spec: Callable[..., QuerySpec]) -> Passing:
    connection = {"bootstrap.servers": broker.bootstrap}
    source = fresh_topic(2)
    name = f"{source}-query"
    return Passing(make_spec(name=name, engine="client", source=source, sink=fresh_topic(2), connection=connection))


@pytest.mark.parametrize(
    "paused", [False, pytest.param(True, marks=pytest.mark.skipif(sys.platform != "linux", reason="a call of Linux"))]
)
def test_it_does_not_outlive_its_parent(passing: Passing, paused: bool) -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(order(passing.spec) + "\n")
        parent.stdin.flush()
        process = psutil.Process(int(parent.stdout.readline()))
        if paused:
            process.suspend()
        parent.kill()

    gone, alive = psutil.wait_procs([process], PATIENCE_SECONDS)
    for left in alive:
        left.kill()
    assert gone == [process]


@pytest.mark.parametrize(
    ("told", "committed", "left"),
    [
        ((0, 0), {0: 0, 1: 0}, None),
        ((5, 7), {0: 5, 1: 7}, None),
        ((5, 7), {0: 5, 1: 9}, [Advance(1, 7, 9, None)]),
        ((0, 7), {0: 5, 1: 9}, [Advance(0, 0, 5, None), Advance(1, 7, 9, None)]),
    ],
)
def test_what_was_committed_and_not_told(
    told: tuple[int, ...], committed: dict[int, int], left: list[Advance] | None
) -> None:
    found = left_behind(told, committed)

    assert (found and found.advances) == left
    if found and left:
        assert (found.source, found.committed) == ("checkpoint", True)
        assert found.numbers == {"rows": sum(each.to_offset - each.from_offset for each in left)}


def test_it_goes_on_after_it_died(passing: Passing, broker: EmbeddedBroker) -> None:
    """Every message is told of, as a part of one batch."""
    with closing(ClientQuery(passing.spec)) as query:
        passing.send(10)
        query.start()
        passing.hear(query, 10)
        query.kill()
        assert not query.alive()
        passing.send(6)
        query.start()
        passing.hear(query, 16)

    assert passing.happened() == ["ready", "ready"]
    assert {each.source for each in passing.progress()} == {"told"}
    assert query.committed() == [8, 8]
    sink = Cluster(broker.bootstrap, {}).offsets((str(passing.spec.sink),), passing.spec.partitions)
    assert sum(sink.log_ends()) == 16


def test_ends_of_transactions_behind_the_last_message_are_passed(passing: Passing, broker: EmbeddedBroker) -> None:
    """Or it would never be through with a topic that transactions were written to."""
    producer = ck.Producer({**passing.spec.connection, "transactional.id": passing.spec.name})
    producer.init_transactions(30)
    source = Cluster(broker.bootstrap, {}).offsets((passing.spec.source,), passing.spec.partitions)
    with closing(ClientQuery(passing.spec)) as query:
        query.start()
        for _ in range(2):
            producer.begin_transaction()
            for partition in range(passing.spec.partitions):
                producer.produce(passing.spec.source, b"message", partition=partition)
            producer.commit_transaction(30)
        passing.hear(query, 4)
        assert source.log_ends() == [4, 4]

        def is_through() -> bool:
            passing.hear(query, 4)
            return query.committed() == [4, 4]

        until(is_through)

    assert sum(each.numbers["rows"] or 0 for each in passing.progress()) == 4


def test_who_died_before_it_told_is_told_of(passing: Passing) -> None:
    """Here by one that knows nothing of what the one before has told."""
    with closing(ClientQuery(passing.spec)) as before:
        passing.send(10)
        before.start()
        passing.hear(before, 10)
    passing.heard.clear()

    with closing(ClientQuery(passing.spec)) as query:
        passing.send(6)
        query.start()
        passing.hear(query, 16)

    first, *others = passing.progress()
    assert (first.source, first.batch, first.numbers) == ("checkpoint", 0, {"rows": 10})
    assert first.advances == [Advance(0, 0, 5, None), Advance(1, 0, 5, None)]
    assert [each.source for each in others] == ["told"] * len(others)
    assert min(each.batch for each in others) > first.batch
    assert query.committed() == [8, 8]
