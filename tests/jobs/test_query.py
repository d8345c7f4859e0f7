"""Queries on Spark against a broker: each engine, a death, and everything that can be wrong."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import numpy as np
import psutil
import pytest

from streamgauge.cluster.jars import CONNECTOR, fetched
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain import clock, stamp
from streamgauge.domain.query import Happened, Looked, News, QueryProgress, QuerySpec
from streamgauge.engine.produce.compose import Composer
from streamgauge.engine.produce.sources import Recipe
from streamgauge.jobs.query import SparkQuery
from streamgauge.kafka.admin import Cluster
from streamgauge.processes.talk.news import order

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PARTITIONS = 2
PATIENCE_SECONDS = 100


class Bench:
    """A source, a sink, and queries between them."""

    def __init__(
        self, bootstrap: str, source: str, sink: str, make_spec: Callable[..., QuerySpec], settings: dict[str, str]
    ) -> None:
        self.bootstrap, self.source, self.sink = bootstrap, source, sink
        self.make_spec, self.settings = make_spec, settings
        self.sent = 0

    def spec(self, **changes: Any) -> QuerySpec:
        plain = {
            "source": self.source, "sink": self.sink, "partitions": PARTITIONS, "starts": (0,) * PARTITIONS,
            "connection": {"bootstrap.servers": self.bootstrap}, "parallelism": PARTITIONS + 1,
            "jars": tuple(map(str, fetched(CONNECTOR))), "settings": self.settings,
        }  # fmt: skip
        return self.make_spec(**plain | changes)

    def send(self, count: int) -> None:
        """Messages as producers of a run make them."""
        recipe = Recipe(0, 7, "logline", 200, 42, in_headers=False, scheduled=True)
        seqs = np.arange(self.sent, self.sent + count)
        outgoing = Composer(recipe, count).compose(seqs, seqs * 1000, clock.monotonic_ns())
        producer = ck.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5})
        for seq, value in zip(seqs.tolist(), outgoing.values, strict=True):
            producer.produce(self.source, value, key=b"%d" % seq, partition=seq % PARTITIONS)
        assert producer.flush(30) == 0
        self.sent += count

    def received(self) -> list[ck.Message]:
        """All that is in the sink."""
        return read_all(self.bootstrap, self.sink)

    def seqs(self) -> Counter[int]:
        """How often each message is in the sink."""
        values = [value for message in self.received() if (value := message.value())]
        return Counter(stamp.decode(b"".join(value[: stamp.SIZE] for value in values))["seq"].tolist())


def read_all(bootstrap: str, topic: str) -> list[ck.Message]:
    cluster = Cluster(bootstrap, {})
    ends = cluster.offsets((topic,), cluster.partitions_of(topic) or 0).log_ends()
    consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, partition, 0) for partition in range(len(ends))])
    found: list[ck.Message] = []
    while len(found) < sum(ends):
        found += consumer.consume(1000, 1)
    consumer.close()
    return found


@pytest.fixture
def bench(
    broker: EmbeddedBroker,
    fresh_topic: Callable[[int], str],
    make_spec: Callable[..., QuerySpec],
    quick_spark: dict[str, str],
) -> Bench:
    return Bench(broker.bootstrap, fresh_topic(PARTITIONS), fresh_topic(PARTITIONS), make_spec, quick_spark)


class Watched:
    """A query whose news are kept."""

    def __init__(self, spec: QuerySpec) -> None:
        self.query = SparkQuery(spec)
        self.heard: list[News] = []

    def until(self, reached: Callable[[], bool]) -> None:
        """Read news until something is so."""
        deadline_ns = clock.monotonic_ns() + PATIENCE_SECONDS * clock.NS_PER_SECOND
        while not self._hear(reached):
            log = Path(self.query.spec.log)
            assert clock.monotonic_ns() < deadline_ns, (self.happened(), log.read_text()[-3000:])
            clock.sleep_seconds(0.02)

    def _hear(self, reached: Callable[[], bool]) -> bool:
        self.heard.extend(self.query.news())
        return reached()

    def happened(self) -> list[str]:
        return [each.what for each in self.heard if isinstance(each, Happened)]

    def why(self) -> str:
        """Wait until it has failed; why."""
        code = self.over()
        failed = [each.detail for each in self.heard if isinstance(each, Happened) and each.what == "failed"]
        log = Path(self.query.spec.log).read_text()
        assert code == 1, (code, self.happened(), log)
        assert len(failed) == 1, (self.happened(), log)
        return str(failed[0])

    def ready(self) -> None:
        """Wait until it reads; fail when it cannot."""
        before = self.happened().count("ready")
        self.until(lambda: self.happened().count("ready") > before or not self.query.alive())
        assert self.query.alive(), (self.heard, Path(self.query.spec.log).read_text()[-3000:])

    def over(self) -> int | None:
        """Wait until it has ended; its exit code."""
        self.until(lambda: not self.query.alive())
        self.heard.extend(self.query.news())
        return self.query.exit_code

    def progress(self) -> list[QueryProgress]:
        return [each for each in self.heard if isinstance(each, QueryProgress)]


@pytest.fixture
def watch() -> Iterator[Callable[[QuerySpec], Watched]]:
    """Starts queries, and ends them."""
    with contextlib.ExitStack() as stack:

        def start(spec: QuerySpec) -> Watched:
            watched = Watched(spec)
            stack.callback(watched.query.close)
            watched.query.start()
            return watched

        yield start


Watch = Callable[[QuerySpec], Watched]

HAND_WRITTEN = """
def written(given):
    reader = given.sparkSession.readStream.format("kafka").option("kafka.bootstrap.servers", "{bootstrap}")
    loaded = reader.option("subscribe", "{source}").option("startingOffsets", "earliest").load()
    return loaded.select("key", "value", "partition")
