"""A cluster of our own that has one broker, as that broker."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from streamgauge.cluster.embedded import start_cluster
from streamgauge.cluster.nodes.broker import EmbeddedBroker
from streamgauge.cluster.nodes.layout import ClusterPlan


@contextmanager
def one_broker(*, name: str = "broker-1", heap: str = "512m", **options: Any) -> Iterator[EmbeddedBroker]:
    """It, until the end of the block; `options` are those of `start_cluster`."""
    with start_cluster(ClusterPlan(heap=heap), names=[name], **options) as cluster:
        yield cluster.nodes[0]
