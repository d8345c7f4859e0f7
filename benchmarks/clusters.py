"""What clusters of our own cost: how long one and three brokers take to serve clients, and the memory that they use.

In turn, with the default heaps and the archives of Java classes that `streamgauge doctor --prepare` makes; if there are
none, they are made first. Memory is what the kernel tells of the brokers' processes: when a topic that has a replica on
each of them is served, and after messages of 100 MB. Other clusters of each round are only warmed up: one as that of a
single run, for 5 s, and one as that which many runs share, until its JVMs have compiled their code, for 5 to 24 s.
"""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import confluent_kafka as ck
import psutil

from benchmarks.common import heading, idle_share, need_archives, spread
from streamgauge.cluster.embedded import EmbeddedCluster, start_cluster
from streamgauge.cluster.nodes.layout import ClusterPlan
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.prime import prime
from streamgauge.processes.jvm.java import find_java
from streamgauge.runs.conduct.target import shared_broker

TOPIC: Final = "streamgauge-bench-clusters"
PARTITIONS: Final = 6
MESSAGES: Final = 100_000
VALUE: Final = bytes(1_000)
_FLUSH_SECONDS: Final = 120


class _Cost(NamedTuple):
    accepting: float
    """Seconds until every broker accepts clients."""
    serving: float
    """Seconds until a topic with a replica on each is served."""
    primed: float
    """Seconds until one is warmed up for a single run."""
    shared: float
    """Seconds until one is for many."""
    resident: float
    """MiB of all brokers then."""
    loaded: float
    """MiB of all brokers after the load."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--brokers", type=int, nargs="+", default=[1, 3])
    chosen = options.parse_args()
    heading("Clusters of our own: start and memory")
    need_archives()
    print(f"The machine was {idle_share():.0%} idle before.\n", flush=True)
    costs: dict[int, list[_Cost]] = {brokers: [] for brokers in chosen.brokers}
    for _ in range(chosen.rounds):
        for brokers, found in costs.items():
            found.append(_cost(brokers))
    times = "accepting, s | topic served, s | primed, s | primed for many runs, s"
    print(f"| brokers | {times} | resident, MiB | after 100 MB, MiB |")
    print("|---|---|---|---|---|---|---|")
    for brokers, found in costs.items():
        *seconds, resident, loaded = zip(*found, strict=True)
        memory = f"{spread(resident, digits=0)} | {spread(loaded, digits=0)}"
        print(f"| {brokers} | {' | '.join(map(spread, seconds))} | {memory} |")


def _cost(brokers: int) -> _Cost:
    """Start a cluster, use it, and stop it; and others that are only warmed up."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        began_ns = monotonic_ns()
        with start_cluster(ClusterPlan(brokers), logs=Path(folder), java=find_java(os.environ)) as cluster:
            accepting = _since(began_ns)
            Cluster(cluster.bootstrap, cluster.connection).create_topic(TOPIC, PARTITIONS, brokers)
            serving, resident = _since(began_ns), _mebibytes(cluster)
            _send(cluster)
            loaded = _mebibytes(cluster)
    return _Cost(accepting, serving, _primed(brokers), _shared(brokers), resident, loaded)


def _primed(brokers: int) -> float:
    """Seconds from the start of a cluster until it is warm enough for a run."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        began_ns = monotonic_ns()
        with start_cluster(ClusterPlan(brokers), logs=Path(folder), java=find_java(os.environ)) as cluster:
            prime(Cluster(cluster.bootstrap, cluster.connection), replicas=brokers)
            return _since(began_ns)


def _shared(brokers: int) -> float:
    """Seconds from the start of a cluster until it is warm enough for many runs."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        began_ns = monotonic_ns()
        with shared_broker(Path(folder), find_java(os.environ), lambda _text: None, ClusterPlan(brokers)):
            return _since(began_ns)


def _since(began_ns: int) -> float:
    return (monotonic_ns() - began_ns) / NS_PER_SECOND


def _mebibytes(cluster: EmbeddedCluster) -> float:
    return sum(psutil.Process(node.pid).memory_info().rss for node in cluster.nodes) / 2**20


def _send(cluster: EmbeddedCluster) -> None:
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap, **cluster.connection, "acks": "all"})
    for _ in range(MESSAGES):
        producer.produce(TOPIC, VALUE)
        producer.poll(0)
    if producer.flush(_FLUSH_SECONDS):
        raise SystemExit("the load was not acknowledged in time")


if __name__ == "__main__":
    main()