"""


def plan_in(log: str) -> str:
    """The physical plan that a driver wrote, without what is different in each."""
    found = re.findall(r"== Physical Plan ==\n(.*?)\n\n", Path(log).read_text(), re.DOTALL)
    return re.sub(r"epoch: \d+|#\d+L?|@[0-9a-f]+|id=\d+|\[id\S+|-[0-9a-f]{4,}\b", "", found[-1])


def test_available_now_with_the_plan_of_a_pass_written_by_hand(bench: Bench, watch: Watch, tmp_path: Path) -> None:
    bench.send(500)
    (tmp_path / "by_hand.py").write_text(HAND_WRITTEN.format(bootstrap=bench.bootstrap, source=bench.source))
    ours = watch(bench.spec(engine="available-now", max_offsets=100))
    assert ours.over() == 0
    assert ours.happened() == ["ready", "ended"]
    assert bench.seqs() == dict.fromkeys(range(500), 1)
    assert len([each for each in ours.progress() if each.numbers["rows"]]) == 5
    assert ours.query.committed() == (250, 250)
    assert {message.value() for message in bench.received()} == {
        message.value() for message in read_all(bench.bootstrap, bench.source)
    }

    spec = bench.spec(
        engine="available-now", job="function", options={"call": "by_hand:written"}, log=str(tmp_path / "hand.log"),
        checkpoint=str(tmp_path / "other"),
    )  # fmt: skip
    assert watch(spec).over() == 0

    assert "MicroBatchScan" in plan_in(spec.log)
    assert plan_in(ours.query.spec.log) == plan_in(spec.log)


def test_the_size_of_batches_is_changed_while_it_runs_and_nothing_is_read_twice(bench: Bench, watch: Watch) -> None:
    """What runs is not disturbed; what is planned next has the new size.

    All is sent before: Spark gives each partition its share of a limit, rounded down, and only
    partitions with as much to read get all of it.
    """
    bench.send(4000)
    watched = watch(bench.spec(max_offsets=40, interval_ns=100 * clock.NS_PER_MS))
    watched.until(lambda: any(each.numbers["rows"] for each in watched.progress()))
    watched.query.limit(900)
    watched.until(lambda: watched.query.committed() == (2000, 2000))
    watched.query.stop()

    assert watched.over() == 0
    sizes = [rows for each in watched.progress() if (rows := each.numbers["rows"])]
    assert sizes[0] == 40
    assert set(sizes[:-1]) == {40, 900}
    assert sizes[:-1] == sorted(sizes[:-1])
    assert bench.seqs() == dict.fromkeys(range(4000), 1)


def test_a_size_of_batches_that_was_not_given_cannot_be_changed(bench: Bench, watch: Watch) -> None:
    watched = watch(bench.spec())
    watched.ready()
    watched.query.limit(900)

    assert "has no batch limit" in watched.why()


def test_a_killed_jvm_loses_nothing(bench: Bench, watch: Watch) -> None:
    watched = watch(bench.spec(max_offsets=200))
    watched.ready()
    assert watched.query.processes().keys() == {"driver"}
    jvm = psutil.Process(watched.query.processes()["driver"])
    assert "java" in jvm.name()
    bench.send(3000)
    watched.until(lambda: any(each.numbers["rows"] for each in watched.progress()))

    os.kill(jvm.pid, signal.SIGKILL)
    killed_ns = clock.monotonic_ns()

    assert watched.over() == 128 + signal.SIGKILL
    assert clock.monotonic_ns() - killed_ns < 10 * clock.NS_PER_SECOND
    assert watched.happened() == ["ready"]
    left = [each for each in watched.query.left_behind() if each.committed]
    assert watched.query.left_behind() == []
    ends = [tuple(advance.to_offset for advance in each.advances) for each in [*watched.progress(), *left]]
    assert watched.query.committed() == ends[-1]

    watched.query.start()
    watched.ready()
    bench.send(200)
    watched.until(lambda: watched.query.committed() == (1600, 1600))
    watched.query.stop()

    assert watched.over() == 0
    assert watched.happened() == ["ready", "ready", "ended"]
    assert watched.query.left_behind() == []
    found = bench.seqs()
    assert set(found) == set(range(3200))
    assert max(found.values()) <= 2
    told = [each for each in [*watched.progress(), *left] if each.numbers["rows"]]
    advances = sorted(advance for each in told for advance in each.advances if advance.partition == 0)
    assert [each.to_offset for each in advances[:-1]] == [each.from_offset for each in advances[1:]]
    looked = [each for each in watched.heard if isinstance(each, Looked)]
    assert {each.executor for each in looked} == {"driver"}
    assert looked[-1].numbers["tasks"]
    assert watched.query.checkpoint_bytes() > 1000
    assert len(Path(watched.query.spec.raw).read_text().splitlines()) == len(watched.progress())


def test_real_time(bench: Bench, watch: Watch) -> None:
    watched = watch(bench.spec(engine="real-time", interval_ns=5 * clock.NS_PER_SECOND))
    watched.ready()
    bench.send(500)

    watched.until(lambda: watched.query.committed() == (250, 250))
    jvm = psutil.Process(watched.query.processes()["driver"])
    watched.query.stop()

    assert watched.over() == 0
    assert watched.happened() == ["ready", "ended"]
    assert not jvm.is_running()
    assert bench.seqs() == dict.fromkeys(range(500), 1)
    assert all(each.numbers["duration_ms"] >= 5000 for each in watched.progress())  # type: ignore[operator]


def test_real_time_mode_needs_a_slot_for_each_partition(bench: Bench, watch: Watch) -> None:
    """Without one Spark would wait for ever."""
    watched = watch(bench.spec(engine="real-time", interval_ns=5 * clock.NS_PER_SECOND, parallelism=1))

    assert "needs a task slot for each of 2 partitions, and there are 1: raise the parallelism" in watched.why()


def test_what_runs_functions_in_python_is_seen(bench: Bench, watch: Watch, tmp_path: Path) -> None:
    """Its CPU time is the query's."""
    (tmp_path / "slow_python.py").write_text(
        "from pyspark.sql import functions as F\n"
        "def job(messages):\n"
        "    return messages.withColumn('value', F.udf(bytes, 'binary')('value'))\n"
    )
    watched = watch(bench.spec(job="function", does="changed", options={"call": "slow_python:job"}))
    watched.ready()
    bench.send(100)
    watched.until(lambda: any(name.startswith("python-") for name in watched.query.processes()))
    watched.until(lambda: watched.query.committed() == (50, 50))
    watched.query.stop()

    assert watched.over() == 0


