"""Waits for a cluster that accepts connections and never answers end when nobody wants them any more."""

import socket
from collections.abc import Callable, Iterator

import pytest

from streamgauge.domain.blocks import ClientSpec
from streamgauge.domain.clock import NS_PER_SECOND, monotonic_ns
from streamgauge.domain.errors import Interrupted
from streamgauge.kafka.admin import Cluster
from streamgauge.kafka.reread import reread

MOST_NS = 5 * NS_PER_SECOND
"""Half of what a cluster is waited for."""


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that accepts connections and says nothing, as a broker that is paused."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def give_up_later() -> Callable[[], None]:
    """A check that gives up after a few times, when the request is under way."""
    times = iter(range(5))

    def check() -> None:
        if next(times, None) is None:
            raise Interrupted("enough")

    return check


ASKED: dict[str, Callable[[Cluster], object]] = {
    "whether it is there": lambda cluster: cluster.reachable(),
    "its version": lambda cluster: cluster.version(),
    "for a topic": lambda cluster: cluster.create_topic("t", 1, 1),
    "to delete a topic": lambda cluster: cluster.delete_topic("t"),
    "for the ends of logs": lambda cluster: cluster.offsets(("t",), 1).log_ends(),
    "to commit": lambda cluster: cluster.set_committed("g", "t", [0]),
    "what is committed": lambda cluster: cluster.offsets(("t",), 1, ("g",)).committed(0),
    "to delete a group": lambda cluster: cluster.delete_group("g"),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.slow
def test_a_cluster_that_is_asked(silent: str, asked: str) -> None:
    cluster, began_ns = Cluster(silent, {}, check=give_up_later()), monotonic_ns()

    with pytest.raises(Interrupted, match="enough"):
        ASKED[asked](cluster)

    assert monotonic_ns() - began_ns < MOST_NS


@pytest.mark.slow
def test_a_topic_that_is_read_again(silent: str) -> None:
    spec, began_ns = ClientSpec("reader", ("t",), {"bootstrap.servers": silent}), monotonic_ns()

    with pytest.raises(Interrupted, match="enough"):
        list(reread(spec, [0], [5], 60, give_up_later()))

    assert monotonic_ns() - began_ns < MOST_NS
