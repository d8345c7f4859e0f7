"""Priming drives a broker and leaves nothing on it; it never waits for one that does not answer."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.brokers import one_broker
from tests.waiting import until

from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import BrokerError, Interrupted
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.prime import TOPIC, prime
from streamgauge.processes.jvm.java import Java

pytestmark = pytest.mark.kafka


def test_it_sends_and_reads_and_leaves_no_topic(broker: EmbeddedBroker) -> None:
    cluster = Cluster(broker.bootstrap, {})

    assert prime(cluster, 1) > 0
    assert cluster.partitions_of(TOPIC) is None


@pytest.fixture
def own(java: Java, tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """A broker that may be harmed."""
    with one_broker(logs=tmp_path / "logs", java=java) as running:
        yield running


def harming(own: EmbeddedBroker, harm: Callable[[], object], check: Callable[[], None]) -> Callable[[], None]:
    """A check that harms the broker once the priming has committed something."""
    other, done = Cluster(own.bootstrap, {}), list[object]()

    def has_committed() -> bool:
        # The topic may not be there yet.
        with contextlib.suppress(BrokerError):
            return any(other.offsets((TOPIC,), 12, (TOPIC,)).committed(0))
        return False

    def harm_and_check() -> None:
        if not done and has_committed():
            done.append(harm())
        check()

    return harm_and_check


def test_a_broker_that_dies_ends_it_at_once(own: EmbeddedBroker) -> None:
    cluster = Cluster(own.bootstrap, {}, check=harming(own, own.kill, own.check))

    with pytest.raises(BrokerError) as caught:
        prime(cluster, 3600)

    said = str(caught.value)
    assert said.startswith(f"the broker at {own.bootstrap} could not be primed: broker-1 ended with exit code -9. ")
    assert f"The end of {own.entry.log}:" in said


def test_a_broker_that_is_paused_does_not_hold_it(own: EmbeddedBroker) -> None:
    """The user may end it at any time, and its clients are not waited for: they would close in minutes, or never."""
    paused_ns = list[int]()

    def give_up() -> None:
        """A while after it: some commits are under way by then."""
        if paused_ns and monotonic_ns() - paused_ns[0] > NS_PER_SECOND:
            raise Interrupted("enough")

    def pause() -> None:
        own.pause()
        until(lambda: psutil.Process(own.pid).status() == psutil.STATUS_STOPPED)
        paused_ns.append(monotonic_ns())

    cluster = Cluster(own.bootstrap, {}, check=harming(own, pause, give_up))
    with pytest.raises(Interrupted, match="enough"):
        prime(cluster, 3600)
    assert monotonic_ns() - paused_ns[0] < 10 * NS_PER_SECOND

    impatient = Cluster(own.bootstrap, {}, timeout_seconds=0.5)
    with pytest.raises(BrokerError, match="could not be primed: topic streamgauge-prime could not be created"):
        prime(impatient, 0)