def test_what_real_time_mode_cannot_do(bench: Bench, watch: Watch) -> None:
    spec = bench.spec(
        job="dedup", does="subset", options={"watermark": 10**9}, engine="real-time", interval_ns=5 * 10**9
    )

    watched = watch(spec)

    assert "StreamingDeduplicateWithinWatermarkExec are not in the operator allowlist" in watched.why()


def test_a_job_that_throws(bench: Bench, watch: Watch, tmp_path: Path) -> None:
    """While it runs, in Python."""
    (tmp_path / "thrower.py").write_text(
        "from pyspark.sql import functions as F\n"
        "def divide(value): return 1 // 0\n"
        "def job(df): return df.select('key', F.udf(divide, 'binary')('value').alias('value'))\n"
    )
    bench.send(10)

    watched = watch(bench.spec(job="function", options={"call": "thrower:job"}))

    assert watched.why() == "ZeroDivisionError: integer division or modulo by zero"


def test_a_topic_that_is_not_there(bench: Bench, watch: Watch) -> None:
    watched = watch(bench.spec(source="no-such-topic"))

    assert watched.why().startswith("the topic no-such-topic cannot be read: UnknownTopicOrPartitionException")


PARENT = """
import sys
from pathlib import Path
from streamgauge.domain import clock
from streamgauge.processes.talk.news import read_order
from streamgauge.jobs.query import SparkQuery
query = SparkQuery(read_order(sys.stdin.readline())[0])
query.start()
while not query.processes():
    query.news()
    clock.sleep_seconds(0.02)
print(query.pid, query.processes()["driver"], query._scratch.path, flush=True)
sys.stdin.read()
"""


def test_nothing_outlives_the_parent(bench: Bench) -> None:
    """However it ends: the JVM is still starting when it is killed."""
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(order(bench.spec()) + "\n")
        parent.stdin.flush()
        query, jvm, scratch = parent.stdout.readline().split()
        processes = [psutil.Process(int(query)), psutil.Process(int(jvm))]
        parent.kill()

    assert psutil.wait_procs(processes, PATIENCE_SECONDS)[1] == []
    assert not Path(scratch).exists()


def test_a_query_that_is_killed_leaves_nothing(bench: Bench, watch: Watch) -> None:
    watched = watch(bench.spec())
    watched.until(lambda: "driver" in watched.query.processes())
    jvm = psutil.Process(watched.query.processes()["driver"])

    watched.query.kill()

    assert psutil.wait_procs([jvm], 5)[1] == []
    assert watched.query.exit_code == -signal.SIGKILL
    assert watched.query.processes() == {}


def test_what_is_wrong_before_spark_is_started(make_spec: Callable[..., QuerySpec], watch: Watch) -> None:
    broken = make_spec()
    log = Path(broken.checkpoint, "offsets")
    log.mkdir(parents=True)
    for number in (0, 1):
        (log / str(number)).write_text("garbage")
    watched = watch(broken)
    assert watched.why() == f"the checkpoint {broken.checkpoint} is broken: offsets/0 is not in Spark's format"

    watched = watch(make_spec(job="function", options={"call": "no_such:job"}, checkpoint=broken.checkpoint + "2"))
    assert watched.why() == "no_such:job: cannot be imported: ModuleNotFoundError: No module named 'no_such'"
